#include "evidence/open.hpp"

#include "evidence/trace/sniff.hpp"

namespace dd::evidence {

core::Result<TraceAnswer> answer_file(const std::string& path, const OpenOptions& options) {
  auto source = open_source(path, options.limit);
  if (!source) return source.problems();
  Trace trace;
  trace.file = path;
  read_kineto(**source, trace, options.progress);
  return answer_trace(trace, options.answer);
}

}  // namespace dd::evidence
