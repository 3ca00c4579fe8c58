#include "frameworks/transformer_engine/rules.hpp"

namespace dd::frameworks::transformer_engine {
namespace {

using namespace rules;
using I = facts::Id;
constexpr auto stops = Level::blocks, slow = Level::slows;
constexpr auto same = Keeps::function, less_precise = Keeps::precision;

constexpr Source te{"Transformer Engine cublaslt_gemm.cu and pytorch/utils.py", "main, 2026-08-22", "2026-08-23"};

#define TE(M, K, ARCH) "gemm --x " M "x" K " --w " K "x5120 --trans-w --dtype f8_e4m3 --out-dtype bf16 --framework transformer-engine --target " ARCH
#define TE4 "gemm --x 256x4096 --w 4096x4096 --trans-w --dtype f4_e2m1 --framework transformer-engine --target sm_100 --out-dtype "

const std::vector<Rule>& table() {
  static const std::vector<Rule> rows = {
      {"TEN001", "te-extents", "rows not a multiple of 8, or K not of 16, with FP8 on", stops, Blame::spec, "te-fp8", always(), all({multiple_of(I::rows, 8), multiple_of(I::k, 16)}), "an assertion before the product; a single vector fails like any odd batch",
       {"pad the tokens to 8 (32 for MXFP8) and the features to 16, or keep the layer in 16 bit", same, {Change::pad_m, Change::pad_k}}, te, TE("1", "256", "sm_90"), TE("256", "256", "sm_90"), 10},
      {"TEN002", "te-blocks-on-both-sides", "128 by 128 blocks on both sides", stops, Blame::spec, "te-fp8", always(), differs(I::scale_mode, "BLK128x128_both"), "an assertion", {"scale the activations in vectors", less_precise, {Change::change_setting}}, te,
       TE("256", "256", "sm_90") " --extra scale_mode=BLK128x128_both", TE("256", "256", "sm_90"), 11},
      {"TEN003", "te-nvfp4-limits", "NVFP4 that is not TN, or with an FP16 or FP4 result", stops, Blame::spec, "te-fp8", equals(I::dtype_w, "f4_e2m1"), all({none_of(I::dtype_out, {"f16", "f4_e2m1"}), equals(I::op_a, "T"), equals(I::op_b, "N")}), "an assertion",
       {"write BF16 or FP32 and keep both operands packed along K", same, {Change::cast_dtype, Change::transpose_view}}, te, TE4 "f16", TE4 "bf16", 12},
      {"TEN004", "te-transposed-copy", "an FP8 product that is not TN, on a chip that takes no other layout", slow, Blame::hardware, "te-fp8",
       unless(any({between(I::compute_capability, 100, 119), at_least(I::compute_capability, 130)})), all({equals(I::op_a, "T"), equals(I::op_b, "N")}), "a second, transposed FP8 copy is kept and used; without it an error",
       {"keep row-wise and column-wise usage on, or use a chip that takes all layouts", same, {Change::transpose_view}}, te,
       "gemm --x 256x256 --w 256x5120 --dtype f8_e4m3 --out-dtype bf16 --framework transformer-engine --target sm_90", TE("256", "256", "sm_90"), 60},
      {"TEN005", "te-mx-tokens", "MXFP8 with tokens not a multiple of 32", stops, Blame::spec, "te-fp8", equals(I::scale_mode, "VEC32_UE8M0"), multiple_of(I::rows, 32), "the block check of 32 fails; grouped experts then ask for 128", {"pad the tokens of each group to 128", same, {Change::pad_m}}, te,
       TE("40", "256", "sm_100") " --extra scale_mode=VEC32_UE8M0", TE("128", "256", "sm_100") " --extra scale_mode=VEC32_UE8M0", 13},
  };
  return rows;
}

#undef TE
#undef TE4

}  // namespace

std::span<const Rule> fp8_rules() { return table(); }

}  // namespace dd::frameworks::transformer_engine
