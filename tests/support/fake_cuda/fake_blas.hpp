// What the stand-ins of cuBLAS and cuBLASLt share: products of column-major matrices on host memory with plain loops in
// double, the record of calls, and faults by environment. Number formats, types and status numbers are written down here once
// more on purpose: a mistake of the tool must not be met by the same mistake here.
// DD_FAKE_CUBLAS: "FUNCTION=STATUS" makes that function answer with the status.
#pragma once
#include <dlfcn.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <utility>

#include "host/float16.hpp"

namespace fake {

constexpr int invalid_value = 7, not_supported = 15;

inline int fault(const std::string& function) {
  const char* text = std::getenv("DD_FAKE_CUBLAS");
  const std::string wanted = text ? text : "";
  const auto equals = wanted.find('=');
  return equals != std::string::npos && wanted.substr(0, equals) == function ? std::atoi(wanted.c_str() + equals + 1) : 0;
}
inline bool mode_is(const std::string& mode) {
  const char* text = std::getenv("DD_FAKE_CUBLAS");
  return text && mode == text;
}

// cudaDataType numbers.
enum Type { f32 = 0, f64 = 1, f16 = 2, s8 = 3, s32 = 10, bf16 = 14, e4m3 = 28, e5m2 = 29 };
inline bool known(int t) { return t == f32 || t == f64 || t == f16 || t == s8 || t == s32 || t == bf16 || t == e4m3 || t == e5m2; }

inline double float8(unsigned bits, int exponent_bits, int mantissa_bits) {
  const int exponent = static_cast<int>(bits >> mantissa_bits & ((1u << exponent_bits) - 1)), mantissa = static_cast<int>(bits & ((1u << mantissa_bits) - 1));
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double magnitude = exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits) : std::ldexp((1 << mantissa_bits) + mantissa, exponent - bias - mantissa_bits);
  return bits & 0x80 ? -magnitude : magnitude;
}
inline double float8_of(int type, unsigned bits) { return type == e4m3 ? float8(bits, 4, 3) : float8(bits, 5, 2); }

inline double load(const void* data, int type, std::int64_t i) {
  using namespace dd::kernels;
  switch (type) {
    case f32: return static_cast<const float*>(data)[i];
    case f64: return static_cast<const double*>(data)[i];
    case f16: return to_float(static_cast<const __half*>(data)[i]);
    case bf16: return to_float(static_cast<const __nv_bfloat16*>(data)[i]);
    case s8: return static_cast<const std::int8_t*>(data)[i];
    case s32: return static_cast<const std::int32_t*>(data)[i];
    default: return float8_of(type, static_cast<const std::uint8_t*>(data)[i]);
  }
}

inline void store(void* data, int type, std::int64_t i, double v) {
  using namespace dd::kernels;
  switch (type) {
    case f32: static_cast<float*>(data)[i] = static_cast<float>(v); return;
    case f64: static_cast<double*>(data)[i] = v; return;
    case f16: static_cast<__half*>(data)[i] = from_float<__half>(static_cast<float>(v)); return;
    case bf16: static_cast<__nv_bfloat16*>(data)[i] = from_float<__nv_bfloat16>(static_cast<float>(v)); return;
    case s32: static_cast<std::int32_t*>(data)[i] = static_cast<std::int32_t>(v); return;
    default: break;
  }
  unsigned best = 0;  // the nearest of all finite codes; of two as near the even one
  for (unsigned code = 0; code < 256; ++code) {
    if ((type == e4m3 && (code & 0x7f) == 0x7f) || (type == e5m2 && (code & 0x7c) == 0x7c)) continue;
    const double now = std::fabs(float8_of(type, code) - v), before = std::fabs(float8_of(type, best) - v);
    if (now < before || (now == before && code % 2 == 0 && best % 2 == 1)) best = code;
  }
  static_cast<std::uint8_t*>(data)[i] = static_cast<std::uint8_t>(best);
}

struct Matrix {
  const void* data;
  int type;
  std::int64_t ld, step;
  double at(std::int64_t batch, std::int64_t row, std::int64_t column, bool transposed) const {
    if (transposed) std::swap(row, column);
    return load(data, type, batch * step + row + column * ld);
  }
};

struct Product {
  bool ta, tb;
  std::int64_t m, n, k, batch;
  Matrix a, b, d;  // d is written, and read where beta is not 0
  double alpha, beta;
  std::function<double(std::int64_t row, std::int64_t k)> scale_a = [](std::int64_t, std::int64_t) { return 1.0; };
  std::function<double(std::int64_t column, std::int64_t k)> scale_b = scale_a;
  std::function<double(std::int64_t row, double value)> finish = [](std::int64_t, double value) { return value; };

  int check() const {
    if (m < 0 || n < 0 || k < 0 || batch < 0 || !known(a.type) || !known(b.type) || !known(d.type)) return invalid_value;
    const auto fits = [](std::int64_t ld, std::int64_t rows) { return ld >= (rows > 1 ? rows : 1); };
    return fits(a.ld, ta ? k : m) && fits(b.ld, tb ? n : k) && fits(d.ld, m) ? 0 : invalid_value;
  }
  void run() const {
    for (std::int64_t i = 0; i < batch; ++i)
      for (std::int64_t column = 0; column < n; ++column)
        for (std::int64_t row = 0; row < m; ++row) {
          double sum = 0;
          for (std::int64_t x = 0; x < k; ++x) sum += a.at(i, row, x, ta) * scale_a(row, x) * b.at(i, x, column, tb) * scale_b(column, x);
          double value = alpha * sum;
          if (beta != 0) value += beta * d.at(i, row, column, false);
          store(const_cast<void*>(d.data), d.type, i * d.step + row + column * d.ld, finish(row, value));
        }
  }
};

// The rows of the library's table of types that serve the tests, with compute types by number.
inline bool row_exists(int a, int b, int d, int compute) {
  struct Row {
    int operands, result, compute;
  };
  constexpr Row rows[] = {{f64, f64, 70}, {f32, f32, 68}, {f32, f32, 77}, {f16, f16, 68}, {f16, f32, 68}, {f16, f16, 64}, {bf16, bf16, 68}, {bf16, f32, 68}, {s8, s32, 72}, {s8, f32, 68}};
  for (const Row& r : rows)
    if (r.operands == a && r.operands == b && r.result == d && r.compute == compute) return true;
  return false;
}

// A scalar in the type that belongs to the compute type (or is stated).
inline double scalar(const void* p, int type) { return load(p, type, 0); }
inline int scalar_type(int compute) { return compute == 70 ? f64 : compute == 64 ? f16 : compute == 72 ? s32 : f32; }

inline int enqueue(const std::function<void()>& work) {
  using Enqueue = int (*)(const std::function<void()>*);
  static const auto put = reinterpret_cast<Enqueue>(dlsym(RTLD_DEFAULT, "dd_fake_enqueue"));
  if (!put) return 1;
  return put(&work) == 0 ? 0 : 13;
}

}  // namespace fake
