#include "frameworks/bitsandbytes/rules.hpp"

namespace dd::frameworks::bitsandbytes {
namespace {

using namespace rules;
using I = facts::Id;
constexpr auto stops = Level::blocks, slow = Level::slows;
constexpr auto same = Keeps::function, less_precise = Keeps::precision;

constexpr Source ops{"bitsandbytes/backends/cuda/ops.py", "main, 2026-08-19 (0.50)", "2026-11-29"};
constexpr Source old{"bitsandbytes/autograd/_functions.py", "0.49", "2026-08-22"};
constexpr Source functions{"bitsandbytes/autograd/_functions.py and backends/cuda/ops.py", "main, 2026-08-19", "2026-08-22"};
constexpr Source readme{"bitsandbytes documentation", "main, 2026-08", "2026-08-22"};

constexpr double large = static_cast<double>(large_weight);
Condition before_050() { return version_in(I::bnb_version, "", "0.49.99999"); }
Condition from_050() { return version_in(I::bnb_version, "0.50", ""); }
// FP32 and chips without a kernel for the type are settled before any calibration is looked at (BNB007).
Condition has_tensor_kernel() {
  return all({differs(I::dtype, "f32"), at_least(I::compute_capability, 75), any({above(I::compute_capability, 75.0), equals(I::dtype, "f16")})});
}
const char* const expanded = "the whole weight is dequantized and a plain linear layer runs";

#define BNB_ON(M, K, N, ARCH) "gemm --x " M "x" K " --w " K "x" N " --dtype bf16 --quant w4a16:group=64:packing=nf4 --framework bitsandbytes --target " ARCH
#define BNB_BLOCK(M, K, ARCH) "gemm --x " M "x" K " --w " K "x4096 --dtype bf16 --quant w4a16:group=channel:packing=nf4 --extra block_size=64 --framework bitsandbytes --target " ARCH
#define BNB BNB_ON("4", "4096", "4096", "sm_90")
#define BNB_OLD BNB_ON("1", "4096", "4096", "sm_90") " --package-version bitsandbytes=0.49.0"
#define BNB8 "gemm --x 64x4096 --w 4096x4096 --dtype f16 --quant w8a8:group=channel --framework bitsandbytes --target sm_90"

const std::vector<Rule>& four_bit_table() {
  static const std::vector<Rule> rows = {
      {"BNB001", "activations-not-contiguous", "the activations are not contiguous", slow, Blame::spec, "bnb-4bit", always(), is_true(I::x_contiguous), "they are copied first: the kernel reads rows K apart",
       {"make them contiguous once", same, {Change::make_contiguous}}, ops, BNB " --extra x_contiguous=false", BNB, 30},
      {"BNB002", "old-version-with-gradient", "gradients are needed, before 0.50", stops, Blame::library_version, "bnb-4bit", before_050(), unless(is_true(I::requires_grad)), expanded,
       {"run inference without gradients, or update", same, {Change::disable_grad, Change::change_version}}, old, BNB_OLD " --train", BNB_OLD, 60},
      {"BNB003", "old-version-one-token-only", "more than one token, before 0.50", stops, Blame::library_version, "bnb-4bit", before_050(), at_most(I::rows, 1.0), expanded, {"update to 0.50, which fuses small batches", same, {Change::change_version}}, old,
       BNB " --package-version bitsandbytes=0.49.0", BNB_OLD, 61},
      {"BNB004", "old-version-block-rest", "K is not a multiple of the block size, before 0.50", stops, Blame::checkpoint, "bnb-4bit", before_050(), equals(I::block_rest, 0), expanded, {"quantize with a block size that divides K", less_precise, {Change::regroup}}, old,
       BNB_BLOCK("1", "4128", "sm_90") " --package-version bitsandbytes=0.49.0", BNB_OLD, 62},
      {"BNB005", "more-rows-than-fused", "more than 1536 tokens", stops, Blame::heuristic, "bnb-4bit", from_050(), at_most(I::rows, 1536.0), expanded, {"nothing to do: expected for a prefill", same, {}}, ops, BNB_ON("1537", "512", "2048", "sm_80"),
       BNB_ON("1536", "512", "2048", "sm_80"), 63},
      {"BNB006", "block-rest", "K is not a multiple of the block size", stops, Blame::checkpoint, "bnb-4bit", from_050(), equals(I::block_rest, 0), "a warning, then the whole weight is dequantized",
       {"quantize with a block size that divides K", less_precise, {Change::regroup}}, ops, BNB_BLOCK("1", "4128", "sm_90"), BNB, 64},
      {"BNB007", "no-tensor-core-kernel", "FP32 activations, or a chip without a 16-bit kernel for them, with 8 or more tokens", stops, Blame::setting, "bnb-4bit", all({from_050(), at_least(I::rows, 8.0)}),
       has_tensor_kernel(), expanded,
       {"compute in BF16 or FP16 on 8.0 and later; FP32 is the loader's default compute type", less_precise, {Change::cast_dtype, Change::change_setting}}, ops,
       "gemm --x 8x4096 --w 4096x4096 --dtype f32 --quant w4a32:group=64:packing=nf4 --framework bitsandbytes --target sm_86", BNB_ON("8", "4096", "4096", "sm_86"), 65},
      {"BNB008", "chip-not-calibrated", "more than 4 tokens on a chip that was never calibrated", stops, Blame::heuristic, "bnb-4bit", all({from_050(), one_of(I::compute_capability, {87, 110}), differs(I::dtype, "f32")}), at_most(I::rows, 4.0), expanded,
       {"nothing but a smaller batch", same, {}}, ops, BNB_ON("5", "4096", "4096", "sm_87"), BNB_ON("4", "4096", "4096", "sm_87"), 66},
      {"BNB009", "blackwell-prefers-library", "more rows than the fused kernel wins with on data-centre Blackwell", stops, Blame::heuristic, "bnb-4bit",
       all({from_050(), one_of(I::compute_capability, {100, 103}), above(I::rows, 4.0), differs(I::dtype, "f32")}), at_most(I::rows, I::bnb_fused_rows), expanded, {"nothing to do: the library product is faster there", same, {}}, ops,
       BNB_ON("5", "4096", "4096", "sm_100"), BNB_ON("4", "4096", "4096", "sm_100"), 67},
      {"BNB010", "hopper-prefers-library", "more rows than the fused kernel wins with on Hopper", stops, Blame::heuristic, "bnb-4bit",
       all({from_050(), equals(I::compute_capability, 90), at_least(I::rows, 8.0), at_least(I::weight_elements, large)}), at_most(I::rows, I::bnb_fused_rows), expanded, {"nothing to do: the library product is faster there", same, {}}, ops,
       BNB_ON("32", "4096", "4096", "sm_90"), BNB_ON("32", "4096", "8448", "sm_90"), 68},
      {"BNB011", "six-or-seven-rows", "6 or 7 rows in a band where the library product is preferred", stops, Blame::heuristic, "bnb-4bit", all({from_050(), one_of(I::rows, {6, 7}), at_least(I::weight_elements, large), differs(I::dtype, "f32")}), unless(is_true(I::bnb_narrow_band)),
       expanded, {"batch 5 rows, or 8 where that is fused", same, {}}, ops, BNB_ON("6", "8192", "4096", "sm_90"), BNB_ON("5", "8192", "4096", "sm_90"), 68},
      {"BNB012", "ampere-prefers-library", "more rows than the fused kernel wins with on A100", stops, Blame::heuristic, "bnb-4bit",
       all({from_050(), equals(I::compute_capability, 80), at_least(I::rows, 8.0), at_least(I::weight_elements, large)}), at_most(I::rows, I::bnb_fused_rows), expanded, {"nothing to do: the library product is faster there", same, {}}, ops,
       BNB_ON("129", "4096", "28672", "sm_80"), BNB_ON("16", "4096", "28672", "sm_80"), 69},
      {"BNB013", "small-weight-prefers-library", "more rows than the fused kernel wins with on a weight of fewer than 4 Mi elements", stops, Blame::heuristic, "bnb-4bit",
       all({from_050(), has_tensor_kernel(), none_of(I::compute_capability, {87, 100, 103, 110}), above(I::rows, 4.0), below(I::weight_elements, large)}), at_most(I::rows, I::bnb_fused_rows), expanded,
       {"nothing to do: so small a weight is quickly dequantized", same, {}}, ops, BNB_ON("33", "1024", "1024", "sm_90"), BNB_ON("32", "1024", "1024", "sm_90"), 70},
      {"BNB014", "chip-prefers-library", "more rows than the fused kernel wins with on this chip", stops, Blame::heuristic, "bnb-4bit",
       all({from_050(), has_tensor_kernel(), none_of(I::compute_capability, {80, 87, 90, 100, 103, 110}), at_least(I::rows, 8.0), at_least(I::weight_elements, large)}), at_most(I::rows, I::bnb_fused_rows), expanded,
       {"nothing to do: the library product is faster there", same, {}}, ops, BNB_ON("9", "4096", "4096", "rtx-4090"), BNB_ON("8", "4096", "4096", "rtx-4090"), 71},
  };
  return rows;
}

const std::vector<Rule>& int8_table() {
  static const std::vector<Rule> rows = {
      {"BNB020", "int8-chip", "a chip before compute capability 7.5", stops, Blame::hardware, "bnb-int8", always(), at_least(I::compute_capability, 75), "not supported there; 4 bits work from 6.0 on", {"use NF4", less_precise, {Change::regroup}}, readme,
       "gemm --x 64x4096 --w 4096x4096 --dtype f16 --quant w8a8:group=channel --framework bitsandbytes --target sm_70", BNB8, 10},
      {"BNB021", "int8-refused-old", "cuBLASLt refuses the product, before 0.50", stops, Blame::library_version, "bnb-int8", before_050(), unless(is_true(I::lt_not_supported)), "NotImplementedError", {"update to 0.50", same, {Change::change_version}}, old,
       BNB8 " --package-version bitsandbytes=0.49.0 --extra lt_not_supported=true", BNB8 " --package-version bitsandbytes=0.49.0", 11},
      {"BNB022", "int8-casts-activations", "the activations are not FP16", slow, Blame::setting, "bnb-int8", always(), equals(I::dtype, "f16"), "they are cast to FP16 with a warning before quantization", {"run the model in FP16", less_precise, {Change::cast_dtype}},
       functions, "gemm --x 64x4096 --w 4096x4096 --dtype bf16 --quant w8a8:group=channel --framework bitsandbytes --target sm_90", BNB8, 31},
      {"BNB023", "int8-k-not-4", "K is not a multiple of 4", slow, Blame::spec, "bnb-int8", always(), multiple_of(I::k, 4), "the integers are cast to FP32 and multiplied there", {"pad K to a multiple of 4", same, {Change::pad_k}}, ops,
       "gemm --x 64x4098 --w 4098x4096 --dtype f16 --quant w8a8:group=channel --framework bitsandbytes --target sm_90", BNB8, 60},
      {"BNB024", "int8-refused", "cuBLASLt refuses the product", slow, Blame::library_version, "bnb-int8", from_050(), unless(is_true(I::lt_not_supported)), "a warning, then an FP32 product", {"update the library", same, {Change::change_version}}, ops,
       BNB8 " --extra lt_not_supported=true", BNB8, 61},
      {"BNB025", "int8-outlier-columns", "columns above the outlier threshold are multiplied apart", slow, Blame::setting, "bnb-int8", all({applicable(I::outlier_threshold), above(I::outlier_threshold, 0.0)}), unless(is_true(I::outliers)),
       "a second product in FP16 and a search that waits for the GPU", {"set the threshold to 0 if the accuracy allows it", less_precise, {Change::change_setting}}, functions, BNB8 " --extra outlier_threshold=6 --extra outliers=true",
       BNB8 " --extra outlier_threshold=6 --extra outliers=false", 62},
  };
  return rows;
}

#undef BNB_ON
#undef BNB
#undef BNB_BLOCK
#undef BNB_OLD
#undef BNB8

}  // namespace

std::span<const Rule> four_bit_rules() { return four_bit_table(); }
std::span<const Rule> int8_rules() { return int8_table(); }

}  // namespace dd::frameworks::bitsandbytes
