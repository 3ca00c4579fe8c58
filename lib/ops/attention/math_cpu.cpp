// cpu-math: attention decomposed into two BLAS products and a softmax on the stored score matrix.
#include "ops/attention/tiles.hpp"
#include "ops/tensor/convert.hpp"

namespace dd::ops {
namespace {

using detail::Geometry;

template <class T>
struct Math;
template <>
struct Math<float> {
  static auto product(const BlasTable& blas) { return blas.sgemm; }
  static void softmax(const simd::SoftmaxTask<float>& t) { simd::kernels().softmax_f32(t); }
};
template <>
struct Math<double> {
  static auto product(const BlasTable& blas) { return blas.dgemm; }
  static void softmax(const simd::SoftmaxTask<double>& t) { simd::kernels().softmax_f64(t); }
};

// [B, H, T, D] view to dense T.
template <class T>
void dense_copy(const TensorView& view, T* out, const RunOptions& run) {
  const std::int64_t row = view.shape[3], rows = element_count(view) / std::max<std::int64_t>(row, 1);
  constexpr std::int64_t chunk = 64;
  parallel_for((rows + chunk - 1) / chunk, {run.threads, nullptr}, [&](std::int64_t task, int) {
    for (std::int64_t r = task * chunk; r < std::min(rows, (task + 1) * chunk); ++r)
      load_row(view.data, view.dtype, element_index(view, r * row), view.stride[3], row, out + r * row);
  });
}

template <class T>
void softmax_all(const AttentionProblem& p, T* scores, const RunOptions& run) {
  const Geometry g(p);
  const int workers = thread_count(run.threads);
  Scratch<T> bias(p.mask ? product(g.keys, workers) : 0);
  Scratch<std::uint8_t> keep(p.dropout_p > 0 ? product(g.keys, workers) : 0);
  constexpr T minus_infinity = -std::numeric_limits<T>::infinity();
  parallel_for(g.rows(), run, [&](std::int64_t flat, int worker) {
    const std::int64_t i = flat % g.queries, h = flat / g.queries % g.heads, b = flat / g.queries / g.heads;
    const auto range = detail::key_range(p, b, i);
    simd::SoftmaxTask<T> t;
    t.scores = scores + flat * g.keys;
    t.n = g.keys;
    t.low = range.low;
    t.high = range.high;
    t.scale = static_cast<T>(p.scale);
    if (p.mask) {
      T* row = bias.get() + g.keys * worker;
      const std::int64_t at = detail::mask_offset(*p.mask, b, h) + i * detail::mask_stride(*p.mask, 2);
      load_row(p.mask->data, p.mask->dtype, at, detail::mask_stride(*p.mask, 3), g.keys, row);
      if (p.mask->dtype == DType::boolean)
        for (std::int64_t j = 0; j < g.keys; ++j) row[j] = row[j] != 0 ? T{0} : minus_infinity;
      t.bias = row;
    }
    if (p.dropout_p > 0) {
      std::uint8_t* row = keep.get() + g.keys * worker;
      dropout_keep(p.dropout_seed, b, h, i, 0, g.keys, p.dropout_p, row);
      t.keep = row;
      t.keep_scale = p.dropout_p < 1 ? static_cast<T>(1 / (1 - p.dropout_p)) : T{0};
    }
    const bool padding = i >= detail::length_of(p.q_lengths, b, g.queries);
    t.masked_row = p.masked_row == MaskedRow::nan && !padding ? std::numeric_limits<T>::quiet_NaN() : T{0};
    Math<T>::softmax(t);
  });
}

template <class T>
std::string run_math(const AttentionProblem& p, const TensorView& out, const BlasTable& blas, const RunOptions& run,
                     BackendRun& result) {
  const auto multiply = Math<T>::product(blas);
  if (!multiply) return "no matrix product for this dtype";
  const Geometry g(p);
  const std::int64_t heads = product(g.batch, g.heads), kv_heads = product(g.batch, g.kv_heads);
  Scratch<T> q(product(heads, g.queries, g.d)), k(product(kv_heads, g.keys, g.d)), v(product(kv_heads, g.keys, g.dv));
  Scratch<T> scores(product(heads, g.queries, g.keys)), dense(product(heads, g.queries, g.dv));
  result.scores_bytes = scores.bytes();
  result.scratch_bytes = q.bytes() + k.bytes() + v.bytes() + scores.bytes() + dense.bytes();
  dense_copy(p.q, q.get(), run);
  dense_copy(p.k, k.get(), run);
  dense_copy(p.v, v.get(), run);
  const auto cancelled = [&] { return run.cancel && run.cancel->load(); };
  const auto kv_of = [&](std::int64_t n) { return n / g.heads * g.kv_heads + detail::kv_head(g, n % g.heads); };
  // Without columns to sum over, BLAS is not called (lda = 0 is an error there): the scores are zeros.
  for (std::int64_t n = 0; n < heads && !cancelled(); ++n) {
    T* s = scores.get() + n * g.queries * g.keys;
    if (g.d == 0 || g.queries == 0 || g.keys == 0) {
      std::fill(s, s + g.queries * g.keys, T{0});
    } else if (!multiply(blas.context, false, true, g.queries, g.keys, g.d, T{1}, q.get() + n * g.queries * g.d, g.d,
                         k.get() + kv_of(n) * g.keys * g.d, g.d, T{0}, s, g.keys)) {
      return "the matrix product failed";
    }
  }
  if (!cancelled()) softmax_all<T>(p, scores.get(), run);
  for (std::int64_t n = 0; n < heads && !cancelled(); ++n) {
    T* o = dense.get() + n * g.queries * g.dv;
    if (g.keys == 0 || g.queries == 0 || g.dv == 0) {
      std::fill(o, o + g.queries * g.dv, p.masked_row == MaskedRow::nan ? std::numeric_limits<T>::quiet_NaN() : T{0});
    } else if (!multiply(blas.context, false, false, g.queries, g.dv, g.keys, T{1},
                         scores.get() + n * g.queries * g.keys, g.keys, v.get() + kv_of(n) * g.keys * g.dv, g.dv, T{0},
                         o, g.dv)) {
      return "the matrix product failed";
    }
  }
  if (cancelled()) return "cancelled";
  for (std::int64_t flat = 0; flat < g.rows(); ++flat) {
    const std::int64_t i = flat % g.queries, n = flat / g.queries;
    store_row(out.data, out.dtype, detail::head_offset(out, n / g.heads, n % g.heads) + i * out.stride[2],
              out.stride[3], g.dv, dense.get() + flat * g.dv);
  }
  return "";
}

}  // namespace

double attention_math_bytes(const AttentionProblem& p) {
  const Geometry g(p);
  const auto n = [](std::int64_t x) { return static_cast<double>(x); };
  const double elements = n(g.batch) * (n(g.heads) * n(g.queries) * (n(g.d) + n(g.dv) + n(g.keys)) +
                                        n(g.kv_heads) * n(g.keys) * (n(g.d) + n(g.dv)));
  return elements * (p.q.dtype == DType::f64 ? 8.0 : 4.0);
}

BackendRun attention_math_cpu(const AttentionProblem& p, const TensorView& out, const BlasTable& blas,
                              const RunOptions& run) {
  BackendRun result;
  result.error = detail::joined(attention_errors(p));
  if (result.ok()) result.error = detail::output_error(p, out);
  if (!result.ok()) return result;
  result.error = detail::guarded([&] {
    return p.q.dtype == DType::f64 ? run_math<double>(p, out, blas, run, result)
                                   : run_math<float>(p, out, blas, run, result);
  });
  return result;
}

}  // namespace dd::ops
