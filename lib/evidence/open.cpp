#include "evidence/open.hpp"

#include "evidence/logs/logs.hpp"
#include "evidence/trace/nsys.hpp"
#include "evidence/trace/sniff.hpp"

namespace dd::evidence {
namespace {

constexpr std::size_t head_bytes = 4096;

// Our own reports are JSON too; they begin with a key that no trace has.
bool is_report(std::string_view head) { return head.find("\"schema_version\"") != std::string_view::npos && head.find("\"traceEvents\"") == std::string_view::npos; }

// What torch's ExecutionTraceObserver writes: operators with their inputs, but no times and no kernels.
bool is_execution_trace(std::string_view head) { return head.find("\"schema\"") != std::string_view::npos && head.find("\"nodes\"") != std::string_view::npos && head.find("\"ctrl_deps\"") != std::string_view::npos; }

TraceAnswer unreadable(const std::string& name, std::string warning) {
  TraceAnswer out;
  out.file = name;
  out.format = "unknown";
  out.partial = true;
  out.warnings.push_back(std::move(warning));
  return out;
}

core::Result<TraceAnswer> answer_source(PeekSource& source, const std::string& name, const OpenOptions& options) {
  const std::string_view head = source.peek(head_bytes);
  Trace trace;
  trace.file = name;
  switch (sniff(head)) {
    case FileKind::sqlite: {
      auto expanded = ExpandedFile::make(source, name, trace.losses);
      if (!expanded) return expanded.problems();
      read_nsys(expanded->path(), trace, options.progress);
      return answer_trace(trace, options.answer);
    }
    case FileKind::json:
      if (is_report(head)) return unreadable(name, "this is a report of dispatchdoctor, not a trace: compare two of them with diff");
      if (is_execution_trace(head)) return unreadable(name, "this is an execution trace (graph of operators), which holds no kernels: export the profiler's Chrome trace instead");
      read_kineto(source, trace, options.progress);
      return answer_trace(trace, options.answer);
    case FileKind::foreign: return unreadable(name, std::string(foreign_advice(head)));
    case FileKind::empty:
    case FileKind::text: break;
  }
  return answer_log(source, name);
}

}  // namespace

core::Result<TraceAnswer> answer_file(const std::string& path, const OpenOptions& options) {
  auto source = open_source(path, options.limit);
  if (!source) return source.problems();
  return answer_source(**source, path, options);
}

TraceAnswer answer_memory(std::string_view bytes, const std::string& name, const OpenOptions& options) {
  auto answer = answer_source(*memory_source(bytes, options.limit), name, options);
  return answer ? *std::move(answer) : unreadable(name, to_text(answer.problems().front()));
}

namespace {

// Reports are read whole; larger ones than this are none that the tool wrote.
std::string whole(PeekSource& source) {
  constexpr std::size_t most = 512u << 20;
  std::string out, buffer(64 * 1024, 0);
  Losses ignored;
  for (std::size_t got = source.read(buffer.data(), buffer.size(), ignored); got > 0 && out.size() < most; got = source.read(buffer.data(), buffer.size(), ignored))
    out.append(buffer, 0, got);
  return out;
}

}  // namespace

core::Result<Difference> compare_files(const std::string& a, const std::string& b, const OpenOptions& options) {
  auto left = open_source(a, options.limit), right = open_source(b, options.limit);
  core::Problems problems;
  for (const auto* each : {&left, &right})
    if (!*each) problems.insert(problems.end(), each->problems().begin(), each->problems().end());
  if (!problems.empty()) return problems;
  const bool reports[] = {is_report((*left)->peek(head_bytes)), is_report((*right)->peek(head_bytes))};
  if (reports[0] != reports[1])
    return core::Problem{.field = "FILE", .seen = reports[0] ? b : a, .wanted = "two reports, or two traces or logs", .message = "one file is a report and the other is not", .file = {}};
  if (reports[0]) return compare_reports({a, whole(**left)}, {b, whole(**right)});
  auto x = answer_source(**left, a, options), y = answer_source(**right, b, options);
  for (const auto* each : {&x, &y})
    if (!*each) problems.insert(problems.end(), each->problems().begin(), each->problems().end());
  if (!problems.empty()) return problems;
  for (const auto* each : {&x, &y})
    if ((*each)->format == "unknown")
      return core::Problem{.field = "FILE", .seen = (*each)->file, .wanted = "two reports, or two traces or logs", .message = (*each)->warnings.empty() ? "cannot be read as evidence" : (*each)->warnings.front(), .file = {}};
  return compare(*x, *y);
}

}  // namespace dd::evidence
