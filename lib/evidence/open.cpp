#include "evidence/open.hpp"

#include "evidence/logs/logs.hpp"
#include "evidence/trace/nsys.hpp"
#include "evidence/trace/sniff.hpp"

namespace dd::evidence {

core::Result<TraceAnswer> answer_file(const std::string& path, const OpenOptions& options) {
  auto source = open_source(path, options.limit);
  if (!source) return source.problems();
  Losses losses;
  std::string head(4096, 0);
  head.resize((*source)->read(head.data(), head.size(), losses));
  const FileKind kind = sniff(head);
  Trace trace;
  trace.file = path;
  if (kind == FileKind::sqlite) {
    auto expanded = ExpandedFile::make(path, trace.losses, options.limit);
    if (!expanded) return expanded.problems();
    read_nsys(expanded->path(), trace, options.progress);
    return answer_trace(trace, options.answer);
  }
  source = open_source(path, options.limit);  // from the start again
  if (!source) return source.problems();
  if (kind == FileKind::text) return answer_log(**source, path);
  read_kineto(**source, trace, options.progress);
  return answer_trace(trace, options.answer);
}

}  // namespace dd::evidence
