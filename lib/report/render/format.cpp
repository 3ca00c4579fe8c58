#include "report/render/format.hpp"

#include <fmt/color.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace dd::report {

std::string human_bytes(std::int64_t bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < std::size(units)) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string human_seconds(double s) {
  if (s <= 0) return "0 s";
  if (s < 1e-6) return fmt::format("{:.0f} ns", s * 1e9);
  if (s < 1e-3) return fmt::format("{:.3g} us", s * 1e6);
  if (s < 1) return fmt::format("{:.3g} ms", s * 1e3);
  return fmt::format("{:.3g} s", s);
}

std::string exact_number(double v) { return std::isfinite(v) ? fmt::format("{:.9g}", v) : human_number(v); }

std::string human_number(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  return fmt::format("{:.3g}", v);
}

std::string index_text(const std::vector<std::int64_t>& index) { return fmt::format("[{}]", fmt::join(index, ",")); }

std::string scalar_text(const Scalar& value) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "unknown"; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return human_number(v); }
    std::string operator()(const std::string& v) const { return v; }
  };
  return std::visit(Visitor{}, value);
}

std::string_view keeps_words(std::string_view keeps) {
  if (keeps == "precision") return "the function, not the precision";
  if (keeps == "meaning") return "the call, not its meaning";
  return keeps == "function" ? "the function" : keeps;
}

std::string joined(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string summary_line(const Summary& s) {
  const std::string errors = s.errors > 0 ? fmt::format(", {} not run", s.errors) : "";
  return fmt::format("{} cases: {} fast, {} fallback, {} no path, {} wrong, {} undetermined{}; {} tested", s.cases, s.fast, s.fallback, s.no_path,
                     s.wrong, s.undetermined, errors, s.tested);
}

std::string paint(std::string_view text, Ink ink, bool color) {
  if (!color) return std::string(text);
  switch (ink) {
    case Ink::good: return fmt::format(fmt::fg(fmt::terminal_color::green), "{}", text);
    case Ink::bad: return fmt::format(fmt::emphasis::bold | fmt::fg(fmt::terminal_color::red), "{}", text);
    case Ink::warn: return fmt::format(fmt::fg(fmt::terminal_color::yellow), "{}", text);
    case Ink::dim: return fmt::format(fmt::fg(fmt::terminal_color::bright_black), "{}", text);
    case Ink::bold: return fmt::format(fmt::emphasis::bold, "{}", text);
    case Ink::plain: break;
  }
  return std::string(text);
}

Ink ink_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::matched: return Ink::good;
    case Outcome::mistrusted:
    case Outcome::refused:
    case Outcome::blocked: return Ink::warn;
    case Outcome::off:
    case Outcome::failed:
    case Outcome::crashed:
    case Outcome::timed_out:
    case Outcome::out_of_memory: return Ink::bad;
    default: return Ink::dim;
  }
}

Ink ink_of(Status status) {
  switch (status) {
    case Status::fast_path: return Ink::good;
    case Status::wrong_result:
    case Status::no_path: return Ink::bad;
    default: return Ink::warn;
  }
}

std::vector<GroupedFinding> grouped_findings(const Case& c, bool with_met) {
  std::vector<GroupedFinding> out;
  const auto add = [&](const Finding& f, const std::string& backend) {
    if (f.status == "met" && !with_met) return;
    for (GroupedFinding& g : out) {
      if (g.finding->id != f.id || g.finding->seen != f.seen || g.finding->status != f.status) continue;
      if (!backend.empty()) g.backends.push_back(backend);
      return;
    }
    out.push_back({&f, backend.empty() ? std::vector<std::string>{} : std::vector<std::string>{backend}});
  };
  for (const Finding& f : c.findings) add(f, "");
  for (const Candidate& candidate : c.candidates)
    for (const Finding& f : candidate.findings) add(f, candidate.backend);
  return out;
}

const Attempt* attempt_of(const Candidate& candidate, std::string_view policy) {
  for (const Attempt& a : candidate.attempts)
    if (a.policy == policy) return &a;
  return nullptr;
}

const Attempt* chosen_attempt(const Case& c) {
  if (!c.decision.selected) return nullptr;
  for (const Candidate& candidate : c.candidates)
    if (candidate.backend == *c.decision.selected)
      return attempt_of(candidate, c.decision.policy == "allow" ? "allow" : "force");
  return nullptr;
}

}  // namespace dd::report
