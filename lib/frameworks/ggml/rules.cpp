#include "frameworks/ggml/rules.hpp"

namespace dd::frameworks::ggml {
namespace {

using namespace rules;
using I = facts::Id;
constexpr auto stops = Level::blocks, slow = Level::slows;
constexpr auto same = Keeps::function, less_precise = Keeps::precision;

constexpr Source mmq_cu{"ggml src/ggml-cuda/mmq.cu", "2026-08-21", "2026-08-22"};
constexpr Source mmvq_cu{"ggml src/ggml-cuda/mmvq.cu", "2026-08-21", "2026-08-22"};
constexpr Source mmvf_cu{"ggml src/ggml-cuda/mmvf.cu", "2026-08-21", "2026-08-22"};
constexpr Source mmf_cu{"ggml src/ggml-cuda/mmf.cu", "2026-08-21", "2026-08-22"};
constexpr Source mmvf_code{"ggml src/ggml-cuda/mmvf.cu, ggml_cuda_should_use_mmvf", "2026", "2026-11-29"};
constexpr Source mmf_code{"ggml src/ggml-cuda/mmf.cu, ggml_cuda_should_use_mmf", "llama.cpp 09527b8", "2026-11-29"};
constexpr Source experts_code{"ggml src/ggml-cuda/ggml-cuda.cu, ggml_cuda_mul_mat_id; mmvq.cu, get_mmvq_mmid_max_batch; mmf.cu", "2026", "2026-11-30"};
constexpr Source cuda_cu{"ggml src/ggml-cuda/ggml-cuda.cu", "2026-08-21", "2026-08-22"};
constexpr Source quantize_cpp{"llama-quantize, issues 6614 and 26616", "2024 and 2026", "2026-08-25"};
constexpr Source llama_context{"llama.cpp, creation of a context; issue 28524 and ollama pull request 6279", "2024 and 2026", "2026-11-29"};
constexpr Source fattn_cu{"ggml src/ggml-cuda/fattn.cu", "2026-08-21", "2026-08-22"};

const std::vector<std::string> floats{"F16", "BF16", "F32"};
Condition turing_or_later_built() { return any({unless(applicable(I::compiled_arch)), at_least(I::compiled_arch, 75)}); }

#define GG(M, TYPE, ARCH) "gemm --x " M "x4096 --w 4096x4096 --dtype f32 --extra quant_type=" TYPE " --framework ggml --target " ARCH
#define FA(D, ARCH) "sdpa --q 1x32x1x" D " --k 1x8x4096x" D " --v 1x8x4096x" D " --gqa --mask float:1x4096 --dtype f16 --framework ggml --target " ARCH
#define FA_KV(LEN) "sdpa --q 1x32x1x576 --k 1x2x" LEN "x576 --v 1x2x" LEN "x512 --gqa --mask float:1x" LEN " --dtype f16 --framework ggml --target sm_90"

const std::vector<Rule>& mmvf_table() {
  static const std::vector<Rule> rows = {
      {"GGM001", "float-vector-kernel-type", "the weight is quantized", stops, Blame::checkpoint, "ggml-mmvf", always(), one_of(I::quant_type, floats), "passed over for the quantized kernels", {"nothing to do", same, {}}, mmvf_cu, GG("1", "Q4_K", "sm_90"), GG("1", "F16", "sm_90"), 9},
      {"GGM002", "float-vector-kernel-odd-k", "K is odd", stops, Blame::spec, "ggml-mmvf", always(), multiple_of(I::k, 2), "passed over: pairs are read", {"pad K to an even number", same, {Change::pad_k}}, mmvf_cu,
       "gemm --x 1x4095 --w 4095x4096 --dtype f32 --extra quant_type=F16 --framework ggml --target sm_90", GG("1", "F16", "sm_90"), 10},
      {"GGM003", "float-vector-kernel-columns", "more columns than the float vector kernel takes", stops, Blame::heuristic, "ggml-mmvf", applicable(I::mmvf_columns), at_most(I::rows, I::mmvf_columns), "passed over for the matrix kernel or cuBLAS", {"nothing to do: expected for larger batches", same, {}},
       mmvf_cu, GG("2", "F16", "sm_90"), GG("1", "F16", "sm_90"), 11},
      {"GGM004", "float-vector-kernel-columns-before-ampere", "more columns than the float vector kernel takes on a chip before 8.0", stops, Blame::heuristic, "ggml-mmvf", all({one_of(I::quant_type, {"F16", "BF16"}), below(I::compute_capability, 80.0)}),
       any({at_most(I::rows, 3.0), all({at_most(I::rows, 8.0), any({below(I::compute_capability, 70.0), equals(I::quant_type, "BF16")})})}), "passed over for the matrix kernel or cuBLAS: 3 columns where FP16 has tensor cores, 8 elsewhere", {"nothing to do: expected for larger batches", same, {}},
       mmvf_code, GG("4", "F16", "sm_70"), GG("3", "F16", "sm_70"), 12},
      {"GGM005", "float-vector-kernel-many-large-matrices", "several weight matrices of more than 512 rows", stops, Blame::heuristic, "ggml-mmvf",
       any({all({equals(I::quant_type, "F16"), at_least(I::compute_capability, 70)}), all({equals(I::quant_type, "BF16"), at_least(I::compute_capability, 80)})}), any({at_most(I::n, 512.0), at_most(I::gemm_batch, 1.0)}),
       "passed over for the matrix kernel or batched cuBLAS, which win with tensor cores", {"nothing to do", same, {}}, mmvf_code,
       "gemm --x 8x1x4096 --w 8x4096x520 --dtype f32 --extra quant_type=F16 --framework ggml --target sm_90", "gemm --x 8x1x4096 --w 8x4096x512 --dtype f32 --extra quant_type=F16 --framework ggml --target sm_90", 13},
  };
  return rows;
}

const std::vector<Rule>& mmf_table() {
  static const std::vector<Rule> rows = {
      {"GGM010", "float-matrix-kernel-limits", "type, columns or chip outside the float matrix kernel", stops, Blame::heuristic, "ggml-mmf", always(),
       all({one_of(I::quant_type, floats), at_most(I::rows, 16.0), any({none_of(I::quant_type, {"F32", "BF16"}), at_least(I::compute_capability, 80)}), any({differs(I::quant_type, "F16"), at_least(I::compute_capability, 70)})}),
       "passed over", {"nothing to do: expected above 16 columns", same, {}}, mmf_cu, GG("17", "F16", "sm_90"), GG("16", "F16", "sm_90"), 10},
      {"GGM011", "float-matrix-kernel-k", "K does not fill the warp tiles of the float matrix kernel", stops, Blame::spec, "ggml-mmf", one_of(I::quant_type, floats),
       any({all({equals(I::quant_type, "F32"), multiple_of(I::k, 32)}), multiple_of(I::k, 64)}), "passed over", {"pad K to 64 (32 for F32)", same, {Change::pad_k}}, mmf_cu,
       "gemm --x 8x4104 --w 4104x4096 --dtype f32 --extra quant_type=F16 --framework ggml --target sm_90", GG("8", "F16", "sm_90"), 11},
      {"GGM012", "float-matrix-kernel-rows", "the rows of the weight do not fill the blocks of the float matrix kernel", stops, Blame::spec, "ggml-mmf", one_of(I::quant_type, floats), multiple_of(I::n, 32), "passed over for cuBLAS", {"pad N to a multiple of 32", same, {Change::pad_n}}, mmf_code,
       "gemm --x 8x4096 --w 4096x4100 --dtype f32 --extra quant_type=F16 --framework ggml --target sm_90", GG("8", "F16", "sm_90"), 12},
  };
  return rows;
}

const std::vector<Rule>& mmvq_table() {
  static const std::vector<Rule> rows = {
      {"GGM020", "quantized-vector-kernel-type", "the weight is not quantized", stops, Blame::checkpoint, "ggml-mmvq", always(), none_of(I::quant_type, floats), "passed over", {"nothing to do", same, {}}, mmvq_cu, GG("1", "F16", "sm_90"), GG("1", "Q4_K", "sm_90"), 9},
      {"GGM021", "quantized-vector-kernel-columns", "more columns than the quantized vector kernel takes", stops, Blame::heuristic, "ggml-mmvq", always(), at_most(I::rows, I::mmvq_columns), "passed over for the matrix kernel where that serves the type",
       {"nothing to do: expected for larger batches", same, {}}, mmvq_cu, GG("9", "Q4_K", "sm_90"), GG("8", "Q4_K", "sm_90"), 10},
  };
  return rows;
}

const std::vector<Rule>& mmq_table() {
  static const std::vector<Rule> rows = {
      {"GGM030", "quantized-matrix-kernel-type", "the block format has no tile in the quantized matrix kernel", stops, Blame::checkpoint, "ggml-mmq", always(),
       one_of(I::quant_type, {"Q1_0", "Q2_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ1_S", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_XS", "IQ4_NL", "MXFP4", "NVFP4"}),
       "the weight is dequantized and cuBLAS multiplies", {"choose another block format", less_precise, {Change::regroup}}, mmq_cu, GG("512", "IQ1_M", "sm_90"), GG("512", "Q4_K", "sm_90"), 10},
      {"GGM031", "cublas-forced-by-build", "the build forces cuBLAS", stops, Blame::build, "ggml-mmq", always(), unless(is_true(I::build_force_cublas)), "the weight is dequantized and cuBLAS multiplies", {"build without GGML_CUDA_FORCE_CUBLAS", same, {Change::change_setting}}, mmq_cu,
       GG("512", "Q4_K", "sm_90") " --built-with ggml_force_cublas=on", GG("512", "Q4_K", "sm_90"), 11},
      {"GGM032", "shared-memory-too-small", "less than 48 KiB of shared memory can be opted into", stops, Blame::hardware, "ggml-mmq", always(), at_least(I::smem_optin, 49152.0), "the tile does not fit: the weight is dequantized", {"nothing on this chip", same, {}}, mmq_cu,
       GG("512", "Q4_K", "sm_90") " --extra smem_optin=49151", GG("512", "Q4_K", "sm_90") " --extra smem_optin=49152", 12},
      {"GGM033", "no-integer-dot-product", "the chip, or the code compiled for it, has no 8-bit dot product", stops, Blame::hardware, "ggml-mmq", always(), all({at_least(I::compute_capability, 61), any({unless(applicable(I::compiled_arch)), at_least(I::compiled_arch, 61)})}),
       "the weight is dequantized", {"build for the real chip", same, {Change::change_setting}}, mmq_cu, GG("512", "Q4_K", "sm_60"), GG("512", "Q4_K", "sm_90"), 13},
      {"GGM034", "half-cores-without-integer-cores", "64 columns or more without an integer tensor-core path", stops, Blame::build, "ggml-mmq", all({at_least(I::compute_capability, 70), at_least(I::rows, 64.0)}),
       any({all({at_least(I::compute_capability, 75), turing_or_later_built()}), is_true(I::build_force_mmq)}), "FP16 cuBLAS is preferred to dot products, so the weight is dequantized: Volta, or a newer chip running code built for an older one",
       {"build for the real architecture, or with GGML_CUDA_FORCE_MMQ", same, {Change::change_setting}}, mmq_cu, GG("512", "Q4_K", "sm_89") " --extra compiled_arch=61", GG("512", "Q4_K", "sm_89"), 14},
      {"GGM035", "activations-not-f32", "the activations in the graph are not F32", stops, Blame::spec, "ggml-mmq", always(), equals(I::src1_type, "F32"), "quantized kernels take F32 and quantize it on the way: the weight is dequantized", {"give F32 activations", same, {Change::cast_dtype}},
       cuda_cu, GG("512", "Q4_K", "sm_90") " --extra src1_type=F16", GG("512", "Q4_K", "sm_90"), 15},
  };
  return rows;
}

const std::vector<Rule>& cublas_table() {
  static const std::vector<Rule> rows = {
      {"GGM040", "weight-dequantized", "a quantized weight reached the last branch", slow, Blame::heuristic, "ggml-cublas", applicable(I::quant_type), one_of(I::quant_type, floats),
       "the whole weight is expanded to FP16 (FP32 where the graph or chip wants it) before cuBLAS runs", {"use a block format that the quantized kernels serve, and build for the real architecture", less_precise, {Change::regroup, Change::change_setting}}, cuda_cu,
       GG("512", "IQ1_M", "sm_90"), GG("512", "F16", "sm_90"), 60},
  };
  return rows;
}

const std::vector<Rule>& quantize_table() {
  static const std::vector<Rule> rows = {
      {"GGM060", "row-not-a-multiple-of-256", "a row of the weight is not a whole number of 256-element blocks", slow, Blame::checkpoint, "ggml-quantize",
       one_of(I::quant_type, {"Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K", "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_XS"}), multiple_of(I::k, 256),
       "the tensor is stored in another, larger format with a warning only; the row length (K) counts, not N", {"nothing but other extents, or the format with 32-element blocks on purpose", less_precise, {Change::pad_k, Change::regroup}}, quantize_cpp,
       "gemm --x 1x14464 --w 14464x4096 --dtype f32 --extra quant_type=Q3_K --framework ggml --target sm_90", GG("1", "Q3_K", "sm_90"), 60},
  };
  return rows;
}

const std::vector<Rule>& attention_table() {
  static const std::vector<Rule> rows = {
      {"GGM050", "attention-head-size", "no kernel was built for the head size", stops, Blame::build, "ggml-fattn", always(), one_of(I::head_dim, {40, 64, 72, 80, 96, 112, 128, 256, 192, 320, 512, 576}), "the operator is reported unsupported: unfused attention, or the CPU",
       {"pad the heads to the next size", same, {Change::pad_head_dim}}, fattn_cu, FA("160", "sm_90"), FA("128", "sm_90"), 10},
      {"GGM051", "attention-cache-types", "the types of the K and V cache were not compiled together", stops, Blame::build, "ggml-fattn", always(),
       any({all({equals(I::kv_type_k, I::kv_type_v), none_of(I::kv_type_k, {"q4_1", "q5_0", "q5_1"})}), is_true(I::build_fa_all_quants)}), "the operator is reported unsupported", {"use one of Q8_0 or Q4_0 for both, or build with GGML_CUDA_FA_ALL_QUANTS", less_precise, {Change::change_setting}}, fattn_cu,
       FA("128", "sm_90") " --extra kv_type_k=q8_0 --extra kv_type_v=q4_0", FA("128", "sm_90") " --extra kv_type_k=q8_0 --extra kv_type_v=q8_0", 11},
      {"GGM052", "attention-large-head-without-groups", "a large head without the grouped-query variant", stops, Blame::spec, "ggml-fattn", one_of(I::head_dim, {192, 320, 512, 576}),
       all({differs(I::mask_kind, "none"), multiple_of(I::kv_len, 256), at_least(I::gqa_ratio, 2.0), unless(is_true(I::alibi)), any({differs(I::head_dim, 192), multiple_of(I::gqa_ratio, 8)}), any({differs(I::head_dim, 320), multiple_of(I::gqa_ratio, 32)})}),
       "the operator is reported unsupported", {"pad the cache to a multiple of 256 and pass a mask", same, {Change::change_setting}}, fattn_cu, FA_KV("4100"), FA_KV("4096"), 12},
      {"GGM053", "attention-mask-per-head", "a mask that differs between heads", stops, Blame::spec, "ggml-fattn", always(), equals(I::mask_heads, 1), "the kernels broadcast one mask", {"build one mask for all heads", Keeps::meaning, {Change::change_setting}}, fattn_cu,
       "sdpa --q 1x32x16x128 --k 1x32x4096x128 --v 1x32x4096x128 --mask float:32x16x4096 --dtype f16 --framework ggml --target sm_90", FA("128", "sm_90"), 13},
      {"GGM055", "attention-value-head-size", "no kernel was built for this pair of head sizes of K and V", stops, Blame::build, "ggml-fattn", one_of(I::head_dim, {40, 64, 72, 80, 96, 112, 128, 256, 192, 320, 512, 576}),
       any({all({none_of(I::head_dim, {192, 320, 576}), equals(I::head_dim_v, I::head_dim)}), all({equals(I::head_dim, 192), equals(I::head_dim_v, 128)}), all({equals(I::head_dim, 320), equals(I::head_dim_v, 256)}), all({equals(I::head_dim, 576), equals(I::head_dim_v, 512)})}),
       "the operator is reported unsupported: unfused attention, or the CPU; a quantized V cache then has no path at all", {"keep an F16 cache for this model, or use a release with a kernel for the pair", Keeps::precision, {Change::change_setting, Change::change_version}}, fattn_cu,
       "sdpa --q 1x32x1x128 --k 1x8x4096x128 --v 1x8x4096x64 --gqa --mask float:1x4096 --dtype f16 --framework ggml --target sm_90", FA("128", "sm_90"), 10},
      {"GGM054", "attention-tile-kernel", "head size 40 or 72, or no tensor cores", slow, Blame::hardware, "ggml-fattn", always(), all({none_of(I::head_dim, {40, 72}), at_least(I::compute_capability, 70)}), "the generic tile kernel runs", {"pad the heads to 64 or 80", same, {Change::pad_head_dim}}, fattn_cu,
       FA("72", "sm_90"), FA("80", "sm_90"), 60},
  };
  return rows;
}

const std::vector<Rule>& unfused_table() {
  static const std::vector<Rule> rows = {
      {"GGM056", "quantized-v-cache-needs-flash", "the V cache is quantized, and flash attention does not serve the call: no context is created, or the CPU computes it where -fa is on", stops, Blame::setting, "ggml-unfused-attention", always(), one_of(I::kv_type_v, {"f16", "bf16", "f32"}),
       "with flash attention on auto or off the context cannot be created, since V is then read along the other axis, which block formats do not allow; where it is forced on (-fa on), the whole operator runs on the CPU instead, many times slower and without a word", {"clear what flash attention declines for and switch it on, or keep V in f16; -fa on alone only moves the operator to the CPU", same, {Change::change_setting}}, llama_context,
       FA("160", "sm_90") " --extra kv_type_k=q8_0 --extra kv_type_v=q8_0", FA("160", "sm_90"), 10},
  };
  return rows;
}

#define ID(M, N, TYPE, ARCH) "gemm --x " M "x4096 --w 4096x" N " --dtype f32 --extra call=mul_mat_id --extra quant_type=" TYPE " --framework ggml --target " ARCH

// Products with the weights of the experts that each token was sent to (mul_mat_id): M counts tokens, w is one expert.
const std::vector<Rule>& experts_vector_table() {
  static const std::vector<Rule> rows = {
      {"GGM070", "expert-vector-kernel-type", "the weights of the experts are not quantized", stops, Blame::checkpoint, "ggml-mmvq-id", always(), none_of(I::quant_type, floats), "passed over", {"nothing to do: the float matrix kernel serves experts", same, {}},
       experts_code, ID("1", "4096", "F16", "sm_90"), ID("1", "4096", "Q4_K", "sm_90"), 9},
      {"GGM071", "expert-vector-kernel-tokens", "more tokens than the quantized vector kernel takes for experts", stops, Blame::heuristic, "ggml-mmvq-id", always(), at_most(I::rows, I::mmvq_columns),
       "passed over for the quantized matrix kernel where that serves the type", {"nothing to do: expected for larger batches", same, {}}, experts_code, ID("6", "4096", "Q3_K", "sm_86"), ID("5", "4096", "Q3_K", "sm_86"), 10},
  };
  return rows;
}

const std::vector<Rule>& experts_float_table() {
  static const std::vector<Rule> rows = {
      {"GGM072", "expert-matrix-kernel-type", "type or chip outside the float matrix kernel", stops, Blame::hardware, "ggml-mmf-id", always(),
       all({one_of(I::quant_type, floats), any({none_of(I::quant_type, {"F32", "BF16"}), at_least(I::compute_capability, 80)}), any({differs(I::quant_type, "F16"), at_least(I::compute_capability, 70)})}), "passed over: the experts are multiplied one after another",
       {"use a block format that the quantized kernels serve", less_precise, {Change::regroup}}, experts_code, ID("16", "4096", "BF16", "sm_75"), ID("16", "4096", "BF16", "sm_80"), 10},
      {"GGM073", "expert-matrix-kernel-k", "K does not fill the warp tiles of the float matrix kernel", stops, Blame::spec, "ggml-mmf-id", one_of(I::quant_type, floats), any({all({equals(I::quant_type, "F32"), multiple_of(I::k, 32)}), multiple_of(I::k, 64)}),
       "passed over: the experts are multiplied one after another", {"pad K to 64 (32 for F32)", same, {Change::pad_k}}, experts_code,
       "gemm --x 8x4104 --w 4104x4096 --dtype f32 --extra call=mul_mat_id --extra quant_type=F16 --framework ggml --target sm_90", ID("8", "4096", "F16", "sm_90"), 11},
      {"GGM074", "expert-matrix-kernel-rows", "the rows of an expert do not fill the blocks of the float matrix kernel", stops, Blame::spec, "ggml-mmf-id", one_of(I::quant_type, floats), multiple_of(I::n, 32),
       "passed over: the experts are multiplied one after another", {"pad N to a multiple of 32", same, {Change::pad_n}}, experts_code, ID("8", "4100", "F16", "sm_90"), ID("8", "4096", "F16", "sm_90"), 12},
      {"GGM075", "expert-matrix-kernel-tokens", "more tokens than the float matrix kernel takes for experts", stops, Blame::heuristic, "ggml-mmf-id", one_of(I::quant_type, floats), any({at_most(I::rows, 128.0), all({at_most(I::n, 1024.0), at_most(I::rows, 512.0)})}),
       "passed over: the experts are multiplied one after another", {"nothing to do: expected for large batches", same, {}}, experts_code, ID("129", "1025", "F16", "sm_90"), ID("512", "1024", "F16", "sm_90"), 13},
  };
  return rows;
}

const std::vector<Rule>& sorted_experts_table() {
  static const std::vector<Rule> rows = {
      {"GGM076", "experts-one-after-another", "no kernel takes the experts at once", slow, Blame::heuristic, "ggml-sorted-experts", always(), differs(I::call, "mul_mat_id"),
       "the choice of experts is copied to the host, the stream is waited for twice, tokens are sorted, and each expert is a product of its own; such a call is left out of CUDA graphs",
       {"use a block format that the quantized kernels serve, or clear what the kernels above decline for", less_precise, {Change::regroup}}, experts_code, ID("512", "4096", "IQ1_M", "sm_90"), GG("512", "IQ1_M", "sm_90"), 60},
  };
  return rows;
}

#undef GG
#undef ID
#undef FA
#undef FA_KV

}  // namespace

std::int64_t mmvq_columns(std::string_view type, std::int64_t cc) {
  struct Row { std::int64_t cc; std::string_view type; std::int64_t columns; };
  static constexpr Row rows[] = {{89, "Q2_K", 4},  {89, "Q3_K", 6},  {89, "Q4_K", 7},  {89, "Q5_K", 7},  {120, "Q2_K", 5}, {120, "Q3_K", 5},
                                 {120, "Q4_K", 5}, {120, "Q5_K", 5}, {120, "Q6_K", 7}, {121, "Q2_K", 6}};
  for (const Row& row : rows)
    if (row.cc == cc && row.type == type) return row.columns;
  return 8;
}

std::int64_t experts_columns(std::string_view type, std::int64_t cc) {
  struct Row { std::string_view type; std::int64_t pascal, turing; };  // up to 6.2 (and 7.2), and 7.5 to 8.8
  static constexpr Row rows[] = {{"IQ1_S", 6, 8},  {"IQ1_M", 6, 8}, {"IQ2_S", 4, 7}, {"IQ2_XS", 5, 8}, {"IQ2_XXS", 5, 8}, {"IQ3_S", 4, 6}, {"IQ3_XXS", 4, 7}, {"IQ4_NL", 6, 8}, {"IQ4_XS", 5, 8}, {"MXFP4", 4, 7},
                                 {"NVFP4", 4, 8}, {"Q2_K", 4, 7},  {"Q3_K", 4, 5},  {"Q4_0", 6, 8},   {"Q4_1", 6, 8},    {"Q4_K", 5, 8},  {"Q5_0", 6, 8},    {"Q5_1", 6, 8},   {"Q5_K", 5, 8},   {"Q6_K", 4, 8}, {"Q8_0", 4, 8}};
  if (cc == 70 || cc >= 89) return 8;
  for (const Row& row : rows)
    if (row.type == type) return cc >= 75 ? row.turing : row.pascal;
  return 8;
}

std::span<const Rule> experts_vector_rules() { return experts_vector_table(); }
std::span<const Rule> experts_float_rules() { return experts_float_table(); }
std::span<const Rule> sorted_experts_rules() { return sorted_experts_table(); }
std::span<const Rule> mmvf_rules() { return mmvf_table(); }
std::span<const Rule> mmf_rules() { return mmf_table(); }
std::span<const Rule> mmvq_rules() { return mmvq_table(); }
std::span<const Rule> mmq_rules() { return mmq_table(); }
std::span<const Rule> cublas_rules() { return cublas_table(); }
std::span<const Rule> quantize_rules() { return quantize_table(); }
std::span<const Rule> attention_rules() { return attention_table(); }
std::span<const Rule> unfused_attention_rules() { return unfused_table(); }

}  // namespace dd::frameworks::ggml
