#include "ops/tensor/convert.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "ops/simd/kernels.hpp"
#include "ops/tensor/parallel.hpp"

namespace dd::ops {
namespace {

// A binary format narrower than double: 1 sign bit (unless e8m0), exponent bits, fraction bits.
struct Format {
  int mantissa;
  int bias;
  int sign_shift;
  std::uint64_t max_finite;
  std::uint64_t infinity;  // code that overflow gives; e4m3: NaN
  std::uint64_t nan;
};

constexpr Format f16_format{10, 15, 15, 0x7bff, 0x7c00, 0x7e00};
constexpr Format bf16_format{7, 127, 15, 0x7f7f, 0x7f80, 0x7fc0};
constexpr Format e4m3_format{3, 7, 7, 0x7e, 0x7f, 0x7f};
constexpr Format e5m2_format{2, 15, 7, 0x7b, 0x7c, 0x7e};
constexpr Format e2m1_format{1, 1, 3, 0x7, 0x7, 0x0};

std::uint64_t encode_format(double value, const Format& f, bool saturate) {
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const std::uint64_t sign = (bits >> 63) << f.sign_shift;
  if (std::isnan(value)) return sign | f.nan;
  const double a = std::fabs(value);
  if (std::isinf(a)) return sign | (saturate ? f.max_finite : f.infinity);
  const int least = 1 - f.bias;
  const int exponent = std::max(static_cast<int>(bits >> 52 & 0x7ff) - 1023, least);
  if (exponent > f.bias + 1) return sign | (saturate ? f.max_finite : f.infinity);
  // In units of the last place: below 2^(mantissa+1), so adding and subtracting 2^52 rounds
  // to an integer, ties to even.
  const auto power = static_cast<std::uint64_t>(1023 + f.mantissa - exponent) << 52;
  const double scaled = a * std::bit_cast<double>(power);
  const auto units = static_cast<std::uint64_t>((scaled + 0x1p52) - 0x1p52);
  const std::uint64_t code = (static_cast<std::uint64_t>(exponent - least) << f.mantissa) + units;
  if (code > f.max_finite) return sign | (saturate ? f.max_finite : f.infinity);
  return sign | code;
}

double decode_format(std::uint64_t code, const Format& f, bool has_infinity) {
  const double sign = (code >> f.sign_shift & 1) ? -1.0 : 1.0;
  const std::uint64_t magnitude = code & ((std::uint64_t{1} << f.sign_shift) - 1);
  if (magnitude > f.max_finite)
    return has_infinity && magnitude == f.infinity ? sign * INFINITY : std::copysign(NAN, sign);
  const auto field = static_cast<int>(magnitude >> f.mantissa);
  const auto fraction = static_cast<double>(magnitude & ((std::uint64_t{1} << f.mantissa) - 1));
  if (field == 0) return sign * std::ldexp(fraction, 1 - f.bias - f.mantissa);
  return sign * std::ldexp(fraction + std::ldexp(1.0, f.mantissa), field - f.bias - f.mantissa);
}

std::uint64_t encode_e8m0(double value) {
  if (std::isnan(value) || std::isinf(value)) return 255;
  if (!(value > 0x1p-127)) return 0;
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);  // in [0.5, 1)
  int code = exponent - 1 + 127;
  if (fraction > 0.75 || (fraction == 0.75 && (code & 1))) ++code;
  return static_cast<std::uint64_t>(std::min(code, 254));
}

std::uint64_t encode_integer(double value, double low, double high, int bits) {
  if (std::isnan(value)) return 0;
  const auto n = static_cast<std::int64_t>(std::clamp(std::nearbyint(value), low, high));
  return static_cast<std::uint64_t>(n) & ((std::uint64_t{1} << bits) - 1);
}

}  // namespace

std::uint64_t encode(double value, DType dtype, Overflow overflow) {
  const bool saturate = overflow == Overflow::saturate;
  switch (dtype) {
    case DType::f64:
      return std::bit_cast<std::uint64_t>(value);
    case DType::f32: {
      auto f = static_cast<float>(value);
      if (saturate && std::isinf(f)) f = std::copysign(3.402823466e+38f, f);
      return std::bit_cast<std::uint32_t>(f);
    }
    case DType::f16:
      return encode_format(value, f16_format, saturate);
    case DType::bf16:
      return encode_format(value, bf16_format, saturate);
    case DType::f8_e4m3:
      return encode_format(value, e4m3_format, saturate);
    case DType::f8_e5m2:
      return encode_format(value, e5m2_format, saturate);
    case DType::f4_e2m1:
      return std::isnan(value) ? 0 : encode_format(value, e2m1_format, true);
    case DType::f8_e8m0:
      return encode_e8m0(value);
    case DType::s32:
      return encode_integer(value, -2147483648.0, 2147483647.0, 32);
    case DType::s8:
      return encode_integer(value, -128, 127, 8);
    case DType::u8:
      return encode_integer(value, 0, 255, 8);
    case DType::s4:
      return encode_integer(value, -8, 7, 4);
    case DType::u4:
      return encode_integer(value, 0, 15, 4);
    case DType::boolean:
      return value != 0.0 ? 1 : 0;
  }
  return 0;
}

