#include "evidence/logs/lines.hpp"

#include <algorithm>

#include "evidence/logs/logs.hpp"
#include "fmt/format.h"

namespace dd::evidence {
namespace {

constexpr std::size_t most_operations = 100, most_fields = 14, most_remarks_kept = 20;

std::string detail_of(const CallGroup& call) {
  std::string out;
  const auto add = [&](std::string_view text) {
    if (!text.empty()) out += fmt::format("{}{}", out.empty() ? "" : ", ", text);
  };
  add(call.implementation);
  add(call.problem);
  add(call.attributes);
  std::size_t shown = 0;
  for (const auto& [name, value] : call.fields)
    if (!value.empty() && shown++ < most_fields) add(fmt::format("{} {}", name, value));
  return out;
}

}  // namespace

void add_log_lines(std::string_view lines, report::Evidence& evidence) {
  if (lines.empty()) return;
  const auto source = memory_source(lines);
  const TraceAnswer answer = answer_log(*source, "callback");
  std::size_t left = most_operations;
  for (const CallGroup& call : answer.calls) {
    if (left == 0) break;
    --left;
    evidence.library_calls.push_back({call.function.empty() ? call.library : call.function, detail_of(call), "library log", static_cast<std::int64_t>(call.count), std::nullopt});
  }
  // Calls that carry no problem of their own: handles, descriptors, heuristics.
  constexpr std::string_view prefix = "call ";
  for (const auto& [line, count] : answer.log_lines) {
    if (left == 0 || !line.starts_with(prefix)) continue;
    const std::string name = line.substr(prefix.size());
    const bool listed = std::any_of(answer.calls.begin(), answer.calls.end(), [&](const CallGroup& c) { return c.function == name; });
    if (listed) continue;
    --left;
    evidence.library_calls.push_back({name, {}, "library log", static_cast<std::int64_t>(count), std::nullopt});
  }
  if (left == 0) evidence.notes.push_back(fmt::format("more than {} kinds of library calls: the rest is not listed", most_operations));
  for (std::size_t i = 0; i < answer.remarks.size() && i < most_remarks_kept; ++i) evidence.notes.push_back("library log: " + answer.remarks[i]);
}

}  // namespace dd::evidence
