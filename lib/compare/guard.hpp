// Poisoned output buffers with guard bands. Layout of an area: [guard][data][guard]; the data starts at guard_bytes, which
// keeps 64-byte (and page) alignment of the area. Poison is a quiet NaN with a rare payload for floats, so an element that
// nobody wrote is told from a computed NaN; for integers the pattern can also be a result, see count_unwritten.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/dtype.hpp"

namespace dd::compare {

constexpr std::int64_t guard_bytes = 4096;

// Bytes of an area that holds `data_bytes` between two guards.
std::int64_t area_bytes(std::int64_t data_bytes);
// Fills guards and data of an area laid out as above.
void poison_area(std::span<std::byte> area, core::DType dtype, std::int64_t data_bytes);
// Guard bytes that changed, before and after the data.
std::int64_t guard_damage(std::span<const std::byte> area, std::int64_t data_bytes);
// Which of the first n elements still hold the poison pattern, bit for bit.
std::vector<std::uint8_t> unwritten(const std::byte* data, core::DType dtype, std::int64_t n);

}  // namespace dd::compare
