#include "core/result.hpp"

#include <fmt/format.h>

namespace dd::core {

std::string to_text(const Problem& p) {
  std::string out;
  if (!p.file.empty()) out += p.line > 0 ? fmt::format("{}:{}: ", p.file, p.line) : fmt::format("{}: ", p.file);
  if (!p.field.empty()) out += p.field + ": ";
  out += p.message;
  if (!p.seen.empty() && !p.wanted.empty()) {
    out += fmt::format(" (seen {}, wanted {})", p.seen, p.wanted);
  } else if (!p.seen.empty()) {
    out += fmt::format(" (seen {})", p.seen);
  } else if (!p.wanted.empty()) {
    out += fmt::format(" (wanted {})", p.wanted);
  }
  return out;
}

}  // namespace dd::core
