#include "session/modes.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "session/case_work.hpp"

namespace dd::session {
namespace {

std::string first_names(const std::vector<report::Operation>& shown) {
  constexpr std::size_t most = 4;
  std::string names;
  for (std::size_t i = 0; i < shown.size() && i < most; ++i) {
    const std::size_t at = shown[i].name.find_first_not_of(' ');
    names += fmt::format("{}{}", names.empty() ? "" : ", ", at == std::string::npos ? shown[i].name : shown[i].name.substr(at));
  }
  return names + (shown.size() > most ? ", ..." : "");
}

std::string line_of(const ModeRun& run) {
  const report::Attempt& a = run.attempt;
  if (!ran(a.outcome)) return fmt::format("mode {}: {}{}", run.mode, core::to_text(a.outcome), a.error ? ", " + a.error->text : "");
  std::string line = fmt::format("mode {}: {}, {}", run.mode, run.which.empty() ? "backend not told by the evidence" : run.which, core::to_text(a.outcome));
  const report::Evidence& seen = a.evidence;
  // What a compiler left of the call says more than the operators that its wrapper happens to go through.
  const bool kernels = !seen.kernels.empty();
  const std::string names = first_names(kernels ? seen.kernels : seen.operators);
  if (!names.empty()) line += fmt::format("; {} {}", kernels ? "kernels" : "operators", names);
  for (const std::string& note : seen.notes)
    if (note.rfind("attention decomposed", 0) == 0) line += "; attention decomposed";
  return line;
}

// Names of the kernels that the profiler saw on the device, without repeats, in a fixed order.
std::string device_kernels(const report::Attempt& a) {
  std::vector<std::string> names;
  for (const report::Operation& k : a.evidence.kernels)
    if (k.origin == "profiler") names.push_back(k.name);
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

std::string last_part(const std::string& name) {
  const std::size_t at = name.find_last_of(".: ");
  return at == std::string::npos ? name : name.substr(at + 1);
}

bool has_operator(const report::Attempt& a, const std::string& name) {
  return std::any_of(a.evidence.operators.begin(), a.evidence.operators.end(), [&](const report::Operation& o) { return last_part(o.name) == name; });
}

// Generated code against eager operators: what was replaced, and what is still called.
std::string against_generated(const ModeRun& eager, const ModeRun& compiled) {
  std::vector<report::Operation> made;
  std::string same, other;
  for (const report::Operation& k : compiled.attempt.evidence.kernels) {
    if (k.origin != "inductor") continue;
    if (k.detail == "generated") {
      made.push_back(k);
      continue;
    }
    std::string& list = has_operator(eager.attempt, last_part(k.name)) ? same : other;
    list += fmt::format("{}{}", list.empty() ? "" : ", ", last_part(k.name));
  }
  if (made.empty() && same.empty() && other.empty()) return {};
  if (made.empty() && other.empty()) return fmt::format("modes agree: {} and {} end in {}", eager.mode, compiled.mode, same);
  std::string line = fmt::format("modes differ: {} ", compiled.mode);
  if (!made.empty()) line += fmt::format("runs generated code ({}) in place of operators of {}", first_names(made), eager.mode);
  if (!other.empty()) line += fmt::format("{}calls {}, which {} does not", made.empty() ? "" : "; it ", other, eager.mode);
  if (!same.empty()) line += fmt::format("; both call {}", same);
  return line;
}

// How one mode differs from the first, both of which ran.
std::vector<std::string> differences(const ModeRun& a, const ModeRun& b) {
  std::vector<std::string> out;
  const bool other_backend = !a.which.empty() && !b.which.empty() && a.which != b.which;
  if (other_backend)
    out.push_back(fmt::format("modes differ: {} takes {}, {} takes {}: what holds for one mode does not hold for the other", a.mode, a.which, b.mode, b.which));
  const ModeRun& compiled = a.mode == "compiled" ? a : b;
  if (compiled.mode == "compiled" && !other_backend)
    if (std::string line = against_generated(&compiled == &a ? b : a, compiled); !line.empty()) out.push_back(std::move(line));
  const std::string here = device_kernels(a.attempt), there = device_kernels(b.attempt);
  if (!here.empty() && !there.empty() && here != there)
    out.push_back(fmt::format("modes differ: device kernels, {} launches {}, {} launches {}", a.mode, here, b.mode, there));
  return out;
}

}  // namespace

ModesCompared compare_modes(const std::vector<ModeRun>& runs, const std::function<bool(const std::string&)>& is_fallback) {
  ModesCompared out;
  if (runs.size() < 2) return out;
  for (const ModeRun& run : runs) out.lines.push_back(line_of(run));
  const ModeRun& a = runs.front();
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const ModeRun& b = runs[i];
    const bool both = ran(a.attempt.outcome) && ran(b.attempt.outcome);
    if (ran(a.attempt.outcome) != ran(b.attempt.outcome) && b.attempt.outcome != report::Outcome::unavailable && b.attempt.outcome != report::Outcome::not_tried)
      out.difference += fmt::format("; in mode {} it {}", b.mode, ran(b.attempt.outcome) ? "ran" : fmt::format("ended {}", core::to_text(b.attempt.outcome)));
    if (b.mode == "captured" && ran(b.attempt.outcome) && !b.which.empty() && is_fallback(b.which))
      out.lines.push_back(fmt::format("the graph holds the fallback {}: every replay takes it, whatever the switches are by then", b.which));
    if (!both) continue;
    if (!a.which.empty() && !b.which.empty() && a.which != b.which) out.difference += fmt::format("; in mode {} {}", b.mode, b.which);
    for (std::string& line : differences(a, b)) out.lines.push_back(std::move(line));
  }
  return out;
}

}  // namespace dd::session
