// What PyTorch does between `x @ W` (and its relatives) and the library call: rule tables, one per operator. A product
// that a row slows still runs; a row that blocks raises an error unless the text says that another path takes over.
#pragma once
#include <span>

#include "rules/rule.hpp"

namespace dd::frameworks::torch_gemm {

// What the rows of these tables say again and again.
constexpr auto stops = rules::Level::blocks, slow = rules::Level::slows;
constexpr auto same = rules::Keeps::function, less_precise = rules::Keeps::precision;
constexpr rules::Source blas{"aten/src/ATen/native/cuda/Blas.cpp", "PyTorch 2.6.0", "2026-08-22"};

std::span<const rules::Rule> matmul_rules();            // scope torch-matmul: folding, broadcasting, types
std::span<const rules::Rule> mm_rules();                // scope torch-mm
std::span<const rules::Rule> mv_rules();                // scope torch-mv
std::span<const rules::Rule> bmm_rules();               // scope torch-bmm
std::span<const rules::Rule> dot_rules();               // scope torch-dot
std::span<const rules::Rule> addmm_lt_rules();          // scope torch-addmm-lt: bias fused by cuBLASLt
std::span<const rules::Rule> linear_rules();            // scope torch-linear
std::span<const rules::Rule> int_mm_rules();            // scope torch-int-mm
std::span<const rules::Rule> scaled_mm_rules();         // scope torch-scaled-mm
std::span<const rules::Rule> grouped_mm_rules();        // scope torch-grouped-mm
std::span<const rules::Rule> scaled_grouped_mm_rules(); // scope torch-scaled-grouped-mm
std::span<const rules::Rule> tinygemm_rules();          // scope torch-tinygemm-int4
std::span<const rules::Rule> cpu_int4pack_rules();      // scope torch-cpu-int4pack: torch-tinygemm-int4 on a processor
std::span<const rules::Rule> int8pack_rules();          // scope torch-int8pack
std::span<const rules::Rule> cpu_int_mm_rules();        // scope torch-cpu-int-mm: torch-int-mm on a processor
std::span<const rules::Rule> cpu_scaled_mm_rules();     // scope torch-cpu-scaled-mm: torch-scaled-mm on a processor
std::span<const rules::Rule> mkldnn_rules();            // scope torch-mkldnn

}  // namespace dd::frameworks::torch_gemm
