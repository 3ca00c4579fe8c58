// Straight loops: the oracle of the fast reference and the cpu-naive backend.
#include "ops/gemm/blocks.hpp"

namespace dd::ops {
namespace {

using detail::GemmSizes;

double quantized(const TensorView& t, std::int64_t index, const std::optional<QuantParams>& quant, std::int64_t k,
                 std::int64_t line) {
  const double code = load(t.data, t.dtype, index);
  if (!quant) return code;
  const std::int64_t g = !quant->group_of.empty() ? quant->group_of[static_cast<std::size_t>(k)]
                         : quant->group_size > 0  ? k / quant->group_size
                                                  : 0;
  const auto at = [&](const TensorView& table) {
    const std::int64_t group = table.shape[0] == 1 ? 0 : g * table.stride[0],
                       column = table.shape[1] == 1 ? 0 : line * table.stride[1];
    return load(table.data, table.dtype, table.offset + group + column);
  };
  return (code - (quant->zero ? at(*quant->zero) : 0.0)) * at(quant->scale);
}

double x_at(const GemmProblem& p, std::int64_t b, std::int64_t m, std::int64_t k) {
  return quantized(p.x, p.x.offset + b * p.x.stride[0] + m * p.x.stride[1] + k * p.x.stride[2], p.x_quant, k, m);
}
double w_at(const GemmProblem& p, std::int64_t b, std::int64_t k, std::int64_t n) {
  return quantized(p.w, p.w.offset + b * p.w.stride[0] + k * p.w.stride[1] + n * p.w.stride[2], p.w_quant, k, n);
}

// Sum of one output element in the accumulator T; int32 wraps, as hardware accumulators do.
template <class T>
double dot(const GemmProblem& p, std::int64_t b, std::int64_t m, std::int64_t n, std::int64_t k) {
  if constexpr (std::is_same_v<T, std::int32_t>) {
    std::uint32_t sum = 0;
    for (std::int64_t i = 0; i < k; ++i)
      sum += static_cast<std::uint32_t>(static_cast<std::int32_t>(x_at(p, b, m, i))) *
             static_cast<std::uint32_t>(static_cast<std::int32_t>(w_at(p, b, i, n)));
    return static_cast<double>(static_cast<std::int32_t>(sum));
  } else {
    T sum = 0;
    for (std::int64_t i = 0; i < k; ++i) sum += static_cast<T>(x_at(p, b, m, i)) * static_cast<T>(w_at(p, b, i, n));
    return static_cast<double>(sum);
  }
}

}  // namespace

GemmResult gemm_naive(const GemmProblem& p, bool want_abs_sum) {
  GemmResult result;
  result.error = detail::joined(gemm_errors(p));
  if (!result.ok()) return result;
  result.error = detail::guarded([&]() -> std::string {
    const GemmSizes s(p);
    result.out.resize(static_cast<std::size_t>(product(s.batch, s.m, s.n)));
    if (want_abs_sum) result.abs_sum.resize(result.out.size());
    std::size_t at = 0;
    for (std::int64_t b = 0; b < s.batch; ++b)
      for (std::int64_t m = 0; m < s.m; ++m)
        for (std::int64_t n = 0; n < s.n; ++n, ++at) {
          double sum = 0, magnitude = 0;
          for (std::int64_t k = 0; k < s.k; ++k) {
            const double term = x_at(p, b, m, k) * w_at(p, b, k, n);
            sum += term;
            magnitude += std::fabs(term);
          }
          const double bias = p.bias ? load(p.bias->data, p.bias->dtype, detail::bias_index(*p.bias, b, m, n)) : 0.0;
          result.out[at] = apply_epilogue(sum + bias, p.epilogue);
          if (want_abs_sum) result.abs_sum[at] = magnitude + std::fabs(bias);
        }
    return "";
  });
  return result;
}

BackendRun gemm_naive_cpu(const GemmProblem& p, const TensorView& out, const RunOptions& run) {
  BackendRun result;
  result.error = detail::joined(gemm_errors(p));
  if (result.ok()) result.error = detail::gemm_output_error(p, out);
  if (!result.ok()) return result;
  result.error = detail::guarded([&]() -> std::string {
    const GemmSizes s(p);
    const bool integers = !core::is_float(p.x.dtype) && !core::is_float(p.w.dtype) && !p.x_quant && !p.w_quant;
    const bool wide = p.x.dtype == DType::f64 || p.w.dtype == DType::f64;
    const auto element = integers ? dot<std::int32_t> : wide ? dot<double> : dot<float>;
    Scratch<double> scratch(product(s.n, thread_count(run.threads)));
    result.scratch_bytes = scratch.bytes();
    const bool done = parallel_for(product(s.batch, s.m), run, [&](std::int64_t task, int worker) {
      const std::int64_t b = task / s.m, m = task % s.m;
      double* row = scratch.get() + s.n * worker;
      for (std::int64_t n = 0; n < s.n; ++n) row[n] = element(p, b, m, n, s.k);
      detail::finish_row(p, b, m, 0, s.n, row);
      store_row(out.data, out.dtype, out.offset + b * out.stride[0] + m * out.stride[1], out.stride[2], s.n, row);
    });
    return done ? "" : "cancelled";
  });
  return result;
}

}  // namespace dd::ops
