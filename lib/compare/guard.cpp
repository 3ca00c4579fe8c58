#include "compare/guard.hpp"

#include <algorithm>
#include <cstring>

namespace dd::compare {
namespace {

using core::DType;

constexpr std::byte guard_pattern(std::int64_t i) { return static_cast<std::byte>(0xA5 ^ (i * 37)); }

// Little-endian bytes of one poisoned element (floats: quiet NaN with payload; f8_e4m3 has one NaN only).
std::vector<std::byte> poison_of(DType dtype) {
  const auto bytes = [](std::uint64_t bits, int n) {
    std::vector<std::byte> out(static_cast<std::size_t>(n));
    std::memcpy(out.data(), &bits, out.size());
    return out;
  };
  switch (dtype) {
    case DType::f64: return bytes(0x7FFD5A5AC3C3B4E7, 8);
    case DType::f32: return bytes(0x7FED5AC3, 4);
    case DType::f16: return bytes(0x7EA7, 2);
    case DType::bf16: return bytes(0x7FE5, 2);
    case DType::f8_e5m2: return bytes(0x7F, 1);
    case DType::f8_e4m3: return bytes(0xFF, 1);
    case DType::s32: return bytes(0x9D5AC3B7, 4);
    default: return bytes(0xB7, 1);
  }
}

}  // namespace

std::int64_t area_bytes(std::int64_t data_bytes) { return data_bytes + 2 * guard_bytes; }

void poison_area(std::span<std::byte> area, DType dtype, std::int64_t data_bytes) {
  const std::vector<std::byte> poison = poison_of(dtype);
  for (std::int64_t i = 0; i < guard_bytes; ++i) area[static_cast<std::size_t>(i)] = guard_pattern(i);
  std::byte* data = area.data() + guard_bytes;
  for (std::int64_t i = 0; i < data_bytes; ++i) data[i] = poison[static_cast<std::size_t>(i) % poison.size()];
  for (std::int64_t i = 0; i < guard_bytes; ++i) data[data_bytes + i] = guard_pattern(i);
}

std::int64_t guard_damage(std::span<const std::byte> area, std::int64_t data_bytes) {
  std::int64_t damaged = 0;
  const std::byte* after = area.data() + guard_bytes + data_bytes;
  for (std::int64_t i = 0; i < guard_bytes; ++i) {
    damaged += area[static_cast<std::size_t>(i)] != guard_pattern(i);
    damaged += after[i] != guard_pattern(i);
  }
  return damaged;
}

std::vector<std::uint8_t> unwritten(const std::byte* data, DType dtype, std::int64_t n) {
  const std::vector<std::byte> poison = poison_of(dtype);
  std::vector<std::uint8_t> out(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < n; ++i)
    out[static_cast<std::size_t>(i)] = std::memcmp(data + i * static_cast<std::int64_t>(poison.size()), poison.data(), poison.size()) == 0;
  return out;
}

}  // namespace dd::compare
