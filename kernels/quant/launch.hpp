// Geometry of the quantized kernels and the choice between their variants.
#pragma once
#include "../common/launch.hpp"
#include "args.hpp"

namespace dd::kernels {

constexpr int few_rows_limit = 8;     // up to here a warp owns a column, above it tiles on tensor cores
constexpr int few_rows_warps = 4;
constexpr int packed_tile = 64;

// Rows a pass of the few-rows kernel: instances for 1, 2 and 4.
inline int few_rows_at_once(int m) { return m <= 1 ? 1 : m <= 2 ? 2 : 4; }

// Whether the few-rows kernel may read 16 bytes of codes at once, all of one group.
inline bool few_rows_fast(const QuantArgs& a, int bits) {
  const int run = 128 / bits;
  return a.k % run == 0 && (a.group >= a.k || a.group % run == 0) && a.packed_stride % 16 == 0 &&
         reinterpret_cast<std::uintptr_t>(a.packed) % 16 == 0 && a.x_stride % 8 == 0 &&
         reinterpret_cast<std::uintptr_t>(a.x) % 16 == 0;
}
inline LaunchShape few_rows_launch(const QuantArgs& a) {
  return {{blocks_for(a.n, few_rows_warps), blocks_for(a.m, few_rows_at_once(a.m)), 1}, 32 * few_rows_warps, 0};
}
inline bool packed_x_aligned(const QuantArgs& a) {
  return a.x_stride % 8 == 0 && reinterpret_cast<std::uintptr_t>(a.x) % 16 == 0;
}
inline LaunchShape packed_tiles_launch(const QuantArgs& a) {
  return {{blocks_for(a.n, packed_tile), blocks_for(a.m, packed_tile), 1}, 128, 2 * packed_tile * 40 * 2};
}
inline LaunchShape dequantize_launch(const QuantArgs& a) {
  return {{blocks_for(static_cast<std::int64_t>((a.k + 7) / 8) * a.n, 256), 1, 1}, 256, 0};
}

inline LaunchShape rescale_launch(const RescaleArgs& a) {
  return {{blocks_for(static_cast<std::int64_t>(a.batch) * a.m * a.n, 256), 1, 1}, 256, 0};
}

}  // namespace dd::kernels
