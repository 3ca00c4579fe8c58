// Element types beside half and bfloat16, the type each is accumulated in, and the few scalar functions that must exist
// for float and double alike. The including file has included gpu.hpp (host or CUDA) first.
#pragma once
#include <cstdint>

#include "gpu.hpp"

namespace dd::kernels {

// OCP 8-bit floats. e4m3 has no infinity (0x7f and 0xff are NaN); e5m2 is the upper byte of a half.
struct f8_e4m3 {
  std::uint8_t bits;
};
struct f8_e5m2 {
  std::uint8_t bits;
};

__device__ __forceinline__ float to_float(f8_e4m3 v) {
  const int exponent = v.bits >> 3 & 15, mantissa = v.bits & 7;
  float magnitude;
  if (exponent == 15 && mantissa == 7)
    magnitude = nanf("");
  else if (exponent == 0)
    magnitude = ldexpf(static_cast<float>(mantissa), -9);
  else
    magnitude = ldexpf(static_cast<float>(8 + mantissa), exponent - 10);
  return v.bits & 0x80 ? -magnitude : magnitude;
}
__device__ __forceinline__ float to_float(f8_e5m2 v) {
  const int exponent = v.bits >> 2 & 31, mantissa = v.bits & 3;
  float magnitude;
  if (exponent == 31)
    magnitude = mantissa ? nanf("") : INFINITY;
  else if (exponent == 0)
    magnitude = ldexpf(static_cast<float>(mantissa), -16);
  else
    magnitude = ldexpf(static_cast<float>(4 + mantissa), exponent - 17);
  return v.bits & 0x80 ? -magnitude : magnitude;
}

template <class T>
struct Accumulate {
  using type = float;
};
template <>
struct Accumulate<double> {
  using type = double;
};
template <>
struct Accumulate<std::int8_t> {
  using type = std::int32_t;
};
template <>
struct Accumulate<std::uint8_t> {
  using type = std::int32_t;
};
template <class T>
using Acc = typename Accumulate<T>::type;

template <class A, class T>
__device__ __forceinline__ A widen(T v) {
  return static_cast<A>(to_float(v));
}
template <>
__device__ __forceinline__ float widen<float, float>(float v) {
  return v;
}
template <>
__device__ __forceinline__ double widen<double, float>(float v) {
  return v;
}
template <>
__device__ __forceinline__ double widen<double, double>(double v) {
  return v;
}
template <>
__device__ __forceinline__ std::int32_t widen<std::int32_t, std::int8_t>(std::int8_t v) {
  return v;
}
template <>
__device__ __forceinline__ std::int32_t widen<std::int32_t, std::uint8_t>(std::uint8_t v) {
  return v;
}

template <class T, class A>
__device__ __forceinline__ T narrow(A v) {
  return from_float<T>(static_cast<float>(v));
}
template <>
__device__ __forceinline__ float narrow<float, float>(float v) {
  return v;
}
template <>
__device__ __forceinline__ double narrow<double, double>(double v) {
  return v;
}
template <>
__device__ __forceinline__ std::int32_t narrow<std::int32_t, std::int32_t>(std::int32_t v) {
  return v;
}
template <>
__device__ __forceinline__ float narrow<float, std::int32_t>(std::int32_t v) {
  return static_cast<float>(v);
}

__device__ __forceinline__ float exp_of(float v) { return expf(v); }
__device__ __forceinline__ double exp_of(double v) { return exp(v); }
__device__ __forceinline__ float max_of(float a, float b) { return fmaxf(a, b); }
__device__ __forceinline__ double max_of(double a, double b) { return fmax(a, b); }
__device__ __forceinline__ int smaller(int a, int b) { return a < b ? a : b; }
__device__ __forceinline__ int larger(int a, int b) { return a > b ? a : b; }

template <class A>
__device__ __forceinline__ A minus_infinity() {
  return static_cast<A>(-INFINITY);
}

template <class A>
__device__ __forceinline__ A warp_sum(A v) {
  DD_UNROLL
  for (int offset = 16; offset > 0; offset /= 2) v += __shfl_xor_sync(full_warp, v, offset);
  return v;
}
template <class A>
__device__ __forceinline__ A warp_max(A v) {
  DD_UNROLL
  for (int offset = 16; offset > 0; offset /= 2) v = max_of(v, __shfl_xor_sync(full_warp, v, offset));
  return v;
}

}  // namespace dd::kernels
