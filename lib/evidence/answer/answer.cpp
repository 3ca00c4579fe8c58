#include "evidence/answer/answer.hpp"

#include <algorithm>

#include "evidence/answer/work.hpp"
#include "evidence/trace/source.hpp"
#include "fmt/format.h"

namespace dd::evidence {
namespace {

// A Chrome trace, but whose? What was understood, and what there is.
std::string foreign_text(const Trace& trace) {
  std::vector<std::pair<std::uint64_t, std::string>> kinds;
  for (const auto& [category, count] : trace.other_events) kinds.emplace_back(count, category);
  std::sort(kinds.rbegin(), kinds.rend());
  std::string list;
  for (std::size_t i = 0; i < kinds.size() && i < 5; ++i) list += fmt::format("{}{} {}", i > 0 ? ", " : "", kinds[i].first, kinds[i].second);
  return fmt::format("a Chrome trace, but not of the torch profiler: no operator, launch or kernel event in {} events ({}){}", trace.events, list,
                     trace.named_kernels > 0 ? fmt::format("; {} events have the names of known kernels and are judged by name", trace.named_kernels) : "");
}

void add_warnings(const Trace& trace, TraceAnswer& answer) {
  const Losses& lost = trace.losses;
  const auto warn = [&](bool when, std::string text) {
    if (when) answer.warnings.push_back(std::move(text));
  };
  warn(lost.compression_error, "the compressed data is damaged: everything behind that point is lost");
  warn(lost.bomb, fmt::format("the file expands more than {} times: reading stopped after {} bytes", ExpandLimit{}.ratio, trace.text_bytes));
  warn(lost.truncated && !lost.bomb, fmt::format("the file ends in the middle: what came behind byte {} is lost", trace.text_bytes));
  warn(lost.damaged_events > 0, fmt::format("{} events could not be read and are lost", lost.damaged_events));
  warn(lost.repaired_events > 0, fmt::format("{} events are no valid JSON and were read leniently", lost.repaired_events));
  warn(lost.oversized_events > 0, fmt::format("{} events or header values larger than {} bytes were skipped", lost.oversized_events, 4u << 20));
  warn(lost.odd_numbers > 0, fmt::format("{} events have times that are no numbers or out of range and are lost", lost.odd_numbers));
  warn(lost.broken_rows > 0, fmt::format("{} rows of the database could not be read and are lost", lost.broken_rows));
  warn(!lost.detail.empty(), lost.detail);
  warn(trace.events == 0 && trace.gpu.empty() && trace.ops.empty(), "the file holds no event");
  if (trace.format == TraceFormat::chrome_json) answer.warnings.push_back(foreign_text(trace));
  answer.partial = lost.any() || trace.format == TraceFormat::chrome_json || (trace.events == 0 && trace.gpu.empty() && trace.ops.empty());
}

}  // namespace

TraceAnswer answer_trace(Trace& trace, const AnswerOptions&) {
  TraceAnswer answer;
  answer.file = trace.file;
  answer.format = trace.format == TraceFormat::nsys_sqlite ? "nsys-sqlite" : trace.format == TraceFormat::chrome_json ? "chrome-trace" : "kineto-json";
  answer.header = trace.header;
  answer.devices = trace.devices;
  answer.other_events = trace.other_events;
  add_warnings(trace, answer);
  Work work(trace, answer);
  answer.linking = work.links.summary;
  answer.has_operators = trace.has_op_records;
  answer.on_processor = trace.gpu.empty() && trace.calls.empty() && trace.devices.empty();
  count_events(work);
  group_products(work);
  group_attention(work);
  find_written_out(work);
  judge(work);
  std::stable_sort(answer.kernels.begin(), answer.kernels.end(), [](const auto& a, const auto& b) { return a.us > b.us; });
  add_findings(answer, trace);
  add_specs(answer);
  return answer;
}

}  // namespace dd::evidence
