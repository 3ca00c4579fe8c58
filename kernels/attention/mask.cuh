// Which scores take part, and what a float mask adds: one definition for every attention kernel.
#pragma once
#include "../common/numeric.cuh"
#include "args.hpp"

namespace dd::kernels {

// Columns at or past this bound are hidden from row i by causality or by the end of the keys.
__device__ __forceinline__ int visible_columns(const AttentionArgs& a, int row) {
  if (!a.causal) return a.kv_len;
  const std::int64_t bound = static_cast<std::int64_t>(row) + a.causal_offset + 1;
  return bound < 0 ? 0 : bound < a.kv_len ? static_cast<int>(bound) : a.kv_len;
}

// The scaled score after the mask; minus infinity where a boolean mask hides it.
template <class T, class A>
__device__ __forceinline__ A masked(const AttentionArgs& a, int batch, int head, int row, int column, A score) {
  if (a.mask_kind == mask_none) return score;
  const std::int64_t at = batch * a.mask_stride[0] + head * a.mask_stride[1] + row * a.mask_stride[2] +
                          column * a.mask_stride[3];
  if (a.mask_kind == mask_bool) return static_cast<const std::uint8_t*>(a.mask)[at] ? score : minus_infinity<A>();
  if (a.mask_kind == mask_float_f32) return score + static_cast<A>(static_cast<const float*>(a.mask)[at]);
  return score + widen<A>(static_cast<const T*>(a.mask)[at]);
}

// The weight after dropout. Its share of the row's sum is counted before.
template <class A>
__device__ __forceinline__ A dropped(const AttentionArgs& a, int batch, int head, int row, int column, A weight) {
  const std::int64_t at = batch * a.keep_stride[0] + head * a.keep_stride[1] + row * a.keep_stride[2] +
                          column * a.keep_stride[3];
  return a.keep[at] ? weight * static_cast<A>(a.keep_scale) : A(0);
}

}  // namespace dd::kernels
