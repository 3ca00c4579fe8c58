// Plain loops: the oracle of the fast reference (double) and the cpu-naive backend (the dtype's usual accumulator).
#include "ops/attention/geometry.hpp"
#include "ops/tensor/convert.hpp"
#include "ops/tensor/fill.hpp"
#include "ops/tensor/scratch.hpp"

namespace dd::ops {
namespace detail {

template <class T>
T naive_row(const AttentionProblem& p, const RowIndex& row, T* buffer, T* scores, T* out, T* abs_sum) {
  const Geometry g(p);
  T *q = buffer, *k = q + g.d, *v = k + g.d;
  for (std::int64_t c = 0; c < g.dv; ++c) out[c] = 0;
  if (abs_sum)
    for (std::int64_t c = 0; c < g.dv; ++c) abs_sum[c] = 0;
  const KeyRange range = key_range(p, row.b, row.i);
  const std::int64_t kv = kv_head(g, row.h);
  load_row(p.q.data, p.q.dtype, head_offset(p.q, row.b, row.h) + row.i * p.q.stride[2], p.q.stride[3], g.d, q);
  const auto excluded = [&](std::int64_t j, T& added) {
    added = 0;
    if (!p.mask) return false;
    const std::int64_t at =
        mask_offset(*p.mask, row.b, row.h) + row.i * mask_stride(*p.mask, 2) + j * mask_stride(*p.mask, 3);
    added = static_cast<T>(load(p.mask->data, p.mask->dtype, at));
    if (p.mask->dtype != DType::boolean) return added == -std::numeric_limits<T>::infinity();
    const bool out_of_it = added == 0;
    added = 0;
    return out_of_it;
  };
  constexpr T minus_infinity = -std::numeric_limits<T>::infinity();
  T best = minus_infinity;
  bool nan = false;
  for (std::int64_t j = range.low; j < range.high; ++j) {
    T added = 0;
    if (excluded(j, added)) continue;
    load_row(p.k.data, p.k.dtype, head_offset(p.k, row.b, kv) + j * p.k.stride[2], p.k.stride[3], g.d, k);
    T dot = 0;
    for (std::int64_t c = 0; c < g.d; ++c) dot += q[c] * k[c];
    scores[j] = dot * static_cast<T>(p.scale) + added;
    nan |= std::isnan(scores[j]);
    best = scores[j] > best ? scores[j] : best;
  }
  if (best == minus_infinity && !nan) return minus_infinity;
  T sum = 0;
  for (std::int64_t j = range.low; j < range.high; ++j) {
    T added = 0;
    if (!excluded(j, added)) sum += scores[j] = std::exp(scores[j] - best);
  }
  const T kept = p.dropout_p < 1 ? static_cast<T>(1 / (1 - p.dropout_p)) : T{0};
  for (std::int64_t j = range.low; j < range.high; ++j) {
    T added = 0;
    if (excluded(j, added)) continue;
    T weight = scores[j] / sum;
    if (p.dropout_p > 0) {
      std::uint8_t keep = 0;
      dropout_keep(p.dropout_seed, row.b, row.h, row.i, j, 1, p.dropout_p, &keep);
      weight *= keep ? kept : T{0};
    }
    load_row(p.v.data, p.v.dtype, head_offset(p.v, row.b, kv) + j * p.v.stride[2], p.v.stride[3], g.dv, v);
    for (std::int64_t c = 0; c < g.dv; ++c) out[c] += weight * v[c];
    if (abs_sum)
      for (std::int64_t c = 0; c < g.dv; ++c) abs_sum[c] += weight * std::fabs(v[c]);
  }
  return best + std::log(sum);
}

template double naive_row<double>(const AttentionProblem&, const RowIndex&, double*, double*, double*, double*);
template float naive_row<float>(const AttentionProblem&, const RowIndex&, float*, float*, float*, float*);

// Calls sink(flat row, out, abs_sum or null, lse) for every row, in chunks on the threads.
template <class T, class Sink>
std::string naive_all(const AttentionProblem& p, bool abs_sum, const RunOptions& run, std::int64_t& scratch_bytes,
                      Sink sink) {
  const Geometry g(p);
  const std::int64_t per_thread = naive_buffer(g) + g.keys + 2 * g.dv;
  const int workers = thread_count(run.threads);
  Scratch<T> scratch(product(per_thread, workers));
  scratch_bytes = scratch.bytes();
  constexpr std::int64_t chunk = 16;
  const std::int64_t rows = product(g.batch, g.heads, g.queries);
  const bool done = parallel_for((rows + chunk - 1) / chunk, run, [&](std::int64_t task, int worker) {
    T* buffer = scratch.get() + per_thread * worker;
    T *scores = buffer + naive_buffer(g), *out = scores + g.keys, *abs = out + g.dv;
    for (std::int64_t flat = task * chunk; flat < std::min(rows, (task + 1) * chunk); ++flat) {
      const RowIndex row{flat / g.queries / g.heads, flat / g.queries % g.heads, flat % g.queries};
      const T lse = naive_row<T>(p, row, buffer, scores, out, abs_sum ? abs : nullptr);
      const bool padding = row.i >= length_of(p.q_lengths, row.b, g.queries);
      if (lse == -std::numeric_limits<T>::infinity() && p.masked_row == MaskedRow::nan && !padding)
        std::fill(out, out + 2 * g.dv, std::numeric_limits<T>::quiet_NaN());
      sink(flat, row, out, abs, lse);
    }
  });
  return done ? "" : "cancelled";
}

}  // namespace detail

AttentionResult attention_naive(const AttentionProblem& p, const AttentionWant& want, const RunOptions& run) {
  AttentionResult result;
  result.error = detail::joined(attention_errors(p));
  if (!result.ok()) return result;
  result.error = detail::guarded([&] {
    const detail::Geometry g(p);
    const auto rows = static_cast<std::size_t>(product(g.batch, g.heads, g.queries));
    result.out.resize(static_cast<std::size_t>(product(rows, g.dv)));
    if (want.abs_sum) result.abs_sum.resize(result.out.size());
    result.lse.resize(rows);
    std::int64_t bytes = 0;
    return detail::naive_all<double>(
        p, want.abs_sum, run, bytes,
        [&](std::int64_t flat, const RowIndex&, const double* out, const double* abs, double lse) {
          std::copy(out, out + g.dv, result.out.begin() + flat * g.dv);
          if (want.abs_sum) std::copy(abs, abs + g.dv, result.abs_sum.begin() + flat * g.dv);
          result.lse[static_cast<std::size_t>(flat)] = lse;
        });
  });
  return result;
}

BackendRun attention_naive_cpu(const AttentionProblem& p, const TensorView& out, const RunOptions& run) {
  BackendRun result;
  result.error = detail::joined(attention_errors(p));
  if (result.ok()) result.error = detail::output_error(p, out);
  if (!result.ok()) return result;
  result.error = detail::guarded([&] {
    const detail::Geometry g(p);
    const auto sink = [&](std::int64_t, const RowIndex& row, const auto* values, const auto*, auto) {
      store_row(out.data, out.dtype, detail::head_offset(out, row.b, row.h) + row.i * out.stride[2], out.stride[3],
                g.dv, values);
    };
    if (p.q.dtype == DType::f64) return detail::naive_all<double>(p, false, run, result.scratch_bytes, sink);
    return detail::naive_all<float>(p, false, run, result.scratch_bytes, sink);
  });
  return result;
}

}  // namespace dd::ops
