#include "backends/cublas/rules.hpp"

namespace dd::backends::cublas {
namespace {

using namespace rules;
using I = facts::Id;
constexpr auto stops = Level::blocks, slow = Level::slows;
constexpr auto same = Keeps::function, less_precise = Keeps::precision;

constexpr Source docs{"cuBLAS library documentation", "13.2 to 13.4", "2026-08-20"};
constexpr Source reports{"FasterTransformer issue 149; entrenar issue 325", "CUDA 11.2; 2026", "2026-08-25"};
constexpr Source notes{"CUDA release notes, cuBLAS section", "13.0 to 13.3", "2026-08-20"};

Condition integers() { return equals(I::compute_type, "32I"); }

#define GX "gemm --x 4096x4096 --w 4096x4096 --trans-w --dtype f16 --target sm_90"
#define GX8 "gemm --x 4096x4096 --w 4096x4096 --trans-w --dtype s8 --out-dtype s32 --target sm_80"
#define GX32 "gemm --x 4096x4096 --w 4096x4096 --trans-w --dtype f32 --target sm_100"
#define GX64 "gemm --x 4096x4096 --w 4096x4096 --trans-w --dtype f64 --target sm_90 --extra compute_type=64F_EMULATED_FIXEDPOINT"

const std::vector<Rule>& gemm_table() {
  static const std::vector<Rule> rows = {
      {"CUB001", "narrow-float-through-handle", "FP8 or FP4 operands through the handle API", stops, Blame::spec, "cublas", always(),
       none_of(I::dtype_w, {"f8_e4m3", "f8_e5m2", "f4_e2m1"}), "the handle API has no scale pointers and no such row: NOT_SUPPORTED",
       {"call cublasLtMatmul", same, {Change::change_setting}}, docs,
       "gemm --x 4096x4096 --w 4096x4096 --trans-w --dtype f8_e4m3 --out-dtype bf16 --target sm_90", GX, 10},
      {"CUB002", "integer-operand-not-4", "a pointer or leading dimension of an integer product is not a multiple of 4", stops, Blame::spec, "cublas", integers(),
       all({multiple_of(I::lda, 4), multiple_of(I::ldb, 4), multiple_of(I::w_align_bytes, 4), multiple_of(I::x_align_bytes, 4)}),
       "NOT_SUPPORTED or INVALID_VALUE", {"pad leading dimensions to 4, better 16", same, {Change::pad_k, Change::align_offset}}, docs,
       "gemm --x 4096x4098 --w 4098x4096 --trans-w --dtype s8 --out-dtype s32 --target sm_80", GX8, 20},
      {"CUB003", "integer-scale-not-trivial-handle", "integer alpha or beta other than 0 and 1 through the handle API", stops, Blame::setting, "cublas", integers(),
       all({one_of(I::alpha, {0, 1}), one_of(I::beta, {0, 1})}), "NOT_SUPPORTED (enforced since CUDA 13.0 Update 1)",
       {"scale afterwards, or take the FP32-scaled integer path of cuBLASLt", same, {Change::change_setting}}, docs, GX8 " --extra alpha=2", GX8, 21},
      {"CUB004", "autotune-during-capture", "autotuning is asked for while a stream is being captured", stops, Blame::setting, "cublas",
       all({equals(I::algo, "AUTOTUNE"), is_true(I::capturing)}), is_true(I::autotune_cached), "kernels cannot be timed during capture: NOT_SUPPORTED",
       {"call once before the capture, so that the choice is cached", same, {Change::change_setting}}, docs,
       GX " --extra algo=AUTOTUNE --extra capturing=true", GX " --extra algo=AUTOTUNE --extra capturing=true --extra autotune_cached=true", 22},
      {"CUB010", "integer-result-rows-not-4", "the leading dimension of an integer result is not a multiple of 4 on 12.x", Level::warns, Blame::library_version, "cublas",
       all({integers(), between(I::compute_capability, 120, 129)}), multiple_of(I::ldc, 4),
       "NOT_SUPPORTED was reported for some numbers of rows: kernels of older chips are missing there", {"pad the output features to a multiple of 4, better 16", same, {Change::pad_n}}, {"CTranslate2 issue 1865 and pull request 1937", "CUDA 12.8 to 13.0", "2026-11-30"},
       "gemm --x 24x1280 --w 1280x51866 --trans-w --dtype s8 --out-dtype s32 --target sm_120", "gemm --x 24x1280 --w 1280x51868 --trans-w --dtype s8 --out-dtype s32 --target sm_120", 24},
      {"CUB005", "algorithm-number-ignored", "an algorithm is forced on a chip where the number is ignored", slow, Blame::setting, "cublas",
       at_least(I::compute_capability, 80), one_of(I::algo, {"DEFAULT", "AUTOTUNE"}), "the library's own heuristic decides whatever the caller passes",
       {"select algorithms through cuBLASLt, or use autotuning (CUDA 13.0)", same, {Change::change_setting}}, docs, GX " --extra algo=ALGO5_TENSOR_OP", GX, 60},
      {"CUB006", "handle-alignment", "an extent, leading dimension or pointer is not a multiple of 16 bytes", slow, Blame::spec, "cublas",
       one_of(I::dtype_w, {"f16", "bf16"}),
       all({multiple_of(I::a_extent_bytes, 16), multiple_of(I::b_extent_bytes, 16), multiple_of(I::c_extent_bytes, 16), multiple_of(I::lda_bytes, 16),
            multiple_of(I::ldb_bytes, 16), multiple_of(I::w_align_bytes, 16), multiple_of(I::x_align_bytes, 16)}),
       "kernels with narrow loads run; before cuBLAS 11.0 no tensor cores at all",
       {"pad the contiguous axis to a multiple of 8 elements and align pointers to 16 bytes", same, {Change::pad_k, Change::pad_n, Change::align_offset}}, docs,
       "gemm --x 4096x4095 --w 4095x4096 --trans-w --dtype f16 --target sm_90", GX, 61},
      {"CUB007", "pointer-array-itself-misaligned", "the array of pointers of a batched call is not 16-byte aligned", stops, Blame::library_version, "cublas", applicable(I::pointer_array_align_bytes),
       multiple_of(I::pointer_array_align_bytes, 16), "newer libraries check it and answer NOT_SUPPORTED; three pointers a call are enough to miss it", {"pad the array to a multiple of two pointers", same, {Change::change_setting}}, reports,
       GX " --extra pointer_array_align_bytes=8", GX " --extra pointer_array_align_bytes=16", 23},
      {"CUB008", "capture-without-workspace", "a graph is captured while the library has no workspace of the caller's", slow, Blame::setting, "cublas", is_true(I::capturing), applicable(I::workspace_bytes),
       "nothing can be allocated during capture: it fails, or algorithms without workspace are recorded", {"set a workspace of 32 MiB that outlives the graph before capturing", same, {Change::change_setting}}, reports,
       GX " --extra capturing=true", GX " --extra capturing=true --workspace 33554432", 62},
  };
  return rows;
}

const std::vector<Rule>& emulation_table() {
  static const std::vector<Rule> rows = {
      {"CUB020", "bf16x9-off-blackwell", "FP32 emulated by BF16 asked for where it is not implemented", slow, Blame::hardware, "cublas-emulation",
       equals(I::compute_type, "32F_EMULATED_16BFX9"), all({one_of(I::compute_capability, {100, 103}), version_in(I::cublas_version, "12.9", "")}),
       "native FP32 runs instead", {"allow TF32 if its precision is enough, or accept native FP32", less_precise, {Change::change_setting}}, docs,
       "gemm --x 4096x4096 --w 4096x4096 --trans-w --dtype f32 --target sm_90 --extra compute_type=32F_EMULATED_16BFX9",
       GX32 " --extra compute_type=32F_EMULATED_16BFX9", 10},
      {"CUB021", "fp64-emulation-too-new", "FP64 emulation asked for before cuBLAS 13.1", slow, Blame::library_version, "cublas-emulation",
       equals(I::compute_type, "64F_EMULATED_FIXEDPOINT"), version_in(I::cublas_version, "13.1", ""), "native FP64 runs, or the compute type is unknown",
       {"update to CUDA 13.0 Update 2", same, {Change::change_version}}, notes, GX64 " --package-version cublas=13.0.2", GX64 " --package-version cublas=13.1.0", 11},
      {"CUB022", "fp64-emulation-needs-more-bits", "the data needs more mantissa bits than emulation may use", slow, Blame::heuristic, "cublas-emulation",
       equals(I::compute_type, "64F_EMULATED_FIXEDPOINT"), at_most(I::required_mantissa_bits, 79.0), "native FP64 runs without a word",
       {"raise the limit, or scale the data", same, {Change::change_setting}}, docs, GX64 " --extra required_mantissa_bits=80", GX64 " --extra required_mantissa_bits=79", 60},
      {"CUB023", "emulation-judged-unprofitable", "the performant strategy may judge emulation not worth it", Level::warns, Blame::heuristic, "cublas-emulation",
       one_of(I::compute_type, {"64F_EMULATED_FIXEDPOINT", "32F_EMULATED_16BFX9"}), equals(I::emulation_strategy, "eager"),
       "the threshold is not published, so only the library can say; a small workspace also rules emulation out",
       {"set CUBLAS_EMULATION_STRATEGY=eager and give 128 MiB of workspace to find out", same, {Change::change_setting}}, docs,
       GX64 " --extra emulation_strategy=performant", GX64 " --extra emulation_strategy=eager", 61},
  };
  return rows;
}

#undef GX
#undef GX8
#undef GX32
#undef GX64

}  // namespace

std::span<const Rule> gemm_rules() { return gemm_table(); }
std::span<const Rule> emulation_rules() { return emulation_table(); }

}  // namespace dd::backends::cublas
