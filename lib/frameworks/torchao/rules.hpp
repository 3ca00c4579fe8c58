// What torchao's quantized layers ask before their kernel runs, and where a layer is silently left as it was.
#pragma once
#include <span>

#include "rules/rule.hpp"

namespace dd::frameworks::torchao {

std::span<const rules::Rule> int4_rules();         // scope torchao-int4
std::span<const rules::Rule> float8_rules();       // scope torchao-float8
std::span<const rules::Rule> safe_int_mm_rules();  // scope torchao-safe-int-mm: blocking rows leave the integer product

}  // namespace dd::frameworks::torchao
