#include "frameworks/vllm/rules.hpp"

namespace dd::frameworks::vllm {
namespace {

using namespace rules;
using I = facts::Id;

constexpr Source scaled_marlin_py{"kernels/linear/scaled_mm/marlin.py", "vLLM main, 2026-08-17", "2026-08-22"};
constexpr Source flashinfer_py{"kernels/linear/scaled_mm/flashinfer.py", "vLLM main, 2026-08-17", "2026-08-22"};
constexpr Source scaled_cutlass_py{"kernels/linear/scaled_mm/cutlass.py and csrc scaled_mm entry", "vLLM main, 2026-08-17", "2026-08-22"};
constexpr Source custom_ops{"vllm/_custom_ops.py", "vLLM main, 2025-08-28 and 2026-08-17", "2026-08-22"};
constexpr Source torch_py{"kernels/linear/scaled_mm/pytorch.py", "vLLM main, 2026-08-17", "2026-08-22"};
constexpr Source deepgemm_py{"kernels/linear/scaled_mm/deep_gemm.py and utils/deep_gemm.py", "vLLM main, 2026-08-17", "2026-08-22"};
constexpr Source int8_cu{"csrc quantization/w8a8/cutlass/c3x/scaled_mm_helper.hpp", "vLLM main, 2026-08-17", "2026-08-22"};
constexpr Source triton_configs{"block FP8 Triton kernel and its tuned files", "vLLM and SGLang, 2025 to 2026", "2026-08-25"};
constexpr Source mxfp4_report{"vLLM issue on MXFP4 and capability 12.0", "0.12.0", "2026-08-25"};
constexpr Source nvfp4_order{"vLLM issue 55397, pull requests 53014 and 55405", "v0.29.0", "2026-11-29"};
constexpr Source nvfp4_py{"kernels/linear/nvfp4", "vLLM main, 2026-08-17", "2026-08-22"};

Condition sixteenths() { return all({multiple_of(I::k_rank_size, 16), multiple_of(I::n_rank_size, 16)}); }

#define FP8_ON(ARCH) "gemm --x 64x4096 --w 4096x4096 --trans-w --dtype f8_e4m3 --out-dtype bf16 --framework vllm --cuda-version 13.0 --target " ARCH
#define FP8 FP8_ON("sm_90")
#define FP8_100 FP8_ON("sm_100") " --built-with flashinfer=on"
#define BLOCK(M, ARCH) "gemm --x " M "x4096 --w 4096x4096 --trans-w --dtype f8_e4m3 --out-dtype bf16 --framework vllm --cuda-version 13.0 --extra scale_recipe=1x128 --target " ARCH
#define INT8(K, ARCH) "gemm --x 64x" K " --w " K "x4096 --trans-w --dtype s8 --out-dtype bf16 --framework vllm --target " ARCH
#define FP4(K, ARCH) "gemm --x 64x" K " --w " K "x4096 --trans-w --dtype f4_e2m1 --out-dtype bf16 --framework vllm --cuda-version 13.0 --target " ARCH

const std::vector<Rule>& fp8_table() {
  static const std::vector<Rule> rows = {
      {"VLM140", "fp8-marlin-not-wanted", "the chip has FP8 products of its own", stops, Blame::hardware, "vllm-fp8-marlin", always(), any({below(I::compute_capability, 89), equals(I::env_force_fp8_marlin, "1")}),
       "weight-only FP8 is meant for 7.5 to 8.8", {"nothing to do: the native FP8 kernels are the right ones here", same, {}}, scaled_marlin_py, FP8, FP8_ON("sm_80"), 10},
      {"VLM141", "fp8-marlin-chip", "a chip before 7.5, or batch-invariant mode", stops, Blame::hardware, "vllm-fp8-marlin", always(), all({at_least(I::compute_capability, 75), unless(is_true(I::batch_invariant))}), "declined",
       {"use a newer GPU, or leave batch-invariant mode", same, {Change::change_setting}}, scaled_marlin_py, FP8_ON("sm_70"), FP8_ON("sm_80"), 11},
      {"VLM142", "fp8-flashinfer-limits", "a chip before 10.0, FlashInfer missing, or scales that are not per tensor", stops, Blame::build, "vllm-fp8-flashinfer", always(),
       all({at_least(I::compute_capability, 100), is_true(I::build_flashinfer), equals(I::scale_recipe, "tensorwise")}), "declined", {"nothing to do: CUTLASS takes the layer", same, {}}, flashinfer_py, FP8_ON("sm_100") " --built-with flashinfer=off", FP8_100, 10},
      {"VLM143", "fp8-cutlass-not-built", "the CUTLASS FP8 kernel is not part of the build for this chip", stops, Blame::build, "vllm-fp8-cutlass", always(),
       all({at_least(I::compute_capability, 89), any({differs(I::compute_capability, 89), version_in(I::cuda_version, "12.4", "")}), any({below(I::compute_capability, 90), version_in(I::cuda_version, "12.0", "")})}),
       "declined", {"use a build with CUDA 12.4 (8.9) or 12.0 (9.0 and later)", same, {Change::change_version}}, scaled_cutlass_py, FP8_ON("sm_80"), FP8, 10},
      {"VLM144", "fp8-cutlass-pads", "K or N per rank is not a multiple of 16", slow, Blame::spec, "vllm-fp8-cutlass", version_2026(), sixteenths(),
       "weights are padded at load, activations padded and results sliced in every call", {"choose extents or ranks in multiples of 16", same, {Change::pad_k, Change::pad_n}}, scaled_cutlass_py, FP8 " --extra n_part=1000", FP8, 30},
      {"VLM145", "fp8-cutlass-to-triton", "K or N per rank is not a multiple of 16, on a version without padding", slow, Blame::library_version, "vllm-fp8-cutlass", version_2025(), sixteenths(), "a Triton kernel runs instead",
       {"pad, or update", same, {Change::pad_k, Change::pad_n, Change::change_version}}, custom_ops, FP8 " --package-version vllm=2025.8 --extra n_part=1000", FP8 " --package-version vllm=2025.8", 60},
      {"VLM146", "fp8-torch-chip", "a chip without FP8 products", stops, Blame::hardware, "vllm-fp8-torch", always(), at_least(I::compute_capability, 89), "declined", {"use the FP8 Marlin kernel, which keeps FP8 for the weights", less_precise, {}}, torch_py, FP8_ON("sm_80"), FP8, 10},
      {"VLM147", "fp8-torch-scales-apart", "scales per channel or token", slow, Blame::checkpoint, "vllm-fp8-torch", always(), equals(I::scale_recipe, "tensorwise"), "the product runs with unit scales into FP32 and the scales are applied by further kernels",
       {"use the CUTLASS kernel, which applies them in the product", same, {Change::change_setting}}, torch_py, FP8 " --extra scale_recipe=rowwise", FP8, 60},
      {"VLM150", "block-deepgemm-missing", "not Hopper or data-centre Blackwell, or DeepGEMM is not available", stops, Blame::build, "vllm-fp8-block-deepgemm", always(),
       all({any({equals(I::compute_capability, 90), between(I::compute_capability, 100, 109)}), is_true(I::build_deep_gemm)}), "declined", {"install DeepGEMM and leave VLLM_USE_DEEP_GEMM at 1", same, {Change::change_setting}}, deepgemm_py,
       BLOCK("64", "sm_90") " --built-with deep_gemm=off", BLOCK("64", "sm_90") " --built-with deep_gemm=on", 10},
      {"VLM151", "block-deepgemm-shape", "result type or extents that DeepGEMM's tiles do not hold", stops, Blame::spec, "vllm-fp8-block-deepgemm", always(), all({equals(I::dtype_out, "bf16"), multiple_of(I::n_rank_size, 64), multiple_of(I::k_rank_size, 128)}),
       "declined", {"write BF16, N in multiples of 64 and K of 128", same, {Change::pad_k, Change::pad_n}}, deepgemm_py, BLOCK("64", "sm_90") " --extra n_part=1000", BLOCK("64", "sm_90"), 11},
      {"VLM152", "block-cutlass-not-built", "no CUTLASS block kernel for this chip and CUDA, or a bias", stops, Blame::build, "vllm-fp8-block-cutlass", always(),
       all({any({all({equals(I::compute_capability, 90), version_in(I::cuda_version, "12.0", "")}), all({at_least(I::compute_capability, 100), version_in(I::cuda_version, "12.8", "")})}), unless(is_true(I::has_bias))}),
       "declined: compute capability 9.0, or 10.0 and later with CUDA 12.8", {"leave it to Triton, which is slower, or use per-tensor scales, which run natively on 8.9", less_precise, {}}, scaled_cutlass_py, BLOCK("64", "sm_89"), BLOCK("64", "sm_90"), 10},
      {"VLM153", "block-torch-off-hopper", "the chip is not compute capability 9.0", stops, Blame::hardware, "vllm-fp8-block-torch", always(), equals(I::compute_capability, 90), "declined: the library's block modes are Hopper's", {"leave it to Triton", same, {}},
       torch_py, BLOCK("64", "sm_100"), BLOCK("64", "sm_90"), 10},
      {"VLM154", "block-torch-pads-rows", "the rows are not a multiple of 4", slow, Blame::spec, "vllm-fp8-block-torch", always(), multiple_of(I::rows, 4), "the activations are padded in every call", {"batch in multiples of 4", same, {Change::pad_m}}, torch_py,
       BLOCK("63", "sm_90"), BLOCK("64", "sm_90"), 30},
      {"VLM155", "block-triton-untuned", "no tuned tiles for this shape and device", slow, Blame::build, "vllm-fp8-block-triton", always(), is_true(I::tuned_config), "the Triton kernel runs with generic tiles and says so in the log",
       {"add a tuned file for N, K and the device, or use DeepGEMM", same, {Change::change_setting}}, triton_configs, BLOCK("64", "sm_90") " --extra tuned_config=false", BLOCK("64", "sm_90") " --extra tuned_config=true", 60},
  };
  return rows;
}

const std::vector<Rule>& other_table() {
  static const std::vector<Rule> rows = {
      {"VLM160", "int8-on-blackwell", "INT8 weights and activations on compute capability 10.0 or later", stops, Blame::hardware, "vllm-int8-cutlass", always(), below(I::compute_capability, 100.0),
       "RuntimeError at the first call: the selector does not know, picks the kernel and never reaches Triton", {"use an FP8 checkpoint, or force the Triton kernel", less_precise, {Change::change_setting}}, int8_cu, INT8("4096", "sm_100"),
       INT8("4096", "sm_90"), 10},
      {"VLM161", "int8-to-triton", "K or N per rank is not a multiple of 16", slow, Blame::spec, "vllm-int8-cutlass", always(), sixteenths(), "a Triton kernel runs instead", {"pad to a multiple of 16", same, {Change::pad_k, Change::pad_n}}, custom_ops,
       INT8("4088", "sm_90"), INT8("4096", "sm_90"), 60},
      {"VLM165", "nvfp4-flashinfer-limits", "a chip before 10.0, or FlashInfer is missing", stops, Blame::build, "vllm-nvfp4-flashinfer", always(), all({at_least(I::compute_capability, 100), is_true(I::build_flashinfer)}), "declined", {"leave it to CUTLASS or Marlin", same, {}},
       nvfp4_py, FP4("4096", "sm_100") " --built-with flashinfer=off", FP4("4096", "sm_100") " --built-with flashinfer=on", 10},
      {"VLM171", "nvfp4-weight-only-ranked-first", "the weight-only kernel is ranked above the FP4 product on 12.x", slow, Blame::library_version, "vllm-nvfp4-flashinfer",
       all({version_in(I::vllm_version, "2026.9", "2026.9"), between(I::compute_capability, 120, 121), is_true(I::build_flashinfer), equals(I::dtype_w, "f4_e2m1")}), never(),
       "where FlashInfer offers its W4A16 product, that kernel takes the layer: activations stay in 16 bit and the FP4 rate is lost; a build of after 8 September ranks it last",
       {"set VLLM_DISABLED_KERNELS=FlashInferCuteDslNvFp4W4A16LinearKernel, or use a later build", same, {Change::change_setting, Change::change_version}}, nvfp4_order,
       FP4("4096", "sm_120") " --built-with flashinfer=on --package-version vllm=0.29.0", FP4("4096", "sm_120") " --built-with flashinfer=on --package-version vllm=0.28.0", 60},
      {"VLM166", "nvfp4-chip", "no FP4 products on this chip, or a build before CUDA 12.8", stops, Blame::hardware, "vllm-nvfp4-cutlass", always(), all({between(I::compute_capability, 100, 129), version_in(I::cuda_version, "12.8", "")}), "declined",
       {"use Marlin, which keeps FP4 for the weights", less_precise, {}}, nvfp4_py, FP4("4096", "sm_90"), FP4("4096", "sm_100"), 10},
      {"VLM167", "nvfp4-extents", "K or N per rank is not a multiple of 32", stops, Blame::spec, "vllm-nvfp4-cutlass", always(), all({multiple_of(I::k_rank_size, 32), multiple_of(I::n_rank_size, 32)}), "declined", {"pad to a multiple of 32", same, {Change::pad_k, Change::pad_n}},
       nvfp4_py, FP4("4080", "sm_100"), FP4("4096", "sm_100"), 11},
      {"VLM168", "nvfp4-marlin-chip", "a chip before compute capability 7.5", stops, Blame::hardware, "vllm-nvfp4-marlin", always(), at_least(I::compute_capability, 75), "declined; emulation remains", {"use a newer GPU", same, {}}, nvfp4_py, FP4("4096", "sm_70"),
       FP4("4096", "sm_100"), 10},
      {"VLM169", "nvfp4-weight-only", "an FP4 checkpoint on a chip without FP4 products", slow, Blame::hardware, "vllm-nvfp4-marlin", at_least(I::compute_capability, 75), at_least(I::compute_capability, 100),
       "the weights are decoded in registers and multiplied in 16 bit; the memory is saved, the rate is not", {"nothing on this chip", same, {}}, nvfp4_py, FP4("4096", "sm_90"), FP4("4096", "sm_100"), 60},
      {"VLM170", "nvfp4-emulated", "no FP4 kernel accepted the layer", slow, Blame::heuristic, "vllm-nvfp4-emulation", equals(I::dtype_w, "f4_e2m1"), never(), "the weights are expanded to 16 bit and the activations re-quantized in every call",
       {"install a kernel, or use a chip with FP4 products", same, {Change::change_setting}}, nvfp4_py, FP4("4096", "sm_70"), FP8, 60},
      {"VLM175", "mxfp4-native-chip", "native MXFP4 kernels were compiled for capability 10.x only", stops, Blame::build, "vllm-mxfp4-native", always(), between(I::compute_capability, 100, 109),
       "declined: 12.x is another target with other instructions, not a superset; Marlin takes it with 16-bit products", {"nothing on this chip until kernels are built for it", same, {Change::change_version}}, mxfp4_report,
       FP4("4096", "sm_120") " --extra scale_recipe=mxfp4", FP4("4096", "sm_100") " --extra scale_recipe=mxfp4", 10},
  };
  return rows;
}

// The rows of one kernel within a table that holds several.
Table of(const std::vector<Rule>& table, std::string_view scope) {
  std::size_t first = 0;
  while (table[first].scope != scope) ++first;
  std::size_t last = first;
  while (last < table.size() && table[last].scope == scope) ++last;
  return Table(table).subspan(first, last - first);
}

}  // namespace

Table fp8_marlin() { return of(fp8_table(), "vllm-fp8-marlin"); }
Table fp8_flashinfer() { return of(fp8_table(), "vllm-fp8-flashinfer"); }
Table fp8_cutlass() { return of(fp8_table(), "vllm-fp8-cutlass"); }
Table fp8_torch() { return of(fp8_table(), "vllm-fp8-torch"); }
Table fp8_block_deepgemm() { return of(fp8_table(), "vllm-fp8-block-deepgemm"); }
Table fp8_block_cutlass() { return of(fp8_table(), "vllm-fp8-block-cutlass"); }
Table fp8_block_torch() { return of(fp8_table(), "vllm-fp8-block-torch"); }
Table fp8_block_triton() { return of(fp8_table(), "vllm-fp8-block-triton"); }
Table mxfp4_native() { return of(other_table(), "vllm-mxfp4-native"); }
Table int8_cutlass() { return of(other_table(), "vllm-int8-cutlass"); }
Table nvfp4_flashinfer() { return of(other_table(), "vllm-nvfp4-flashinfer"); }
Table nvfp4_cutlass() { return of(other_table(), "vllm-nvfp4-cutlass"); }
Table nvfp4_marlin() { return of(other_table(), "vllm-nvfp4-marlin"); }
Table nvfp4_emulation() { return of(other_table(), "vllm-nvfp4-emulation"); }

}  // namespace dd::frameworks::vllm
