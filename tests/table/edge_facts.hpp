// Brings one leaf of a condition to each side of its boundary while the rest of the condition lets the leaf decide.
#pragma once
#include <vector>

#include "rules/rule.hpp"

namespace dd::test {

// Every leaf below a condition, with the parity of unless() above it.
inline void collect_leaves(const rules::Condition& c, bool negated, std::vector<rules::Leaf>& out) {
  switch (c.kind) {
    case rules::Kind::all:
    case rules::Kind::any:
      for (const rules::Condition& part : c.parts) collect_leaves(part, negated, out);
      break;
    case rules::Kind::unless: collect_leaves(c.parts[0], !negated, out); break;
    case rules::Kind::always:
    case rules::Kind::never: break;
    default: out.push_back({&c, negated});
  }
}

inline std::vector<rules::Leaf> leaves_of(const rules::Condition& c) {
  std::vector<rules::Leaf> out;
  collect_leaves(c, false, out);
  return out;
}

}  // namespace dd::test
