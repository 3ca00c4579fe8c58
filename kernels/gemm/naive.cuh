// Matrix product by straight loops, any element types and strides: one thread a result.
#pragma once
#include "epilogue.cuh"

namespace dd::kernels {

template <class TX, class TW, class TOut>
__device__ void gemm_naive(const GemmArgs& a) {
  using A = Acc<TX>;
  const std::int64_t index = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= static_cast<std::int64_t>(a.batch) * a.m * a.n) return;
  const int column = static_cast<int>(index % a.n), row = static_cast<int>(index / a.n % a.m);
  const int batch = static_cast<int>(index / a.n / a.m);
  const TX* x = static_cast<const TX*>(a.x) + batch * a.x_stride[0] + row * a.x_stride[1];
  const TW* w = static_cast<const TW*>(a.w) + batch * a.w_stride[0] + column * a.w_stride[2];
  A sum = A(0);
  for (int k = 0; k < a.k; ++k) sum += widen<A>(x[k * a.x_stride[2]]) * widen<A>(w[k * a.w_stride[1]]);
  if (a.bias_kind != bias_none) sum += bias_at<TX, A>(a.bias, a.bias_kind, column);
  TOut* out = static_cast<TOut*>(a.out) + batch * a.out_stride[0] + row * a.out_stride[1];
  out[column * a.out_stride[2]] = narrow<TOut>(activate(sum, a.activation));
}

}  // namespace dd::kernels
