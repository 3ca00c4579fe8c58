#include "frameworks/gemm/scopes.hpp"

#include "backends/cublas/rules.hpp"
#include "backends/cublaslt/rules.hpp"
#include "frameworks/bitsandbytes/rules.hpp"
#include "frameworks/ggml/rules.hpp"
#include "frameworks/quantizers/rules.hpp"
#include "frameworks/torch_gemm/rules.hpp"
#include "frameworks/torchao/rules.hpp"
#include "frameworks/transformer_engine/rules.hpp"
#include "frameworks/vllm/rules.hpp"

namespace dd::frameworks::gemm {
namespace {

namespace lt = backends::cublaslt;
namespace cu = backends::cublas;

constexpr Scope scopes[] = {
    {"cublaslt", lt::base_rules},
    {"cublaslt-int8", lt::int8_rules},
    {"cublaslt-fp8", lt::fp8_rules},
    {"cublaslt-fp4", lt::fp4_rules},
    {"cublaslt-epilogue", lt::epilogue_rules},
    {"cublaslt-grouped", lt::grouped_rules},
    {"cublas", cu::library_rules},
    {"cublas-emulation", cu::emulation_rules},
    {"te-fp8", transformer_engine::fp8_rules},
    {"torch-matmul", torch_gemm::matmul_rules},
    {"torch-mm", torch_gemm::mm_rules},
    {"torch-mv", torch_gemm::mv_rules},
    {"torch-bmm", torch_gemm::bmm_rules},
    {"torch-dot", torch_gemm::dot_rules},
    {"torch-addmm-lt", torch_gemm::addmm_lt_rules, true},
    {"torch-linear", torch_gemm::linear_rules},
    {"torch-int-mm", torch_gemm::int_mm_rules},
    {"torch-scaled-mm", torch_gemm::scaled_mm_rules},
    {"torch-grouped-mm", torch_gemm::grouped_mm_rules},
    {"torch-scaled-grouped-mm", torch_gemm::scaled_grouped_mm_rules},
    {"torch-tinygemm-int4", torch_gemm::tinygemm_rules},
    {"torch-cpu-int4pack", torch_gemm::cpu_int4pack_rules},
    {"torch-int8pack", torch_gemm::int8pack_rules},
    {"torch-cpu-int-mm", torch_gemm::cpu_int_mm_rules},
    {"torch-cpu-scaled-mm", torch_gemm::cpu_scaled_mm_rules},
    {"torch-mkldnn", torch_gemm::mkldnn_rules, true},
    {"vllm-mp-select", vllm::selection},
    {"vllm-machete", vllm::machete},
    {"vllm-cutlass-w4a8", vllm::cutlass_w4a8},
    {"vllm-allspark", vllm::allspark},
    {"vllm-marlin", vllm::marlin},
    {"vllm-conch", vllm::conch},
    {"vllm-exllama", vllm::exllama},
    {"vllm-triton-w4a16", vllm::triton_w4a16},
    {"vllm-humming", vllm::humming},
    {"vllm-dynamic-4bit", vllm::dynamic_4bit},
    {"vllm-cpu-wna16", vllm::cpu_wna16},
    {"vllm-gptq", vllm::gptq},
    {"vllm-gptq-legacy", vllm::gptq_legacy},
    {"vllm-awq", vllm::awq},
    {"vllm-awq-plain", vllm::awq_plain},
    {"vllm-fp8-marlin", vllm::fp8_marlin},
    {"vllm-fp8-flashinfer", vllm::fp8_flashinfer},
    {"vllm-fp8-cutlass", vllm::fp8_cutlass},
    {"vllm-fp8-torch", vllm::fp8_torch},
    {"vllm-fp8-block-deepgemm", vllm::fp8_block_deepgemm},
    {"vllm-fp8-block-cutlass", vllm::fp8_block_cutlass},
    {"vllm-fp8-block-torch", vllm::fp8_block_torch},
    {"vllm-fp8-block-triton", vllm::fp8_block_triton},
    {"vllm-mxfp4-native", vllm::mxfp4_native},
    {"vllm-int8-cutlass", vllm::int8_cutlass},
    {"vllm-nvfp4-flashinfer", vllm::nvfp4_flashinfer},
    {"vllm-nvfp4-cutlass", vllm::nvfp4_cutlass},
    {"vllm-nvfp4-marlin", vllm::nvfp4_marlin},
    {"vllm-nvfp4-emulation", vllm::nvfp4_emulation},
    {"bnb-4bit", bitsandbytes::four_bit_rules, true},
    {"bnb-int8", bitsandbytes::int8_rules},
    {"torchao-int4", torchao::int4_rules},
    {"torchao-float8", torchao::float8_rules},
    {"torchao-safe-int-mm", torchao::safe_int_mm_rules, true},
    {"autoawq-gemm", quantizers::autoawq_gemm},
    {"gptqmodel-machete", quantizers::gptqmodel_machete},
    {"gptqmodel-marlin", quantizers::gptqmodel_marlin},
    {"gptqmodel-exllamav2", quantizers::gptqmodel_exllamav2},
    {"gptqmodel-triton", quantizers::gptqmodel_triton},
    {"gptqmodel-torch", quantizers::gptqmodel_torch},
    {"onnxruntime-matmulnbits", quantizers::onnxruntime},
    {"marlin-original", quantizers::marlin_original},
    {"tensorrt-llm-weight-only", quantizers::tensorrt_llm},
    {"ggml-mmvf", ggml::mmvf_rules, true},
    {"ggml-mmf", ggml::mmf_rules, true},
    {"ggml-mmvq", ggml::mmvq_rules, true},
    {"ggml-mmq", ggml::mmq_rules, true},
    {"ggml-cublas", ggml::cublas_rules},
    {"ggml-mmvq-id", ggml::experts_vector_rules, true},
    {"ggml-mmf-id", ggml::experts_float_rules, true},
    {"ggml-sorted-experts", ggml::sorted_experts_rules},
    {"ggml-quantize", ggml::quantize_rules},
    {"ggml-fattn", ggml::attention_rules},
    {"ggml-unfused-attention", ggml::unfused_attention_rules},
};

}  // namespace

std::span<const Scope> all_scopes() { return scopes; }

const Scope* find_scope(std::string_view name) {
  for (const Scope& scope : scopes)
    if (scope.name == name) return &scope;
  return nullptr;
}

}  // namespace dd::frameworks::gemm
