#include "evidence/open.hpp"

#include "evidence/logs/logs.hpp"
#include "evidence/trace/nsys.hpp"
#include "evidence/trace/sniff.hpp"

namespace dd::evidence {
namespace {

std::string head_of(ByteSource& source) {
  Losses ignored;
  std::string head(4096, 0);
  std::size_t size = 0;
  while (size < head.size()) {
    const std::size_t got = source.read(head.data() + size, head.size() - size, ignored);
    if (got == 0) break;
    size += got;
  }
  head.resize(size);
  return head;
}

TraceAnswer answer_json(ByteSource& source, const std::string& name, const OpenOptions& options) {
  Trace trace;
  trace.file = name;
  read_kineto(source, trace, options.progress);
  return answer_trace(trace, options.answer);
}

// Our own reports are JSON too; they begin with a key that no trace has.
bool looks_like_report(const std::string& head) { return head.find("\"schema_version\"") != std::string::npos && head.find("\"traceEvents\"") == std::string::npos; }

}  // namespace

core::Result<TraceAnswer> answer_file(const std::string& path, const OpenOptions& options) {
  auto source = open_source(path, options.limit);
  if (!source) return source.problems();
  const FileKind kind = sniff(head_of(**source));
  if (kind == FileKind::sqlite) {
    Trace trace;
    trace.file = path;
    auto expanded = ExpandedFile::make(path, trace.losses, options.limit);
    if (!expanded) return expanded.problems();
    read_nsys(expanded->path(), trace, options.progress);
    return answer_trace(trace, options.answer);
  }
  source = open_source(path, options.limit);  // from the start again
  if (!source) return source.problems();
  if (kind == FileKind::text) return answer_log(**source, path);
  return answer_json(**source, path, options);
}

TraceAnswer answer_memory(std::string_view bytes, const std::string& name, const OpenOptions& options) {
  const FileKind kind = sniff(head_of(*memory_source(bytes, options.limit)));
  const auto source = memory_source(bytes, options.limit);
  if (kind == FileKind::json) return answer_json(*source, name, options);
  TraceAnswer answer = answer_log(*source, name);
  if (kind == FileKind::sqlite) {
    answer.partial = true;
    answer.warnings.push_back("an SQLite export must be given as a file");
  }
  return answer;
}

core::Result<Difference> compare_files(const std::string& a, const std::string& b, const OpenOptions& options) {
  const auto report = [&](const std::string& path) {
    const auto source = open_source(path, options.limit);
    return source && looks_like_report(head_of(**source));
  };
  const bool left = report(a), right = report(b);
  if (left && right) return compare_reports(a, b);
  if (left != right)
    return core::Problem{.field = "FILE", .seen = left ? b : a, .wanted = "two reports, or two traces or logs", .message = "one file is a report and the other is not", .file = {}};
  auto x = answer_file(a, options), y = answer_file(b, options);
  core::Problems problems;
  if (!x) problems.insert(problems.end(), x.problems().begin(), x.problems().end());
  if (!y) problems.insert(problems.end(), y.problems().begin(), y.problems().end());
  if (!problems.empty()) return problems;
  return compare(*x, *y);
}

}  // namespace dd::evidence
