// Element types to and from double (and float), with round-to-nearest, ties to even, in one step (never through a third
// type). Integers saturate and map NaN to 0. f8_e4m3 is the OCP "fn" form: no infinity, 448 is the greatest finite
// value, what rounds above it becomes NaN, or 448 when saturating. f8_e5m2, f16, bf16 overflow to infinity, or to the
// greatest finite value when saturating. f8_e8m0 is a power of two 2^(code-127), code 255 is NaN. f4_e2m1 always
// saturates (it has neither NaN nor infinity; NaN becomes 0).
#pragma once
#include <cstdint>

#include "ops/tensor/view.hpp"

namespace dd::ops {

enum class Overflow : std::uint8_t { ieee, saturate };

// Bit pattern (in the low bits) of `value` rounded to `dtype`. f64 is returned as its 64 bits.
std::uint64_t encode(double value, DType dtype, Overflow overflow = Overflow::ieee);
// Value of a bit pattern. Exact for every dtype (boolean: 0 or 1).
double decode(std::uint64_t bits, DType dtype);
// `value` rounded to `dtype` and back.
inline double round_to(double value, DType dtype, Overflow overflow = Overflow::ieee) {
  return decode(encode(value, dtype, overflow), dtype);
}

// Element `index` (in elements) of the packed array `data`.
double load(const void* data, DType dtype, std::int64_t index);
void store(void* data, DType dtype, std::int64_t index, double value, Overflow overflow = Overflow::ieee);

// n elements from `index` on, `stride` elements apart; the contiguous case is vectorised.
void load_row(const void* data, DType dtype, std::int64_t index, std::int64_t stride, std::int64_t n, double* out);
void load_row(const void* data, DType dtype, std::int64_t index, std::int64_t stride, std::int64_t n, float* out);
void store_row(void* data, DType dtype, std::int64_t index, std::int64_t stride, std::int64_t n, const double* in,
               Overflow overflow = Overflow::ieee);
void store_row(void* data, DType dtype, std::int64_t index, std::int64_t stride, std::int64_t n, const float* in,
               Overflow overflow = Overflow::ieee);

// Every element of `view` in logical row-major order, to or from a dense array of element_count(view) values.
void read_all(const TensorView& view, double* out, int threads = 1);
void write_all(const TensorView& view, const double* in, Overflow overflow = Overflow::ieee, int threads = 1);

}  // namespace dd::ops
