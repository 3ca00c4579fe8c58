#include "backends/catalogue.hpp"

#include <array>

#include "backends/backend.hpp"
#include "backends/common/device_blas.hpp"
#include "backends/cublas/rules.hpp"
#include "backends/cublaslt/rules.hpp"
#include "backends/cuda_runtime/environment.hpp"
#include "backends/libraries/onednn.hpp"
#include "backends/libraries/openblas.hpp"
#include "backends/tables.hpp"
#include "dispatch/asked.hpp"
#include "dispatch/dispatch.hpp"
#include "evidence/answer/rules.hpp"
#include "frameworks/framework.hpp"
#include "frameworks/torch/environment.hpp"

namespace dd::backends {
namespace {

Availability always_there() { return {true, "part of this tool", {}}; }

// Default order within an operator: fast paths first, plain loops last. For dense products oneDNN comes first because it
// works on bf16 and 8-bit integers as they are and is the faster of the two for larger f32 products; small ones are
// OpenBLAS' (cpu-blas/README.md has the figures), f64 is by rule.
const std::array<Backend, 19>& table() {
  static const std::array<Backend, 19> rows = {{
      {.name = "cpu-flash", .op = spec::Op::sdpa, .summary = "tiles with an online softmax; never stores the scores",
       .library = "own code", .fast = true, .rank = 10, .rules = cpu_flash::rules, .probe = always_there,
       .extra_bytes = cpu_flash::extra_bytes, .run = cpu_flash::run},
      {.name = "cpu-math", .op = spec::Op::sdpa, .summary = "two BLAS products and a softmax over stored scores",
       .library = "OpenBLAS, or own products without it", .rank = 20, .rules = cpu_math::rules, .probe = always_there,
       .add_facts = add_openblas_facts, .extra_bytes = cpu_math::extra_bytes, .run = cpu_math::run},
      {.name = "cpu-naive", .op = spec::Op::sdpa, .summary = "plain loops, any element type", .library = "own code", .rank = 90,
       .rules = cpu_naive::attention_rules, .probe = always_there, .extra_bytes = cpu_naive::extra_bytes, .run = cpu_naive::run},
      {.name = "cpu-onednn", .op = spec::Op::gemm, .summary = "oneDNN matmul in f32, bf16 and 8-bit integers with fused epilogues",
       .library = "oneDNN", .fast = true, .rank = 10, .rules = cpu_onednn::rules, .probe = cpu_onednn::probe,
       .add_facts = add_onednn_facts, .extra_bytes = cpu_onednn::extra_bytes, .run = cpu_onednn::run},
      {.name = "cpu-blas", .op = spec::Op::gemm, .summary = "OpenBLAS products in f32 and f64; other float types are cast",
       .library = "OpenBLAS", .fast = true, .rank = 20, .rank_for = cpu_blas::rank_for, .rules = cpu_blas::rules, .probe = cpu_blas::probe,
       .add_facts = add_openblas_facts, .extra_bytes = cpu_blas::extra_bytes, .run = cpu_blas::run},
      {.name = "cpu-packed", .op = spec::Op::gemm, .summary = "multiplies packed 8- and 4-bit weights as they lie",
       .library = "own code", .quantized = true, .dense = false, .fast = true, .rank = 10, .rules = cpu_packed::rules,
       .probe = always_there, .extra_bytes = cpu_packed::extra_bytes, .run = cpu_packed::run},
      {.name = "cpu-dequant", .op = spec::Op::gemm, .summary = "writes the dequantized weights, then a BLAS product",
       .library = "OpenBLAS, or own products without it", .quantized = true, .dense = false, .rank = 20,
       .rules = cpu_dequant::rules, .probe = always_there, .add_facts = add_openblas_facts,
       .extra_bytes = cpu_dequant::extra_bytes, .run = cpu_dequant::run},
      {.name = "cpu-naive", .op = spec::Op::gemm, .summary = "plain loops, any element type, quantized or not",
       .library = "own code", .quantized = true, .dense = true, .rank = 90, .rules = cpu_naive::gemm_rules, .probe = always_there,
       .extra_bytes = cpu_naive::extra_bytes, .run = cpu_naive::run},
      {.name = "cudnn", .op = spec::Op::sdpa, .summary = "cuDNN's fused attention graph; its heuristics pick the engine", .library = "cuDNN", .device = "cuda",
       .fast = true, .rank = 5, .rules = cudnn_attention::rules, .probe = cudnn_attention::probe, .add_facts = cudnn_attention::add_facts,
       .extra_bytes = cudnn_attention::extra_bytes, .run = cudnn_attention::run},
      {.name = "cuda-flash", .op = spec::Op::sdpa, .summary = "our own fused kernel on tensor cores; never stores the scores",
       .library = "own code", .device = "cuda", .fast = true, .rank = 10, .rules = cuda_flash::rules, .probe = own_kernels_available, .add_facts = add_device_facts,
       .extra_bytes = cuda_flash::extra_bytes, .run = cuda_flash::run},
      {.name = "cuda-math", .op = spec::Op::sdpa, .summary = "two cuBLAS products and our own softmax over stored scores", .library = "cuBLAS", .device = "cuda", .rank = 20,
       .rules = cuda_math::rules, .probe = own_kernels_and_cublas, .add_facts = add_cublas_facts, .add_call_facts = cuda_math::add_call_facts,
       .extra_bytes = cuda_math::extra_bytes, .run = cuda_math::run},
      {.name = "cuda-naive", .op = spec::Op::sdpa, .summary = "straight loops on the device, f64, f32, f16 and bf16", .library = "own code",
       .device = "cuda", .rank = 90, .rules = cuda_naive::attention_rules, .probe = own_kernels_available, .add_facts = add_device_facts,
       .extra_bytes = cuda_naive::extra_bytes, .run = cuda_naive::run_attention},
      {.name = "cublaslt", .op = spec::Op::gemm, .summary = "cuBLASLt matmul with fused epilogues, narrow floats and integers", .library = "cuBLASLt", .device = "cuda",
       .fast = true, .rank = 10, .rules = cublaslt::call_rules, .all_rules = cublaslt::native_rules, .probe = cublaslt_available, .add_facts = add_cublas_facts,
       .add_call_facts = add_blas_facts, .extra_bytes = cublaslt::extra_bytes, .run = cublaslt::run},
      {.name = "cublas", .op = spec::Op::gemm, .summary = "cuBLAS GemmEx, plain or as a strided batch", .library = "cuBLAS", .device = "cuda", .fast = true, .rank = 20,
       .rules = cublas::call_rules, .all_rules = cublas::native_rules, .probe = cublas_available, .add_facts = add_cublas_facts, .add_call_facts = add_blas_facts,
       .extra_bytes = cublas::extra_bytes, .run = cublas::run},
      {.name = "cuda-wmma", .op = spec::Op::gemm, .summary = "our own tensor-core product in f16 and bf16", .library = "own code", .device = "cuda",
       .fast = true, .rank = 30, .rules = cuda_wmma::rules, .probe = own_kernels_available, .add_facts = add_device_facts, .extra_bytes = cuda_wmma::extra_bytes, .run = cuda_wmma::run},
      {.name = "cuda-packed", .op = spec::Op::gemm, .summary = "multiplies packed 8- and 4-bit weights without dequantizing them", .library = "own code",
       .device = "cuda", .quantized = true, .dense = false, .fast = true, .rank = 10, .rules = cuda_packed::rules, .probe = own_kernels_available, .add_facts = add_device_facts,
       .extra_bytes = cuda_packed::extra_bytes, .run = cuda_packed::run},
      {.name = "cublaslt-s8", .op = spec::Op::gemm, .summary = "8-bit codes on integer tensor cores, scales afterwards", .library = "cuBLASLt", .device = "cuda", .quantized = true,
       .dense = false, .fast = true, .rank = 20, .rules = cublaslt_s8::rules, .all_rules = cublaslt_s8::native_rules, .probe = own_kernels_and_cublaslt,
       .add_facts = add_cublas_facts, .add_call_facts = add_blas_facts, .extra_bytes = cublaslt_s8::extra_bytes, .run = cublaslt_s8::run},
      {.name = "cuda-dequant", .op = spec::Op::gemm, .summary = "writes the dequantized weights, then a cuBLAS product", .library = "cuBLAS", .device = "cuda", .quantized = true,
       .dense = false, .rank = 30, .rules = cuda_dequant::rules, .probe = own_kernels_and_cublas, .add_facts = add_cublas_facts, .add_call_facts = add_blas_facts,
       .extra_bytes = cuda_dequant::extra_bytes, .run = cuda_dequant::run},
      {.name = "cuda-naive", .op = spec::Op::gemm, .summary = "straight loops on the device, many element types", .library = "own code",
       .device = "cuda", .rank = 90, .rules = cuda_naive::gemm_rules, .probe = own_kernels_available, .add_facts = add_device_facts,
       .extra_bytes = cuda_naive::extra_bytes, .run = cuda_naive::run_gemm},
  }};
  return rows;
}

}  // namespace

std::span<const Backend> all_backends() { return table(); }

const Backend* find_backend(std::string_view name, spec::Op op) {
  for (const Backend& backend : all_backends())
    if (backend.name == name && backend.op == op) return &backend;
  return nullptr;
}

const rules::Registry& catalogue() {
  static const rules::Registry registry = [] {
    rules::Registry all;
    all.add(dispatch::policy_rules());
    all.add(dispatch::memory_rules());
    all.add(dispatch::outcome_rules());
    all.add(dispatch::asked_rules());
    all.add(dispatch::recording_rules());
    all.add(dispatch::answer_rules());
    all.add(dispatch::gradient_rules());
    all.add(evidence::evidence_rules());
    all.add(cuda::environment_rules());
    all.add(frameworks::torch::environment_rules());
    for (const Backend& backend : all_backends()) all.add(backend.rules());
    for (const frameworks::Framework* framework : frameworks::all_frameworks())
      for (const auto table : framework->tables()) all.add(table);
    return all;
  }();
  return registry;
}

}  // namespace dd::backends
