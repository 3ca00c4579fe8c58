// What cuBLASLt asks of a matrix product, as rule tables in the library's own column-major view (A is w, B is x).
// Pure: nothing here opens the library. `blocks` rows end in a status code, `slows` rows run on a slower kernel.
#pragma once
#include <span>

#include "rules/rule.hpp"

namespace dd::backends::cublaslt {

std::span<const rules::Rule> base_rules();      // scope cublaslt: every product
std::span<const rules::Rule> int8_rules();      // scope cublaslt-int8
std::span<const rules::Rule> fp8_rules();       // scope cublaslt-fp8
std::span<const rules::Rule> fp4_rules();       // scope cublaslt-fp4
std::span<const rules::Rule> epilogue_rules();  // scope cublaslt-epilogue
std::span<const rules::Rule> grouped_rules();   // scope cublaslt-grouped
// All of them in one row, as one product meets them.
std::span<const rules::Rule> all_rules();
// How this tool calls the library: what it passes over before the library is asked. Scope cublaslt.
std::span<const rules::Rule> call_rules();
// All that holds for a call of this tool: its own rows and the library's.
std::span<const rules::Rule> native_rules();

}  // namespace dd::backends::cublaslt
