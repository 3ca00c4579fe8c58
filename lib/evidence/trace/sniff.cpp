#include "evidence/trace/sniff.hpp"

#include <array>
#include <cstdint>
#include <utility>

#include "evidence/trace/space.hpp"

namespace dd::evidence {
namespace {

// Logs hold the odd control character (colours, bells); a file with zero bytes or many others is no text.
bool is_binary(std::string_view head) {
  std::size_t odd = 0;
  for (const char c : head.substr(0, 1024)) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (byte == 0) return true;
    odd += byte < 0x20 && !is_space(c) && byte != 0x1b && byte != 0x08 && byte != 0x0c ? 1 : 0;
  }
  return odd * 20 > head.substr(0, 1024).size();
}

struct Magic {
  std::string_view bytes, advice;
};
constexpr std::array<Magic, 9> known = {{
    {"\x28\xb5\x2f\xfd", "the file is packed with zstd: unpack it first (zstd -d)"},
    {"\xfd" "7zXZ", "the file is packed with xz: unpack it first (xz -d)"},
    {"BZh", "the file is packed with bzip2: unpack it first (bzip2 -d)"},
    {"\x04\x22\x4d\x18", "the file is packed with lz4: unpack it first (lz4 -d)"},
    {"PK\x03\x04", "the file is a zip archive: take the trace out of it first"},
    {"\x1f\x8b", "the file is packed with gzip too many times over"},
    {"7z\xbc\xaf", "the file is a 7z archive: take the trace out of it first"},
    {"NVR", "the file looks like a report of Nsight Compute: copy kernel names out of it and give them with --kernel"},
    {"\x80\x04", "the file looks like a Python pickle (a memory snapshot?): export a Chrome trace instead"},
}};

}  // namespace

FileKind sniff(std::string_view head) {
  if (head.starts_with("SQLite format 3")) return FileKind::sqlite;
  if (head.starts_with("\xef\xbb\xbf")) head.remove_prefix(3);
  std::size_t at = 0;
  while (at < head.size() && is_space(head[at])) ++at;
  if (at == head.size()) return FileKind::empty;
  if (head[at] == '{') return FileKind::json;
  if (head[at] == '[') {
    // A list of events, or a log line in brackets?
    for (++at; at < head.size() && is_space(head[at]);) ++at;
    if (at == head.size() || head[at] == '{' || head[at] == ']') return FileKind::json;
  }
  for (const Magic& each : known)
    if (each.bytes != "NVR" && each.bytes != "BZh" && head.starts_with(each.bytes)) return FileKind::foreign;
  return is_binary(head) ? FileKind::foreign : FileKind::text;
}

std::string_view foreign_advice(std::string_view head) {
  for (const Magic& each : known)
    if (head.starts_with(each.bytes)) return each.advice;
  return "the file is binary, and neither gzip nor an SQLite export: of Nsight Systems give the SQLite export (nsys export --type sqlite), "
         "of Perfetto, XProf and others the Chrome trace in JSON";
}

}  // namespace dd::evidence
