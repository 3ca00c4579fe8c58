// The part of cuBLAS and cuBLASLt that the run halves need, by run-time lookup: values, structures and functions in plain C
// types, so no CUDA header is needed. Where the toolkit is, tests/unit/cuda_runtime/abi_test.cpp holds each of them against
// the real headers (library 13.1.0; the values below have been the same since 11.0).
// A status comes back as a CallError with the library's own name and text, sorted into refused, failed and so on.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "backends/cuda_runtime/driver.hpp"

namespace dd::cuda {

namespace blas {

enum Status { success = 0, not_initialized = 1, alloc_failed = 3, invalid_value = 7, arch_mismatch = 8, mapping_error = 11, execution_failed = 13, internal_error = 14, not_supported = 15, license_error = 16 };
enum Operation { op_n = 0, op_t = 1 };
enum PointerMode { pointer_host = 0, pointer_device = 1 };
enum DataType { r_32f = 0, r_64f = 1, r_16f = 2, r_8i = 3, r_8u = 8, r_32i = 10, r_16bf = 14, r_8f_e4m3 = 28, r_8f_e5m2 = 29 };
enum Compute { compute_16f = 64, compute_16f_pedantic = 65, compute_32f = 68, compute_32f_pedantic = 69, compute_64f = 70, compute_64f_pedantic = 71, compute_32i = 72, compute_32i_pedantic = 73, compute_32f_fast_16f = 74, compute_32f_fast_16bf = 75, compute_32f_fast_tf32 = 77, compute_32f_emulated_16bfx9 = 78, compute_64f_emulated_fixedpoint = 79 };
enum Algorithm { algorithm_default = -1 };
enum MathMode { math_default = 0, math_no_narrow_reduction = 16 };

}  // namespace blas

namespace lt {

enum LayoutAttribute { layout_batch_count = 5, layout_batch_offset = 6 };
enum DescAttribute { desc_transa = 3, desc_transb = 4, desc_epilogue = 7, desc_bias_pointer = 8, desc_a_scale_pointer = 17, desc_b_scale_pointer = 18, desc_fast_accum = 25, desc_bias_data_type = 26, desc_a_scale_mode = 31, desc_b_scale_mode = 32 };
enum Epilogue { epilogue_default = 1, epilogue_relu = 2, epilogue_bias = 4, epilogue_relu_bias = 6, epilogue_gelu = 32, epilogue_gelu_bias = 36 };
enum ScaleMode { scale_scalar_32f = 0, scale_vec16_ue4m3 = 1, scale_vec32_ue8m0 = 2, scale_outer_vec_32f = 3, scale_vec128_32f = 4, scale_blk128x128_32f = 5 };
enum PreferenceAttribute { pref_max_workspace = 1, pref_reduction_schemes = 3, pref_align_a = 5, pref_align_b = 6, pref_align_c = 7, pref_align_d = 8 };
enum ConfigAttribute { config_id = 0, config_tile = 1, config_split_k = 2, config_reduction = 3, config_stages = 6 };
enum CapAttribute { cap_impl_flags = 15 };
inline constexpr std::uint32_t reduction_all = 7, reduction_in_compute_type = 2;  // the latter beside "no split at all", which is 0
inline constexpr std::uint64_t impl_fma = 1, impl_hmma = 2, impl_imma = 4, impl_dmma = 8;

struct Algo {
  std::uint64_t data[8];
};
struct Heuristic {
  Algo algo;
  std::size_t workspace;
  int state;
  float waves;
  int reserved[4];
};

std::string tile_text(std::uint32_t id);    // "128x64"; "tile number 9999" for one that this release does not know
std::string stages_text(std::uint32_t id);  // "64x3"

}  // namespace lt

struct CublasApi {
  int (*create)(void** handle);
  int (*destroy)(void* handle);
  int (*set_stream)(void* handle, void* stream);
  int (*set_math_mode)(void* handle, int mode);
  int (*set_workspace)(void* handle, void* workspace, std::size_t bytes);
  int (*gemm)(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a, int type_a, int lda, const void* b, int type_b, int ldb,
              const void* beta, void* c, int type_c, int ldc, int compute, int algorithm);
  int (*gemm_strided)(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a, int type_a, int lda, long long stride_a, const void* b, int type_b,
                      int ldb, long long stride_b, const void* beta, void* c, int type_c, int ldc, long long stride_c, int batch, int compute, int algorithm);
  const char* (*status_name)(int);  // may be null: before 11.4
  const char* (*status_text)(int);
};

struct CublasLtApi {
  int (*create)(void** handle);
  int (*destroy)(void* handle);
  int (*desc_create)(void** desc, int compute, int scale_type);
  int (*desc_destroy)(void* desc);
  int (*desc_set)(void* desc, int attribute, const void* value, std::size_t bytes);
  int (*layout_create)(void** layout, int type, std::uint64_t rows, std::uint64_t columns, std::int64_t ld);
  int (*layout_destroy)(void* layout);
  int (*layout_set)(void* layout, int attribute, const void* value, std::size_t bytes);
  int (*preference_create)(void** preference);
  int (*preference_destroy)(void* preference);
  int (*preference_set)(void* preference, int attribute, const void* value, std::size_t bytes);
  int (*heuristic)(void* handle, void* desc, void* a, void* b, void* c, void* d, void* preference, int wanted, lt::Heuristic* results, int* found);
  int (*config_get)(const lt::Algo* algo, int attribute, void* value, std::size_t bytes, std::size_t* written);
  int (*cap_get)(const lt::Algo* algo, int attribute, void* value, std::size_t bytes, std::size_t* written);
  int (*matmul)(void* handle, void* desc, const void* alpha, const void* a, void* layout_a, const void* b, void* layout_b, const void* beta, const void* c, void* layout_c, void* d,
                void* layout_d, const lt::Algo* algo, void* workspace, std::size_t workspace_bytes, void* stream);
  const char* (*status_name)(int);  // may be null
  const char* (*status_text)(int);
};

// The library, opened and complete; else null and `why` says what is missing.
const CublasApi* cublas_api(std::string& why);
const CublasLtApi* cublaslt_api(std::string& why);

// nullopt for success. `source` is "cuBLAS" or "cuBLASLt".
std::optional<CallError> blas_error(int status, const char* call, const char* source, const char* (*name)(int), const char* (*text)(int));

// Handles live as long as the process: making one takes longer than many a product. `handle` is of the current device.
std::optional<CallError> cublas_handle(const CublasApi& api, Device& device, void*& handle);
std::optional<CallError> cublaslt_handle(const CublasLtApi& api, Device& device, void*& handle);

}  // namespace dd::cuda
