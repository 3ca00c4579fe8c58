// Internal to ops: error texts. Functions of ops never throw; memory exhaustion and bad problems come back as text.
#pragma once
#include <new>
#include <string>
#include <vector>

namespace dd::ops::detail {

// All errors in one text; empty when there is none.
inline std::string joined(const std::vector<std::string>& errors) {
  std::string text;
  for (const auto& error : errors) text += (text.empty() ? "" : "; ") + error;
  return text;
}

// Runs `body` (returns an error text); running out of memory becomes one too.
template <class F>
std::string guarded(F body) {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return "not enough memory";
  }
}

}  // namespace dd::ops::detail
