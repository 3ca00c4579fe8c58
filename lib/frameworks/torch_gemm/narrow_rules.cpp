#include "frameworks/torch_gemm/rules.hpp"

namespace dd::frameworks::torch_gemm {
namespace {

using namespace rules;
using I = facts::Id;

constexpr Source rowwise_issue{"pytorch issue 192707", "2.10.0", "2026-11-29"};
constexpr Source ada_issue{"pytorch issue 118703", "2.2", "2026-11-29"};
constexpr Source scaled{"aten/src/ATen/native/cuda/ScaledBlas.cpp", "PyTorch main, mid-2026", "2026-08-22"};
constexpr Source rowwise{"aten/src/ATen/native/cuda/RowwiseScaledMM.cu", "PyTorch 2.6.0 and main", "2026-08-22"};
constexpr Source grouped{"aten/src/ATen/native/GroupedMMUtils.h and GroupedBlas.cpp", "PyTorch main, mid-2026", "2026-08-22"};
constexpr Source int4{"aten/src/ATen/native/cuda/int4mm.cu", "PyTorch 2.6.0", "2026-08-22"};
constexpr Source tests{"test/test_linalg.py", "PyTorch 2.6.0", "2026-08-22"};
constexpr Source docs{"cuBLAS library documentation", "13.2 to 13.4", "2026-08-20"};

Condition recipe(std::vector<std::string> names) { return one_of(I::scale_recipe, std::move(names)); }

#define IMM_ON(ARCH) "gemm --x 64x4096 --w 4096x4096 --trans-w --dtype s8 --out-dtype s32 --framework torch --extra call=int_mm --target " ARCH
#define IMM IMM_ON("sm_80")
#define SMM_ON(ARCH, TORCH) "gemm --x 64x4096 --w 4096x4096 --trans-w --dtype f8_e4m3 --out-dtype bf16 --framework torch --extra call=scaled_mm --target " ARCH " --torch-version " TORCH
#define SMM SMM_ON("sm_90", "2.6.0")
#define SMM_NEW SMM_ON("sm_90", "2.10.0")
#define GMM_ON(ARCH) "gemm --x 8x512x4096 --w 8x4096x1024 --dtype bf16 --framework torch --extra call=grouped_mm --target " ARCH
#define GMM GMM_ON("sm_90")
#define SGMM "gemm --x 512x4096 --w 4096x1024 --trans-w --dtype f8_e4m3 --out-dtype bf16 --framework torch --extra call=scaled_grouped_mm --target sm_90"
#define I4 "gemm --x 1x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=128 --framework torch --extra call=weight_int4pack_mm --extra inner_k_tiles=8 --target sm_90"

const std::vector<Rule>& int_table() {
  static const std::vector<Rule> rows = {
      {"TIM001", "int-mm-too-few-rows", "16 rows or fewer", stops, Blame::spec, "torch-int-mm", always(), above(I::rows, 16.0), "RuntimeError: decode batches fail",
       {"pad the rows to 32 with zeros and slice the result", same, {Change::pad_m}}, blas,
       "gemm --x 16x4096 --w 4096x4096 --trans-w --dtype s8 --out-dtype s32 --framework torch --extra call=int_mm --target sm_80", IMM, 10},
      {"TIM002", "int-mm-k-not-8", "K is 0 or not a multiple of 8", stops, Blame::spec, "torch-int-mm", always(), all({above(I::k, 0.0), multiple_of(I::k, 8)}), "RuntimeError",
       {"pad K with zeros", same, {Change::pad_k}}, blas, "gemm --x 64x4092 --w 4092x4096 --trans-w --dtype s8 --out-dtype s32 --framework torch --extra call=int_mm --target sm_80", IMM, 11},
      {"TIM003", "int-mm-n-not-8", "N is 0 or not a multiple of 8", stops, Blame::spec, "torch-int-mm", always(), all({above(I::n, 0.0), multiple_of(I::n, 8)}), "RuntimeError",
       {"pad N with zeros", same, {Change::pad_n}}, blas, "gemm --x 64x4096 --w 4096x4092 --trans-w --dtype s8 --out-dtype s32 --framework torch --extra call=int_mm --target sm_80", IMM, 12},
      {"TIM004", "int-mm-result-type", "the result is not INT32", stops, Blame::spec, "torch-int-mm", always(), equals(I::dtype_out, "s32"), "RuntimeError",
       {"allocate a contiguous INT32 result", same, {Change::cast_dtype}}, blas,
       "gemm --x 64x4096 --w 4096x4096 --trans-w --dtype s8 --out-dtype f32 --framework torch --extra call=int_mm --target sm_80", IMM, 13},
      {"TIM005", "int-mm-first-transposed", "the first operand is column-major", stops, Blame::spec, "torch-int-mm", always(), differs(I::x_layout, "column"),
       "RuntimeError that carries NOT_SUPPORTED: no integer kernel reads it", {"make it contiguous", same, {Change::make_contiguous}}, tests, IMM " --trans-x", IMM, 14},
      {"TIM006", "int-mm-old-chip-old-cuda", "compute capability 7.0 or 7.5 with CUDA before 12.3", stops, Blame::library_version, "torch-int-mm",
       one_of(I::compute_capability, {70, 75}), version_in(I::cuda_version, "12.3", ""), "RuntimeError that carries NOT_SUPPORTED", {"use CUDA 12.3 or later", same, {Change::change_version}}, tests,
       IMM_ON("sm_75") " --cuda-version 12.1.0", IMM_ON("sm_75") " --cuda-version 12.4.0", 15},
      {"TIM007", "int-mm-second-row-major", "the second operand is row-major on Hopper or later", stops, Blame::hardware, "torch-int-mm", at_least(I::compute_capability, 90),
       differs(I::w_layout, "row"), "documented as unsupported there; not seen to run", {"pass the transposed view of an (N, K) weight", same, {Change::transpose_view}}, docs,
       "gemm --x 64x4096 --w 4096x4096 --dtype s8 --out-dtype s32 --framework torch --extra call=int_mm --target sm_90", IMM_ON("sm_90"), 16},
  };
  return rows;
}

const std::vector<Rule>& scaled_table() {
  static const std::vector<Rule> rows = {
      {"TSM001", "scaled-mm-chip", "a GPU without FP8 tensor cores", stops, Blame::hardware, "torch-scaled-mm", always(), at_least(I::compute_capability, 89), "RuntimeError",
       {"dequantize and multiply in 16 bit, or use a weight-only kernel", less_precise, {Change::cast_dtype}}, blas, SMM_ON("sm_80", "2.6.0"), SMM, 10},
      {"TSM002", "scaled-mm-rank", "an operand is not a matrix", stops, Blame::spec, "torch-scaled-mm", always(), all({equals(I::x_rank, 2), equals(I::w_rank, 2)}), "RuntimeError",
       {"reshape to two axes", same, {Change::make_contiguous}}, blas, SMM " --extra x_rank=3", SMM, 11},
      {"TSM003", "scaled-mm-k-not-16", "K is not a multiple of 16", stops, Blame::spec, "torch-scaled-mm", always(), multiple_of(I::k, 16), "RuntimeError",
       {"pad K with zeros", same, {Change::pad_k}}, blas,
       "gemm --x 64x4088 --w 4088x4096 --trans-w --dtype f8_e4m3 --out-dtype bf16 --framework torch --extra call=scaled_mm --target sm_90 --torch-version 2.6.0", SMM, 12},
      {"TSM004", "scaled-mm-n-not-16", "N is not a multiple of 16", stops, Blame::spec, "torch-scaled-mm", always(), multiple_of(I::n, 16), "RuntimeError",
       {"pad N with zeros and slice", same, {Change::pad_n}}, blas,
       "gemm --x 64x4096 --w 4096x1000 --trans-w --dtype f8_e4m3 --out-dtype bf16 --framework torch --extra call=scaled_mm --target sm_90 --torch-version 2.6.0", SMM, 13},
      {"TSM005", "scaled-mm-types", "the operands are not FP8 (or FP4)", stops, Blame::spec, "torch-scaled-mm", always(), one_of(I::dtype, {"f8_e4m3", "f8_e5m2", "f4_e2m1"}), "RuntimeError",
       {"quantize the operands", less_precise, {Change::cast_dtype}}, blas, SMM " --extra dtype_x=bf16", SMM, 14},
      {"TSM006", "scaled-mm-e5m2-pair", "both operands are E5M2", stops, Blame::spec, "torch-scaled-mm", equals(I::dtype, "f8_e5m2"), differs(I::dtype_w, "f8_e5m2"), "RuntimeError",
       {"cast one operand to E4M3", less_precise, {Change::cast_dtype}}, blas,
       "gemm --x 64x4096 --w 4096x4096 --trans-w --dtype f8_e5m2 --out-dtype bf16 --framework torch --extra call=scaled_mm --target sm_90 --torch-version 2.6.0", SMM, 15},
      {"TSM007", "scaled-mm-bias-into-f32", "a bias together with an FP32 result", stops, Blame::spec, "torch-scaled-mm", equals(I::dtype_out, "f32"), unless(applicable(I::dtype_bias)), "RuntimeError",
       {"add the bias afterwards", same, {Change::change_setting}}, blas,
       "gemm --x 64x4096 --w 4096x4096 --trans-w --bias --dtype f8_e4m3 --out-dtype f32 --framework torch --extra call=scaled_mm --target sm_90 --torch-version 2.6.0", SMM, 16},
      {"TSM008", "scaled-mm-bias-type", "the bias type does not match the result", stops, Blame::spec, "torch-scaled-mm", applicable(I::dtype_bias),
       all({any({differs(I::dtype_out, "bf16"), equals(I::dtype_bias, "bf16")}), any({differs(I::dtype_out, "f16"), equals(I::dtype_bias, "f16")})}), "RuntimeError",
       {"cast the bias to the type of the result", less_precise, {Change::cast_dtype}}, blas, SMM " --bias --bias-dtype f32", SMM " --bias --bias-dtype bf16", 17},
      {"TSM009", "scaled-mm-scale-shape", "the scales have none of the accepted shapes", stops, Blame::spec, "torch-scaled-mm", always(), differs(I::scale_recipe, "invalid"),
       "RuntimeError: the shape of the scales selects the recipe", {"give single values, (M, 1) and (1, N) contiguous FP32, or the block layout of the recipe", same, {Change::change_setting}}, scaled,
       SMM " --extra scale_recipe=invalid", SMM, 18},
      {"TSM010", "scaled-mm-layout", "the first operand is not row-major or the second not column-major", stops, Blame::spec, "torch-scaled-mm",
       any({version_in(I::torch_version, "", "2.7.99999"), one_of(I::compute_capability, {89, 90}),
            all({at_least(I::compute_capability, 120), unless(all({version_in(I::cublas_version, "13.6", ""), recipe({"mxfp8"})}))})}),
       all({differs(I::x_layout, "column"), differs(I::w_layout, "row")}), "RuntimeError; newer versions leave it to the library on 8.9 and 12.x, which answers NOT_SUPPORTED",
       {"pass the transposed view of an (N, K) weight", same, {Change::transpose_view}}, scaled,
       "gemm --x 64x4096 --w 4096x4096 --dtype f8_e4m3 --out-dtype bf16 --framework torch --extra call=scaled_mm --target sm_90 --torch-version 2.6.0", SMM, 19},
      {"TSM011", "scaled-mm-blocks-off-hopper", "128-element block scales off Hopper, before cuBLAS 12.9, or with fast accumulation", stops, Blame::hardware, "torch-scaled-mm",
       recipe({"1x128", "128x128"}), all({between(I::compute_capability, 90, 99), version_in(I::cublas_version, "12.9", ""), unless(is_true(I::use_fast_accum))}), "RuntimeError",
       {"use DeepGEMM or Triton block kernels, or MXFP8 on Blackwell", less_precise, {Change::change_setting}}, scaled,
       SMM_ON("sm_100", "2.10.0") " --extra scale_recipe=1x128", SMM_NEW " --extra scale_recipe=1x128", 20},
      {"TSM012", "scaled-mm-mx-too-early", "MXFP8 or NVFP4 scales before Blackwell or CUDA 12.8", stops, Blame::hardware, "torch-scaled-mm", recipe({"mxfp8", "nvfp4"}),
       all({at_least(I::compute_capability, 100), version_in(I::cuda_version, "12.8", "")}), "RuntimeError", {"use FP32 scales there", less_precise, {Change::change_setting}}, scaled,
       SMM_NEW " --extra scale_recipe=mxfp8", SMM_ON("sm_100", "2.10.0") " --extra scale_recipe=mxfp8", 21},
      {"TSM013", "scaled-mm-fp4-fast-accumulation", "fast accumulation with FP4 operands", stops, Blame::setting, "torch-scaled-mm", equals(I::dtype, "f4_e2m1"),
       unless(is_true(I::use_fast_accum)), "RuntimeError", {"switch it off", same, {Change::disable_flag}}, scaled,
       "gemm --x 64x4096 --w 4096x4096 --trans-w --dtype f4_e2m1 --out-dtype bf16 --framework torch --extra call=scaled_mm --target sm_100 --torch-version 2.10.0 --extra use_fast_accum=true",
       "gemm --x 64x4096 --w 4096x4096 --trans-w --dtype f4_e2m1 --out-dtype bf16 --framework torch --extra call=scaled_mm --target sm_100 --torch-version 2.10.0", 22},
      {"TSM014", "scaled-mm-mxfp4-build", "MXFP4 without the external kernels, or off 10.x", stops, Blame::build, "torch-scaled-mm", recipe({"mxfp4"}),
       all({is_true(I::build_mslk), between(I::compute_capability, 100, 109)}), "RuntimeError: cuBLASLt has no such mode", {"use NVFP4 or MXFP8", less_precise, {Change::change_setting}}, scaled,
       SMM_ON("sm_100", "2.10.0") " --extra scale_recipe=mxfp4", SMM_ON("sm_100", "2.10.0") " --extra scale_recipe=mxfp4 --built-with mslk=on", 23},
      {"TSM015", "row-wise-kernel-missing", "row-wise scales where no row-wise kernel was compiled", stops, Blame::build, "torch-scaled-mm", recipe({"rowwise"}),
       all({any({all({version_in(I::torch_version, "", "2.6.99999"), between(I::compute_capability, 90, 99)}),
                 all({version_in(I::torch_version, "2.7", "2.7.99999"), any({equals(I::compute_capability, 89), between(I::compute_capability, 90, 99)})}),
                 version_in(I::torch_version, "2.8", "")}),
            unless(is_true(I::build_windows)), version_in(I::cuda_version, "12.0", "")}),
       "2.6 fails at launch, 2.7 and later raise: the kernel is compiled per architecture", {"scale per tensor, or use a newer PyTorch", less_precise, {Change::change_setting, Change::change_version}}, rowwise,
       SMM_ON("sm_89", "2.6.0") " --extra scale_recipe=rowwise", SMM " --extra scale_recipe=rowwise", 24},
      {"TSM016", "row-wise-result-type", "row-wise scales with a result other than BF16, up to PyTorch 2.7", stops, Blame::library_version, "torch-scaled-mm",
       all({recipe({"rowwise"}), version_in(I::torch_version, "", "2.7.99999")}), equals(I::dtype_out, "bf16"), "RuntimeError", {"write BF16", less_precise, {Change::cast_dtype}}, rowwise,
       "gemm --x 64x4096 --w 4096x4096 --trans-w --dtype f8_e4m3 --out-dtype f16 --framework torch --extra call=scaled_mm --target sm_90 --torch-version 2.6.0 --extra scale_recipe=rowwise",
       SMM " --extra scale_recipe=rowwise", 25},
      {"TSM017", "row-wise-e5m2-second", "row-wise scales with an E5M2 second operand", stops, Blame::spec, "torch-scaled-mm", recipe({"rowwise"}), differs(I::dtype_w, "f8_e5m2"), "RuntimeError",
       {"swap the sides, or cast to E4M3", less_precise, {Change::cast_dtype}}, rowwise, SMM " --extra scale_recipe=rowwise --extra dtype_w=f8_e5m2", SMM " --extra scale_recipe=rowwise", 26},
      {"TSM018", "row-wise-outside-cublaslt", "row-wise scales that do not reach cuBLASLt", slow, Blame::library_version, "torch-scaled-mm",
       all({recipe({"rowwise"}), version_in(I::torch_version, "2.9", "")}), all({equals(I::compute_capability, 90), version_in(I::cublas_version, "12.9", "")}),
       "PyTorch's own CUTLASS kernel runs, without the library's tuning", {"use Hopper with CUDA 12.9, or an external FP8 kernel", same, {Change::change_version}}, scaled,
       SMM_ON("sm_100", "2.10.0") " --extra scale_recipe=rowwise", SMM_NEW " --extra scale_recipe=rowwise", 60},
      {"TSM019", "scaled-mm-workspace-changed", "the default workspace of the scaled product differs between PyTorch versions", Level::informs, Blame::library_version, "torch-scaled-mm", version_in(I::torch_version, "2.7", ""),
       applicable(I::env_cublaslt_workspace), "another algorithm, with or without a split reduction, and other result bits than before 2.7", {"set CUBLASLT_WORKSPACE_SIZE before the first call", same, {Change::change_setting}}, scaled,
       SMM_ON("sm_90", "2.7.0"), SMM_ON("sm_90", "2.7.0") " --env CUBLASLT_WORKSPACE_SIZE=32768", 70},
      {"TSM020", "row-wise-sent-to-cublaslt", "row-wise scales go to cuBLASLt, which has them on 9.0 only", stops, Blame::library_version, "torch-scaled-mm",
       all({recipe({"rowwise"}), version_in(I::torch_version, "2.10", "2.10.99999")}), below(I::compute_capability, 120),
       "RuntimeError with NOT_SUPPORTED from the heuristic, as reported from a chip of 12.0", {"scale per tensor or in blocks, or use another PyTorch", less_precise, {Change::change_setting, Change::change_version}}, rowwise_issue,
       SMM_ON("sm_120", "2.10.0") " --extra scale_recipe=rowwise", SMM_NEW " --extra scale_recipe=rowwise", 27},
      {"TSM021", "scaled-mm-before-ada", "Ada is admitted from PyTorch 2.3 on", stops, Blame::library_version, "torch-scaled-mm", version_in(I::torch_version, "", "2.2.99999"), at_least(I::compute_capability, 90),
       "RuntimeError that asks for 9.0", {"update PyTorch", same, {Change::change_version}}, ada_issue, SMM_ON("sm_89", "2.2.0"), SMM_ON("sm_90", "2.2.0"), 28},
  };
  return rows;
}

const std::vector<Rule>& grouped_table() {
  static const std::vector<Rule> rows = {
      {"TGR001", "grouped-mm-alignment", "a row or a pointer of a grouped product is not a multiple of 16 bytes", stops, Blame::spec, "torch-grouped-mm", always(),
       all({multiple_of(I::x_row_bytes, 16), multiple_of(I::w_row_bytes, 16), multiple_of(I::x_align_bytes, 16)}), "RuntimeError: the loads need aligned rows",
       {"pad K and N to a multiple of 8 BF16 elements", same, {Change::pad_k, Change::pad_n, Change::align_offset}}, grouped,
       "gemm --x 8x512x4096 --w 8x4096x1004 --dtype bf16 --framework torch --extra call=grouped_mm --target sm_90", GMM, 10},
      {"TGR002", "grouped-mm-offsets", "offsets are missing or not INT32", stops, Blame::spec, "torch-grouped-mm", always(),
       all({any({unless(applicable(I::offs_dtype)), equals(I::offs_dtype, "s32")}), unless(is_true(I::offs_missing))}), "RuntimeError",
       {"pass the group ends as a 1-D INT32 tensor when an operand is 2-D", same, {Change::cast_dtype}}, grouped, GMM " --extra offs_dtype=s64", GMM " --extra offs_dtype=s32", 11},
      {"TGR003", "grouped-mm-bias", "a grouped product with bias", stops, Blame::spec, "torch-grouped-mm", always(), unless(is_true(I::has_bias)), "RuntimeError",
       {"add the bias afterwards", same, {Change::change_setting}}, grouped, GMM " --bias", GMM, 12},
      {"TGR004", "grouped-mm-loop", "a grouped product in another type than BF16, or off 9.x and 10.x", slow, Blame::hardware, "torch-grouped-mm", always(),
       all({equals(I::dtype, "bf16"), between(I::compute_capability, 90, 109)}), "one product per group in a loop, with the offsets copied to the host: it waits for the GPU and breaks graph capture",
       {"use BF16 on Hopper or data-centre Blackwell", less_precise, {Change::cast_dtype}}, grouped, GMM_ON("sm_89"), GMM, 60},
      {"TGR010", "scaled-grouped-mm-chip", "an FP8 grouped product on a chip other than 9.0 and 10.0", stops, Blame::hardware, "torch-scaled-grouped-mm", always(),
       one_of(I::compute_capability, {90, 100}), "RuntimeError", {"loop over _scaled_mm", same, {Change::change_setting}}, grouped,
       "gemm --x 512x4096 --w 4096x1024 --trans-w --dtype f8_e4m3 --out-dtype bf16 --framework torch --extra call=scaled_grouped_mm --target sm_89", SGMM, 10},
      {"TGR011", "scaled-grouped-mm-layout", "layout, extents or bias that the FP8 grouped product does not take", stops, Blame::spec, "torch-scaled-grouped-mm", always(),
       all({differs(I::x_layout, "column"), differs(I::w_layout, "row"), multiple_of(I::k, 16), multiple_of(I::n, 16), unless(is_true(I::has_bias))}), "RuntimeError",
       {"store weights as (groups, N, K), pass the transposed view, and pad K and N to 16", same, {Change::transpose_view, Change::pad_k, Change::pad_n}}, grouped,
       "gemm --x 512x4096 --w 4096x1024 --dtype f8_e4m3 --out-dtype bf16 --framework torch --extra call=scaled_grouped_mm --target sm_90", SGMM, 11},
  };
  return rows;
}

const std::vector<Rule>& tiny_table() {
  static const std::vector<Rule> rows = {
      {"TIG001", "tinygemm-not-bf16", "the activations of the packed INT4 product are not BF16", stops, Blame::spec, "torch-tinygemm-int4", always(), equals(I::dtype, "bf16"), "RuntimeError",
       {"cast the model to BF16, or use Marlin or Machete", less_precise, {Change::cast_dtype}}, int4,
       "gemm --x 1x4096 --w 4096x4096 --dtype f16 --quant w4a16:group=128 --framework torch --extra call=weight_int4pack_mm --extra inner_k_tiles=8 --target sm_90", I4, 10},
      {"TIG002", "tinygemm-input-layout", "the activations are not a contiguous matrix", stops, Blame::spec, "torch-tinygemm-int4", always(), all({is_true(I::x_contiguous), equals(I::x_rank, 2)}), "RuntimeError",
       {"reshape to two contiguous axes", same, {Change::make_contiguous}}, int4, I4 " --extra x_contiguous=false", I4, 11},
      {"TIG003", "tinygemm-group", "the group is not 32, 64, 128 or 256, or does not divide K", stops, Blame::checkpoint, "torch-tinygemm-int4", always(),
       all({one_of(I::quant_group, {32, 64, 128, 256}), multiple_of(I::k, I::quant_group)}), "RuntimeError", {"quantize again with a group of 128", less_precise, {Change::regroup}}, int4,
       "gemm --x 1x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=512 --framework torch --extra call=weight_int4pack_mm --extra inner_k_tiles=8 --target sm_90", I4, 12},
      {"TIG004", "tinygemm-tiles", "K or N does not fill the packed tiles", stops, Blame::spec, "torch-tinygemm-int4", always(),
       all({any({unless(applicable(I::inner_k_tiles)), all({one_of(I::inner_k_tiles, {2, 4, 8}), multiple_of(I::k, I::inner_tile)})}), multiple_of(I::n, 8)}), "RuntimeError",
       {"pad K to a multiple of 1024 and N to a multiple of 8, as torchao does", same, {Change::pad_k, Change::pad_n}}, int4, I4 " --extra inner_k_tiles=3", I4, 13},
      {"TIG005", "tinygemm-chip", "a chip before 8.0, or CUDA before 12.0", stops, Blame::hardware, "torch-tinygemm-int4", always(),
       all({at_least(I::compute_capability, 80), version_in(I::cuda_version, "12.0", "")}), "RuntimeError: not part of this build", {"use another kernel, or a newer GPU", same, {Change::change_version}}, int4,
       "gemm --x 1x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=128 --framework torch --extra call=weight_int4pack_mm --extra inner_k_tiles=8 --target sm_75", I4, 14},
  };
  return rows;
}

#undef IMM_ON
#undef IMM
#undef SMM_ON
#undef SMM
#undef SMM_NEW
#undef GMM_ON
#undef GMM
#undef SGMM
#undef I4

bool is_scaled(const Rule& rule) { return rule.scope == "torch-scaled-grouped-mm"; }

// The grouped table holds two scopes, the FP8 one last.
std::size_t first_scaled() {
  std::size_t i = 0;
  while (!is_scaled(grouped_table()[i])) ++i;
  return i;
}

}  // namespace

std::span<const Rule> int_mm_rules() { return int_table(); }
std::span<const Rule> scaled_mm_rules() { return scaled_table(); }
std::span<const Rule> grouped_mm_rules() { return std::span(grouped_table()).first(first_scaled()); }
std::span<const Rule> scaled_grouped_mm_rules() { return std::span(grouped_table()).subspan(first_scaled()); }
std::span<const Rule> tinygemm_rules() { return tiny_table(); }

}  // namespace dd::frameworks::torch_gemm
