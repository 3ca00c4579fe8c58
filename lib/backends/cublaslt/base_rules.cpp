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

#define LT "gemm --x 4096x4096 --w 4096x4096 --trans-w --dtype f16 --target sm_90"
#define LT32 "gemm --x 4096x4096 --w 4096x4096 --trans-w --dtype f32 --target sm_90"

const std::vector<Rule>& table() {
  static const std::vector<Rule> rows = {
      {"CLT001", "no-algorithm-requested", "the heuristic is asked for no algorithm at all", stops, Blame::setting, "cublaslt", always(),
       at_least(I::requested_algo_count, 1), "the heuristic call answers INVALID_VALUE and nothing runs",
       {"ask for at least one algorithm, better for several", same, {Change::change_setting}}, docs,
       LT " --extra requested_algo_count=0", LT, 10},
      {"CLT002", "gpu-older-than-library", "the GPU is older than anything the library has code for", stops, Blame::hardware, "cublaslt",
       always(), at_least(I::compute_capability, 50), "the product answers ARCH_MISMATCH",
       {"use a newer GPU, or the last toolkit that still served this one", same, {Change::change_version}}, docs,
       "gemm --x 4096x4096 --w 4096x4096 --trans-w --dtype f16 --target sm_37", LT, 15},
      {"CLT003", "operand-types-mixed", "the operands have different element types and are no FP8 pair", stops, Blame::spec, "cublaslt",
       always(), any({equals(I::dtype, I::dtype_w), all({one_of(I::dtype_w, {"f8_e4m3", "f8_e5m2"}), one_of(I::dtype, {"f8_e4m3", "f8_e5m2"})})}),
       "no kernel takes the pair: NOT_SUPPORTED",
       {"cast one operand to the type of the other, or take a kernel made for mixed inputs", less_precise, {Change::cast_dtype}}, docs,
       LT " --extra dtype_w=bf16", LT, 20},
      {"CLT004", "half-accumulation-wants-f16", "half-precision accumulation asked for anything but FP16 in and out", stops, Blame::setting, "cublaslt",
       one_of(I::compute_type, {"16F", "16F_PEDANTIC"}),
       all({equals(I::dtype_w, "f16"), equals(I::dtype, "f16"), equals(I::dtype_out, "f16")}), "the type row does not exist: NOT_SUPPORTED",
       {"accumulate in FP32, or make every operand and the result FP16", same, {Change::change_setting}}, docs,
       LT " --extra compute_type=16F --out-dtype f32", LT " --extra compute_type=16F", 21},
      {"CLT005", "fast-compute-wants-f32", "a down-converting compute type with operands that are not FP32", stops, Blame::setting, "cublaslt",
       one_of(I::compute_type, {"32F_FAST_16F", "32F_FAST_16BF", "32F_FAST_TF32", "32F_EMULATED_16BFX9"}),
       all({one_of(I::dtype_w, {"f32", "c32"}), one_of(I::dtype, {"f32", "c32"})}),
       "these compute types only say how FP32 input is shortened, so the call answers NOT_SUPPORTED",
       {"use plain 32F; 16-bit operands run on tensor cores with it anyway", same, {Change::change_setting}}, docs,
       LT " --extra compute_type=32F_FAST_TF32", LT32 " --extra compute_type=32F_FAST_TF32", 22},
      {"CLT006", "f64-with-narrow-compute", "FP64 operands with a compute type that is not of the 64F family", stops, Blame::setting, "cublaslt",
       all({equals(I::dtype_w, "f64"), applicable(I::compute_type)}),
       one_of(I::compute_type, {"64F", "64F_PEDANTIC", "64F_EMULATED_FIXEDPOINT"}), "the type row does not exist: NOT_SUPPORTED",
       {"compute in 64F", same, {Change::change_setting}}, docs,
       "gemm --x 4096x4096 --w 4096x4096 --trans-w --dtype f64 --target sm_90 --extra compute_type=32F",
       "gemm --x 4096x4096 --w 4096x4096 --trans-w --dtype f64 --target sm_90", 23},
      {"CLT007", "type-combination-missing", "no FP32-accumulating kernel exists for this pair of input and output type", stops, Blame::spec, "cublaslt",
       all({equals(I::compute_type, "32F"), equals(I::dtype, I::dtype_w), none_of(I::dtype_w, {"f8_e4m3", "f8_e5m2", "f4_e2m1"})}),
       any({all({equals(I::dtype_w, "bf16"), one_of(I::dtype_out, {"bf16", "f32"})}), all({equals(I::dtype_w, "f16"), one_of(I::dtype_out, {"f16", "f32"})}),
            all({one_of(I::dtype_w, {"s8", "f32"}), equals(I::dtype_out, "f32")}), all({equals(I::dtype_w, "c32"), equals(I::dtype_out, "c32")})}),
       "the type row does not exist: NOT_SUPPORTED",
       {"write an output type that the inputs have a row for and cast afterwards", same, {Change::cast_dtype}}, docs,
       "gemm --x 4096x4096 --w 4096x4096 --trans-w --dtype bf16 --out-dtype f16 --target sm_90", LT, 24},
      {"CLT008", "output-transposed", "a transposed result is asked for", stops, Blame::setting, "cublaslt", applicable(I::op_c), equals(I::op_c, "N"),
       "C and D are only taken untransposed: NOT_SUPPORTED",
       {"swap the operands, or declare row order for C and D", same, {Change::transpose_view}}, docs, LT " --extra op_c=T", LT, 30},
      {"CLT009", "leading-dimension-too-small", "a leading dimension is smaller than the extent it has to span", stops, Blame::spec, "cublaslt", always(),
       all({at_least(I::lda, I::a_rows), at_least(I::ldb, I::b_rows), at_least(I::ldc, I::blas_m)}), "columns would overlap: INVALID_VALUE",
       {"pass the true leading dimension, or make the operand contiguous", same, {Change::make_contiguous}}, docs, LT " --extra lda=128", LT, 31},
      {"CLT010", "extent-beyond-32-bit", "an extent does not fit in a signed 32-bit integer", stops, Blame::library_version, "cublaslt", always(),
       at_most(I::largest_extent, 2147483647.0), "most kernels count rows and columns in 32 bits: NOT_SUPPORTED",
       {"split the product along the long axis", same, {Change::split_batch}}, header,
       "gemm --m 2147483648 --n 16 --k 16 --trans-w --dtype f16 --target sm_90", LT, 32},
      {"CLT011", "batch-counts-differ", "the layouts of A and B carry different batch counts", stops, Blame::setting, "cublaslt",
       all({version_in(I::cublas_version, "13.2", ""), applicable(I::batch_a), applicable(I::batch_b)}), equals(I::batch_a, I::batch_b),
       "from CUDA 13.1 on the layouts are refused: INVALID_VALUE",
       {"give both the same count and broadcast with a batch stride of 0", same, {Change::change_setting}}, notes,
       LT " --extra batch_a=1 --extra batch_b=8", LT " --extra batch_a=8 --extra batch_b=8", 33},
      {"CLT012", "in-place-layouts-differ", "C and D share a buffer but are described differently", stops, Blame::setting, "cublaslt", is_true(I::c_is_d),
       is_false(I::c_layout_differs), "INVALID_VALUE since CUDA 13.0 Update 2",
       {"pass one layout for both, or write to a buffer of its own", same, {Change::change_setting}}, notes,
       LT " --extra c_is_d=true --extra c_layout_differs=true", LT " --extra c_is_d=true", 34},
      {"CLT013", "workspace-below-algorithm", "the workspace is smaller than the chosen algorithm reported", stops, Blame::setting, "cublaslt", always(),
       at_least(I::workspace_bytes, I::algo_workspace_bytes), "the product call answers INVALID_VALUE",
       {"allocate what the heuristic's result asks for, or lower the limit before asking", same, {Change::change_setting}}, docs,
       LT " --workspace 0 --extra algo_workspace_bytes=8388608", LT " --workspace 8388608 --extra algo_workspace_bytes=8388608", 40},
      {"CLT014", "workspace-misaligned", "the workspace pointer is not aligned to 256 bytes", stops, Blame::setting, "cublaslt", always(),
       multiple_of(I::workspace_align_bytes, 256), "INVALID_VALUE",
       {"take the workspace from the allocator as it is, or round the pointer up to 256", same, {Change::change_setting}}, docs,
       LT " --extra workspace_align_bytes=128", LT " --extra workspace_align_bytes=256", 41},
      {"CLT015", "pointer-below-algorithm-alignment", "an operand is less aligned than the chosen algorithm needs", stops, Blame::setting, "cublaslt",
       applicable(I::algo_min_align), all({at_least(I::w_align_bytes, I::algo_min_align), at_least(I::x_align_bytes, I::algo_min_align)}),
       "the heuristic trusted the stated alignment (256 by default); the run then fails with INVALID_VALUE or NOT_SUPPORTED",
       {"state the true pointer alignment, at most 256, in the preference of the heuristic", same, {Change::change_setting, Change::align_offset}}, header,
       LT " --extra algo_min_align=128 --extra w_align_bytes=16", LT " --extra algo_min_align=16 --extra w_align_bytes=16", 42},
      {"CLT016", "no-algorithm-found", "the heuristic found no algorithm", stops, Blame::heuristic, "cublaslt", always(), differs(I::heuristic_count, 0),
       "no kernel meets types, layout, epilogue, alignment and workspace at once: NOT_SUPPORTED",
       {"relax one demand at a time: more workspace, true alignment, no epilogue, TN layout, then the types", same, {Change::change_setting}}, docs,
       LT " --extra heuristic_count=0", LT " --extra heuristic_count=1", 43},
      {"CLT017", "pointer-array-misaligned", "a matrix of the pointer array is less aligned than the algorithm needs", stops, Blame::spec, "cublaslt",
       is_true(I::pointer_array), at_least(I::min_align_in_array, I::algo_min_align),
       "the alignment must hold for every matrix of the batch; the run fails with INVALID_VALUE or NOT_SUPPORTED",
       {"allocate the batch with one common, aligned stride", same, {Change::align_offset}}, header,
       LT " --extra pointer_array=true --extra min_align_in_array=8 --extra algo_min_align=16",
       LT " --extra pointer_array=true --extra min_align_in_array=16 --extra algo_min_align=16", 44},
      {"CLT018", "preference-without-workspace", "the heuristic's preference was left at a workspace of 0 bytes", slow, Blame::setting, "cublaslt",
       is_true(I::few_tiles_long_k), differs(I::pref_workspace_bytes, 0),
       "algorithms that split the reduction are dropped before ranking, which hurts small results with a long reduction",
       {"allow a workspace in the preference (32 MiB on Hopper) and pass a buffer of that size", same, {Change::change_setting}}, header,
       "gemm --x 64x65536 --w 65536x64 --trans-w --dtype bf16 --target sm_90 --extra pref_workspace_bytes=0 --extra few_tiles_long_k=true",
       "gemm --x 64x65536 --w 65536x64 --trans-w --dtype bf16 --target sm_90 --extra pref_workspace_bytes=33554432 --extra few_tiles_long_k=true", 60},
      {"CLT019", "tensor-core-alignment", "an extent, leading dimension or pointer is not a multiple of 16 bytes", slow, Blame::spec, "cublaslt",
       any({one_of(I::dtype_w, {"f16", "bf16"}), all({equals(I::dtype_w, "f32"), none_of(I::compute_type, {"32F", "32F_PEDANTIC"})})}),
       all({multiple_of(I::a_extent_bytes, 16), multiple_of(I::b_extent_bytes, 16), multiple_of(I::c_extent_bytes, 16), multiple_of(I::lda_bytes, 16),
            multiple_of(I::ldb_bytes, 16), multiple_of(I::ldc_bytes, 16), multiple_of(I::w_align_bytes, 16), multiple_of(I::x_align_bytes, 16),
            multiple_of(I::out_align_bytes, 16)}),
       "the wide-load tensor-core kernels drop out; before cuBLAS 11.0 tensor cores were not used at all",
       {"pad the contiguous axis to a multiple of 8 (16-bit types) or 4 (TF32) elements, or align the pointer to 16 bytes", same,
        {Change::pad_k, Change::pad_n, Change::align_offset}}, docs,
       "gemm --x 4096x4095 --w 4095x4096 --trans-w --dtype f16 --target sm_90", LT, 61},
      {"CLT020", "f32-without-tensor-cores", "FP32 operands with default math stay off the tensor cores", slow, Blame::setting, "cublaslt",
       all({equals(I::dtype_w, "f32"), equals(I::dtype, "f32"), equals(I::compute_type, "32F"), at_least(I::compute_capability, 80)}),
       differs(I::math_mode, "DEFAULT"), "plain FP32 units run, about a tenth of the TF32 rate on Hopper",
       {"compute in 32F_FAST_TF32 if ten mantissa bits of the inputs are enough", less_precise, {Change::change_setting, Change::enable_flag}}, docs,
       LT32, LT32 " --extra compute_type=32F_FAST_TF32", 62},
      {"CLT021", "tf32-overridden", "NVIDIA_TF32_OVERRIDE=0 switches TF32 off in every NVIDIA library", slow, Blame::setting, "cublaslt",
       all({equals(I::dtype_w, "f32"), any({equals(I::compute_type, "32F_FAST_TF32"), equals(I::math_mode, "TF32")})}),
       differs(I::env_tf32_override, "0"), "the request for TF32 is ignored and FP32 units run",
       {"unset the variable before the process starts", less_precise, {Change::change_setting}}, docs,
       LT32 " --extra compute_type=32F_FAST_TF32 --env NVIDIA_TF32_OVERRIDE=0", LT32 " --extra compute_type=32F_FAST_TF32", 63},
      {"CLT022", "pedantic-math", "a pedantic compute type forbids every shortcut", slow, Blame::setting, "cublaslt", always(),
       all({none_of(I::compute_type, {"16F_PEDANTIC", "32F_PEDANTIC", "32I_PEDANTIC", "64F_PEDANTIC"}), differs(I::math_mode, "PEDANTIC")}),
       "the prescribed precision is kept in each stage, without tensor-core shortcuts or split reductions",
       {"use the compute type without PEDANTIC", less_precise, {Change::change_setting}}, docs, LT " --extra compute_type=32F_PEDANTIC", LT, 64},
      {"CLT023", "split-reduction-masked", "the preference allows no reduction scheme, so K cannot be split", slow, Blame::setting, "cublaslt",
       is_true(I::few_tiles_long_k), differs(I::reduction_mask, 0), "few thread blocks carry the whole reduction",
       {"leave the mask at 7, or allow scheme 2, which reduces in the compute type", same, {Change::change_setting}}, header,
       "gemm --x 64x65536 --w 65536x64 --trans-w --dtype bf16 --target sm_90 --extra reduction_mask=0 --extra few_tiles_long_k=true",
       "gemm --x 64x65536 --w 65536x64 --trans-w --dtype bf16 --target sm_90 --extra reduction_mask=7 --extra few_tiles_long_k=true", 65},
      {"CLT024", "heuristic-during-capture", "the heuristic is asked while a stream is being captured, on one faulty release", stops, Blame::library_version, "cublaslt",
       version_in(I::cublas_version, "13.5", "13.5.99999"), is_false(I::capturing), "INTERNAL_ERROR instead of candidates",
       {"ask before the capture starts and keep the algorithm", same, {Change::change_setting, Change::change_version}}, notes,
       LT " --package-version cublas=13.5.1 --extra capturing=true", LT " --package-version cublas=13.5.1", 66},
      {"CLT025", "vector-shaped-product", "one row or one column, on one faulty release", stops, Blame::library_version, "cublaslt",
       version_in(I::cublas_version, "13.5", "13.5.99999"), all({differs(I::blas_m, 1), differs(I::blas_n, 1)}),
       "the heuristic may find nothing: NOT_SUPPORTED",
       {"call the handle API or gemv, or pad to two rows", same, {Change::pad_m, Change::change_version}}, notes,
       "gemm --x 1x4096 --w 4096x4096 --trans-w --dtype f16 --target sm_90 --package-version cublas=13.5.1", LT " --package-version cublas=13.5.1", 67},
  };
  return rows;
}

#undef LT
#undef LT32

}  // namespace

std::span<const Rule> base_rules() { return table(); }

std::span<const Rule> all_rules() {
  static const std::vector<Rule> rows = [] {
    std::vector<Rule> all;
    for (const auto part : {base_rules(), int8_rules(), fp8_rules(), fp4_rules(), epilogue_rules(), grouped_rules()})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

}  // namespace dd::backends::cublaslt
