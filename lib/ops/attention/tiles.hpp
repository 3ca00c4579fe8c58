// Internal to attention/: drives the tile kernels over (head, rows) tasks on threads, in double or float. A task whose
// data the kernel does not cover (NaN, infinity, near overflow) is redone by the plain loops, row by row.
#pragma once
#include <algorithm>
#include <atomic>
#include <limits>
#include <string>
#include <vector>

#include "ops/attention/geometry.hpp"
#include "ops/tensor/fill.hpp"
#include "ops/tensor/scratch.hpp"

namespace dd::ops::detail {

inline simd::Source lines_of(const TensorView& t, std::int64_t b, std::int64_t h, int line_axis, int depth_axis) {
  simd::Source s;
  s.data = t.data;
  s.dtype = t.dtype;
  s.offset = head_offset(t, b, h);
  s.line_stride = t.stride[line_axis];
  s.depth_stride = t.stride[depth_axis];
  return s;
}

template <class T>
simd::AttentionTask<T> head_task(const AttentionProblem& p, std::int64_t b, std::int64_t h) {
  const Geometry g(p);
  simd::AttentionTask<T> t;
  t.q = lines_of(p.q, b, h, 2, 3);
  t.k = lines_of(p.k, b, kv_head(g, h), 2, 3);
  t.v = lines_of(p.v, b, kv_head(g, h), 3, 2);
  t.d = g.d;
  t.dv = g.dv;
  t.scale = static_cast<T>(p.scale);
  if (p.mask) {
    t.mask_kind = p.mask->dtype == DType::boolean ? simd::MaskKind::boolean : simd::MaskKind::additive;
    t.mask = p.mask->data;
    t.mask_dtype = p.mask->dtype;
    t.mask_offset = mask_offset(*p.mask, b, h);
    t.mask_row_stride = mask_stride(*p.mask, 2);
    t.mask_key_stride = mask_stride(*p.mask, 3);
  }
  if (p.dropout_p > 0) {
    t.dropout_p = p.dropout_p;
    t.seed = p.dropout_seed;
    t.batch = b;
    t.head = h;
    t.keep = &dropout_keep;
  }
  return t;
}

// Consecutive entries of one head; `first` is the position of the first of them in the result.
struct RowTask {
  std::int64_t b, h, first;
  std::vector<std::int64_t> rows;
};

template <class T>
struct Isa;
template <>
struct Isa<double> {
  static std::int64_t work(std::int64_t r, std::int64_t d, std::int64_t dv, bool a) {
    return simd::kernels().attention_work_f64(r, d, dv, a);
  }
  static bool run(const simd::AttentionTask<double>& t) { return simd::kernels().attention_f64(t); }
};
template <>
struct Isa<float> {
  static std::int64_t work(std::int64_t r, std::int64_t d, std::int64_t dv, bool a) {
    return simd::kernels().attention_work_f32(r, d, dv, a);
  }
  static bool run(const simd::AttentionTask<float>& t) { return simd::kernels().attention_f32(t); }
};

inline std::int64_t rows_per_task(const Geometry& g, int threads) {
  // Long tasks pack keys and values less often; short ones balance better. The numbers do not depend on the choice.
  std::int64_t rows = 384;
  while (rows > 96 && g.batch * g.heads * ((g.queries + rows - 1) / rows) < 4 * threads) rows /= 2;
  return rows;
}

// sink(position, row, out, abs_sum or null, lse), called once per row from any thread.
template <class T, class Sink>
std::string run_tiles(const AttentionProblem& p, std::vector<RowTask>& tasks, std::int64_t longest, bool abs_sum,
                      const RunOptions& run, std::int64_t& scratch_bytes, std::int64_t& slow_rows, Sink sink) {
  const Geometry g(p);
  const std::int64_t columns = abs_sum ? 2 * g.dv : g.dv;
  const int workers =
      static_cast<int>(std::min<std::int64_t>(thread_count(run.threads), std::max<std::size_t>(tasks.size(), 1)));
  static_cast<void>(product(longest + 24, 3 * (g.d + columns + 64)));  // the sizes below must not overflow
  const std::int64_t work = Isa<T>::work(longest, g.d, g.dv, abs_sum);
  const std::int64_t per_thread = (work + longest * (columns + 1) + 63) / 64 * 64;
  Scratch<T> scratch(product(per_thread, workers));
  Scratch<std::int64_t> limits(product(2 * longest, workers));
  // Only the slow path needs a whole row of scores; it is taken rarely, so that memory is allocated there and then.
  scratch_bytes = scratch.bytes() + limits.bytes();
  std::atomic<std::int64_t> slow{0};
  std::atomic<bool> exhausted{false};
  const auto masked = [&](RowTask& task, std::size_t r, T* out, T lse) {
    const bool padding = task.rows[r] >= length_of(p.q_lengths, task.b, g.queries);
    if (lse == -std::numeric_limits<T>::infinity() && p.masked_row == MaskedRow::nan && !padding)
      std::fill(out, out + columns, std::numeric_limits<T>::quiet_NaN());
  };
  const bool done = parallel_for(static_cast<std::int64_t>(tasks.size()), run, [&](std::int64_t index, int worker) {
    RowTask& task = tasks[static_cast<std::size_t>(index)];
    const auto count = static_cast<std::int64_t>(task.rows.size());
    auto t = head_task<T>(p, task.b, task.h);
    T* base = scratch.get() + per_thread * worker;
    std::int64_t *low = limits.get() + 2 * longest * worker, *high = low + longest;
    for (std::int64_t r = 0; r < count; ++r) {
      const KeyRange range = key_range(p, task.b, task.rows[static_cast<std::size_t>(r)]);
      low[r] = range.low;
      high[r] = range.high;
    }
    t.rows = task.rows.data();
    t.row_count = count;
    t.low = low;
    t.high = high;
    t.abs_sum = abs_sum;
    t.work = base;
    t.out = base + work;
    t.lse = t.out + longest * columns;
    if (!Isa<T>::run(t)) {
      slow.fetch_add(count, std::memory_order_relaxed);
      try {
        std::vector<T> buffer(static_cast<std::size_t>(naive_buffer(g) + g.keys));
        for (std::int64_t r = 0; r < count; ++r)
          t.lse[r] = naive_row<T>(p, {task.b, task.h, task.rows[static_cast<std::size_t>(r)]}, buffer.data(),
                                  buffer.data() + naive_buffer(g), t.out + r * columns,
                                  abs_sum ? t.out + r * columns + g.dv : nullptr);
      } catch (const std::bad_alloc&) {
        exhausted = true;
        return;
      }
    }
    for (std::int64_t r = 0; r < count; ++r) {
      T* out = t.out + r * columns;
      masked(task, static_cast<std::size_t>(r), out, t.lse[r]);
      sink(task.first + r, RowIndex{task.b, task.h, task.rows[static_cast<std::size_t>(r)]}, out,
           abs_sum ? out + g.dv : nullptr, t.lse[r]);
    }
  });
  slow_rows = slow;
  if (exhausted) return "not enough memory";
  return done ? "" : "cancelled";
}

// Tasks for every row of the problem, dearest first so that the last ones to finish are short.
inline std::vector<RowTask> all_rows(const Geometry& g, int threads, std::int64_t& longest) {
  std::vector<RowTask> tasks;
  longest = std::min(rows_per_task(g, threads), std::max<std::int64_t>(g.queries, 1));
  const std::int64_t chunks = (g.queries + longest - 1) / longest;
  for (std::int64_t chunk = chunks - 1; chunk >= 0; --chunk)
    for (std::int64_t b = 0; b < g.batch; ++b)
      for (std::int64_t h = 0; h < g.heads; ++h) {
        RowTask task{b, h, (b * g.heads + h) * g.queries + chunk * longest, {}};
        for (std::int64_t i = chunk * longest; i < std::min(g.queries, (chunk + 1) * longest); ++i)
          task.rows.push_back(i);
        tasks.push_back(std::move(task));
      }
  return tasks;
}

}  // namespace dd::ops::detail
