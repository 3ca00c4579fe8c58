#include "evidence/kernels/mangled.hpp"

#include <algorithm>

#include "evidence/kernels/pattern.hpp"

namespace dd::evidence {
namespace {

// "16flash_fwd_kernel": a length and that many characters; empty when it is none.
std::string_view identifier_at(std::string_view text, std::size_t at, std::size_t& end) {
  std::size_t length = 0, digits = 0;
  for (; at + digits < text.size() && digits < 5 && is_digit(text[at + digits]); ++digits) length = length * 10 + static_cast<std::size_t>(text[at + digits] - '0');
  const std::size_t begin = at + digits;
  if (length == 0 || length > 1024 || begin >= text.size() || length > text.size() - begin || is_digit(text[begin])) return {};
  const std::string_view out = text.substr(begin, length);
  if (!std::all_of(out.begin(), out.end(), is_word)) return {};
  end = begin + length;
  return out;
}

// Behind "L": a number such as "i128E" or "b0E", whose digits are no length.
std::size_t skip_literal(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && (is_digit(text[end]) || (text[end] >= 'a' && text[end] <= 'z'))) ++end;
  return end < text.size() && text[end] == 'E' && end > at ? end : at;
}

// Behind "S" or "T": "_", "0_", "1A_", or one letter of a standard name.
std::size_t skip_substitution(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && (is_digit(text[end]) || (text[end] >= 'A' && text[end] <= 'Z'))) ++end;
  if (end < text.size() && text[end] == '_') return end + 1;
  return std::min(at + 1, text.size());
}

}  // namespace

std::string spelled_out(std::string_view mangled) {
  std::string out;
  bool adjacent = false;
  for (std::size_t at = mangled.starts_with("_Z") ? 2 : 0; at < mangled.size();) {
    const char c = mangled[at];
    std::size_t end = at;
    if (const std::string_view name = is_digit(c) ? identifier_at(mangled, at, end) : std::string_view{}; !name.empty()) {
      if (adjacent) out += "::";
      else if (!out.empty() && out.back() != '<') out += ", ";
      out += name == "_GLOBAL__N_1" ? std::string_view("(anonymous namespace)") : name;
      adjacent = true;
      at = end;
      continue;
    }
    adjacent = false;
    ++at;
    if (c == 'I' && !out.empty() && out.back() != '<') out += '<';
    else if (c == 'L') at = skip_literal(mangled, at);
    else if (c == 'S' || c == 'T') at = skip_substitution(mangled, at);
  }
  return out;
}

}  // namespace dd::evidence