double decode(std::uint64_t bits, DType dtype) {
  switch (dtype) {
    case DType::f64:
      return std::bit_cast<double>(bits);
    case DType::f32:
      return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    case DType::f16:
      return decode_format(bits, f16_format, true);
    case DType::bf16:
      return decode_format(bits, bf16_format, true);
    case DType::f8_e4m3:
      return decode_format(bits, e4m3_format, false);
    case DType::f8_e5m2:
      return decode_format(bits, e5m2_format, true);
    case DType::f4_e2m1:
      return decode_format(bits, e2m1_format, false);
    case DType::f8_e8m0:
      return bits == 255 ? NAN : std::ldexp(1.0, static_cast<int>(bits) - 127);
    case DType::s32:
      return static_cast<std::int32_t>(bits);
    case DType::s8:
      return static_cast<std::int8_t>(bits);
    case DType::u8:
      return static_cast<double>(bits & 0xff);
    case DType::s4:
      return static_cast<double>(static_cast<int>((bits & 15) ^ 8) - 8);
    case DType::u4:
      return static_cast<double>(bits & 15);
    case DType::boolean:
      return (bits & 0xff) != 0 ? 1.0 : 0.0;
  }
  return 0.0;
}

double load(const void* data, DType dtype, std::int64_t index) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  const int bits = core::info(dtype).bits;
  if (bits == 4) return decode(bytes[index >> 1] >> (index & 1 ? 4 : 0) & 15, dtype);
  std::uint64_t code = 0;
  const int size = bits / 8;
  std::memcpy(&code, bytes + index * size, static_cast<std::size_t>(size));
  return decode(code, dtype);
}

void store(void* data, DType dtype, std::int64_t index, double value, Overflow overflow) {
  auto* bytes = static_cast<unsigned char*>(data);
  const int bits = core::info(dtype).bits;
  const std::uint64_t code = encode(value, dtype, overflow);
  if (bits == 4) {
    unsigned char& byte = bytes[index >> 1];
    byte = static_cast<unsigned char>(index & 1 ? (byte & 15u) | code << 4 : (byte & 240u) | code);
    return;
  }
  const int size = bits / 8;
  std::memcpy(bytes + index * size, &code, static_cast<std::size_t>(size));
}

void load_row(const void* data, DType dtype, std::int64_t index, std::int64_t stride, std::int64_t n, double* out) {
  simd::kernels().load_f64(data, dtype, index, stride, n, out);
}

void load_row(const void* data, DType dtype, std::int64_t index, std::int64_t stride, std::int64_t n, float* out) {
  simd::kernels().load_f32(data, dtype, index, stride, n, out);
}

void store_row(void* data, DType dtype, std::int64_t index, std::int64_t stride, std::int64_t n, const double* in,
               Overflow overflow) {
  for (std::int64_t i = 0; i < n; ++i) store(data, dtype, index + i * stride, in[i], overflow);
}

void store_row(void* data, DType dtype, std::int64_t index, std::int64_t stride, std::int64_t n, const float* in,
               Overflow overflow) {
  if (dtype == DType::f32 && stride == 1 && overflow == Overflow::ieee) {
    std::memcpy(static_cast<float*>(data) + index, in, static_cast<std::size_t>(n) * sizeof(float));
    return;
  }
  for (std::int64_t i = 0; i < n; ++i) store(data, dtype, index + i * stride, static_cast<double>(in[i]), overflow);
}

void read_all(const TensorView& view, double* out, int threads) {
  const std::int64_t n = element_count(view);
  if (n == 0) return;
  const std::int64_t row = view.rank == 0 ? 1 : view.shape[view.rank - 1];
  const std::int64_t stride = view.rank == 0 ? 1 : view.stride[view.rank - 1];
  const std::int64_t rows = n / row, chunk = std::max<std::int64_t>(1, 16384 / row);
  parallel_for((rows + chunk - 1) / chunk, {threads, nullptr}, [&](std::int64_t task, int) {
    for (std::int64_t r = task * chunk; r < std::min(rows, (task + 1) * chunk); ++r)
      load_row(view.data, view.dtype, element_index(view, r * row), stride, row, out + r * row);
  });
}

void write_all(const TensorView& view, const double* in, Overflow overflow, int threads) {
  const std::int64_t n = element_count(view);
  if (n == 0) return;
  const std::int64_t row = view.rank == 0 ? 1 : view.shape[view.rank - 1];
  const std::int64_t stride = view.rank == 0 ? 1 : view.stride[view.rank - 1];
  const std::int64_t rows = n / row, chunk = std::max<std::int64_t>(1, 16384 / row);
  // Two 4-bit elements share a byte, so neighbouring rows must not be written by two threads.
  const int used = core::info(view.dtype).bits < 8 ? 1 : threads;
  parallel_for((rows + chunk - 1) / chunk, {used, nullptr}, [&](std::int64_t task, int) {
    for (std::int64_t r = task * chunk; r < std::min(rows, (task + 1) * chunk); ++r)
      store_row(view.data, view.dtype, element_index(view, r * row), stride, row, in + r * row, overflow);
  });
}

}  // namespace dd::ops
