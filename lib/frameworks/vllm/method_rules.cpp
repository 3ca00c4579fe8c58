#include "frameworks/vllm/rules.hpp"

namespace dd::frameworks::vllm {
namespace {

using namespace rules;
using I = facts::Id;

constexpr Source gptq_py{"quantization/auto_gptq.py", "vLLM main, 2026-08-17; gptq_marlin.py, 2025-08-28", "2026-08-22"};
constexpr Source gptq_old{"quantization/gptq.py", "vLLM main, 2025-08-28", "2026-08-22"};
constexpr Source q_gemm{"csrc quantization/gptq/q_gemm.cu", "vLLM main, 2026-08-17", "2026-08-22"};
constexpr Source awq_py{"quantization/auto_awq.py", "vLLM main, 2026-08-17; awq_marlin.py, 2025-08-28", "2026-08-22"};
constexpr Source awq_cu{"csrc quantization/awq/gemm_kernels.cu", "vLLM main, 2026-08-17", "2026-08-22"};

Condition order_over_ranks() { return all({is_true(I::quant_act_order), is_true(I::k_sharded)}); }

#define GPTQ "gemm --x 16x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=128:packing=gptq --framework vllm --target sm_90"
#define LEGACY(M) "gemm --x " M "x4096 --w 4096x4096 --dtype f16 --quant w4a16:group=128:packing=gptq --framework vllm --target sm_90 --package-version vllm=2025.8"
#define LEGACY_ACT "gemm --x 8x4096 --w 4096x4096 --dtype f16 --quant w4a16:group=128:act-order:packing=gptq --framework vllm --target sm_90 --package-version vllm=2025.8"
#define AWQ(M, N) "gemm --x " M "x4096 --w 4096x" N " --dtype bf16 --quant w4a16:group=128:zero:packing=awq --framework vllm --target sm_90"

const std::vector<Rule>& gptq_table() {
  static const std::vector<Rule> rows = {
      {"VLM100", "gptq-not-symmetric", "not a symmetric 4-bit or 8-bit GPTQ checkpoint", stops, Blame::checkpoint, "vllm-gptq", always(), all({one_of(I::quant_bits, {4, 8}), is_true(I::symmetric)}),
       "the loader refuses it; 2025 versions fall to the legacy kernels (2, 3, 4, 8 bits, FP16)", {"quantize again symmetrically in 4 or 8 bits", less_precise, {Change::regroup}}, gptq_py,
       "gemm --x 16x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=128:zero:packing=gptq --framework vllm --target sm_90", GPTQ, 10},
      {"VLM101", "gptq-forced-slow", "the user names the gptq method on a version where that keeps the slow one", slow, Blame::setting, "vllm-gptq", version_2025(), differs(I::quantization, "gptq"),
       "the step up to Marlin is suppressed", {"leave the method unset, or name gptq_marlin", same, {Change::change_setting}}, gptq_py, GPTQ " --package-version vllm=2025.8 --extra quantization=gptq",
       GPTQ " --package-version vllm=2025.8", 60},
  };
  return rows;
}

const std::vector<Rule>& legacy_table() {
  static const std::vector<Rule> rows = {
      {"VLM110", "gptq-legacy-not-f16", "the activations are not FP16", stops, Blame::setting, "vllm-gptq-legacy", always(), equals(I::dtype, "f16"), "declined: half kernels only", {"run the model in FP16", less_precise, {Change::cast_dtype}},
       gptq_old, GPTQ " --package-version vllm=2025.8", LEGACY("16"), 10},
      {"VLM111", "gptq-legacy-shards", "a rank's share is no whole number of groups or packed words", stops, Blame::setting, "vllm-gptq-legacy", always(), all({equals(I::group_count_rest, 0), multiple_of(I::n_rank_size, I::pack_factor)}),
       "ValueError that blames the number of ranks", {"use fewer ranks", same, {Change::change_setting}}, gptq_old, LEGACY("16") " --extra k_full=11008 --extra k_part=1376", LEGACY("16"), 11},
      {"VLM112", "gptq-legacy-act-order-sharded", "an activation order while the reduction is split over ranks", slow, Blame::checkpoint, "vllm-gptq-legacy", always(), unless(order_over_ranks()),
       "the ExLlama path is left for the plain one", {"take a checkpoint without activation order", less_precise, {Change::regroup}}, gptq_old, LEGACY_ACT " --extra k_full=8192 --extra k_part=4096", LEGACY_ACT, 60},
      {"VLM113", "gptq-legacy-reconstructs", "more rows than the kernel multiplies packed", slow, Blame::heuristic, "vllm-gptq-legacy", always(),
       any({all({order_over_ranks(), at_most(I::rows, 8.0), at_least(I::quant_bits, 4.0)}), all({unless(order_over_ranks()), equals(I::quant_bits, 8), at_most(I::rows, 24.0)}),
            all({unless(order_over_ranks()), differs(I::quant_bits, 8), at_most(I::rows, 50.0)})}),
       "the weight is rebuilt in FP16 and multiplied with FP16 accumulation", {"use Marlin", same, {Change::change_setting}}, q_gemm, LEGACY("51"), LEGACY("50"), 61},
  };
  return rows;
}

const std::vector<Rule>& awq_table() {
  static const std::vector<Rule> rows = {
      {"VLM120", "awq-bits", "an AWQ checkpoint with other than 4 bits", stops, Blame::checkpoint, "vllm-awq", always(), equals(I::quant_bits, 4), "ValueError", {"use GPTQ or compressed-tensors for other widths", less_precise, {Change::regroup}}, awq_py,
       "gemm --x 16x4096 --w 4096x4096 --dtype bf16 --quant w8a16:group=128:zero:packing=awq --framework vllm --target sm_90", AWQ("16", "4096"), 10},
      {"VLM121", "awq-shards", "a rank's share is no whole number of groups, or N per rank not of eights", stops, Blame::setting, "vllm-awq", always(), all({equals(I::group_count_rest, 0), multiple_of(I::n_rank_size, 8)}),
       "ValueError that blames the number of ranks", {"use fewer ranks", same, {Change::change_setting}}, awq_py, AWQ("16", "4096") " --extra k_full=11008 --extra k_part=1376", AWQ("16", "4096"), 11},
      {"VLM122", "awq-chip", "a chip before compute capability 7.5", stops, Blame::hardware, "vllm-awq", always(), at_least(I::compute_capability, 75), "refused at load", {"use a newer GPU", same, {}}, awq_py,
       "gemm --x 16x4096 --w 4096x4096 --dtype f16 --quant w4a16:group=128:zero:packing=awq --framework vllm --target sm_70", AWQ("16", "4096"), 12},
      {"VLM123", "awq-without-marlin", "something keeps the plain AWQ kernels instead of Marlin", slow, Blame::setting, "vllm-awq", always(),
       all({any({differs(I::quantization, "awq"), unless(version_2025())}), unless(is_true(I::batch_invariant)), unless(all({is_true(I::group_splits_k), differs(I::group_count_rest, 0)}))}),
       "the unoptimised method runs: batch-invariant mode, a group split between ranks, or the method named by hand in 2025 versions", {"leave batch-invariant mode, keep whole groups on each rank, and do not name the awq method", same, {Change::change_setting}}, awq_py,
       AWQ("16", "4096") " --extra batch_invariant=true", AWQ("16", "4096"), 60},
  };
  return rows;
}

const std::vector<Rule>& awq_plain_table() {
  static const std::vector<Rule> rows = {
      {"VLM130", "awq-kernel-shape", "extents that the plain AWQ kernel does not take", stops, Blame::spec, "vllm-awq-plain", below(I::rows, 256.0),
       all({multiple_of(I::n_rank_size, 64), any({at_most(I::quant_group, 0.0), all({multiple_of(I::quant_group, 32), equals(I::n_group_rest, 0)})})}), "the kernel's own check fails when it runs", {"use Marlin", same, {Change::change_setting}},
       awq_cu, AWQ("8", "11040"), AWQ("8", "4096"), 10},
      {"VLM131", "awq-dequantizes", "256 tokens or more, or batch-invariant mode", slow, Blame::heuristic, "vllm-awq-plain", always(), all({below(I::rows, 256.0), unless(is_true(I::batch_invariant))}),
       "the whole weight is dequantized to 16 bit and matmul runs", {"use AWQ-Marlin", same, {Change::change_setting}}, awq_py, AWQ("256", "4096"), AWQ("255", "4096"), 60},
  };
  return rows;
}

}  // namespace

Table gptq() { return gptq_table(); }
Table gptq_legacy() { return legacy_table(); }
Table awq() { return awq_table(); }
Table awq_plain() { return awq_plain_table(); }

}  // namespace dd::frameworks::vllm
