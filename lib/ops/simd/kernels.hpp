// The inner kernels, compiled once per instruction set from one source (simd/*.inc) and chosen at run time. Plain data
// in, plain data out: no allocation, no threads, no exceptions. The callers in attention/ and gemm/ validate, split
// work and own all memory. DD_ISA=portable|avx2|avx512 in the environment, or set_isa(), picks a variant that the
// machine supports.
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/dtype.hpp"

namespace dd::ops::simd {

using core::DType;

// A strided matrix of "lines" (rows of a product's left side, columns of its right side) along a "depth" (what is
// summed over). With `scale` the element is (code - zero) * scale, both indexed by (group of the depth index, line).
struct Source {
  const void* data = nullptr;
  DType dtype = DType::f32;
  std::int64_t offset = 0, line_stride = 0, depth_stride = 0;
  const void* scale = nullptr;
  DType scale_dtype = DType::f32;
  std::int64_t scale_offset = 0, scale_group_stride = 0, scale_line_stride = 0;
  const void* zero = nullptr;
  DType zero_dtype = DType::f32;
  std::int64_t zero_offset = 0, zero_group_stride = 0, zero_line_stride = 0;
  std::int64_t group_size = 0;             // depth elements per group; 0 = one group
  const std::int32_t* group_of = nullptr;  // group of each depth index (act-order); replaces group_size
  bool absolute = false;                   // magnitudes instead of values
};

enum class MaskKind : std::uint8_t { none, boolean, additive };

// Some query rows of one head. T is the arithmetic: double for the reference, float for cpu-flash.
template <class T>
struct AttentionTask {
  Source q, k, v;  // q: line = query; k: line = key; v: line = column of dv, depth = key
  std::int64_t d = 0, dv = 0;
  bool abs_sum = false;  // also sum p |v| (columns dv .. 2 dv of `out`)
  T scale = 1;
  const std::int64_t* rows = nullptr;                  // query indices, row_count of them
  const std::int64_t *low = nullptr, *high = nullptr;  // keys [low, high) take part, per listed row
  std::int64_t row_count = 0;
  MaskKind mask_kind = MaskKind::none;
  const void* mask = nullptr;
  DType mask_dtype = DType::boolean;
  std::int64_t mask_offset = 0, mask_row_stride = 0, mask_key_stride = 0;
  double dropout_p = 0;  // keep decided by `keep`
  std::uint64_t seed = 0;
  std::int64_t batch = 0, head = 0;
  void (*keep)(std::uint64_t seed, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, std::int64_t n,
               double p, std::uint8_t* out) = nullptr;
  T* out = nullptr;   // row_count x (dv or 2 dv), dense
  T* lse = nullptr;   // log of the softmax denominator per row, -inf for a fully masked row; may be null
  T* work = nullptr;  // attention_work(...) elements
};

// C[m0..m1) x [n0..n1) = A B over depth k; `out` points at element (m0, n0).
template <class T>
struct GemmTask {
  Source a, b;
  std::int64_t m0 = 0, m1 = 0, n0 = 0, n1 = 0, k = 0;
  T* out = nullptr;
  std::int64_t out_stride = 0;
  T* work = nullptr;  // gemm_work(...) elements
};

// y[m][n0..n1) = x times packed 8- or 4-bit weights, for few rows. Codes are contiguous along the columns (by_depth
// false: then depth_bytes is the distance of two depths) or along the depth (by_depth true: line_bytes is the distance
// of two columns). A vector of codes is split into `packed_parts` interleaved parts; by_depth therefore wants x as
// parts too: x[m][p * k / parts + i] is element i * parts + p.
struct PackedRowsTask {
  const float* x = nullptr;  // m rows of k, row stride x_stride
  std::int64_t m = 0, k = 0, x_stride = 0;
  const std::uint8_t* codes = nullptr;  // of (depth 0, column 0)
  DType dtype = DType::u8;              // s8, u8, s4 or u4
  bool by_depth = false;
  std::int64_t depth_bytes = 0, line_bytes = 0;
  std::int64_t group_size = 0;                    // >= 1; by_depth: a multiple of packed_parts, as is k
  const float *scale = nullptr, *zero = nullptr;  // zero may be null
  std::int64_t scale_group_stride = 0, scale_line_stride = 0, zero_group_stride = 0, zero_line_stride = 0;
  std::int64_t n0 = 0, n1 = 0;
  float* out = nullptr;  // element (0, n0)
  std::int64_t out_stride = 0;
};
// Codes per 32 bits.
inline std::int64_t packed_parts(DType dtype) {
  return dtype == DType::s4 || dtype == DType::u4 ? 8 : 4;
}

template <class T>
struct SoftmaxTask {
  T* scores = nullptr;  // one row of n scores, replaced by the weights
  std::int64_t n = 0, low = 0, high = 0;
  T scale = 1;
  const T* bias = nullptr;             // n values to add (-inf excludes), or null
  const std::uint8_t* keep = nullptr;  // dropout keep bytes, or null
  T keep_scale = 1;
  T masked_row = 0;  // what every weight of a fully masked row becomes
};

struct Kernels {
  std::string_view name;
  int vector_bytes;
  std::int64_t gemm_rows_f64, gemm_columns_f64, gemm_rows_f32, gemm_columns_f32;  // tile that one task should cover
  void (*load_f64)(const void*, DType, std::int64_t index, std::int64_t stride, std::int64_t n, double*);
  void (*load_f32)(const void*, DType, std::int64_t index, std::int64_t stride, std::int64_t n, float*);
  // A Source along its depth (one line) and across its lines (one depth), scales applied. temp: 2 n elements.
  void (*along_f64)(const Source&, std::int64_t line, std::int64_t depth, std::int64_t n, double*);
  void (*along_f32)(const Source&, std::int64_t line, std::int64_t depth, std::int64_t n, float*);
  void (*across_f64)(const Source&, std::int64_t depth, std::int64_t line, std::int64_t n, double* out, double* temp);
  void (*across_f32)(const Source&, std::int64_t depth, std::int64_t line, std::int64_t n, float* out, float* temp);
  void (*exp_f64)(const double*, std::int64_t n, double*);
  void (*exp_f32)(const float*, std::int64_t n, float*);
  std::int64_t (*attention_work_f64)(std::int64_t rows, std::int64_t d, std::int64_t dv, bool abs_sum);
  std::int64_t (*attention_work_f32)(std::int64_t rows, std::int64_t d, std::int64_t dv, bool abs_sum);
  // False: the data has values that the fast path does not cover (NaN, infinity, products near overflow): redo slowly.
  bool (*attention_f64)(const AttentionTask<double>&);
  bool (*attention_f32)(const AttentionTask<float>&);
  std::int64_t gemm_work_f64, gemm_work_f32;
  void (*gemm_f64)(const GemmTask<double>&);
  void (*gemm_f32)(const GemmTask<float>&);
  void (*packed_rows)(const PackedRowsTask&);
  void (*softmax_f32)(const SoftmaxTask<float>&);
  void (*softmax_f64)(const SoftmaxTask<double>&);
  // Runs about `steps` times a fixed number of independent multiply-adds; returns how many floating-point operations.
  double (*peak_f64)(std::int64_t steps, double* sink);
  double (*peak_f32)(std::int64_t steps, float* sink);
};

// The variant in use. First call reads DD_ISA; an unknown or unsupported value there is ignored (isa_problem says so).
const Kernels& kernels();
// Names of the variants that this build has and this machine can run, slowest first; always "portable".
std::vector<std::string_view> available_isas();
// Picks a variant by name; false (and no change) when it is not available. Not to be called while kernels run.
bool set_isa(std::string_view name);
// Empty, or why DD_ISA could not be obeyed.
std::string_view isa_problem();

const Kernels* portable_kernels();
const Kernels* avx2_kernels();    // null where this build has none
const Kernels* avx512_kernels();  // null where this build has none

}  // namespace dd::ops::simd
