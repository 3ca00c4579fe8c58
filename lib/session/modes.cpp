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
  std::string line = fmt::format("mode {}: {}, {}", run.mode, core::to_text(a.outcome), run.which.empty() ? "backend not told by the evidence" : run.which);
  const report::Evidence& seen = a.evidence;
  // What a compiler left of the call says more than the operators that its wrapper happens to go through.
  const bool kernels = !seen.kernels.empty();
  const std::string names = first_names(kernels ? seen.kernels : seen.operators);
  if (!names.empty()) line += fmt::format(" ({}: {})", kernels ? "kernels" : "operators", names);
  for (const std::string& note : seen.notes)
    if (note.rfind("attention ", 0) == 0) line += ", " + note;
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

}  // namespace

std::vector<std::string> compare_modes(const std::vector<ModeRun>& runs, const std::function<bool(const std::string&)>& is_fallback) {
  std::vector<std::string> out;
  if (runs.size() < 2) return out;
  for (const ModeRun& run : runs) out.push_back(line_of(run));
  const ModeRun& a = runs.front();
  for (std::size_t i = 1; i < runs.size(); ++i) {
    const ModeRun& b = runs[i];
    if (!ran(b.attempt.outcome)) continue;
    if (b.mode == "captured" && !b.which.empty() && is_fallback(b.which))
      out.push_back(fmt::format("the graph holds the fallback {}: every replay takes it, whatever the switches are by then", b.which));
    if (!ran(a.attempt.outcome)) continue;
    if (!a.which.empty() && !b.which.empty() && a.which != b.which)
      out.push_back(fmt::format("{} takes {}, {} takes {}: what holds for one mode does not hold for the other", a.mode, a.which, b.mode, b.which));
    const std::string here = device_kernels(a.attempt), there = device_kernels(b.attempt);
    if (!here.empty() && !there.empty() && here != there) out.push_back(fmt::format("device kernels differ: {} launches {}, {} launches {}", a.mode, here, b.mode, there));
  }
  return out;
}

}  // namespace dd::session
