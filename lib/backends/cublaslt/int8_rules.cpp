#include "backends/cublaslt/rules.hpp"

namespace dd::backends::cublaslt {
namespace {

using namespace rules;
using I = facts::Id;
constexpr auto stops = Level::blocks, slow = Level::slows;
constexpr auto same = Keeps::function;

constexpr Source docs{"cuBLAS library documentation", "13.2 to 13.4", "2026-08-20"};
constexpr Source tests{"PyTorch test_linalg.py and cuBLAS library documentation", "2.6.0; 13.2 to 13.4", "2026-08-20"};
constexpr Source notes{"CUDA release notes, cuBLAS section", "13.0 to 13.3", "2026-08-20"};

constexpr Source turing_issue{"FasterTransformer issue 721", "2023-07", "2026-11-29"};

Condition integers() { return equals(I::dtype_w, "s8"); }
Condition regular_order() { return all({integers(), none_of(I::order_ab, {"COL32", "ROW"})}); }

#define S8 "gemm --x 4096x4096 --w 4096x4096 --trans-w --dtype s8 --out-dtype s32 --target sm_90"
#define S8_80 "gemm --x 4096x4096 --w 4096x4096 --trans-w --dtype s8 --out-dtype s32 --target sm_80"

const std::vector<Rule>& table() {
  static const std::vector<Rule> rows = {
      {"CLT030", "int32-result-with-epilogue", "an epilogue on an INT8 product with INT32 result", stops, Blame::spec, "cublaslt-int8",
       all({integers(), equals(I::dtype_out, "s32")}), equals(I::lt_epilogue, "DEFAULT"), "rows with INT32 output know no epilogue: NOT_SUPPORTED",
       {"write INT8 with an FP32 scale, which takes a bias, or add the bias in a kernel of its own", same, {Change::change_setting}}, docs,
       S8 " --extra lt_epilogue=BIAS", S8, 10},
      {"CLT031", "tiled-order-off-turing-ampere", "a tiled integer layout on a chip other than 7.5 and 8.0", stops, Blame::hardware, "cublaslt-int8",
       all({integers(), equals(I::order_ab, "COL32")}), one_of(I::compute_capability, {75, 80}), "the tiled kernels were not carried on: NOT_SUPPORTED",
       {"use plain column order with A transposed", same, {Change::change_setting}}, docs,
       S8 " --trans-x --extra order_ab=COL32 --extra op_a=N --extra op_b=T", S8_80 " --extra order_ab=COL32 --extra op_a=N --extra op_b=T", 11},
      {"CLT032", "tiled-order-not-nt", "a tiled integer layout with another transposition than plain A and transposed B", stops, Blame::spec, "cublaslt-int8",
       all({integers(), equals(I::order_ab, "COL32")}), all({equals(I::op_a, "N"), equals(I::op_b, "T")}), "NOT_SUPPORTED",
       {"store B transposed", same, {Change::transpose_view}}, docs, S8_80 " --extra order_ab=COL32",
       S8_80 " --extra order_ab=COL32 --extra op_a=N --extra op_b=T", 12},
      {"CLT033", "activations-across-k", "the activations of an integer product are not contiguous along K", stops, Blame::spec, "cublaslt-int8", regular_order(),
       differs(I::op_b, "T"), "no integer kernel reads a transposed B: NOT_SUPPORTED",
       {"make the activations row-major", same, {Change::make_contiguous}}, tests, S8 " --trans-x", S8, 13},
      {"CLT034", "integer-weight-not-k-major", "the integer weight is not contiguous along K on Hopper or later", stops, Blame::hardware, "cublaslt-int8",
       all({regular_order(), at_least(I::compute_capability, 90)}), equals(I::op_a, "T"),
       "documented as TN only: NOT_SUPPORTED (the NN form was seen to work on 8.x, not on 9.0)",
       {"store the weight as (N, K) and pass its transposed view", same, {Change::transpose_view}}, tests,
       "gemm --x 4096x4096 --w 4096x4096 --dtype s8 --out-dtype s32 --target sm_90", S8, 13},
      {"CLT035", "integer-extent-not-4", "m, k or a leading dimension of an integer product is not a multiple of 4", stops, Blame::spec, "cublaslt-int8", regular_order(),
       all({multiple_of(I::blas_m, 4), multiple_of(I::k, 4), multiple_of(I::lda, 4), multiple_of(I::ldb, 4), multiple_of(I::ldc, 4)}),
       "loads take four packed bytes: NOT_SUPPORTED", {"pad K, or the output features, with zeros to a multiple of 4", same, {Change::pad_k, Change::pad_n}}, docs,
       "gemm --x 4096x4098 --w 4098x4096 --trans-w --dtype s8 --out-dtype s32 --target sm_90", S8, 14},
      {"CLT036", "integer-pointer-not-4", "an operand pointer of an integer product is not 4-byte aligned", stops, Blame::spec, "cublaslt-int8", integers(),
       all({multiple_of(I::w_align_bytes, 4), multiple_of(I::x_align_bytes, 4), multiple_of(I::out_align_bytes, 4)}),
       "NOT_SUPPORTED, or a failure when it runs", {"align the buffers, to 16 bytes if possible", same, {Change::align_offset}}, docs,
       S8 " --extra w_align_bytes=2", S8 " --extra w_align_bytes=16", 15},
      {"CLT037", "integer-scale-not-trivial", "integer alpha or beta other than 0 and 1", stops, Blame::setting, "cublaslt-int8",
       all({integers(), equals(I::scale_type, "32I")}), all({one_of(I::alpha, {0, 1}), one_of(I::beta, {0, 1})}), "NOT_SUPPORTED (enforced since CUDA 13.0 Update 1)",
       {"scale afterwards, or use an FP32 scale with INT8 output", same, {Change::change_setting}}, docs,
       S8 " --extra alpha=2", S8 " --extra alpha=1", 16},
      {"CLT038", "integer-size-window", "more than 65536 rows or a batch, with the cuBLAS of CUDA 13.0 Update 1 or 2", stops, Blame::library_version, "cublaslt-int8",
       all({integers(), equals(I::dtype_out, "s32"), any({version_in(I::cublas_version, "13.0.2", "13.1.99999"), version_in(I::cuda_version, "13.0.1", "13.0.2")})}),
       all({at_most(I::blas_n, 65536.0), at_most(I::gemm_batch, 1.0)}), "a guard that came with a wrong-result fix: NOT_SUPPORTED",
       {"split the rows and loop over the batch, or update to CUDA 13.1", same, {Change::split_batch, Change::change_version}}, notes,
       "gemm --x 131072x4096 --w 4096x4096 --trans-w --dtype s8 --out-dtype s32 --target sm_90 --package-version cublas=13.1.0", S8 " --package-version cublas=13.1.0", 17},
      {"CLT039", "integer-alignment-below-16", "an integer product is aligned to 4 but not to 16 bytes", slow, Blame::spec, "cublaslt-int8", integers(),
       all({multiple_of(I::lda, 16), multiple_of(I::ldb, 16), multiple_of(I::k, 16)}), "the widest integer kernels drop out",
       {"pad K and the leading dimensions to 16, better 32", same, {Change::pad_k}}, docs,
       "gemm --x 4096x4100 --w 4100x4096 --trans-w --dtype s8 --out-dtype s32 --target sm_90", S8, 60},
      {"CLT040", "int8-result-before-turing", "an INT8 product with INT8 result on a chip without integer tensor cores", stops, Blame::hardware, "cublaslt-int8",
       all({integers(), equals(I::dtype_out, "s8")}), at_least(I::compute_capability, 75), "NOT_SUPPORTED; the same product with an INT32 result was seen to run on 7.0",
       {"take an INT32 result and scale it in a kernel of its own", same, {Change::change_setting}}, turing_issue,
       "gemm --x 4096x4096 --w 4096x4096 --trans-w --dtype s8 --out-dtype s8 --target sm_70", "gemm --x 4096x4096 --w 4096x4096 --trans-w --dtype s8 --out-dtype s8 --target sm_75", 18},
  };
  return rows;
}

#undef S8
#undef S8_80

}  // namespace

std::span<const Rule> int8_rules() { return table(); }

}  // namespace dd::backends::cublaslt
