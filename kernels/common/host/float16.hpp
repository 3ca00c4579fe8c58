// half and bfloat16 on the CPU: storage, exact widening, narrowing to nearest even (overflow to infinity, NaN kept).
#pragma once
#include <bit>
#include <cstdint>

namespace dd::kernels {

struct __half {
  std::uint16_t bits;
};
struct __nv_bfloat16 {
  std::uint16_t bits;
};

inline float half_bits_to_float(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000u) << 16;
  const std::uint32_t exponent = h >> 10 & 31u, mantissa = h & 0x3ffu;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | (exponent + 112) << 23 | mantissa << 13);
}

inline std::uint16_t float_to_half_bits(float value) {
  const auto f = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>(f >> 16 & 0x8000u);
  const std::uint32_t magnitude = f & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7fffu);
  if (magnitude >= 0x477ff000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // rounds past 65504
  if (magnitude < 0x38800000u) {                                                    // subnormal or zero
    // Adding 0.5 aligns the last kept bit with the last bit of the sum, so the hardware rounds it.
    const float sum = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(sum) - 0x3f000000u));
  }
  const std::uint32_t rounded = magnitude + 0xfffu + (magnitude >> 13 & 1u);
  return static_cast<std::uint16_t>(sign | (rounded - 0x38000000u) >> 13);
}

inline float to_float(__half v) {
  struct Table {
    float value[65536];
    Table() {
      for (std::uint32_t i = 0; i < 65536; ++i) value[i] = half_bits_to_float(static_cast<std::uint16_t>(i));
    }
  };
  static const Table table;
  return table.value[v.bits];
}
inline float to_float(__nv_bfloat16 v) { return std::bit_cast<float>(static_cast<std::uint32_t>(v.bits) << 16); }

template <class T>
T from_float(float value);
template <>
inline __half from_float<__half>(float value) {
  return {float_to_half_bits(value)};
}
template <>
inline __nv_bfloat16 from_float<__nv_bfloat16>(float value) {
  const auto f = std::bit_cast<std::uint32_t>(value);
  if ((f & 0x7fffffffu) > 0x7f800000u) return {static_cast<std::uint16_t>(f >> 16 | 0x40u)};
  return {static_cast<std::uint16_t>((f + 0x7fffu + (f >> 16 & 1u)) >> 16)};
}

}  // namespace dd::kernels
