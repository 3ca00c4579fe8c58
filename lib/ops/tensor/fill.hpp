// Deterministic test data: every value is a pure function of (kind, seed, stream, logical row-major index), so the same
// seed gives the same bits on every platform, thread count and memory layout. `stream` tells tensors of one case apart.
//   normal    mean 0, deviation 1 (s8: deviation 32; u8: 128 + 32 x; s4: 2; u4: 8 + 2 x; rounded, saturated)
//   uniform   [-1, 1) for floats; the whole range of the type for integers
//   integers  whole numbers in [low, high], default [-2, 2] (unsigned: [0, 4]); see exact_integer_limit
//   outliers  normal, and one element in 256 is 64 times as large
// Values that do not fit saturate. boolean: the kind is ignored, fair coin. f8_e8m0: powers of two 2^-3 .. 2^3.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "ops/tensor/view.hpp"

namespace dd::ops {

enum class FillKind : std::uint8_t { normal, uniform, integers, outliers };

struct Fill {
  FillKind kind = FillKind::normal;
  std::uint64_t seed = 0;
  std::uint32_t stream = 0;
  double scale = 1.0;              // multiplies normal, uniform and outliers before rounding (floats only)
  std::int64_t low = 0, high = 0;  // integers: range when low < high
};

std::optional<FillKind> fill_kind_from(std::string_view name);
std::string_view name_of(FillKind kind);

// Fills every element of `view`. threads: 0 = all.
void fill(const TensorView& view, const Fill& fill, int threads = 0);
// The value (before rounding to the dtype) that `fill` gives logical index `flat`.
double fill_value(DType dtype, const Fill& fill, std::uint64_t flat);

// Greatest r such that sums of k products of integers in [-r, r] are exact in `accumulator` and the integers exact in
// `dtype`; 0 when not even r = 1 is.
std::int64_t exact_integer_limit(DType dtype, DType accumulator, std::int64_t k);

// Attention dropout: 1 = keep, for key positions [j, j+n) of query i of head h of batch b. Pure function of its
// arguments; keeps with probability 1 - p (p in [0, 1]). Kept weights are multiplied by 1 / (1 - p).
void dropout_keep(std::uint64_t seed, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, std::int64_t n,
                  double p, std::uint8_t* keep);

}  // namespace dd::ops
