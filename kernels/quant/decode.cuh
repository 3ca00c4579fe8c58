// Packed codes to numbers: the only place that knows the packing.
#pragma once
#include "../common/numeric.cuh"
#include "args.hpp"

namespace dd::kernels {

// Eight codes along k from k0 (a multiple of 8) as whole numbers, signed codes already signed; what comes for those past k
// has no meaning. Read as words where all eight exist and the address takes it, byte by byte otherwise.
template <int Bits>
__device__ __forceinline__ void eight_codes(const QuantArgs& a, int column, int k0, bool is_signed, float (&code)[8]) {
  constexpr int words = Bits / 4;
  const std::uint8_t* at = a.packed + column * a.packed_stride + k0 * Bits / 8;
  std::uint32_t word[words];
  if (k0 + 8 <= a.k && reinterpret_cast<std::uintptr_t>(at) % 4 == 0) {
    DD_UNROLL
    for (int i = 0; i < words; ++i) word[i] = load4(at + 4 * i);
  } else {
    DD_UNROLL
    for (int i = 0; i < words; ++i) word[i] = 0;
    DD_UNROLL
    for (int i = 0; i < Bits; ++i)
      if (k0 + i * 8 / Bits < a.k) word[i / 4] |= static_cast<std::uint32_t>(at[i]) << i % 4 * 8;
  }
  DD_UNROLL
  for (int i = 0; i < 8; ++i) {
    constexpr int sign = 1 << (Bits - 1);
    int c = static_cast<int>(word[i * Bits / 32] >> i * Bits % 32 & ((1u << Bits) - 1));
    if (is_signed) c = (c ^ sign) - sign;
    code[i] = static_cast<float>(c);
  }
}

template <class T>
__device__ __forceinline__ float scale_at(const QuantArgs& a, int group, int column) {
  const std::int64_t at = group * a.scale_stride[0] + column * a.scale_stride[1];
  return a.scale_kind == scale_f32 ? static_cast<const float*>(a.scales)[at]
                                   : to_float(static_cast<const T*>(a.scales)[at]);
}
__device__ __forceinline__ float zero_at(const QuantArgs& a, int group, int column) {
  return a.zeros ? static_cast<float>(a.zeros[group * a.zero_stride[0] + column * a.zero_stride[1]]) : 0.0f;
}

// Eight weights along k, whatever the group size.
template <class T, int Bits>
__device__ __forceinline__ void eight_weights(const QuantArgs& a, int column, int k0, float (&w)[8]) {
  eight_codes<Bits>(a, column, k0, a.zeros == nullptr, w);
  int group = k0 / a.group, next = (group + 1) * a.group;
  float scale = scale_at<T>(a, group, column), zero = zero_at(a, group, column);
  DD_UNROLL
  for (int i = 0; i < 8; ++i) {
    if (k0 + i >= a.k) {
      w[i] = 0.0f;
      continue;
    }
    if (k0 + i == next) {
      ++group;
      next += a.group;
      scale = scale_at<T>(a, group, column);
      zero = zero_at(a, group, column);
    }
    w[i] = scale * (w[i] - zero);
  }
}

}  // namespace dd::kernels
