// When bitsandbytes multiplies packed weights, and when it dequantizes the whole matrix first.
#pragma once
#include <cstdint>
#include <span>

#include "rules/rule.hpp"

namespace dd::frameworks::bitsandbytes {

std::span<const rules::Rule> four_bit_rules();  // scope bnb-4bit: a blocking row means that the weight is dequantized
std::span<const rules::Rule> int8_rules();      // scope bnb-int8
// Most rows that the fused 4-bit kernel takes for this shape, and whether 6 or 7 rows fall in a band where it is
// passed over; both calibrated by the library per chip. `sms` is the number of multiprocessors (0: the chip's usual where
// there is one), `rows` those asked for: on Turing the answer for a small weight depends on them.
struct Fused {
  bool known = false;        // false: it depends on the number of multiprocessors, which is not known
  std::int64_t rows = 0;
  bool narrow_band = false;  // only asked for 6 or 7 rows
};
constexpr std::int64_t large_weight = std::int64_t{4} << 20;  // elements; smaller weights have limits of their own
Fused fused_limits(std::int64_t n, std::int64_t k, std::int64_t compute_capability, std::int64_t sms, std::int64_t rows = 8);

}  // namespace dd::frameworks::bitsandbytes
