// Attention by straight loops, for any element type: one warp a query row, the running maximum and sum kept as it goes,
// so no score matrix. A row with nothing to attend to gives zeros. Shared memory: v_dim accumulators a warp.
#pragma once
#include "mask.cuh"

namespace dd::kernels {

template <class T>
__device__ void attention_naive(const AttentionArgs& a) {
  using A = Acc<T>;
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const std::int64_t row_index = static_cast<std::int64_t>(blockIdx.x) * (blockDim.x / 32) + warp;
  if (row_index >= static_cast<std::int64_t>(a.batch) * a.heads * a.q_len) return;
  const int row = static_cast<int>(row_index % a.q_len);
  const int head = static_cast<int>(row_index / a.q_len % a.heads);
  const int batch = static_cast<int>(row_index / a.q_len / a.heads);
  const int kv_head = head / (a.heads / a.kv_heads);
  const T* q = static_cast<const T*>(a.q) + batch * a.q_stride[0] + head * a.q_stride[1] + row * a.q_stride[2];
  const T* k = static_cast<const T*>(a.k) + batch * a.k_stride[0] + kv_head * a.k_stride[1];
  const T* v = static_cast<const T*>(a.v) + batch * a.v_stride[0] + kv_head * a.v_stride[1];
  T* out = static_cast<T*>(a.out) + batch * a.out_stride[0] + head * a.out_stride[1] + row * a.out_stride[2];

  A* sum_of_values = reinterpret_cast<A*>(shared_memory()) + static_cast<std::int64_t>(warp) * a.v_dim;
  for (int c = lane; c < a.v_dim; c += 32) sum_of_values[c] = A(0);
  A largest = minus_infinity<A>(), total = A(0);

  const int columns = visible_columns(a, row);
  for (int j = 0; j < columns; ++j) {
    A score = A(0);
    for (int c = lane; c < a.dim; c += 32)
      score += widen<A>(q[c * a.q_stride[3]]) * widen<A>(k[j * a.k_stride[2] + c * a.k_stride[3]]);
    score = masked<T>(a, batch, head, row, j, warp_sum(score) * static_cast<A>(a.scale));
    if (score == minus_infinity<A>()) continue;  // the same in all lanes
    const A now = max_of(largest, score);
    const A shrink = exp_of(largest - now);
    A weight = exp_of(score - now);
    largest = now;
    total = total * shrink + weight;
    if (a.keep) weight = dropped(a, batch, head, row, j, weight);
    for (int c = lane; c < a.v_dim; c += 32)
      sum_of_values[c] = sum_of_values[c] * shrink + weight * widen<A>(v[j * a.v_stride[2] + c * a.v_stride[3]]);
  }
  for (int c = lane; c < a.v_dim; c += 32)
    out[c * a.out_stride[3]] = narrow<T>(total == A(0) ? A(0) : sum_of_values[c] / total);
}

}  // namespace dd::kernels
