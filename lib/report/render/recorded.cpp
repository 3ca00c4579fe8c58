#include <algorithm>

#include <fmt/format.h>

#include "report/render/render.hpp"

namespace dd::report {

std::string render_recorded(const Recorded& r) {
  constexpr std::size_t most = 10;
  const auto percent = [](double share) { return fmt::format("{:.1f} %", 100 * share); };
  std::string out = fmt::format("recorded program{}: {} calls in {} specs; {} ({}) miss the fast path, with {} of the arithmetic\n",
                                r.target.empty() ? "" : " on " + r.target, r.calls, r.specs, r.missed_calls, percent(r.missed_share), percent(r.missed_work_share));
  if (std::any_of(r.places.begin(), r.places.end(), [](const RecordedPlace& p) { return p.status == "slowed"; }))
    out += "  others take a fast backend and are slowed; they stand at the end of the list\n";
  if (r.wrong_calls > 0) out += fmt::format("  {} of them give a wrong result\n", r.wrong_calls);
  if (r.undetermined_calls > 0)
    out += fmt::format("  {} calls, with {} of the arithmetic, could not be told\n", r.undetermined_calls, percent(r.undetermined_work_share));
  for (std::size_t i = 0; i < r.places.size() && i < most; ++i) {
    const RecordedPlace& p = r.places[i];
    out += fmt::format("  {} calls, {} of the arithmetic, at {}\n    {}{}\n    {}: {}\n", p.calls, percent(p.work_share), p.where.empty() ? "an unknown place" : p.where,
                       p.title, p.specs > 1 ? fmt::format(", and {} further shapes", p.specs - 1) : "", p.status, p.why);
    if (!p.fix.empty()) out += fmt::format("    change: {}\n", p.fix);
  }
  if (r.places.size() > most) out += fmt::format("  and {} further places\n", r.places.size() - most);
  return out;
}

}  // namespace dd::report
