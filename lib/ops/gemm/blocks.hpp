// Internal to gemm/: the strided sources of a checked problem.
#pragma once
#include <algorithm>
#include <cmath>
#include <string>

#include "ops/gemm/gemm.hpp"
#include "ops/tensor/convert.hpp"
#include "ops/tensor/errors.hpp"
#include "ops/tensor/scratch.hpp"

namespace dd::ops::detail {

struct GemmSizes {
  std::int64_t batch, m, n, k;
  explicit GemmSizes(const GemmProblem& p) : batch(p.x.shape[0]), m(p.x.shape[1]), n(p.w.shape[2]), k(p.x.shape[2]) {}
};

inline void add_quant(const QuantParams& quant, simd::Source& s) {
  s.scale = quant.scale.data;
  s.scale_dtype = quant.scale.dtype;
  s.scale_offset = quant.scale.offset;
  s.scale_group_stride = quant.scale.shape[0] == 1 ? 0 : quant.scale.stride[0];
  s.scale_line_stride = quant.scale.shape[1] == 1 ? 0 : quant.scale.stride[1];
  if (quant.zero) {
    s.zero = quant.zero->data;
    s.zero_dtype = quant.zero->dtype;
    s.zero_offset = quant.zero->offset;
    s.zero_group_stride = quant.zero->shape[0] == 1 ? 0 : quant.zero->stride[0];
    s.zero_line_stride = quant.zero->shape[1] == 1 ? 0 : quant.zero->stride[1];
  }
  s.group_size = quant.group_size;
  s.group_of = quant.group_of.empty() ? nullptr : quant.group_of.data();
}

inline simd::Source x_source(const GemmProblem& p, std::int64_t b) {
  simd::Source s;
  s.data = p.x.data;
  s.dtype = p.x.dtype;
  s.offset = p.x.offset + b * p.x.stride[0];
  s.line_stride = p.x.stride[1];
  s.depth_stride = p.x.stride[2];
  if (p.x_quant) add_quant(*p.x_quant, s);
  return s;
}

inline simd::Source w_source(const GemmProblem& p, std::int64_t b) {
  simd::Source s;
  s.data = p.w.data;
  s.dtype = p.w.dtype;
  s.offset = p.w.offset + b * p.w.stride[0];
  s.line_stride = p.w.stride[2];
  s.depth_stride = p.w.stride[1];
  if (p.w_quant) add_quant(*p.w_quant, s);
  return s;
}

// Element index of the bias for (b, m, n); axes of size 1 broadcast.
inline std::int64_t bias_index(const TensorView& bias, std::int64_t b, std::int64_t m, std::int64_t n) {
  const std::int64_t at[3] = {b, m, n};
  std::int64_t index = bias.offset;
  for (int axis = 0; axis < 3; ++axis) index += bias.shape[axis] == 1 ? 0 : at[axis] * bias.stride[axis];
  return index;
}

// Empty, or why `out` cannot take the product: rank 3 [batch, M, N], 8 bits or more an element.
std::string gemm_output_error(const GemmProblem& p, const TensorView& out);
// Adds the bias to `n` sums of row (b, m) from column n0 on and applies the epilogue.
template <class T>
void finish_row(const GemmProblem& p, std::int64_t b, std::int64_t m, std::int64_t n0, std::int64_t n, T* values) {
  if (p.bias)
    for (std::int64_t j = 0; j < n; ++j)
      values[j] += static_cast<T>(load(p.bias->data, p.bias->dtype, bias_index(*p.bias, b, m, n0 + j)));
  if (p.epilogue != Epilogue::none)
    for (std::int64_t j = 0; j < n; ++j)
      values[j] = static_cast<T>(apply_epilogue(static_cast<double>(values[j]), p.epilogue));
}

template <class T>
struct GemmIsa;
template <>
struct GemmIsa<double> {
  static std::int64_t work() { return simd::kernels().gemm_work_f64; }
  static std::int64_t rows() { return simd::kernels().gemm_rows_f64; }
  static std::int64_t columns() { return simd::kernels().gemm_columns_f64; }
  static void run(const simd::GemmTask<double>& t) { simd::kernels().gemm_f64(t); }
};
template <>
struct GemmIsa<float> {
  static std::int64_t work() { return simd::kernels().gemm_work_f32; }
  static std::int64_t rows() { return simd::kernels().gemm_rows_f32; }
  static std::int64_t columns() { return simd::kernels().gemm_columns_f32; }
  static void run(const simd::GemmTask<float>& t) { simd::kernels().gemm_f32(t); }
};

// sink(b, m, n0, n, values): part of a row of plain sums (no bias yet), from any thread, each element once. `source(b)`
// gives the two sides. The order of additions depends on k alone, so any tiling gives the same bits.
template <class T, class SourceOf, class Sink>
std::string run_gemm(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, const RunOptions& run,
                     std::int64_t& scratch_bytes, SourceOf source, Sink sink) {
  const std::int64_t threads = thread_count(run.threads);
  std::int64_t rows = GemmIsa<T>::rows(), columns = GemmIsa<T>::columns();
  const auto count = [](std::int64_t size, std::int64_t tile) { return (size + tile - 1) / tile; };
  static_cast<void>(product(batch, m, n));
  while (columns > 96 && batch * count(m, rows) * count(n, columns) < 4 * threads) columns /= 2;
  const std::int64_t tiles_m = count(m, rows), tiles_n = count(n, columns), tasks = product(batch, tiles_m, tiles_n);
  const std::int64_t per_thread = (GemmIsa<T>::work() + rows * columns + 63) / 64 * 64;
  Scratch<T> scratch(product(per_thread, std::min(threads, std::max<std::int64_t>(tasks, 1))));
  scratch_bytes += scratch.bytes();
  const bool done = parallel_for(tasks, run, [&](std::int64_t index, int worker) {
    const std::int64_t b = index / tiles_n / tiles_m;
    simd::GemmTask<T> t;
    source(b, t.a, t.b);
    t.m0 = index / tiles_n % tiles_m * rows;
    t.m1 = std::min(m, t.m0 + rows);
    t.n0 = index % tiles_n * columns;
    t.n1 = std::min(n, t.n0 + columns);
    t.k = k;
    t.work = scratch.get() + per_thread * worker;
    t.out = t.work + GemmIsa<T>::work();
    t.out_stride = columns;
    GemmIsa<T>::run(t);
    for (std::int64_t i = t.m0; i < t.m1; ++i) sink(b, i, t.n0, t.n1 - t.n0, t.out + (i - t.m0) * columns);
  });
  return done ? "" : "cancelled";
}

}  // namespace dd::ops::detail
