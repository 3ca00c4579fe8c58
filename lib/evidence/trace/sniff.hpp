// Which kind of evidence a file is, from its first bytes.
#pragma once
#include <string_view>
namespace dd::evidence {
enum class FileKind : unsigned char { empty, json, sqlite, text, foreign };
// `head` is the beginning of the expanded content.
FileKind sniff(std::string_view head);
// What a foreign file seems to be and what to do with it.
std::string_view foreign_advice(std::string_view head);
}  // namespace dd::evidence
