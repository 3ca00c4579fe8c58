// What the handle API of cuBLAS (GemmEx and its relatives) asks of a matrix product, and when its emulated compute
// types are really used. Rule tables in the library's column-major view (A is w, B is x). Pure.
#pragma once
#include <span>

#include "rules/rule.hpp"

namespace dd::backends::cublas {

std::span<const rules::Rule> gemm_rules();       // scope cublas
std::span<const rules::Rule> emulation_rules();  // scope cublas-emulation
// How this tool calls the library: what it passes over before the library is asked. Scope cublas.
std::span<const rules::Rule> call_rules();
// What any program meets that calls the library.
std::span<const rules::Rule> library_rules();
// All that holds for a call of this tool: its own rows and the library's.
std::span<const rules::Rule> native_rules();

}  // namespace dd::backends::cublas
