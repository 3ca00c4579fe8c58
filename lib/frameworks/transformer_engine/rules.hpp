// What Transformer Engine asks of a low-precision product before it calls cuBLASLt.
#pragma once
#include <span>

#include "rules/rule.hpp"

namespace dd::frameworks::transformer_engine {

std::span<const rules::Rule> fp8_rules();  // scope te-fp8

}  // namespace dd::frameworks::transformer_engine
