#include "backends/cublaslt/rules.hpp"

namespace dd::backends::cublaslt {
namespace {

using namespace rules;
using I = facts::Id;
constexpr auto stops = Level::blocks, slow = Level::slows;
constexpr auto same = Keeps::function, less_precise = Keeps::precision;

constexpr Source docs{"cuBLAS library documentation", "13.2 to 13.4", "2026-08-20"};
constexpr Source notes{"CUDA release notes, cuBLAS section", "13.0 to 13.3", "2026-08-20"};
constexpr Source tests{"PyTorch test_matmul_cuda.py and cuBLAS library documentation", "2.6.0; 13.2 to 13.4", "2026-08-20"};
constexpr Source xla{"TensorFlow pull request 64245 (discussion)", "2024", "2026-08-20"};

const std::vector<std::string> fp8{"f8_e4m3", "f8_e5m2"};
Condition fp8_operand() { return any({one_of(I::dtype_w, fp8), one_of(I::dtype, fp8)}); }
// Reported on an RTX 5080 (PyTorch issue 198126).
Condition any_layout_since_13_6() { return all({version_in(I::cublas_version, "13.6", ""), equals(I::scale_mode, "VEC32_UE8M0")}); }
Condition scaled(std::vector<std::string> modes) { return all({fp8_operand(), one_of(I::scale_mode, std::move(modes))}); }

#define F8_ON(ARCH) "gemm --x 4096x4096 --w 4096x4096 --trans-w --dtype f8_e4m3 --out-dtype bf16 --target " ARCH
#define F8 F8_ON("sm_90")

const std::vector<Rule>& table() {
  static const std::vector<Rule> rows = {
      {"CLT050", "fp8-without-fp8-cores", "FP8 operands on a chip without FP8 tensor cores", stops, Blame::hardware, "cublaslt-fp8", fp8_operand(),
       at_least(I::compute_capability, 89), "NOT_SUPPORTED",
       {"keep FP8 for the stored weight only, or multiply in 16 bit", less_precise, {Change::cast_dtype}}, docs, F8_ON("sm_80"), F8, 10},
      {"CLT051", "e5m2-pair", "both operands are E5M2", stops, Blame::spec, "cublaslt-fp8", equals(I::dtype_w, "f8_e5m2"), differs(I::dtype, "f8_e5m2"),
       "the pair has no row: NOT_SUPPORTED", {"cast one operand to E4M3", less_precise, {Change::cast_dtype}}, docs,
       "gemm --x 4096x4096 --w 4096x4096 --trans-w --dtype f8_e5m2 --out-dtype bf16 --target sm_90", F8, 11},
      {"CLT052", "e5m2-result-of-e4m3", "an E5M2 result from two E4M3 operands", stops, Blame::spec, "cublaslt-fp8",
       all({equals(I::dtype_w, "f8_e4m3"), equals(I::dtype, "f8_e4m3")}), differs(I::dtype_out, "f8_e5m2"), "NOT_SUPPORTED",
       {"write E4M3 or a 16-bit type", less_precise, {Change::cast_dtype}}, tests,
       "gemm --x 4096x4096 --w 4096x4096 --trans-w --dtype f8_e4m3 --out-dtype f8_e5m2 --target sm_90", F8, 12},
      {"CLT053", "fp8-compute-not-f32", "FP8 operands with a compute type other than 32F", stops, Blame::setting, "cublaslt-fp8",
       all({fp8_operand(), applicable(I::compute_type)}), equals(I::compute_type, "32F"), "FP8 accumulates in FP32 only: NOT_SUPPORTED",
       {"compute and scale in 32F", same, {Change::change_setting}}, docs, F8 " --extra compute_type=16F", F8, 12},
      {"CLT054", "fp8-not-tn", "FP8 operands that are not both contiguous along K", stops, Blame::hardware, "cublaslt-fp8",
       all({fp8_operand(), any({one_of(I::compute_capability, {89, 90}), all({between(I::compute_capability, 120, 129), unless(any_layout_since_13_6())})})}),
       all({equals(I::op_a, "T"), equals(I::op_b, "N")}), "these chips have no transposing FP8 load: NOT_SUPPORTED (10.x and 11.x take any layout, 12.x does for MXFP8 from cuBLAS 13.6 on)",
       {"store the weight as (N, K) and pass its transposed view", same, {Change::transpose_view}}, docs,
       "gemm --x 4096x4096 --w 4096x4096 --dtype f8_e4m3 --out-dtype bf16 --target sm_90", F8, 13},
      {"CLT055", "fp8-alignment", "an extent, leading dimension or pointer of an FP8 product is not a multiple of 16 bytes", stops, Blame::spec, "cublaslt-fp8",
       fp8_operand(),
       all({multiple_of(I::a_extent_bytes, 16), multiple_of(I::b_extent_bytes, 16), multiple_of(I::c_extent_bytes, 16), multiple_of(I::lda_bytes, 16),
            multiple_of(I::ldb_bytes, 16), multiple_of(I::ldc_bytes, 16), multiple_of(I::w_align_bytes, 16), multiple_of(I::x_align_bytes, 16)}),
       "for FP8 the 16-byte rule is a demand, not advice: NOT_SUPPORTED",
       {"pad K with zeros to 16 and the output features to 8 (16 for FP8 output)", same, {Change::pad_k, Change::pad_n, Change::align_offset}}, docs,
       "gemm --x 4096x4088 --w 4088x4096 --trans-w --dtype f8_e4m3 --out-dtype bf16 --target sm_90", F8, 14},
      {"CLT056", "row-wise-scales-off-hopper", "row and column scales outside compute capability 9.0, or before cuBLAS 12.9", stops, Blame::hardware, "cublaslt-fp8",
       scaled({"OUTER_VEC_32F"}), all({equals(I::compute_capability, 90), version_in(I::cublas_version, "12.9", "")}),
       "the outer-vector mode was built for Hopper: NOT_SUPPORTED",
       {"scale per tensor, use MXFP8 on Blackwell, or a CUTLASS row-wise kernel", less_precise, {Change::change_setting}}, docs,
       F8_ON("sm_120") " --extra scale_mode=OUTER_VEC_32F", F8 " --extra scale_mode=OUTER_VEC_32F", 20},
      {"CLT057", "block-scales-off-hopper", "128-element block scales outside compute capability 9.0, or before cuBLAS 12.9", stops, Blame::hardware, "cublaslt-fp8",
       scaled({"VEC128_32F", "BLK128x128_32F", "VEC128xBLK128"}), all({equals(I::compute_capability, 90), version_in(I::cublas_version, "12.9", "")}),
       "NOT_SUPPORTED", {"take DeepGEMM, CUTLASS or Triton block kernels, or MXFP8 on Blackwell", less_precise, {Change::change_setting}}, docs,
       F8_ON("sm_100") " --extra scale_mode=VEC128_32F", F8 " --extra scale_mode=VEC128_32F", 21},
      {"CLT058", "both-operands-in-blocks", "both operands carry 128 by 128 block scales", stops, Blame::spec, "cublaslt-fp8", fp8_operand(),
       differs(I::scale_mode, "BLK128x128_both"), "one side must use 1 by 128 vectors: NOT_SUPPORTED",
       {"quantize the activations per 1 by 128", less_precise, {Change::change_setting}}, docs, F8 " --extra scale_mode=BLK128x128_both", F8, 22},
      {"CLT059", "block-scales-not-4", "block scales with m or n not a multiple of 4", stops, Blame::spec, "cublaslt-fp8", scaled({"VEC128_32F", "VEC128xBLK128"}),
       all({multiple_of(I::blas_m, 4), multiple_of(I::blas_n, 4)}), "scales are read four at a time: NOT_SUPPORTED",
       {"pad rows and output features to a multiple of 4", same, {Change::pad_m, Change::pad_n}}, docs,
       "gemm --x 4094x4096 --w 4096x4096 --trans-w --dtype f8_e4m3 --out-dtype bf16 --target sm_90 --extra scale_mode=VEC128_32F",
       F8 " --extra scale_mode=VEC128_32F", 23},
      {"CLT060", "mx-scales-before-blackwell", "MXFP8 scales below compute capability 10.0, or before cuBLAS 12.8", stops, Blame::hardware, "cublaslt-fp8",
       scaled({"VEC32_UE8M0"}), all({at_least(I::compute_capability, 100), version_in(I::cublas_version, "12.8", "")}), "NOT_SUPPORTED",
       {"use FP32 scales, or dequantize", less_precise, {Change::change_setting}}, docs, F8 " --extra scale_mode=VEC32_UE8M0",
       F8_ON("sm_100") " --extra scale_mode=VEC32_UE8M0", 24},
      {"CLT061", "fp8-result-with-vector-scales", "an FP8 result together with vector or block scales", stops, Blame::spec, "cublaslt-fp8",
       scaled({"OUTER_VEC_32F", "VEC128_32F", "BLK128x128_32F", "VEC128xBLK128"}), none_of(I::dtype_out, fp8), "NOT_SUPPORTED",
       {"write BF16, FP16 or FP32 and quantize afterwards", same, {Change::cast_dtype}}, docs,
       "gemm --x 4096x4096 --w 4096x4096 --trans-w --dtype f8_e4m3 --out-dtype f8_e4m3 --target sm_90 --extra scale_mode=OUTER_VEC_32F",
       F8 " --extra scale_mode=OUTER_VEC_32F", 25},
      {"CLT062", "scale-on-wide-result", "a scale is set for a result that is not a narrow type", stops, Blame::setting, "cublaslt-fp8",
       all({fp8_operand(), is_true(I::d_scale_set)}), one_of(I::dtype_out, fp8), "NOT_SUPPORTED by the 13.0 notes, INVALID_VALUE by the header",
       {"leave the scale of D unset and fold the factor into alpha", same, {Change::change_setting}}, notes, F8 " --extra d_scale_set=true", F8, 26},
      {"CLT063", "fp8-bias-type", "the bias type does not follow the result", stops, Blame::spec, "cublaslt-fp8", all({fp8_operand(), applicable(I::dtype_bias)}),
       all({any({none_of(I::dtype_out, {"bf16", "f32"}), equals(I::dtype_bias, "bf16")}), any({differs(I::dtype_out, "f16"), equals(I::dtype_bias, "f16")})}),
       "NOT_SUPPORTED", {"cast the bias to BF16, or to FP16 when the result is FP16", less_precise, {Change::cast_dtype}}, docs,
       F8 " --extra dtype_bias=f32", F8 " --extra dtype_bias=bf16", 27},
      {"CLT064", "scalar-scale-misaligned-window", "a per-tensor scale pointer is not 16-byte aligned, on cuBLAS 12.9 to 13.2.0", stops, Blame::library_version, "cublaslt-fp8",
       all({scaled({"SCALAR_32F"}), version_in(I::cublas_version, "12.9", "13.2.0")}), multiple_of(I::scale_align_bytes, 16),
       "the library wrongly holds scalars to the rule for block scales: NOT_SUPPORTED",
       {"give each scalar a 16-byte slot of its own, or update to CUDA 13.1 Update 1", same, {Change::align_offset, Change::change_version}}, notes,
       F8 " --package-version cublas=13.1.0 --extra scale_align_bytes=4", F8 " --package-version cublas=13.4.0 --extra scale_align_bytes=4", 28},
      {"CLT065", "block-scale-misaligned", "the pointer of vector or block scales is not 16-byte aligned", stops, Blame::spec, "cublaslt-fp8",
       all({fp8_operand(), applicable(I::scale_mode), differs(I::scale_mode, "SCALAR_32F")}), multiple_of(I::scale_align_bytes, 16),
       "NOT_SUPPORTED or INVALID_VALUE", {"align the scale buffer to 16 bytes", same, {Change::align_offset}}, docs,
       F8 " --extra scale_mode=OUTER_VEC_32F --extra scale_align_bytes=4", F8 " --extra scale_mode=OUTER_VEC_32F --extra scale_align_bytes=16", 29},
      {"CLT066", "several-blackwell-geforce", "several Blackwell GeForce GPUs in one process on CUDA 13.0 Update 2", stops, Blame::library_version, "cublaslt-fp8",
       all({fp8_operand(), version_in(I::cuda_version, "13.0.2", "13.0.2"), equals(I::compute_capability, 120)}), at_most(I::visible_gpus, 1.0), "EXECUTION_FAILED at launch",
       {"hide the other devices, or update to CUDA 13.1", same, {Change::change_setting, Change::change_version}}, notes,
       F8_ON("sm_120") " --cuda-version 13.0.2 --extra visible_gpus=2", F8_ON("sm_120") " --cuda-version 13.0.2 --extra visible_gpus=1", 62},
      {"CLT067", "fast-accumulation-off", "fast accumulation is off on Ada or Hopper", slow, Blame::setting, "cublaslt-fp8",
       all({fp8_operand(), one_of(I::compute_capability, {89, 90}), is_true(I::want_max_rate)}), is_true(I::fast_accum),
       "partial sums are moved to full FP32 registers every few steps",
       {"allow fast accumulation for inference", less_precise, {Change::change_setting}}, docs, F8 " --extra want_max_rate=true --extra fast_accum=false",
       F8 " --extra want_max_rate=true --extra fast_accum=true", 63},
      {"CLT068", "fp8-gelu-on-old-cuda", "FP8 with a fused GELU before CUDA 12.4", stops, Blame::library_version, "cublaslt-fp8",
       all({fp8_operand(), one_of(I::lt_epilogue, {"GELU", "GELU_BIAS", "GELU_AUX", "GELU_AUX_BIAS", "DGELU", "DGELU_BGRAD"})}),
       version_in(I::cuda_version, "12.4", ""), "no algorithm, or wrong numbers",
       {"run the activation as a kernel of its own, or update", same, {Change::change_version}}, xla,
       F8 " --cuda-version 12.3.0 --extra lt_epilogue=GELU", F8 " --cuda-version 12.4.0 --extra lt_epilogue=GELU", 64},
  };
  return rows;
}

#undef F8
#undef F8_ON

}  // namespace

std::span<const Rule> fp8_rules() { return table(); }

}  // namespace dd::backends::cublaslt
