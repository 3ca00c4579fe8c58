// White space of JSON.
#pragma once

namespace dd::evidence {

inline bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace dd::evidence
