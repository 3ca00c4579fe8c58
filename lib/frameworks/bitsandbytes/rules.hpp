// When bitsandbytes multiplies packed weights, and when it dequantizes the whole matrix first.
#pragma once
#include <span>

#include "rules/rule.hpp"

namespace dd::frameworks::bitsandbytes {

std::span<const rules::Rule> four_bit_rules();  // scope bnb-4bit: a blocking row means that the weight is dequantized
std::span<const rules::Rule> int8_rules();      // scope bnb-int8
// Most rows that the fused 4-bit kernel takes for this shape, and whether 6 or 7 rows fall in a band where it is
// passed over; both calibrated by the library per chip. `sms` is the number of multiprocessors (0: the chip's usual).
struct Fused {
  std::int64_t rows = 0;       // 0: the chip has no limit of its own
  bool narrow_band = false;    // only asked for 6 or 7 rows
};
Fused fused_limits(std::int64_t n, std::int64_t k, std::int64_t compute_capability, std::int64_t sms);

}  // namespace dd::frameworks::bitsandbytes
