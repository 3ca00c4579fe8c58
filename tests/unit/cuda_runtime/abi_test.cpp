// Our own declarations of cuBLAS and cuBLASLt against the toolkit's headers. Compiled where these headers are.
#include <cublasLt.h>
#include <cublas_v2.h>

#include <type_traits>

#include "backends/cuda_runtime/cublas_api.hpp"
#include "support/catch.hpp"

namespace {

namespace blas = dd::cuda::blas;
namespace lt = dd::cuda::lt;

#define SAME(ours, theirs) static_assert(static_cast<long long>(ours) == static_cast<long long>(theirs))
SAME(blas::success, CUBLAS_STATUS_SUCCESS);
SAME(blas::not_initialized, CUBLAS_STATUS_NOT_INITIALIZED);
SAME(blas::alloc_failed, CUBLAS_STATUS_ALLOC_FAILED);
SAME(blas::invalid_value, CUBLAS_STATUS_INVALID_VALUE);
SAME(blas::arch_mismatch, CUBLAS_STATUS_ARCH_MISMATCH);
SAME(blas::mapping_error, CUBLAS_STATUS_MAPPING_ERROR);
SAME(blas::execution_failed, CUBLAS_STATUS_EXECUTION_FAILED);
SAME(blas::internal_error, CUBLAS_STATUS_INTERNAL_ERROR);
SAME(blas::not_supported, CUBLAS_STATUS_NOT_SUPPORTED);
SAME(blas::license_error, CUBLAS_STATUS_LICENSE_ERROR);
SAME(blas::op_n, CUBLAS_OP_N);
SAME(blas::op_t, CUBLAS_OP_T);
SAME(blas::pointer_host, CUBLAS_POINTER_MODE_HOST);
SAME(blas::pointer_device, CUBLAS_POINTER_MODE_DEVICE);
SAME(blas::r_32f, CUDA_R_32F);
SAME(blas::r_64f, CUDA_R_64F);
SAME(blas::r_16f, CUDA_R_16F);
SAME(blas::r_8i, CUDA_R_8I);
SAME(blas::r_8u, CUDA_R_8U);
SAME(blas::r_32i, CUDA_R_32I);
SAME(blas::r_16bf, CUDA_R_16BF);
SAME(blas::r_8f_e4m3, CUDA_R_8F_E4M3);
SAME(blas::r_8f_e5m2, CUDA_R_8F_E5M2);
SAME(blas::compute_16f, CUBLAS_COMPUTE_16F);
SAME(blas::compute_16f_pedantic, CUBLAS_COMPUTE_16F_PEDANTIC);
SAME(blas::compute_32f, CUBLAS_COMPUTE_32F);
SAME(blas::compute_32f_pedantic, CUBLAS_COMPUTE_32F_PEDANTIC);
SAME(blas::compute_64f, CUBLAS_COMPUTE_64F);
SAME(blas::compute_64f_pedantic, CUBLAS_COMPUTE_64F_PEDANTIC);
SAME(blas::compute_32i, CUBLAS_COMPUTE_32I);
SAME(blas::compute_32i_pedantic, CUBLAS_COMPUTE_32I_PEDANTIC);
SAME(blas::compute_32f_fast_16f, CUBLAS_COMPUTE_32F_FAST_16F);
SAME(blas::compute_32f_fast_16bf, CUBLAS_COMPUTE_32F_FAST_16BF);
SAME(blas::compute_32f_fast_tf32, CUBLAS_COMPUTE_32F_FAST_TF32);
SAME(blas::compute_32f_emulated_16bfx9, CUBLAS_COMPUTE_32F_EMULATED_16BFX9);
SAME(blas::compute_64f_emulated_fixedpoint, CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT);
SAME(blas::algorithm_default, CUBLAS_GEMM_DEFAULT);
SAME(lt::layout_batch_count, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
SAME(lt::layout_batch_offset, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
SAME(lt::desc_transa, CUBLASLT_MATMUL_DESC_TRANSA);
SAME(lt::desc_transb, CUBLASLT_MATMUL_DESC_TRANSB);
SAME(lt::desc_epilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
SAME(lt::desc_bias_pointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
SAME(lt::desc_a_scale_pointer, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER);
SAME(lt::desc_b_scale_pointer, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER);
SAME(lt::desc_fast_accum, CUBLASLT_MATMUL_DESC_FAST_ACCUM);
SAME(lt::desc_bias_data_type, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
SAME(lt::desc_a_scale_mode, CUBLASLT_MATMUL_DESC_A_SCALE_MODE);
SAME(lt::desc_b_scale_mode, CUBLASLT_MATMUL_DESC_B_SCALE_MODE);
SAME(lt::epilogue_default, CUBLASLT_EPILOGUE_DEFAULT);
SAME(lt::epilogue_relu, CUBLASLT_EPILOGUE_RELU);
SAME(lt::epilogue_bias, CUBLASLT_EPILOGUE_BIAS);
SAME(lt::epilogue_relu_bias, CUBLASLT_EPILOGUE_RELU_BIAS);
SAME(lt::epilogue_gelu, CUBLASLT_EPILOGUE_GELU);
SAME(lt::epilogue_gelu_bias, CUBLASLT_EPILOGUE_GELU_BIAS);
SAME(lt::scale_scalar_32f, CUBLASLT_MATMUL_MATRIX_SCALE_SCALAR_32F);
SAME(lt::scale_vec16_ue4m3, CUBLASLT_MATMUL_MATRIX_SCALE_VEC16_UE4M3);
SAME(lt::scale_vec32_ue8m0, CUBLASLT_MATMUL_MATRIX_SCALE_VEC32_UE8M0);
SAME(lt::scale_outer_vec_32f, CUBLASLT_MATMUL_MATRIX_SCALE_OUTER_VEC_32F);
SAME(lt::scale_vec128_32f, CUBLASLT_MATMUL_MATRIX_SCALE_VEC128_32F);
SAME(lt::scale_blk128x128_32f, CUBLASLT_MATMUL_MATRIX_SCALE_BLK128x128_32F);
SAME(lt::pref_max_workspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
SAME(lt::pref_reduction_schemes, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
SAME(lt::reduction_all, CUBLASLT_REDUCTION_SCHEME_MASK);
SAME(lt::reduction_in_compute_type, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
SAME(blas::math_default, CUBLAS_DEFAULT_MATH);
SAME(blas::math_no_narrow_reduction, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
SAME(lt::pref_align_a, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
SAME(lt::pref_align_b, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES);
SAME(lt::pref_align_c, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES);
SAME(lt::pref_align_d, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
SAME(lt::config_id, CUBLASLT_ALGO_CONFIG_ID);
SAME(lt::config_tile, CUBLASLT_ALGO_CONFIG_TILE_ID);
SAME(lt::config_split_k, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
SAME(lt::config_reduction, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
SAME(lt::config_stages, CUBLASLT_ALGO_CONFIG_STAGES_ID);
SAME(lt::cap_impl_flags, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS);
SAME(lt::impl_fma, CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA);
SAME(lt::impl_hmma, CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA);
SAME(lt::impl_imma, CUBLASLT_NUMERICAL_IMPL_FLAGS_IMMA);
SAME(lt::impl_dmma, CUBLASLT_NUMERICAL_IMPL_FLAGS_DMMA);
#define DD_TILE(id, rows, columns) SAME(id, CUBLASLT_MATMUL_TILE_##rows##x##columns);
#include "backends/cuda_runtime/lt_tiles.def"
#undef DD_TILE
#define DD_STAGES(id, depth, count) SAME(id, CUBLASLT_MATMUL_STAGES_##depth##x##count);
#include "backends/cuda_runtime/lt_stages.def"
#undef DD_STAGES
#undef SAME

static_assert(sizeof(lt::Algo) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(lt::Heuristic) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(lt::Heuristic, workspace) == offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
static_assert(offsetof(lt::Heuristic, state) == offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(offsetof(lt::Heuristic, waves) == offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));

// A parameter passes the same way when both are pointers, or both are integers (enumerations too) of one size.
template <class Ours, class Theirs>
constexpr bool passes_alike() {
  if constexpr (std::is_pointer_v<Ours> || std::is_pointer_v<Theirs>) return std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>;
  else return sizeof(Ours) == sizeof(Theirs) && std::is_floating_point_v<Ours> == std::is_floating_point_v<Theirs>;
}
template <class R, class... A, class S, class... B>
constexpr bool alike(R (*)(A...), S (*)(B...)) {
  if constexpr (sizeof...(A) != sizeof...(B)) return false;
  else return passes_alike<R, S>() && (passes_alike<A, B>() && ...);
}
#define SAME_CALL(table, member, function) static_assert(alike(decltype(dd::cuda::table::member){}, static_cast<decltype(&function)>(nullptr)))
SAME_CALL(CublasApi, create, cublasCreate_v2);
SAME_CALL(CublasApi, destroy, cublasDestroy_v2);
SAME_CALL(CublasApi, set_stream, cublasSetStream_v2);
SAME_CALL(CublasApi, set_math_mode, cublasSetMathMode);
SAME_CALL(CublasApi, set_workspace, cublasSetWorkspace_v2);
SAME_CALL(CublasApi, status_name, cublasGetStatusName);
SAME_CALL(CublasApi, status_text, cublasGetStatusString);
SAME_CALL(CublasLtApi, create, cublasLtCreate);
SAME_CALL(CublasLtApi, destroy, cublasLtDestroy);
SAME_CALL(CublasLtApi, desc_create, cublasLtMatmulDescCreate);
SAME_CALL(CublasLtApi, desc_destroy, cublasLtMatmulDescDestroy);
SAME_CALL(CublasLtApi, desc_set, cublasLtMatmulDescSetAttribute);
SAME_CALL(CublasLtApi, layout_create, cublasLtMatrixLayoutCreate);
SAME_CALL(CublasLtApi, layout_destroy, cublasLtMatrixLayoutDestroy);
SAME_CALL(CublasLtApi, layout_set, cublasLtMatrixLayoutSetAttribute);
SAME_CALL(CublasLtApi, preference_create, cublasLtMatmulPreferenceCreate);
SAME_CALL(CublasLtApi, preference_destroy, cublasLtMatmulPreferenceDestroy);
SAME_CALL(CublasLtApi, preference_set, cublasLtMatmulPreferenceSetAttribute);
SAME_CALL(CublasLtApi, heuristic, cublasLtMatmulAlgoGetHeuristic);
SAME_CALL(CublasLtApi, config_get, cublasLtMatmulAlgoConfigGetAttribute);
SAME_CALL(CublasLtApi, cap_get, cublasLtMatmulAlgoCapGetAttribute);
SAME_CALL(CublasLtApi, matmul, cublasLtMatmul);
// GemmEx has C++ overloads in the header, so the C one is named by its type.
using GemmEx = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*, const void*, cudaDataType, int, const void*, cudaDataType, int,
                                  const void*, void*, cudaDataType, int, cublasComputeType_t, cublasGemmAlgo_t);
using GemmStridedEx = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int, int, const void*, const void*, cudaDataType, int, long long, const void*,
                                         cudaDataType, int, long long, const void*, void*, cudaDataType, int, long long, int, cublasComputeType_t, cublasGemmAlgo_t);
static_assert(std::is_same_v<decltype(static_cast<GemmEx>(&cublasGemmEx)), GemmEx>);
static_assert(std::is_same_v<decltype(static_cast<GemmStridedEx>(&cublasGemmStridedBatchedEx)), GemmStridedEx>);
static_assert(alike(decltype(dd::cuda::CublasApi::gemm){}, static_cast<GemmEx>(nullptr)));
static_assert(alike(decltype(dd::cuda::CublasApi::gemm_strided){}, static_cast<GemmStridedEx>(nullptr)));

}  // namespace

TEST_CASE("names of tiles and stages by number") {
  CHECK(lt::tile_text(CUBLASLT_MATMUL_TILE_128x256) == "128x256");
  CHECK(lt::stages_text(CUBLASLT_MATMUL_STAGES_64x4) == "64x4");
  CHECK(lt::tile_text(0) == "not stated");
  CHECK(lt::tile_text(60000) == "tile number 60000");
}
