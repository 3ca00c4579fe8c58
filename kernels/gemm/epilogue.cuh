// Bias and activation, shared by every matrix product kernel.
#pragma once
#include "../common/numeric.cuh"
#include "args.hpp"

namespace dd::kernels {

template <class A>
__device__ __forceinline__ A activate(A v, int activation) {
  if (activation == act_relu) return v > A(0) ? v : v == v ? A(0) : v;  // NaN stays
  if (activation == act_gelu_erf) return A(0.5) * v * (A(1) + erf(v * A(0.70710678118654752440)));
  if (activation == act_gelu_tanh)
    return A(0.5) * v * (A(1) + tanh(A(0.79788456080286535588) * (v + A(0.044715) * v * v * v)));
  return v;
}
// The integer product has no activation: a rule keeps such a request away.
template <>
__device__ __forceinline__ std::int32_t activate<std::int32_t>(std::int32_t v, int) {
  return v;
}

template <class T, class A>
__device__ __forceinline__ A bias_at(const void* bias, int kind, int column) {
  if (kind == bias_f32) return static_cast<A>(static_cast<const float*>(bias)[column]);
  return widen<A>(static_cast<const T*>(bias)[column]);
}

// Eight neighbours, `stride` elements apart in memory; `count` of them exist. In one store where the address takes it.
template <class T>
__device__ __forceinline__ void store_eight(T* to, const float (&v)[8], int count, std::int64_t stride = 1) {
  if (count == 8 && stride == 1 && reinterpret_cast<std::uintptr_t>(to) % 16 == 0) {
    Vec16 packed;
    DD_UNROLL
    for (int i = 0; i < 4; ++i) packed.word[i] = pack2<T>(v[2 * i], v[2 * i + 1]);
    store16(to, packed);
    return;
  }
  for (int i = 0; i < 8; ++i)
    if (i < count) to[i * stride] = from_float<T>(v[i]);
}
template <>
__device__ __forceinline__ void store_eight<float>(float* to, const float (&v)[8], int count, std::int64_t stride) {
  for (int i = 0; i < 8; ++i)
    if (i < count) to[i * stride] = v[i];
}

// Bias and activation for eight neighbouring f32 sums, then out.
template <class T, class TOut>
__device__ __forceinline__ void finish_eight(const GemmArgs& a, TOut* to, const float* sums, int column, int count) {
  float v[8];
  DD_UNROLL
  for (int e = 0; e < 8; ++e) v[e] = sums[e];
  if (a.bias_kind != bias_none) {
    DD_UNROLL
    for (int e = 0; e < 8; ++e)
      if (e < count) v[e] += bias_at<T, float>(a.bias, a.bias_kind, column + e);
  }
  if (a.activation == act_relu) {
    DD_UNROLL
    for (int e = 0; e < 8; ++e) v[e] = activate(v[e], act_relu);
  } else if (a.activation != act_none) {
    // The values rotate through a rolled loop, so that the long functions appear once and nothing leaves the registers.
    DD_NO_UNROLL
    for (int e = 0; e < 8; ++e) {
      const float x = activate(v[0], a.activation);
      DD_UNROLL
      for (int i = 0; i < 7; ++i) v[i] = v[i + 1];
      v[7] = x;
    }
  }
  store_eight(to, v, count, a.out_stride[2]);
}

}  // namespace dd::kernels
