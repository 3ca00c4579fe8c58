#include "evidence/trace/sniff.hpp"
namespace dd::evidence {

FileKind sniff(std::string_view head) {
  if (head.starts_with("SQLite format 3")) return FileKind::sqlite;
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  std::size_t at = 0;
  while (at < head.size() && (head[at] == ' ' || head[at] == '\n' || head[at] == '\r' || head[at] == '\t')) ++at;
  if (at == head.size()) return FileKind::empty;
  if (head[at] == '{') return FileKind::json;
  if (head[at] != '[') return FileKind::text;
  // A list of events, or a log line in brackets?
  for (++at; at < head.size() && (head[at] == ' ' || head[at] == '\n' || head[at] == '\r' || head[at] == '\t');) ++at;
  return at == head.size() || head[at] == '{' || head[at] == ']' ? FileKind::json : FileKind::text;
}

}  // namespace dd::evidence
