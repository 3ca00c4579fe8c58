#include <numeric>

#include "ops/attention/tiles.hpp"
#include "ops/tensor/convert.hpp"

namespace dd::ops {
namespace {

using detail::Geometry;

// Per (batch, kv head): the greatest Euclidean norm of a key.
std::vector<double> key_norms(const AttentionProblem& p, const RunOptions& run) {
  const Geometry g(p);
  std::vector<double> norms(static_cast<std::size_t>(g.batch * g.kv_heads), 0.0);
  const int workers = thread_count(run.threads);
  Scratch<double> rows(product(g.d, workers));
  parallel_for(g.batch * g.kv_heads, run, [&](std::int64_t task, int worker) {
    const std::int64_t b = task / g.kv_heads, h = task % g.kv_heads;
    double* row = rows.get() + g.d * worker;
    double best = 0;
    for (std::int64_t j = 0; j < detail::length_of(p.kv_lengths, b, g.keys); ++j) {
      load_row(p.k.data, p.k.dtype, detail::head_offset(p.k, b, h) + j * p.k.stride[2], p.k.stride[3], g.d, row);
      const double square = std::inner_product(row, row + g.d, row, 0.0);
      best = square > best || std::isnan(square) ? square : best;
    }
    norms[static_cast<std::size_t>(task)] = std::sqrt(best);
  });
  return norms;
}

double score_bound(const AttentionProblem& p, const RowIndex& row, const std::vector<double>& norms) {
  const Geometry g(p);
  double square = 0;
  for (std::int64_t c = 0; c < g.d; ++c) {
    const double x =
        load(p.q.data, p.q.dtype, detail::head_offset(p.q, row.b, row.h) + row.i * p.q.stride[2] + c * p.q.stride[3]);
    square += x * x;
  }
  return std::fabs(p.scale) * std::sqrt(square) *
         norms[static_cast<std::size_t>(row.b * g.kv_heads + detail::kv_head(g, row.h))];
}

std::string compute(const AttentionProblem& p, std::vector<detail::RowTask>& tasks, std::int64_t longest,
                    std::int64_t rows, const std::vector<std::int64_t>* order, const AttentionWant& want,
                    const RunOptions& run, AttentionResult& result) {
  const Geometry g(p);
  result.out.resize(static_cast<std::size_t>(product(rows, g.dv)));
  if (want.abs_sum) result.abs_sum.resize(result.out.size());
  result.lse.resize(static_cast<std::size_t>(rows));
  std::vector<double> norms;
  if (want.score_bound) {
    norms = key_norms(p, run);
    result.score_bound.resize(static_cast<std::size_t>(rows));
  }
  std::int64_t bytes = 0;
  return detail::run_tiles<double>(
      p, tasks, longest, want.abs_sum, run, bytes, result.slow_rows,
      [&](std::int64_t position, const RowIndex& row, const double* out, const double* abs, double lse) {
        const std::int64_t at = order ? (*order)[static_cast<std::size_t>(position)] : position;
        std::copy(out, out + g.dv, result.out.begin() + at * g.dv);
        if (abs) std::copy(abs, abs + g.dv, result.abs_sum.begin() + at * g.dv);
        result.lse[static_cast<std::size_t>(at)] = lse;
        if (want.score_bound) result.score_bound[static_cast<std::size_t>(at)] = score_bound(p, row, norms);
      });
}

}  // namespace

AttentionResult attention_reference(const AttentionProblem& p, const AttentionWant& want, const RunOptions& run) {
  AttentionResult result;
  result.error = detail::joined(attention_errors(p));
  if (!result.ok()) return result;
  result.error = detail::guarded([&] {
    const Geometry g(p);
    std::int64_t longest = 0;
    const std::int64_t rows = product(g.batch, g.heads, g.queries);
    auto tasks = detail::all_rows(g, thread_count(run.threads), longest);
    return compute(p, tasks, longest, rows, nullptr, want, run, result);
  });
  return result;
}

AttentionResult attention_reference_rows(const AttentionProblem& p, const std::vector<RowIndex>& rows,
                                         const AttentionWant& want, const RunOptions& run) {
  AttentionResult result;
  result.error = detail::joined(attention_errors(p));
  if (!result.ok()) return result;
  const Geometry g(p);
  for (const auto& row : rows)
    if (row.b < 0 || row.b >= g.batch || row.h < 0 || row.h >= g.heads || row.i < 0 || row.i >= g.queries) {
      result.error = "a row index is outside the problem";
      return result;
    }
  result.error = detail::guarded([&] {
    // Rows of one head together, whatever the order asked for; `order` leads back.
    std::vector<std::int64_t> order(rows.size());
    std::iota(order.begin(), order.end(), 0);
    const auto head = [&](std::int64_t n) {
      return rows[static_cast<std::size_t>(n)].b * g.heads + rows[static_cast<std::size_t>(n)].h;
    };
    std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return head(a) < head(b); });
    std::vector<detail::RowTask> tasks;
    for (std::size_t n = 0; n < order.size(); ++n) {
      const RowIndex& row = rows[static_cast<std::size_t>(order[n])];
      if (tasks.empty() || tasks.back().b != row.b || tasks.back().h != row.h || tasks.back().rows.size() >= 96)
        tasks.push_back({row.b, row.h, static_cast<std::int64_t>(n), {}});
      tasks.back().rows.push_back(row.i);
    }
    return compute(p, tasks, 96, static_cast<std::int64_t>(rows.size()), &order, want, run, result);
  });
  return result;
}

BackendRun attention_flash_cpu(const AttentionProblem& p, const TensorView& out, const RunOptions& run) {
  BackendRun result;
  auto errors = attention_errors(p);
  const auto supported = [](DType d) { return d == DType::f32 || d == DType::f16 || d == DType::bf16; };
  if (!supported(p.q.dtype) || !supported(p.k.dtype) || !supported(p.v.dtype))
    errors.push_back("q, k and v must be f32, f16 or bf16");
  if (errors.empty() && (p.q.shape[3] > flash_max_head_dim || p.v.shape[3] > flash_max_head_dim))
    errors.push_back("head size above " + std::to_string(flash_max_head_dim));
  result.error = detail::joined(errors);
  if (result.ok()) result.error = detail::output_error(p, out);
  if (!result.ok()) return result;
  result.error = detail::guarded([&] {
    const Geometry g(p);
    std::int64_t longest = 0, slow = 0;
    auto tasks = detail::all_rows(g, thread_count(run.threads), longest);
    return detail::run_tiles<float>(p, tasks, longest, false, run, result.scratch_bytes, slow,
                                    [&](std::int64_t, const RowIndex& row, const float* values, const float*, float) {
                                      store_row(out.data, out.dtype,
                                                detail::head_offset(out, row.b, row.h) + row.i * out.stride[2],
                                                out.stride[3], g.dv, values);
                                    });
  });
  return result;
}

}  // namespace dd::ops
