// Field names of the case files against those of the tool, shared by the reader and by the notes about unread fields.
#pragma once

namespace dd::cases {

struct Renamed { const char* theirs; const char* ours; };

// Fields that are extra fields of ours, by name or under another one.
inline constexpr Renamed plain_fields[] = {
    {"alpha", "alpha"}, {"beta", "beta"}, {"opa", "op_a"}, {"opb", "op_b"}, {"transc", "op_c"}, {"lda", "lda"}, {"ldb", "ldb"}, {"ldc", "ldc"},
    {"order", "order_ab"}, {"order_d", "order_d"}, {"batch_a", "batch_a"}, {"batch_b", "batch_b"}, {"compute", "compute_type"}, {"scale_type", "scale_type"},
    {"math_mode", "math_mode"}, {"aux_ld", "aux_ld"}, {"pointer_mode", "pointer_mode"}, {"requested_algo_count", "requested_algo_count"}, {"heuristic_count", "heuristic_count"},
    {"algo_workspace_bytes", "algo_workspace_bytes"}, {"algo_min_align", "algo_min_align"}, {"pref_workspace_bytes", "pref_workspace_bytes"},
    {"workspace_align", "workspace_align_bytes"}, {"reduction_mask", "reduction_mask"}, {"min_align_in_array", "min_align_in_array"}, {"c_is_d", "c_is_d"},
    {"c_layout_differs", "c_layout_differs"}, {"algo", "algo"}, {"scale_mode", "scale_mode"}, {"a_requires_grad", "x_requires_grad"}, {"b_requires_grad", "w_requires_grad"},
    {"leading_contiguous", "leading_contiguous"}, {"partial_broadcast", "partial_broadcast"}, {"bias_dim", "bias_rank"}, {"scale_recipe", "scale_recipe"},
    {"k_full", "k_full"}, {"k_part", "k_part"}, {"n_part", "n_part"}, {"smem_optin", "smem_optin"}, {"dim1", "x_rank"}, {"dim2", "w_rank"}, {"dtype_w", "weight_dtype"},
    {"bias_dtype", "dtype_bias"}, {"sms", "sm_count"}, {"epilogue", "lt_epilogue"}};

inline constexpr Renamed quant_fields[] = {{"weight_type", "weight_type"}, {"symmetric", "symmetric"}, {"blocksize", "block_size"}, {"quant_type", "quant_type"}, {"inner_k_tiles", "inner_k_tiles"}};

inline constexpr Renamed flag_fields[] = {
    {"few_tiles_long_k", "few_tiles_long_k"}, {"capturing", "capturing"}, {"autotune_cached", "autotune_cached"}, {"d_scale_set", "d_scale_set"}, {"visible_gpus", "visible_gpus"},
    {"want_max_rate", "want_max_rate"}, {"batched_alpha", "batched_alpha"}, {"required_mantissa_bits", "required_mantissa_bits"}, {"pointer_array", "pointer_array"},
    {"f32_precision", "float32_matmul_precision"}, {"reduced_precision_reduction", "reduced_precision_reduction"}, {"allow_fp16_accumulation", "fp16_accumulation"},
    {"preferred_blas", "preferred_blas"}, {"mkldnn_enabled", "mkldnn_enabled"}, {"mkldnn_eligible", "mkldnn_eligible"}, {"cpu_bf16", "cpu_bf16"}, {"cpu_fp16", "cpu_fp16"},
    {"inplace", "inplace"}, {"sliced_ld", "sliced_ld"}, {"use_fast_accum", "use_fast_accum"}, {"offs_dtype", "offs_dtype"}, {"offs_missing", "offs_missing"}, {"disabled", "kernel_disabled"},
    {"n_kernels_ok", "kernels_accepting"}, {"chosen", "chosen"}, {"quantization", "quantization"}, {"batch_invariant", "batch_invariant"}, {"lt_not_supported", "lt_not_supported"},
    {"outliers", "outliers"}, {"small_workspace", "small_workspace"}, {"compiled_arch", "compiled_arch"}, {"src1_type", "src1_type"}, {"alibi", "alibi"}};

inline constexpr const char* environment_flags[] = {"NVIDIA_TF32_OVERRIDE", "CUBLAS_WORKSPACE_CONFIG", "CUBLASLT_WORKSPACE_SIZE", "DISABLE_ADDMM_CUDA_LT", "TORCH_LINEAR_FLATTEN_3D", "VLLM_TEST_FORCE_FP8_MARLIN"};

inline constexpr Renamed build_flags[] = {{"mslk", "mslk"}, {"conch_installed", "conch"}, {"humming", "humming"}, {"flashinfer", "flashinfer"}, {"deep_gemm", "deep_gemm"}, {"awq_ext", "awq_ext"},
                                   {"triton", "triton"}, {"GGML_CUDA_FORCE_CUBLAS", "ggml_force_cublas"}, {"GGML_CUDA_FORCE_MMQ", "ggml_force_mmq"}, {"GGML_CUDA_FA_ALL_QUANTS", "ggml_fa_all_quants"}};

}  // namespace dd::cases
