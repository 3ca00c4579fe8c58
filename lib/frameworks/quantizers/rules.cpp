#include "frameworks/quantizers/rules.hpp"

namespace dd::frameworks::quantizers {
namespace {

using namespace rules;
using I = facts::Id;
constexpr auto stops = Level::blocks, slow = Level::slows;
constexpr auto same = Keeps::function, less_precise = Keeps::precision;

constexpr Source awq{"AutoAWQ awq/modules/linear/gemm.py", "2025-05-11, archived", "2026-08-22"};
constexpr Source marlin_py{"GPTQModel qlinear/marlin.py", "2026-08-23", "2026-08-24"};
constexpr Source machete_py{"GPTQModel qlinear/machete.py", "2026-08-23", "2026-08-24"};
constexpr Source exllama_py{"GPTQModel qlinear/exllamav2.py", "2026-08-23", "2026-08-24"};
constexpr Source torch_py{"GPTQModel qlinear/torch.py", "2026-08-23", "2026-08-24"};
constexpr Source reports{"AutoGPTQ issue 722 and related, GPTQModel issue 2824", "2024 to 2026", "2026-08-25"};
constexpr Source ort{"ONNX Runtime MatMulNBits, issue 27251 and mobius pull request 402", "1.24, 2026", "2026-08-25"};
constexpr Source first_marlin{"IST-DASLab marlin/__init__.py and marlin_cuda.cpp", "2024-04-04", "2026-08-22"};
constexpr Source trt{"TensorRT-LLM fpA_intB_gemm kernels", "2024 to 2026", "2026-08-22"};

#define AWQ(M) "gemm --x " M "x4096 --w 4096x4096 --dtype f16 --quant w4a16:group=128:packing=awq --framework autoawq --target sm_80"
#define GM(K, N, GROUP, ARCH) "gemm --x 16x" K " --w " K "x" N " --dtype f16 --quant w4a16:group=" GROUP ":packing=gptq --framework gptqmodel --target " ARCH
#define GM_ACT "gemm --x 16x4096 --w 4096x4096 --dtype f16 --quant w4a16:group=128:act-order:packing=gptq --framework gptqmodel --target sm_80"
#define ORT(DTYPE) "gemm --x 1x4096 --w 4096x4096 --dtype " DTYPE " --framework onnxruntime --target cpu --extra accuracy_level="
#define MO(N) "gemm --x 16x4096 --w 4096x" N " --dtype f16 --quant w4a16:group=128 --framework marlin --target sm_80"
#define TRT(K, GROUP, ARCH) "gemm --x 16x" K " --w " K "x4096 --dtype f16 --quant w4a16:group=" GROUP " --framework tensorrt-llm --target " ARCH

const std::vector<Rule>& awq_table() {
  static const std::vector<Rule> rows = {
      {"AWQ001", "autoawq-packing", "bits, group or N that the packed layout does not hold", stops, Blame::checkpoint, "autoawq-gemm", always(), all({equals(I::quant_bits, 4), equals(I::group_rest_layer, 0), multiple_of(I::n, 8)}), "refused at load",
       {"use 4 bits, a group that divides K, and N in eights", less_precise, {Change::regroup, Change::pad_n}}, awq, "gemm --x 16x4096 --w 4096x4097 --dtype f16 --quant w4a16:group=128:packing=awq --framework autoawq --target sm_80", AWQ("16"), 10},
      {"AWQ002", "autoawq-dequantizes", "1024 tokens or more", slow, Blame::heuristic, "autoawq-gemm", always(), below(I::rows, 1024.0), "the whole weight is dequantized and matmul runs", {"nothing to do: expected for a prefill", same, {}}, awq, AWQ("1024"), AWQ("1023"), 60},
      {"AWQ003", "autoawq-without-kernels", "neither the compiled kernels nor Triton are installed", slow, Blame::build, "autoawq-gemm", always(), any({is_true(I::build_awq_ext), is_true(I::build_triton)}), "the weight is unpacked by plain tensor operations, very slowly",
       {"install autoawq-kernels or Triton", same, {Change::change_setting}}, awq, AWQ("16") " --built-with awq_ext=off --built-with triton=off", AWQ("16") " --built-with awq_ext=on", 61},
  };
  return rows;
}

const std::vector<Rule>& gptqmodel_table() {
  static const std::vector<Rule> rows = {
      {"GPM001", "gptqmodel-machete-limits", "outside the limits of Machete", stops, Blame::checkpoint, "gptqmodel-machete", always(),
       all({one_of(I::quant_bits, {4, 8}), one_of(I::quant_group, {-1, 64, 128}), multiple_of(I::k, 64), multiple_of(I::n, 128), equals(I::compute_capability, 90)}), "passed over for the next in priority", {"use Hopper, groups of 128 and N in multiples of 128", less_precise, {Change::regroup, Change::pad_n}},
       machete_py, GM("4096", "4096", "32", "sm_90"), GM("4096", "4096", "128", "sm_90"), 10},
      {"GPM002", "gptqmodel-marlin-limits", "outside the limits of Marlin", stops, Blame::checkpoint, "gptqmodel-marlin", always(),
       all({at_least(I::compute_capability, 75), is_true(I::symmetric), one_of(I::quant_bits, {4, 8}), one_of(I::quant_group, {-1, 32, 64, 128}), multiple_of(I::n, 64)}), "passed over for the next in priority", {"use symmetric weights in groups of 128", less_precise, {Change::regroup, Change::pad_n}}, marlin_py,
       GM("4096", "4096", "128", "sm_70"), GM("4096", "4096", "128", "sm_80"), 10},
      {"GPM008", "checkpoint-format-v2", "the checkpoint is stored as gptq_v2", stops, Blame::checkpoint, "gptqmodel-marlin", always(), differs(I::checkpoint_format, "gptq_v2"), "its zero points follow another convention, so the kernel refuses it",
       {"store the checkpoint again in the first format", same, {Change::change_setting}}, reports, GM("4096", "4096", "128", "sm_80") " --extra checkpoint_format=gptq_v2", GM("4096", "4096", "128", "sm_80") " --extra checkpoint_format=gptq", 11},
      {"GPM003", "gptqmodel-exllama-limits", "outside the limits of ExLlama v2", stops, Blame::checkpoint, "gptqmodel-exllamav2", always(), all({equals(I::quant_bits, 4), one_of(I::quant_group, {-1, 32, 64, 128}), multiple_of(I::k, 32), multiple_of(I::n, 32)}),
       "passed over for the next in priority", {"use 4 bits in groups of 128 and extents in multiples of 32", less_precise, {Change::regroup, Change::pad_n}}, exllama_py, GM("4096", "4100", "128", "sm_80"), GM("4096", "4096", "128", "sm_80"), 10},
      {"GPM006", "fused-projections-with-act-order", "q, k and v are fused although each has an activation order of its own", stops, Blame::setting, "gptqmodel-exllamav2", is_true(I::quant_act_order), unless(is_true(I::fused_qkv)), "an error; switching ExLlama off instead costs most of the speed",
       {"switch the fused attention off and keep the kernel", same, {Change::change_setting}}, reports, GM_ACT " --extra fused_qkv=true", GM_ACT, 11},
      {"GPM007", "fast-kernel-not-opted-in", "the fast kernel is off by default and was not asked for", slow, Blame::setting, "gptqmodel-exllamav2", always(), is_true(I::fast_kernel_opt_in), "another kernel runs, with a line in the log that the checkpoint would fit Marlin",
       {"ask for Marlin when loading", same, {Change::change_setting}}, reports, GM("4096", "4096", "128", "sm_80") " --extra fast_kernel_opt_in=false", GM("4096", "4096", "128", "sm_80"), 60},
      {"GPM004", "gptqmodel-triton-limits", "outside the limits of the Triton kernel", stops, Blame::checkpoint, "gptqmodel-triton", always(), all({one_of(I::quant_bits, {2, 4, 8}), multiple_of(I::k, 32), multiple_of(I::n, 32)}), "passed over for the next in priority",
       {"use 2, 4 or 8 bits and extents in multiples of 32", less_precise, {Change::regroup, Change::pad_n}}, exllama_py, GM("4096", "4100", "128", "sm_80"), GM("4096", "4096", "128", "sm_80"), 10},
      {"GPM005", "gptqmodel-unpacks", "only the plain fallback is left", slow, Blame::heuristic, "gptqmodel-torch", applicable(I::quant_bits), never(), "the weight is unpacked to 16 bit in every call", {"install a kernel and meet its limits", same, {Change::change_setting}}, torch_py,
       GM("4096", "4100", "128", "sm_80"), "gemm --x 16x4096 --w 4096x4096 --dtype f16 --framework gptqmodel --target sm_80", 60},
  };
  return rows;
}

const std::vector<Rule>& onnx_table() {
  static const std::vector<Rule> rows = {
      {"ORT001", "accuracy-level-absent", "the node has no accuracy_level of 4", slow, Blame::checkpoint, "onnxruntime-matmulnbits", always(), equals(I::accuracy_level, 4), "4-bit weights are dequantized to FP32 instead of using 8-bit dot products",
       {"set accuracy_level to 4 in the model and check the accuracy", less_precise, {Change::change_setting}}, ort, ORT("f32") "0", ORT("f32") "4", 60},
      {"ORT002", "half-activations-without-integer-kernel", "the activations are not FP32", slow, Blame::library_version, "onnxruntime-matmulnbits", always(), equals(I::dtype, "f32"), "the integer variant exists for FP32 activations only",
       {"give FP32 activations", same, {Change::cast_dtype}}, ort, ORT("f16") "4", ORT("f32") "4", 61},
  };
  return rows;
}

const std::vector<Rule>& single_table() {
  static const std::vector<Rule> rows = {
      {"MRL001", "first-marlin-limits", "outside the limits of the first Marlin release", stops, Blame::checkpoint, "marlin-original", always(),
       all({multiple_of(I::k, 128), multiple_of(I::n, 256), one_of(I::quant_group, {-1, 128}), equals(I::dtype, "f16"), at_least(I::compute_capability, 80)}), "the call returns a problem-shape error", {"use a later descendant of the kernel, or pad", same, {Change::pad_k, Change::pad_n}}, first_marlin,
       MO("4224"), MO("4096"), 10},
      {"TRT001", "weight-only-chip", "the chip is not in the compiled table", stops, Blame::hardware, "tensorrt-llm-weight-only", always(), at_least(I::compute_capability, 70), "an exception at dispatch, without a generic path", {"use a supported chip", same, {}}, trt,
       TRT("4096", "128", "sm_61"), TRT("4096", "128", "sm_80"), 10},
      {"TRT002", "weight-only-groups-before-ampere", "scales per group before compute capability 8.0", stops, Blame::hardware, "tensorrt-llm-weight-only", all({applicable(I::quant_group), differs(I::quant_group, -1)}), at_least(I::compute_capability, 80), "refused", {"scale per channel", less_precise, {Change::regroup}},
       trt, TRT("4096", "128", "sm_75"), TRT("4096", "128", "sm_80"), 11},
      {"TRT003", "weight-only-k-tile", "K is not a multiple of the 64-wide tile", stops, Blame::spec, "tensorrt-llm-weight-only", always(), multiple_of(I::k, 64), "the interleaved layout assumes full tiles: refused", {"pad K to a multiple of 64", same, {Change::pad_k}}, trt, TRT("4128", "32", "sm_80"),
       TRT("4096", "128", "sm_80"), 12},
      {"TRT004", "weight-only-workspace", "the workspace is too small to split the reduction", slow, Blame::setting, "tensorrt-llm-weight-only", always(), unless(is_true(I::small_workspace)), "runs without splitting", {"give more workspace", same, {Change::change_setting}}, trt,
       TRT("4096", "128", "sm_80") " --extra small_workspace=true", TRT("4096", "128", "sm_80"), 60},
  };
  return rows;
}

#undef AWQ
#undef GM
#undef MO
#undef ORT
#undef GM_ACT
#undef TRT

using Table = std::span<const Rule>;

// The rows of one kernel within the table of the package.
Table of(std::string_view scope) {
  const std::vector<Rule>& table = gptqmodel_table();
  std::size_t first = 0;
  while (table[first].scope != scope) ++first;
  std::size_t last = first;
  while (last < table.size() && table[last].scope == scope) ++last;
  return Table(table).subspan(first, last - first);
}

}  // namespace

Table autoawq_gemm() { return awq_table(); }
Table gptqmodel_machete() { return of("gptqmodel-machete"); }
Table gptqmodel_marlin() { return of("gptqmodel-marlin"); }
Table gptqmodel_exllamav2() { return of("gptqmodel-exllamav2"); }
Table gptqmodel_triton() { return of("gptqmodel-triton"); }
Table gptqmodel_torch() { return of("gptqmodel-torch"); }
Table onnxruntime() { return onnx_table(); }
Table marlin_original() { return Table(single_table()).first(1); }
Table tensorrt_llm() { return Table(single_table()).subspan(1); }

}  // namespace dd::frameworks::quantizers
