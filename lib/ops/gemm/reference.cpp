#include "ops/gemm/blocks.hpp"
#include "ops/tensor/philox.hpp"

namespace dd::ops {
namespace {

using detail::GemmSizes;

// Plain sums, or sums of magnitudes, of every row of batch b as `source` gives it.
template <class SourceOf, class Finish>
std::string sums(const GemmSizes& s, std::int64_t batch, std::int64_t m, bool absolute, const RunOptions& run,
                 std::vector<double>& out, SourceOf source, Finish finish) {
  out.resize(static_cast<std::size_t>(product(batch, m, s.n)));
  std::int64_t bytes = 0;
  return detail::run_gemm<double>(
      batch, m, s.n, s.k, run, bytes,
      [&](std::int64_t b, simd::Source& x, simd::Source& w) {
        source(b, x, w);
        x.absolute = w.absolute = absolute;
      },
      [&](std::int64_t b, std::int64_t i, std::int64_t n0, std::int64_t n, double* values) {
        finish(b, i, n0, n, values);
        std::copy(values, values + n, out.begin() + (b * m + i) * s.n + n0);
      });
}

void add_bias_magnitude(const GemmProblem& p, std::int64_t b, std::int64_t m, std::int64_t n0, std::int64_t n,
                        double* values) {
  if (!p.bias) return;
  for (std::int64_t j = 0; j < n; ++j)
    values[j] += std::fabs(load(p.bias->data, p.bias->dtype, detail::bias_index(*p.bias, b, m, n0 + j)));
}

}  // namespace

GemmResult gemm_reference(const GemmProblem& p, bool want_abs_sum, const RunOptions& run) {
  GemmResult result;
  result.error = detail::joined(gemm_errors(p));
  if (!result.ok()) return result;
  result.error = detail::guarded([&]() -> std::string {
    const GemmSizes s(p);
    const auto source = [&](std::int64_t b, simd::Source& x, simd::Source& w) {
      x = detail::x_source(p, b);
      w = detail::w_source(p, b);
    };
    auto error = sums(s, s.batch, s.m, false, run, result.out, source,
                      [&](auto... args) { detail::finish_row<double>(p, args...); });
    if (error.empty() && want_abs_sum)
      error = sums(s, s.batch, s.m, true, run, result.abs_sum, source,
                   [&](auto... args) { add_bias_magnitude(p, args...); });
    return error;
  });
  return result;
}

GemmResult gemm_reference_rows(const GemmProblem& p, const std::vector<GemmRow>& rows, bool want_abs_sum,
                               const RunOptions& run) {
  GemmResult result;
  result.error = detail::joined(gemm_errors(p));
  if (!result.ok()) return result;
  const GemmSizes s(p);
  for (const auto& row : rows)
    if (row.b < 0 || row.b >= s.batch || row.m < 0 || row.m >= s.m) {
      result.error = "a row index is outside the problem";
      return result;
    }
  result.error = detail::guarded([&]() -> std::string {
    result.out.resize(static_cast<std::size_t>(product(rows.size(), s.n)));
    if (want_abs_sum) result.abs_sum.resize(result.out.size());
    // The rows of one batch, gathered into a dense matrix of doubles (exact), make an ordinary small product.
    for (std::int64_t b = 0; b < s.batch; ++b) {
      std::vector<std::size_t> mine;
      for (std::size_t n = 0; n < rows.size(); ++n)
        if (rows[n].b == b) mine.push_back(n);
      if (mine.empty()) continue;
      const auto count = static_cast<std::int64_t>(mine.size());
      std::vector<double> gathered(static_cast<std::size_t>(product(count, s.k)));
      for (std::int64_t i = 0; i < count; ++i)
        simd::kernels().along_f64(detail::x_source(p, b), rows[mine[static_cast<std::size_t>(i)]].m, 0, s.k,
                                  gathered.data() + i * s.k);
      const auto source = [&](std::int64_t, simd::Source& x, simd::Source& w) {
        x = {};
        x.data = gathered.data();
        x.dtype = DType::f64;
        x.line_stride = s.k;
        x.depth_stride = 1;
        w = detail::w_source(p, b);
      };
      for (const bool absolute : {false, true}) {
        if (absolute && !want_abs_sum) continue;
        std::vector<double> part;
        auto error = sums(s, 1, count, absolute, run, part, source,
                          [&](std::int64_t, std::int64_t i, std::int64_t n0, std::int64_t n, double* values) {
                            const std::int64_t m = rows[mine[static_cast<std::size_t>(i)]].m;
                            absolute ? add_bias_magnitude(p, b, m, n0, n, values)
                                     : detail::finish_row<double>(p, b, m, n0, n, values);
                          });
        if (!error.empty()) return error;
        auto& target = absolute ? result.abs_sum : result.out;
        for (std::size_t i = 0; i < mine.size(); ++i)
          std::copy_n(part.begin() + static_cast<std::int64_t>(i) * s.n, s.n,
                      target.begin() + static_cast<std::int64_t>(mine[i]) * s.n);
      }
    }
    return "";
  });
  return result;
}

FreivaldsResult freivalds(const GemmProblem& p, const TensorView& y, std::uint64_t seed, int probes,
                          const RunOptions& run) {
  FreivaldsResult result;
  result.error = detail::joined(gemm_errors(p));
  if (result.ok() && p.epilogue != Epilogue::none)
    result.error = "only products without an epilogue can be checked by vectors";
  if (result.ok()) result.error = detail::gemm_output_error(p, y);
  if (!result.ok()) return result;
  result.error = detail::guarded([&]() -> std::string {
    const GemmSizes s(p);
    const int workers = thread_count(run.threads);
    const std::int64_t longest = std::max(s.n, s.k);
    Scratch<double> scratch(product(3 * longest, workers));
    std::vector<double> signs(static_cast<std::size_t>(s.n)), through(static_cast<std::size_t>(s.k)),
        magnitude(through.size());
    result.rows.resize(static_cast<std::size_t>(product(s.batch, s.m)));
    for (std::int64_t b = 0; b < s.batch; ++b) {
      const auto x = detail::x_source(p, b), w = detail::w_source(p, b);
      for (int probe = 0; probe < std::max(probes, 1); ++probe) {
        for (std::int64_t n = 0; n < s.n; ++n) {
          const auto word = philox({static_cast<std::uint32_t>(n), static_cast<std::uint32_t>(b),
                                    static_cast<std::uint32_t>(probe), 0x66726576u},
                                   seed)[0];
          signs[static_cast<std::size_t>(n)] = word >> 31 ? 1.0 : -1.0;
        }
        bool done = parallel_for(s.k, run, [&](std::int64_t k, int worker) {
          double* row = scratch.get() + 3 * longest * worker;
          simd::kernels().across_f64(w, k, 0, s.n, row, row + longest);
          double sum = 0, sizes = 0;
          for (std::int64_t n = 0; n < s.n; ++n) {
            sum += row[n] * signs[static_cast<std::size_t>(n)];
            sizes += std::fabs(row[n]);
          }
          through[static_cast<std::size_t>(k)] = sum;
          magnitude[static_cast<std::size_t>(k)] = sizes;
        });
        done = done && parallel_for(s.m, run, [&](std::int64_t m, int worker) {
                 double* row = scratch.get() + 3 * longest * worker;
                 double expected = 0, size = 0, claimed = 0;
                 simd::kernels().along_f64(x, m, 0, s.k, row);
                 for (std::int64_t k = 0; k < s.k; ++k) {
                   expected += row[k] * through[static_cast<std::size_t>(k)];
                   size += std::fabs(row[k]) * magnitude[static_cast<std::size_t>(k)];
                 }
                 load_row(y.data, y.dtype, y.offset + b * y.stride[0] + m * y.stride[1], y.stride[2], s.n, row);
                 for (std::int64_t n = 0; n < s.n; ++n) {
                   const double bias =
                       p.bias ? load(p.bias->data, p.bias->dtype, detail::bias_index(*p.bias, b, m, n)) : 0.0;
                   claimed += (row[n] - bias) * signs[static_cast<std::size_t>(n)];
                   size += std::fabs(bias);
                 }
                 auto& entry = result.rows[static_cast<std::size_t>(b * s.m + m)];
                 const double difference = std::fabs(claimed - expected);
                 const bool worse = probe == 0 || difference > entry.difference || std::isnan(difference);
                 entry = {b, m, worse ? difference : entry.difference, size};
               });
        if (!done) return "cancelled";
      }
    }
    return "";
  });
  return result;
}

}  // namespace dd::ops
