#include "backends/cublaslt/rules.hpp"

namespace dd::backends::cublaslt {
namespace {

using namespace rules;
using I = facts::Id;
constexpr auto stops = Level::blocks, slow = Level::slows;
constexpr auto same = Keeps::function, less_precise = Keeps::precision;

constexpr Source docs{"cuBLAS library documentation", "13.2 to 13.4", "2026-08-20"};
constexpr Source header{"cublasLt.h", "cuBLAS 13.1.0.3", "2026-08-20"};
constexpr Source notes{"CUDA release notes, cuBLAS section", "13.0 to 13.3", "2026-08-20"};

Condition fp4() { return equals(I::dtype_w, "f4_e2m1"); }
Condition with_bias() { return one_of(I::lt_epilogue, {"BIAS", "RELU_BIAS", "RELU_AUX_BIAS", "GELU_BIAS", "GELU_AUX_BIAS"}); }
Condition grouped() { return one_of(I::call, {"grouped", "grouped_mm", "scaled_grouped_mm"}); }

#define F4_ON(ARCH) "gemm --x 4096x4096 --w 4096x4096 --trans-w --dtype f4_e2m1 --out-dtype bf16 --target " ARCH
#define F4 F4_ON("sm_100")
#define B16 "gemm --x 1024x1024 --w 1024x1024 --trans-w --dtype bf16 --target sm_90"
#define GRP "gemm --x 1024x1024 --w 1024x1024 --trans-w --dtype bf16 --target sm_100 --extra call=grouped"

const std::vector<Rule>& fp4_table() {
  static const std::vector<Rule> rows = {
      {"CLT080", "fp4-before-blackwell", "FP4 operands below compute capability 10.0, or before cuBLAS 12.8", stops, Blame::hardware, "cublaslt-fp4", fp4(),
       all({at_least(I::compute_capability, 100), version_in(I::cublas_version, "12.8", "")}), "NOT_SUPPORTED",
       {"keep FP4 for the stored weight only (Marlin), or emulate", less_precise, {Change::cast_dtype}}, docs, F4_ON("sm_90"), F4, 10},
      {"CLT081", "fp4-without-nvfp4-scales", "FP4 operands without 16-element E4M3 block scales", stops, Blame::checkpoint, "cublaslt-fp4",
       all({fp4(), applicable(I::scale_mode)}), equals(I::scale_mode, "VEC16_UE4M3"), "only that mode exists: NOT_SUPPORTED",
       {"quantize again in blocks of 16 with E4M3 scales", less_precise, {Change::regroup}}, docs, F4 " --extra scale_mode=VEC32_UE8M0",
       F4 " --extra scale_mode=VEC16_UE4M3", 11},
      {"CLT082", "fp4-not-tn", "FP4 operands that are not both packed along K", stops, Blame::spec, "cublaslt-fp4", fp4(),
       all({equals(I::op_a, "T"), equals(I::op_b, "N")}), "FP4 is TN on every chip, 10.x included: NOT_SUPPORTED",
       {"pack both operands along K", same, {Change::transpose_view}}, docs,
       "gemm --x 4096x4096 --w 4096x4096 --dtype f4_e2m1 --out-dtype bf16 --target sm_100", F4, 12},
      {"CLT083", "fp4-extent-not-32", "K or a leading dimension of an FP4 product is not a multiple of 32", stops, Blame::spec, "cublaslt-fp4", fp4(),
       all({multiple_of(I::k, 32), multiple_of(I::lda, 32), multiple_of(I::ldb, 32)}), "16 bytes hold 32 values: NOT_SUPPORTED",
       {"pad K to a multiple of 32", same, {Change::pad_k}}, docs,
       "gemm --x 4096x4080 --w 4080x4096 --trans-w --dtype f4_e2m1 --out-dtype bf16 --target sm_100", F4, 13},
      {"CLT084", "fp4-compute-not-f32", "FP4 operands with a compute type other than 32F", stops, Blame::setting, "cublaslt-fp4", all({fp4(), applicable(I::compute_type)}),
       equals(I::compute_type, "32F"), "NOT_SUPPORTED", {"compute in 32F", same, {Change::change_setting}}, docs, F4 " --extra compute_type=16F", F4, 14},
  };
  return rows;
}

const std::vector<Rule>& epilogue_table() {
  static const std::vector<Rule> rows = {
      {"CLT090", "complex-with-epilogue", "an epilogue on a complex product", stops, Blame::spec, "cublaslt-epilogue", one_of(I::dtype_w, {"c32", "c64"}),
       equals(I::lt_epilogue, "DEFAULT"), "complex rows know no epilogue: NOT_SUPPORTED", {"run the epilogue as a kernel of its own", same, {Change::change_setting}}, docs,
       B16 " --extra dtype_x=c32 --extra dtype_w=c32 --extra dtype_out=c32 --extra lt_epilogue=BIAS",
       B16 " --extra dtype_x=c32 --extra dtype_w=c32 --extra dtype_out=c32 --extra lt_epilogue=DEFAULT", 10},
      {"CLT091", "integer-input-with-epilogue", "an epilogue on INT8 operands with INT32 or FP32 result", stops, Blame::spec, "cublaslt-epilogue",
       all({equals(I::dtype_w, "s8"), one_of(I::dtype_out, {"s32", "f32"})}), equals(I::lt_epilogue, "DEFAULT"), "NOT_SUPPORTED",
       {"write INT8 with an FP32 scale", same, {Change::change_setting}}, docs,
       "gemm --x 1024x1024 --w 1024x1024 --trans-w --dtype s8 --out-dtype f32 --target sm_90 --extra lt_epilogue=BIAS",
       "gemm --x 1024x1024 --w 1024x1024 --trans-w --dtype s8 --out-dtype f32 --target sm_90", 11},
      {"CLT092", "fused-activation-in-row-order", "bias and activation fused while the result is row-major", stops, Blame::spec, "cublaslt-epilogue",
       one_of(I::lt_epilogue, {"RELU_BIAS", "GELU_BIAS", "DRELU_BGRAD", "DGELU_BGRAD", "RELU_AUX_BIAS", "GELU_AUX_BIAS"}), differs(I::order_d, "ROW"), "NOT_SUPPORTED",
       {"describe the result column-major with swapped operands, so that features are its rows", same, {Change::transpose_view}}, docs,
       B16 " --extra lt_epilogue=GELU_BIAS --extra order_d=ROW", B16 " --extra lt_epilogue=GELU_BIAS", 12},
      {"CLT093", "relu-mask-leading-dimension", "the ReLU mask's leading dimension is not a multiple of 128 bits, or is too small", stops, Blame::setting, "cublaslt-epilogue",
       all({one_of(I::lt_epilogue, {"RELU_AUX", "RELU_AUX_BIAS"}), applicable(I::aux_ld)}), all({multiple_of(I::aux_ld, 128), at_least(I::aux_ld, I::blas_m)}),
       "INVALID_VALUE", {"round the mask's leading dimension up to 128", same, {Change::change_setting}}, header,
       B16 " --extra lt_epilogue=RELU_AUX_BIAS --extra aux_ld=1000", B16 " --extra lt_epilogue=RELU_AUX_BIAS --extra aux_ld=1024", 13},
      {"CLT094", "gelu-buffer-leading-dimension", "the GELU buffer's leading dimension is not a multiple of 8, or is too small", stops, Blame::setting, "cublaslt-epilogue",
       all({one_of(I::lt_epilogue, {"GELU_AUX", "GELU_AUX_BIAS"}), applicable(I::aux_ld)}), all({multiple_of(I::aux_ld, 8), at_least(I::aux_ld, I::blas_m)}),
       "INVALID_VALUE", {"round the buffer's leading dimension up to 8", same, {Change::change_setting}}, header,
       B16 " --extra lt_epilogue=GELU_AUX_BIAS --extra aux_ld=1025", B16 " --extra lt_epilogue=GELU_AUX_BIAS --extra aux_ld=1024", 14},
      {"CLT095", "vector-alpha-per-batch", "a vector of alphas on the device together with an alpha per batch", stops, Blame::setting, "cublaslt-epilogue",
       equals(I::pointer_mode, "ALPHA_DEVICE_VECTOR_BETA_ZERO"), is_false(I::batched_alpha), "NOT_SUPPORTED",
       {"loop over the batch, or use one alpha", same, {Change::change_setting}}, header,
       B16 " --extra pointer_mode=ALPHA_DEVICE_VECTOR_BETA_ZERO --extra batched_alpha=true", B16 " --extra pointer_mode=ALPHA_DEVICE_VECTOR_BETA_ZERO", 15},
      {"CLT096", "bias-misaligned", "the bias pointer is less aligned than 16 bytes", slow, Blame::spec, "cublaslt-epilogue", with_bias(),
       multiple_of(I::bias_align_bytes, 16), "the heuristic reads the pointer and drops the kernels with vector loads of the bias; some releases return one that then faults",
       {"copy the bias to a buffer of its own, and set its pointer before asking the heuristic", same, {Change::align_offset}}, header,
       B16 " --extra lt_epilogue=GELU_BIAS --extra bias_align_bytes=4", B16 " --extra lt_epilogue=GELU_BIAS --extra bias_align_bytes=16", 60},
      {"CLT097", "bias-with-beta", "a bias epilogue while beta is not 0", slow, Blame::setting, "cublaslt-epilogue", with_bias(), equals(I::beta, 0),
       "the fast fused path is for beta 0 and scalars on the host", {"set beta to 0 and keep the scalars on the host", same, {Change::change_setting}}, docs,
       B16 " --extra lt_epilogue=BIAS --extra beta=1", B16 " --extra lt_epilogue=BIAS --extra beta=0", 61},
  };
  return rows;
}

const std::vector<Rule>& grouped_table() {
  static const std::vector<Rule> rows = {
      {"CLT100", "grouped-layouts-too-new", "grouped layouts before cuBLAS 13.2", stops, Blame::library_version, "cublaslt-grouped", grouped(),
       version_in(I::cublas_version, "13.2", ""), "the layout type is unknown: INVALID_VALUE",
       {"call the grouped batched function of the handle API, use CUTLASS, or loop", same, {Change::change_version}}, header,
       GRP " --package-version cublas=13.1.0", GRP " --package-version cublas=13.2.0", 10},
      {"CLT101", "grouped-layouts-chip", "grouped layouts on a chip without kernels for them", stops, Blame::hardware, "cublaslt-grouped", grouped(),
       any({between(I::compute_capability, 100, 110), all({equals(I::compute_capability, 90), version_in(I::cuda_version, "13.2.1", "")})}),
       "10.x and 11.0 only, 9.0 from CUDA 13.2 Update 1: NOT_SUPPORTED", {"use CUTLASS or DeepGEMM grouped kernels", same, {Change::change_version}}, notes,
       "gemm --x 1024x1024 --w 1024x1024 --trans-w --dtype bf16 --target sm_89 --extra call=grouped", GRP, 11},
      {"CLT102", "grouped-with-epilogue", "an epilogue that grouped layouts do not offer on this chip", stops, Blame::hardware, "cublaslt-grouped", grouped(),
       any({equals(I::lt_epilogue, "DEFAULT"), all({equals(I::lt_epilogue, "BIAS"), differs(I::compute_capability, 90)})}), "NOT_SUPPORTED",
       {"use the default epilogue and 16-byte aligned column-order data", same, {Change::change_setting}}, notes,
       GRP " --extra lt_epilogue=GELU", GRP " --extra lt_epilogue=BIAS", 12},
  };
  return rows;
}

#undef F4
#undef F4_ON
#undef B16
#undef GRP

}  // namespace

std::span<const Rule> fp4_rules() { return fp4_table(); }
std::span<const Rule> epilogue_rules() { return epilogue_table(); }
std::span<const Rule> grouped_rules() { return grouped_table(); }

}  // namespace dd::backends::cublaslt
