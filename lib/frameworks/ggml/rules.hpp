// How ggml (llama.cpp) picks a CUDA kernel for mul_mat and mul_mat_id, and what its flash attention asks. A blocking row passes the
// kernel over; the last candidate dequantizes the weight and calls cuBLAS.
#pragma once
#include <span>
#include <string_view>

#include "rules/rule.hpp"

namespace dd::frameworks::ggml {

std::span<const rules::Rule> mmvf_rules();    // float weights, few columns
std::span<const rules::Rule> mmf_rules();     // float weights, up to 16 columns
std::span<const rules::Rule> mmvq_rules();    // quantized weights, few columns
std::span<const rules::Rule> mmq_rules();     // quantized weights, any number of columns
std::span<const rules::Rule> cublas_rules();  // what is left
std::span<const rules::Rule> experts_vector_rules();  // mul_mat_id: quantized, few tokens
std::span<const rules::Rule> experts_float_rules();   // mul_mat_id: float weights
std::span<const rules::Rule> sorted_experts_rules();  // mul_mat_id: what is left
std::span<const rules::Rule> quantize_rules();  // which format a tensor is stored in
std::span<const rules::Rule> attention_rules();
std::span<const rules::Rule> unfused_attention_rules();

std::int64_t mmvq_columns(std::string_view quant_type, std::int64_t compute_capability);
std::int64_t experts_columns(std::string_view quant_type, std::int64_t compute_capability);  // of mul_mat_id

}  // namespace dd::frameworks::ggml
