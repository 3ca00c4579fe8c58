// The slow path's first half: packed weights to a full matrix, rounded to T. One thread eight weights along k.
// out is addressed by (k, n) strides, so either orientation can be written; with k dense the eight go in one store.
#pragma once
#include "../gemm/epilogue.cuh"
#include "decode.cuh"

namespace dd::kernels {

template <class T, int Bits>
__device__ void dequantize(const QuantArgs& a) {
  const int chunks = (a.k + 7) / 8;
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= static_cast<std::int64_t>(chunks) * a.n) return;
  const int k0 = static_cast<int>(index % chunks) * 8, column = static_cast<int>(index / chunks);
  float w[8];
  eight_weights<T, Bits>(a, column, k0, w);
  T* out = static_cast<T*>(a.out) + k0 * a.out_stride[0] + column * a.out_stride[1];
  store_eight(out, w, smaller(a.k - k0, 8), a.out_stride[0]);
}

}  // namespace dd::kernels
