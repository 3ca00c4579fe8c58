#include "frameworks/vllm/rules.hpp"

namespace dd::frameworks::vllm {
namespace {

using namespace rules;
using I = facts::Id;

constexpr Source select{"kernels/linear/__init__.py", "vLLM main, 2026-08-17 and 2025-08-28", "2026-08-22"};
constexpr Source machete_py{"kernels/linear/mixed_precision/machete.py and machete_utils.py", "vLLM main, 2026-08-17; in the list after 2024-09-17, first release not verified", "2026-08-22"};
constexpr Source cutlass_py{"kernels/linear/mixed_precision/cutlass.py", "vLLM main, 2026-08-17", "2026-08-22"};
constexpr Source allspark_py{"kernels/linear/mixed_precision/allspark.py and allspark_utils.py", "vLLM main, 2026-08-17; merged before 2025-03-03, first release not verified", "2026-08-22"};
constexpr Source marlin_py{"kernels/linear/mixed_precision/marlin.py and marlin_utils.py", "vLLM main, 2026-08-17", "2026-08-22"};
constexpr Source marlin_old{"quantization/utils/marlin_utils.py", "vLLM main, 2025-08-28", "2026-08-22"};
constexpr Source conch_py{"kernels/linear/mixed_precision/conch.py", "vLLM main, 2026-08-17; in the list between 2025-06-18 and 2025-08-28, first release not verified", "2026-08-22"};
constexpr Source exllama_py{"kernels/linear/mixed_precision/exllama.py", "vLLM main, 2026-08-17; in the list in 0.6.4, first release not verified", "2026-08-22"};
constexpr Source triton_py{"kernels/linear/mixed_precision/triton_w4a16.py", "vLLM main, 2026-08-17", "2026-08-22"};
constexpr Source humming_py{"kernels/linear/mixed_precision/humming.py", "vLLM main, 2026-08-17", "2026-08-22"};
constexpr Source cpu_py{"kernels/linear/mixed_precision, CPU kernels", "vLLM main, 2026-08-17", "2026-08-22"};

const std::vector<std::string> half{"f16", "bf16"};
Condition straddles_ranks() { return all({is_true(I::group_splits_k), differs(I::group_count_rest, 0)}); }
Condition act_order() { return is_true(I::quant_act_order); }

#define VL_ON(ARCH) "gemm --x 16x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=128 --extra weight_type=u4b8 --framework vllm --target " ARCH
#define VL VL_ON("sm_90")
#define VL80 VL_ON("sm_80")
#define VL_ACT(ARCH) "gemm --x 16x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=128:act-order --extra weight_type=u4b8 --framework vllm --target " ARCH
#define VL_G(GROUP, ARCH) "gemm --x 16x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=" GROUP " --extra weight_type=u4b8 --framework vllm --target " ARCH
#define VL_F16(ARCH) "gemm --x 16x4096 --w 4096x4096 --dtype f16 --quant w4a16:group=128 --extra weight_type=u4b8 --framework vllm --target " ARCH
#define W4A8(GROUP, ARCH) "gemm --x 16x4096 --w 4096x4096 --dtype f8_e4m3 --out-dtype bf16 --quant w4a8:group=" GROUP " --extra weight_type=s4 --framework vllm --target " ARCH
#define W8(M, ARCH) "gemm --x " M "x4096 --w 4096x4096 --dtype bf16 --quant w8a16:group=channel --extra weight_type=u8b128 --framework vllm --target " ARCH

const std::vector<Rule>& select_table() {
  static const std::vector<Rule> rows = {
      {"VLM001", "kernel-disabled", "the kernel is listed in VLLM_DISABLED_KERNELS", stops, Blame::setting, "vllm-mp-select", always(), unless(is_true(I::kernel_disabled)),
       "it is left out before anything else is asked", {"clear the variable", same, {Change::change_setting}}, select, VL " --extra kernel_disabled=true", VL, 10},
      {"VLM002", "no-mixed-kernel-accepts", "no mixed-precision kernel accepts the layer", stops, Blame::checkpoint, "vllm-mp-select", always(), differs(I::kernels_accepting, 0),
       "ValueError that lists every kernel with its reason", {"follow the reasons of the single kernels; often fewer ranks or another group size", same, {Change::regroup, Change::change_setting}}, select,
       VL " --extra kernels_accepting=0", VL, 20},
  };
  return rows;
}

const std::vector<Rule>& machete_table() {
  static const std::vector<Rule> rows = {
      {"VLM010", "machete-off-hopper", "the chip is not compute capability 9.0", stops, Blame::hardware, "vllm-machete", always(), equals(I::compute_capability, 90),
       "the kernel is built on Hopper's warp-group products, which later chips dropped", {"nothing to do: Marlin serves other chips", same, {}}, machete_py, VL80, VL, 10},
      {"VLM011", "machete-act-order-sharded", "an activation order while the reduction is split over ranks", stops, Blame::checkpoint, "vllm-machete", act_order(), unless(is_true(I::k_sharded)),
       "the permutation would cross ranks", {"keep the layer on one rank, or take a checkpoint without activation order", same, {Change::regroup, Change::change_setting}}, machete_py,
       VL_ACT("sm_90") " --extra k_full=4096 --extra k_part=2048", VL_ACT("sm_90"), 11},
      {"VLM012", "machete-weight-type", "the stored weight type has no prepacked layout", stops, Blame::checkpoint, "vllm-machete", always(),
       any({all({is_true(I::quant_zero_point), one_of(I::weight_type, {"u4", "u8"})}), all({unless(is_true(I::quant_zero_point)), one_of(I::weight_type, {"u4b8", "u8b128"})})}),
       "declined", {"use Marlin for the types it knows, or quantize to u4b8 or u8b128", same, {}}, machete_py, VL " --extra weight_type=s4", VL, 12},
      {"VLM013", "machete-group", "the group size does not fit the K tile", stops, Blame::checkpoint, "vllm-machete", always(),
       any({all({one_of(I::dtype, half), one_of(I::quant_group, {-1, 64, 128})}), all({none_of(I::dtype, half), one_of(I::quant_group, {-1, 128})})}), "declined",
       {"quantize again with a group of 128; a group of 32 goes to Marlin", less_precise, {Change::regroup}}, machete_py, VL_G("32", "sm_90"), VL, 13},
      {"VLM014", "machete-shape", "K per rank is not a multiple of 64, or N per rank not of 128", stops, Blame::setting, "vllm-machete", always(),
       all({multiple_of(I::k_rank_size, 64), multiple_of(I::n_rank_size, 128)}), "declined", {"use fewer ranks, or pad", same, {Change::pad_k, Change::pad_n, Change::change_setting}}, machete_py,
       VL " --extra n_part=1376", VL, 14},
  };
  return rows;
}

const std::vector<Rule>& w4a8_table() {
  static const std::vector<Rule> rows = {
      {"VLM020", "w4a8-off-hopper", "the chip is not compute capability 9.0", stops, Blame::hardware, "vllm-cutlass-w4a8", always(), equals(I::compute_capability, 90), "declined",
       {"keep 16-bit activations", less_precise, {Change::cast_dtype}}, cutlass_py, W4A8("128", "sm_80"), W4A8("128", "sm_90"), 10},
      {"VLM021", "w4a8-recipe", "not the one recipe that the INT4 by FP8 kernel was built for", stops, Blame::checkpoint, "vllm-cutlass-w4a8", always(),
       all({equals(I::dtype, "f8_e4m3"), unless(act_order()), unless(is_true(I::quant_zero_point)), equals(I::weight_type, "s4"), equals(I::quant_group, 128), multiple_of(I::k_rank_size, 128),
            multiple_of(I::n_rank_size, 128), equals(I::dtype_out, "bf16")}),
       "declined: it wants E4M3 activations, signed INT4 in groups of 128, extents in multiples of 128, and a BF16 result",
       {"use E4M3 activations, signed INT4 in groups of 128, extents in multiples of 128 and a BF16 result", less_precise, {Change::regroup, Change::cast_dtype}}, cutlass_py, W4A8("64", "sm_90"), W4A8("128", "sm_90"), 11},
  };
  return rows;
}

const std::vector<Rule>& allspark_table() {
  static const std::vector<Rule> rows = {
      {"VLM030", "allspark-act-order", "the checkpoint has an activation order", stops, Blame::checkpoint, "vllm-allspark", always(), unless(act_order()), "declined", {"leave it to Marlin or ExLlama, which take an activation order", same, {}}, allspark_py,
       "gemm --x 16x4096 --w 4096x4096 --dtype bf16 --quant w8a16:group=channel:act-order --extra weight_type=u8b128 --framework vllm --target sm_80", W8("16", "sm_80"), 10},
      {"VLM031", "allspark-zero-points", "the weights have zero points", stops, Blame::checkpoint, "vllm-allspark", always(), unless(is_true(I::quant_zero_point)), "declined", {"leave it to Marlin, which takes 4-bit weights with zero points", same, {}},
       allspark_py, "gemm --x 16x4096 --w 4096x4096 --dtype bf16 --quant w8a16:group=channel:zero --extra weight_type=u8b128 --framework vllm --target sm_80", W8("16", "sm_80"), 11},
      {"VLM032", "allspark-off-ampere", "the chip is outside compute capability 8.0 to 8.9", stops, Blame::hardware, "vllm-allspark", always(), between(I::compute_capability, 80, 89), "declined",
       {"nothing to do: Marlin or Machete serve other chips", same, {}}, allspark_py, W8("16", "sm_90"), W8("16", "sm_80"), 12},
      {"VLM033", "allspark-groups", "the scales are per group, not per channel", stops, Blame::checkpoint, "vllm-allspark", always(), equals(I::quant_group, -1), "only scales per output channel are taken", {"nothing to do: Marlin takes groups", same, {}}, allspark_py,
       "gemm --x 16x4096 --w 4096x4096 --dtype bf16 --quant w8a16:group=128 --extra weight_type=u8b128 --framework vllm --target sm_80", W8("16", "sm_80"), 13},
      {"VLM034", "allspark-type-or-shape", "weight type, extents or activations that the packed layout does not hold", stops, Blame::checkpoint, "vllm-allspark", always(),
       all({equals(I::weight_type, "u8b128"), multiple_of(I::k_rank_size, 16), multiple_of(I::n_rank_size, 16), one_of(I::dtype, half)}), "declined", {"nothing to do: Marlin takes what AllSpark declines", same, {}}, allspark_py,
       W8("16", "sm_80") " --extra weight_type=u4b8", W8("16", "sm_80"), 14},
      {"VLM035", "allspark-large-batch", "more than 1024 tokens in one call", slow, Blame::heuristic, "vllm-allspark", always(), at_most(I::rows, 1024.0),
       "the weight is dequantized and cuBLAS multiplies, which is expected for a prefill", {"nothing to do: at such sizes the dequantized product is the faster one", same, {}}, allspark_py, W8("1025", "sm_80"), W8("1024", "sm_80"), 60},
  };
  return rows;
}

const std::vector<Rule>& marlin_table() {
  static const std::vector<Rule> rows = {
      {"VLM040", "marlin-chip", "the chip is older than compute capability 7.5 (8.0 in 2025 versions)", stops, Blame::hardware, "vllm-marlin", always(),
       all({at_least(I::compute_capability, 75), any({at_least(I::compute_capability, 80), version_2026()})}), "declined", {"use ExLlama, which serves 6.0 and later", same, {}}, marlin_py, VL_F16("sm_70"), VL80, 10},
      {"VLM041", "marlin-weight-type", "the stored weight type is not instantiated", stops, Blame::checkpoint, "vllm-marlin", always(),
       any({all({is_true(I::quant_zero_point), equals(I::weight_type, "u4")}), all({unless(is_true(I::quant_zero_point)), one_of(I::weight_type, {"u4b8", "u8b128", "e4m3", "e2m1"})})}),
       "declined: 8 bits with zero points and 2 or 3 bits do not exist", {"use ExLlama, the legacy GPTQ kernels or Triton", same, {}}, marlin_py, VL80 " --extra weight_type=u8", VL80, 11},
      {"VLM042", "marlin-group", "the group size is not -1, 32, 64 or 128", stops, Blame::checkpoint, "vllm-marlin", always(), one_of(I::quant_group, {-1, 32, 64, 128}), "declined",
       {"quantize again with a group of 128", less_precise, {Change::regroup}}, marlin_py, VL_G("256", "sm_80"), VL80, 12},
      {"VLM043", "marlin-act-order-shape", "an activation order with extents that would need padding", stops, Blame::checkpoint, "vllm-marlin", act_order(),
       all({multiple_of(I::n_rank_size, 64), multiple_of(I::k_rank_size, 128), unless(straddles_ranks())}), "declined: padding would break the permutation",
       {"use fewer ranks, or a checkpoint without activation order", same, {Change::change_setting, Change::regroup}}, marlin_py, VL_ACT("sm_80") " --extra k_full=11008 --extra k_part=2752", VL_ACT("sm_80"), 13},
      {"VLM044", "group-straddles-ranks", "a group would be split between ranks", stops, Blame::setting, "vllm-marlin", always(), unless(straddles_ranks()), "declined",
       {"use fewer ranks, or a smaller group", same, {Change::change_setting, Change::regroup}}, marlin_py, VL80 " --extra k_full=11008 --extra k_part=1376", VL80, 14},
      {"VLM045", "marlin-tile-without-padding", "an extent per rank does not fill the tiles, on a version that does not pad", stops, Blame::library_version, "vllm-marlin", version_2025(),
       all({multiple_of(I::n_rank_size, 64), multiple_of(I::k_rank_size, 128)}), "ValueError that advises fewer ranks, which cannot help when the layer itself is not a multiple",
       {"update (2026 versions pad), use fewer ranks, or pad the checkpoint", same, {Change::change_version, Change::pad_k, Change::pad_n}}, marlin_old,
       VL80 " --package-version vllm=2025.8 --extra k_part=2752", VL80 " --package-version vllm=2025.8", 15},
      {"VLM046", "marlin-bf16-on-turing", "BF16 activations on Turing", stops, Blame::hardware, "vllm-marlin", between(I::compute_capability, 75, 79), differs(I::dtype, "bf16"), "declined: the chip has no BF16 product",
       {"run the model in FP16", less_precise, {Change::cast_dtype}}, marlin_py, VL_ON("sm_75"), VL_F16("sm_75"), 16},
      {"VLM047", "marlin-fp8-activations", "FP8 activations on a chip other than 8.9 and 12.x", stops, Blame::hardware, "vllm-marlin", equals(I::dtype, "f8_e4m3"), one_of(I::compute_capability, {89, 120, 121}), "declined",
       {"keep 16-bit activations", less_precise, {Change::cast_dtype}}, marlin_py, W4A8("128", "sm_90") " --extra weight_type=u4b8", W4A8("128", "sm_89") " --extra weight_type=u4b8", 16},
      {"VLM048", "marlin-pads", "the extents per rank fit neither tile family", slow, Blame::setting, "vllm-marlin", version_2026(),
       any({all({multiple_of(I::n_rank_size, 64), multiple_of(I::k_rank_size, 128)}), all({multiple_of(I::n_rank_size, 128), multiple_of(I::k_rank_size, 64)})}),
       "weights are padded when loaded; activations are padded and results sliced with a copy in every call", {"choose a number of ranks so that the shares fit", same, {Change::change_setting}}, marlin_py,
       VL80 " --extra n_part=1376", VL80, 30},
      {"VLM049", "marlin-permutes-columns", "the checkpoint has an activation order", slow, Blame::checkpoint, "vllm-marlin", always(), unless(act_order()), "the columns of the activations are permuted in every call",
       {"take a checkpoint without activation order", less_precise, {Change::regroup}}, marlin_py, VL_ACT("sm_80"), VL80, 31},
      {"VLM050", "marlin-scales-replicated", "an activation order while the reduction is split over ranks", slow, Blame::checkpoint, "vllm-marlin", act_order(), unless(is_true(I::k_sharded)),
       "every rank holds all scales and looks them up one by one", {"take a checkpoint without activation order", less_precise, {Change::regroup}}, marlin_py,
       VL_ACT("sm_80") " --extra k_full=8192 --extra k_part=4096", VL_ACT("sm_80"), 61},
  };
  return rows;
}

const std::vector<Rule>& conch_table() {
  static const std::vector<Rule> rows = {
      {"VLM060", "conch-limits", "outside the limits of the Conch kernels, or their package is missing", stops, Blame::build, "vllm-conch", always(),
       all({at_least(I::compute_capability, 80), one_of(I::weight_type, {"u4", "u8", "u4b8", "u8b128"}), one_of(I::quant_group, {-1, 128}), unless(act_order()), is_true(I::build_conch)}),
       "declined", {"install conch-triton-kernels, and use groups of 128 without activation order", same, {Change::change_setting}}, conch_py, VL80 " --built-with conch=off", VL80 " --built-with conch=on", 10},
  };
  return rows;
}

const std::vector<Rule>& exllama_table() {
  static const std::vector<Rule> rows = {
      {"VLM070", "exllama-act-order-sharded", "an activation order while the reduction is split over ranks", stops, Blame::checkpoint, "vllm-exllama", act_order(), unless(is_true(I::k_sharded)), "declined: the permutation crosses ranks",
       {"keep the layer on one rank", same, {Change::change_setting}}, exllama_py, VL_ACT("sm_90") " --extra k_full=4096 --extra k_part=2048", VL_ACT("sm_90"), 10},
      {"VLM071", "exllama-packing", "N per rank does not fill 32-bit words", stops, Blame::setting, "vllm-exllama", always(), multiple_of(I::n_rank_size, I::pack_factor), "declined: zero points are packed along N",
       {"use fewer ranks", same, {Change::change_setting, Change::pad_n}}, exllama_py, VL_F16("sm_90") " --extra n_part=1380", VL_F16("sm_90"), 11},
      {"VLM072", "exllama-not-f16", "the activations are not FP16", stops, Blame::setting, "vllm-exllama", always(), equals(I::dtype, "f16"), "declined: half kernels only", {"run the model in FP16", less_precise, {Change::cast_dtype}},
       exllama_py, VL, VL_F16("sm_90"), 12},
      {"VLM073", "exllama-limits", "weight type, group or chip outside the limits of ExLlama", stops, Blame::checkpoint, "vllm-exllama", always(),
       all({one_of(I::weight_type, {"u4b8", "u8b128"}), above(I::quant_group, 0.0), equals(I::group_rest_layer, 0), at_least(I::compute_capability, 60)}), "declined", {"use Marlin or Triton where their limits hold", same, {}}, exllama_py,
       "gemm --x 16x4096 --w 4096x4096 --dtype f16 --quant w4a16:group=channel --extra weight_type=u4b8 --framework vllm --target sm_90", VL_F16("sm_90"), 13},
  };
  return rows;
}

const std::vector<Rule>& triton_table() {
  static const std::vector<Rule> rows = {
      {"VLM080", "triton-limits", "outside the limits of the Triton W4A16 kernel", stops, Blame::checkpoint, "vllm-triton-w4a16", always(),
       all({one_of(I::weight_type, {"u4b8", "u4"}), one_of(I::dtype, half), multiple_of(I::n_rank_size, 8), unless(act_order()),
            any({one_of(I::quant_group, {-1, 32, 64, 128, 256}), equals(I::quant_group, I::k_layer)}), equals(I::group_count_rest, 0)}),
       "declined", {"meet the limits: 4 bits, 16-bit activations, N in eights, no activation order, whole groups per rank", same, {Change::pad_n, Change::regroup}}, triton_py, VL_ACT("sm_90"), VL, 10},
      {"VLM081", "triton-chosen-last", "the Triton kernel was chosen on an NVIDIA chip", slow, Blame::heuristic, "vllm-triton-w4a16", always(), unless(is_true(I::chosen)),
       "it stands near the end of the order, so every tuned kernel before it declined", {"look at why the kernels before it declined", same, {}}, select, VL " --extra chosen=true", VL, 60},
  };
  return rows;
}

const std::vector<Rule>& humming_table() {
  static const std::vector<Rule> rows = {
      {"VLM090", "humming-limits", "a chip before 7.5, an activation order, or the package is missing", stops, Blame::build, "vllm-humming", always(),
       all({at_least(I::compute_capability, 75), is_true(I::build_humming), unless(act_order())}), "declined", {"install the humming package", same, {Change::change_setting}}, humming_py, VL, VL " --built-with humming=on", 10},
  };
  return rows;
}

const std::vector<Rule>& cpu_table() {
  static const std::vector<Rule> rows = {
      {"VLM095", "dynamic-4bit-limits", "not signed 4-bit weights on an ARM processor", stops, Blame::hardware, "vllm-dynamic-4bit", always(), all({equals(I::device_type, "cpu"), equals(I::weight_type, "s4")}), "declined",
       {"nothing to do: this kernel is for ARM processors", same, {}}, cpu_py, VL, "gemm --x 16x4096 --w 4096x4096 --dtype bf16 --quant w4a8:group=32 --extra weight_type=s4 --framework vllm --target cpu", 10},
      {"VLM096", "cpu-wna16-limits", "outside the limits of the processor's 4-bit kernel", stops, Blame::spec, "vllm-cpu-wna16", always(),
       all({equals(I::device_type, "cpu"), one_of(I::weight_type, {"u4", "u4b8"}), multiple_of(I::k_rank_size, 32), multiple_of(I::n_rank_size, 32), multiple_of(I::quant_group, 2)}), "declined",
       {"use extents in multiples of 32 and an even group", same, {Change::pad_k, Change::pad_n}}, cpu_py, VL,
       "gemm --x 16x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=128 --extra weight_type=u4b8 --framework vllm --target cpu", 10},
  };
  return rows;
}

}  // namespace

Table selection() { return select_table(); }
Table outcome() { return Table(select_table()).last(1); }
Table machete() { return machete_table(); }
Table cutlass_w4a8() { return w4a8_table(); }
Table allspark() { return allspark_table(); }
Table marlin() { return marlin_table(); }
Table conch() { return conch_table(); }
Table exllama() { return exllama_table(); }
Table triton_w4a16() { return triton_table(); }
Table humming() { return humming_table(); }
Table dynamic_4bit() { return Table(cpu_table()).first(1); }
Table cpu_wna16() { return Table(cpu_table()).subspan(1); }

}  // namespace dd::frameworks::vllm
