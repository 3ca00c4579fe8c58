// Many cases as text: one line each, what failed once more at the end, a summary.
#include <fmt/format.h>

#include <algorithm>

#include "report/matrix.hpp"
#include "report/render/format.hpp"
#include "report/render/render.hpp"

namespace dd::report {
namespace {

// With -q what could not be run is said on standard error alone.
bool unsaid(const Case& c, const TextOptions& options) { return options.verbosity < 0 && !c.problems.empty(); }

}  // namespace

// Problems of a file begin with file and line, which a list has said already.
std::string without_place(const Case& c, const std::string& problem) {
  const std::string place = c.id + ": ";
  return problem.starts_with(place) ? problem.substr(place.size()) : problem;
}

std::string problem_line(const Case& c) {
  const std::size_t more = c.problems.size() - 1;
  return c.problems.front() + (more > 0 ? fmt::format(" (and {} more)", more) : "");
}

std::string render_case_line(const Case& c, const TextOptions& options) {
  if (!c.problems.empty()) return fmt::format("{} {}  {}\n", paint("error        ", Ink::bad, options.color), c.id, without_place(c, problem_line(c)));
  const std::string status = fmt::format("{:<13}", core::to_text(c.verdict.status));
  std::string unmet;
  for (const Requirement& r : c.requirements)
    if (r.status != "met") unmet += fmt::format("  [{} {}]", r.text, r.status);
  return fmt::format("{} {}  {}  {}{}\n", paint(status, ink_of(c.verdict.status), options.color), c.id, c.title, c.verdict.summary,
                     paint(unmet, Ink::bad, options.color));
}

std::string render_summary(const Report& r, const TextOptions& options) {
  std::string out;
  const auto failed = [](const Case& c) { return c.exit_code != 0; };
  if (options.verbosity >= 0 && std::any_of(r.cases.begin(), r.cases.end(), failed)) {
    out += "\n" + paint("failures", Ink::bold, options.color) + "\n";
    for (const Case& c : r.cases)
      if (failed(c)) out += render_case_line(c, options) + (c.repro.empty() ? "" : "  repro: " + c.repro + "\n");
  }
  out += fmt::format("\n{}{}\n", summary_line(r.summary), r.interrupted ? "; interrupted" : "");
  for (const Recorded& recorded : r.recorded) out += "\n" + render_recorded(recorded);
  return out;
}

std::string render_text(const Report& r, const TextOptions& options) {
  if (!r.traces.empty()) return render_traces(r, options);
  std::string out;
  if (r.cases.size() == 1) {
    // Why the only call could not be run is said on standard error, as for any mistyped command line.
    if (!r.cases.front().problems.empty() && !r.interrupted) return {};
    out = render_case(r.cases.front(), options) + (r.interrupted ? "interrupted: the rest was not tried\n" : "");
    for (const Recorded& recorded : r.recorded) out += "\n" + render_recorded(recorded);
    return out;
  }
  for (const Case& c : r.cases)
    if (!unsaid(c, options)) out += options.verbosity > 0 ? render_case(c, options) + "\n" : render_case_line(c, options);
  out += render_summary(r, options);
  for (const Matrix& m : r.matrices) out += "\n" + matrix_text(m);
  return out;
}

}  // namespace dd::report
