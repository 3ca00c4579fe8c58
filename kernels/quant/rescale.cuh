// What follows an integer product: each 32-bit sum times the scales of its row and column, rounded once to T. One thread an
// element; the sums are exact, so f32 arithmetic rounds only where f32 does.
#pragma once
#include "../common/numeric.cuh"
#include "args.hpp"

namespace dd::kernels {

template <class T>
__device__ void rescale(const RescaleArgs& a) {
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t row_index = index / a.n, column = index - row_index * a.n;
  if (row_index >= static_cast<std::int64_t>(a.batch) * a.m) return;
  const std::int64_t batch = row_index / a.m, row = row_index - batch * a.m;
  const float value = static_cast<float>(a.sums[index]) * (a.row_scales[row] * a.column_scales[column]);
  static_cast<T*>(a.out)[batch * a.out_stride[0] + row * a.out_stride[1] + column * a.out_stride[2]] = narrow<T>(value);
}

}  // namespace dd::kernels
