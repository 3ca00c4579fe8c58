// The middle of decomposed attention: unscaled scores in, probabilities out, with scale, mask, causality and dropout applied.
// One block a row; the scores are read three times and never kept, so any number of columns works.
// Scores are [batch*heads, q_len, kv_len] dense, probabilities the same in the type of the second product.
#pragma once
#include "mask.cuh"

namespace dd::kernels {

// Every thread gets the combination over the block. `scratch` holds a value a warp, plus none.
template <class A, bool Maximum>
__device__ A block_combine(A v, A* scratch) {
  const int warps = static_cast<int>(blockDim.x / 32), warp = static_cast<int>(threadIdx.x / 32);
  v = Maximum ? warp_max(v) : warp_sum(v);
  __syncthreads();  // the scratch of the combination before is read by now
  if (threadIdx.x % 32 == 0) scratch[warp] = v;
  __syncthreads();
  v = scratch[0];
  for (int w = 1; w < warps; ++w) v = Maximum ? max_of(v, scratch[w]) : v + scratch[w];
  return v;
}

template <class T, class A>
__device__ void attention_softmax(const AttentionArgs& a, const A* scores, T* probabilities) {
  A* scratch = reinterpret_cast<A*>(shared_memory());
  const std::int64_t row_index = blockIdx.x;
  const int row = static_cast<int>(row_index % a.q_len);
  const int head = static_cast<int>(row_index / a.q_len % a.heads);
  const int batch = static_cast<int>(row_index / a.q_len / a.heads);
  const A* in = scores + row_index * a.kv_len;
  T* out = probabilities + row_index * a.kv_len;
  const int columns = visible_columns(a, row), first = static_cast<int>(threadIdx.x);
  const int step = static_cast<int>(blockDim.x);
  const A scale = static_cast<A>(a.scale);

  A largest = minus_infinity<A>();
  for (int j = first; j < columns; j += step)
    largest = max_of(largest, masked<T>(a, batch, head, row, j, in[j] * scale));
  largest = block_combine<A, true>(largest, scratch);
  const A base = largest == minus_infinity<A>() ? A(0) : largest;
  A total = A(0);
  for (int j = first; j < columns; j += step)
    total += exp_of(masked<T>(a, batch, head, row, j, in[j] * scale) - base);
  total = block_combine<A, false>(total, scratch);
  const A factor = total == A(0) ? A(0) : A(1) / total;
  for (int j = first; j < a.kv_len; j += step) {
    A weight = A(0);
    if (j < columns) weight = exp_of(masked<T>(a, batch, head, row, j, in[j] * scale) - base) * factor;
    if (a.keep && j < columns) weight = dropped(a, batch, head, row, j, weight);
    out[j] = narrow<T>(weight);
  }
}

}  // namespace dd::kernels
