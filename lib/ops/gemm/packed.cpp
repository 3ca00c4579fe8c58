// The kernels behind cpu-packed and cpu-dequant, and this library's own product in the shape of a BLAS.
#include "ops/gemm/blocks.hpp"

namespace dd::ops {
namespace {

using detail::GemmSizes;

constexpr std::int64_t few_rows = 8;  // up to here one pass over the codes per pair of rows beats unpacking tiles

bool even(std::int64_t n) {
  return n % 2 == 0;
}

// Whether the few-rows kernel can read the codes of this source in place.
bool few_rows_covers(const simd::Source& w, std::int64_t k) {
  if (!w.scale || w.group_of || k == 0) return false;
  const bool four = w.dtype == DType::s4 || w.dtype == DType::u4;
  if (!four && w.dtype != DType::s8 && w.dtype != DType::u8) return false;
  if (four && !even(w.offset)) return false;
  if (w.line_stride == 1) return !four || even(w.depth_stride);
  const std::int64_t parts = simd::packed_parts(w.dtype);
  return w.depth_stride == 1 && k % parts == 0 && w.group_size % parts == 0 && (!four || even(w.line_stride));
}

// Rows of x as dense f32; with parts > 1 every parts-th element together (see PackedRowsTask).
void unpack_x(const GemmProblem& p, std::int64_t b, std::int64_t parts, float* out, float* temp) {
  const GemmSizes s(p);
  const auto source = detail::x_source(p, b);
  for (std::int64_t m = 0; m < s.m; ++m) {
    float* row = out + m * s.k;
    simd::kernels().along_f32(source, m, 0, s.k, parts > 1 ? temp : row);
    if (parts > 1)
      for (std::int64_t k = 0; k < s.k; ++k) row[k % parts * (s.k / parts) + k / parts] = temp[k];
  }
}

// A table [groups, N] as f32: dense along the axis that the kernel walks; broadcast axes keep stride 0.
struct Table {
  Scratch<float> values;
  std::int64_t group_stride = 0, line_stride = 0;
};

Table table_of(const TensorView& view, bool by_depth) {
  Table table;
  const std::int64_t groups = view.shape[0], lines = view.shape[1];
  table.values = Scratch<float>(product(groups, lines));
  table.group_stride = groups == 1 ? 0 : by_depth ? 1 : lines;
  table.line_stride = lines == 1 ? 0 : by_depth ? groups : 1;
  for (std::int64_t g = 0; g < groups; ++g) {
    if (!by_depth) {
      load_row(view.data, view.dtype, view.offset + g * view.stride[0], view.stride[1], lines,
               table.values.get() + g * lines);
      continue;
    }
    for (std::int64_t n = 0; n < lines; ++n)
      table.values[n * groups + g] =
          static_cast<float>(load(view.data, view.dtype, view.offset + g * view.stride[0] + n * view.stride[1]));
  }
  return table;
}

void store_finished(const GemmProblem& p, const TensorView& out, std::int64_t b, std::int64_t m, std::int64_t n0,
                    std::int64_t n, float* values) {
  detail::finish_row(p, b, m, n0, n, values);
  store_row(out.data, out.dtype, out.offset + b * out.stride[0] + m * out.stride[1] + n0 * out.stride[2], out.stride[2],
            n, values);
}

std::string run_few_rows(const GemmProblem& p, const TensorView& out, const RunOptions& run, BackendRun& result) {
  const GemmSizes s(p);
  const bool by_depth = p.w.stride[2] != 1, four = core::info(p.w.dtype).bits == 4;
  Scratch<float> x(product(s.m, s.k)), temp(s.k), sums(product(s.m, s.n));
  const Table scale = table_of(p.w_quant->scale, by_depth);
  const Table zero = p.w_quant->zero ? table_of(*p.w_quant->zero, by_depth) : Table{};
  result.scratch_bytes = x.bytes() + temp.bytes() + sums.bytes() + scale.values.bytes() + zero.values.bytes();
  for (std::int64_t b = 0; b < s.batch; ++b) {
    unpack_x(p, b, by_depth ? simd::packed_parts(p.w.dtype) : 1, x.get(), temp.get());
    simd::PackedRowsTask whole;
    whole.x = x.get();
    whole.m = s.m;
    whole.k = s.k;
    whole.x_stride = s.k;
    whole.dtype = p.w.dtype;
    whole.by_depth = by_depth;
    const std::int64_t per_byte = four ? 2 : 1;
    whole.codes = static_cast<const std::uint8_t*>(p.w.data) + (p.w.offset + b * p.w.stride[0]) / per_byte;
    whole.depth_bytes = p.w.stride[1] / per_byte;
    whole.line_bytes = p.w.stride[2] / per_byte;
    whole.group_size = p.w_quant->group_size > 0 ? p.w_quant->group_size : s.k;
    whole.scale = scale.values.get();
    whole.scale_group_stride = scale.group_stride;
    whole.scale_line_stride = scale.line_stride;
    whole.zero = p.w_quant->zero ? zero.values.get() : nullptr;
    whole.zero_group_stride = zero.group_stride;
    whole.zero_line_stride = zero.line_stride;
    whole.out_stride = s.n;
    // Columns 256 wide: several vectors of codes share the cache lines and pages of one depth.
    const std::int64_t width = by_depth ? 32 : 256;
    const bool done = parallel_for((s.n + width - 1) / width, run, [&](std::int64_t index, int) {
      auto t = whole;
      t.n0 = index * width;
      t.n1 = std::min(s.n, t.n0 + width);
      t.out = sums.get() + t.n0;
      simd::kernels().packed_rows(t);
    });
    if (!done) return "cancelled";
    for (std::int64_t m = 0; m < s.m; ++m) store_finished(p, out, b, m, 0, s.n, sums.get() + m * s.n);
  }
  return "";
}

}  // namespace

BackendRun packed_gemm_cpu(const GemmProblem& p, const TensorView& out, const RunOptions& run) {
  BackendRun result;
  auto errors = gemm_errors(p);
  if (errors.empty()) {
    const DType w = p.w.dtype;
    if (w != DType::s8 && w != DType::u8 && w != DType::s4 && w != DType::u4)
      errors.push_back("w must hold s8, u8, s4 or u4 codes");
    if (!p.w_quant) errors.push_back("w needs scales");
    if (!core::is_float(p.x.dtype) && !p.x_quant) errors.push_back("integer x needs scales");
    if (p.x.dtype == DType::f64) errors.push_back("x must not be f64 (the arithmetic is f32)");
  }
  result.error = detail::joined(errors);
  if (result.ok()) result.error = detail::gemm_output_error(p, out);
  if (!result.ok()) return result;
  result.error = detail::guarded([&]() -> std::string {
    const GemmSizes s(p);
    bool covered = s.m <= few_rows;
    for (std::int64_t b = 0; b < s.batch && covered; ++b) covered = few_rows_covers(detail::w_source(p, b), s.k);
    if (covered) return run_few_rows(p, out, run, result);
    return detail::run_gemm<float>(
        s.batch, s.m, s.n, s.k, run, result.scratch_bytes,
        [&](std::int64_t b, simd::Source& x, simd::Source& w) {
          x = detail::x_source(p, b);
          w = detail::w_source(p, b);
        },
        [&](std::int64_t b, std::int64_t m, std::int64_t n0, std::int64_t n, float* values) {
          store_finished(p, out, b, m, n0, n, values);
        });
  });
  return result;
}

std::string dequantize(const GemmProblem& p, float* out, const RunOptions& run) {
  std::string error = detail::joined(gemm_errors(p));
  if (!error.empty()) return error;
  return detail::guarded([&]() -> std::string {
    const GemmSizes s(p);
    // Codes contiguous along k are read by columns, 16 at a time, and written as rows of 16 so that stores share cache
    // lines.
    const bool along = p.w.stride[1] == 1 && p.w.stride[2] != 1;
    constexpr std::int64_t chunk = 16, piece = 256;
    const std::int64_t per_thread = along ? chunk * piece : 2 * s.n;
    Scratch<float> temp(product(per_thread, thread_count(run.threads)));
    const std::int64_t lines = along ? s.n : s.k, chunks = (lines + chunk - 1) / chunk;
    const bool done = parallel_for(product(s.batch, chunks), run, [&](std::int64_t task, int worker) {
      const std::int64_t b = task / chunks, first = task % chunks * chunk, last = std::min(lines, first + chunk);
      const auto w = detail::w_source(p, b);
      float* dense = out + b * s.k * s.n;
      float* buffer = temp.get() + per_thread * worker;
      if (!along) {
        for (std::int64_t k = first; k < last; ++k) simd::kernels().across_f32(w, k, 0, s.n, dense + k * s.n, buffer);
        return;
      }
      for (std::int64_t k0 = 0; k0 < s.k; k0 += piece) {
        const std::int64_t depths = std::min(piece, s.k - k0);
        for (std::int64_t n = first; n < last; ++n)
          simd::kernels().along_f32(w, n, k0, depths, buffer + (n - first) * piece);
        for (std::int64_t k = 0; k < depths; ++k)
          for (std::int64_t n = first; n < last; ++n) dense[(k0 + k) * s.n + n] = buffer[(n - first) * piece + k];
      }
    });
    return done ? "" : "cancelled";
  });
}

BackendRun dequant_gemm_cpu(const GemmProblem& p, const TensorView& out, const BlasTable& blas, const RunOptions& run) {
  BackendRun result;
  result.error = detail::joined(gemm_errors(p));
  if (result.ok()) result.error = detail::gemm_output_error(p, out);
  if (result.ok() && !blas.sgemm) result.error = "no matrix product for f32";
  if (!result.ok()) return result;
  result.error = detail::guarded([&]() -> std::string {
    const GemmSizes s(p);
    Scratch<float> w(product(s.batch, s.k, s.n)), x(product(s.m, s.k)), sums(product(s.m, s.n));
    result.scratch_bytes = w.bytes() + x.bytes() + sums.bytes();
    const std::string error = dequantize(p, w.get(), run);
    if (!error.empty()) return error;
    for (std::int64_t b = 0; b < s.batch; ++b) {
      if (run.cancel && run.cancel->load()) return "cancelled";
      unpack_x(p, b, 1, x.get(), nullptr);
      if (s.m == 0 || s.n == 0 || s.k == 0)
        std::fill(sums.get(), sums.get() + s.m * s.n, 0.0f);
      else if (!blas.sgemm(blas.context, false, false, s.m, s.n, s.k, 1.0f, x.get(), s.k, w.get() + b * s.k * s.n, s.n,
                           0.0f, sums.get(), s.n))
        return "the matrix product failed";
      for (std::int64_t m = 0; m < s.m; ++m) store_finished(p, out, b, m, 0, s.n, sums.get() + m * s.n);
    }
    return "";
  });
  return result;
}

namespace {

template <class T>
bool own_product(void*, bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a,
                 std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc) {
  constexpr DType dtype = sizeof(T) == 8 ? DType::f64 : DType::f32;
  std::int64_t bytes = 0;
  const std::string error = detail::guarded([&] {
    return detail::run_gemm<T>(
        1, m, n, k, {}, bytes,
        [&](std::int64_t, simd::Source& x, simd::Source& w) {
          x.data = a;
          w.data = b;
          x.dtype = w.dtype = dtype;
          x.line_stride = trans_a ? 1 : lda;
          x.depth_stride = trans_a ? lda : 1;
          w.line_stride = trans_b ? ldb : 1;
          w.depth_stride = trans_b ? 1 : ldb;
        },
        [&](std::int64_t, std::int64_t i, std::int64_t n0, std::int64_t count, T* values) {
          T* row = c + i * ldc + n0;
          for (std::int64_t j = 0; j < count; ++j) row[j] = alpha * values[j] + (beta == T{0} ? T{0} : beta * row[j]);
        });
  });
  return error.empty();
}

}  // namespace

BlasTable own_blas() {
  return {&own_product<float>, &own_product<double>, nullptr};
}

}  // namespace dd::ops
