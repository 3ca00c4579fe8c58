// Internal to attention/: sizes of a checked problem, which keys a row may see, and the strided sources of one head.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "ops/attention/attention.hpp"
#include "ops/tensor/errors.hpp"

namespace dd::ops::detail {

struct Geometry {
  std::int64_t batch, heads, kv_heads, queries, keys, d, dv;
  explicit Geometry(const AttentionProblem& p)
      : batch(p.q.shape[0]),
        heads(p.q.shape[1]),
        kv_heads(p.k.shape[1]),
        queries(p.q.shape[2]),
        keys(p.k.shape[2]),
        d(p.q.shape[3]),
        dv(p.v.shape[3]) {}
  std::int64_t rows() const { return batch * heads * queries; }
};

struct KeyRange {
  std::int64_t low, high;  // empty when low >= high
};

inline std::int64_t length_of(const std::vector<std::int64_t>& lengths, std::int64_t b, std::int64_t full) {
  return lengths.empty() ? full : lengths[static_cast<std::size_t>(b)];
}

inline KeyRange key_range(const AttentionProblem& p, std::int64_t b, std::int64_t i) {
  const std::int64_t q_length = length_of(p.q_lengths, b, p.q.shape[2]),
                     kv_length = length_of(p.kv_lengths, b, p.k.shape[2]);
  if (i >= q_length) return {0, 0};
  const std::int64_t at = i + (p.align == Align::bottom_right ? kv_length - q_length : 0);
  constexpr std::int64_t far = std::int64_t{1} << 60;
  std::int64_t low = 0, high = kv_length;
  if (p.causal) high = std::min(high, at + 1);
  if (p.window_left >= 0) low = std::max(low, at - std::min(p.window_left, far));
  if (p.window_right >= 0) high = std::min(high, at + std::min(p.window_right, far) + 1);
  return {low, std::max<std::int64_t>(high, 0)};
}

// Mask broadcast: stride 0 along axes of size 1.
inline std::int64_t mask_stride(const TensorView& mask, int axis) {
  return mask.shape[axis] == 1 ? 0 : mask.stride[axis];
}
inline std::int64_t mask_offset(const TensorView& mask, std::int64_t b, std::int64_t h) {
  return mask.offset + b * mask_stride(mask, 0) + h * mask_stride(mask, 1);
}

inline std::int64_t head_offset(const TensorView& t, std::int64_t b, std::int64_t h) {
  return t.offset + b * t.stride[0] + h * t.stride[1];
}

inline std::int64_t kv_head(const Geometry& g, std::int64_t h) {
  return h / (g.heads / g.kv_heads);
}

// Empty, or why `out` cannot take the output: rank 4 [B, Hq, Tq, Dv] of a float type of 8 bits or more.
inline std::string output_error(const AttentionProblem& p, const TensorView& out) {
  const Geometry g(p);
  const bool shape = out.rank == 4 && out.shape[0] == g.batch && out.shape[1] == g.heads && out.shape[2] == g.queries &&
                     out.shape[3] == g.dv;
  if (!shape) return "output must have shape [B, Hq, Tq, Dv]";
  if (!core::is_float(out.dtype) || core::info(out.dtype).bits < 8)
    return "output must be a float type of 8 bits or more";
  if (!out.data && element_count(out) > 0) return "output has no data";
  return "";
}

// One row by plain loops in arithmetic T. out: dv; abs_sum: dv or null. scores: keys elements. Returns log-sum-exp.
template <class T>
T naive_row(const AttentionProblem& p, const RowIndex& row, T* buffer, T* scores, T* out, T* abs_sum);
// Elements that `buffer` needs.
inline std::int64_t naive_buffer(const Geometry& g) {
  return 2 * g.d + g.dv + 1;
}

}  // namespace dd::ops::detail
