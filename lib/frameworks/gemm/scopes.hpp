// Every rule table of matrix-product dispatch by its scope, which is the printable name of the backend it is about.
#pragma once
#include <span>
#include <string_view>

#include "rules/rule.hpp"

namespace dd::frameworks::gemm {

struct Scope {
  std::string_view name;                          // vllm-marlin
  std::span<const rules::Rule> (*rules)();
  // A call that this backend declines is served on a slower path by the same package, so a blocking row slows the call
  // rather than failing it.
  bool served_otherwise = false;
};

std::span<const Scope> all_scopes();
const Scope* find_scope(std::string_view name);

}  // namespace dd::frameworks::gemm
