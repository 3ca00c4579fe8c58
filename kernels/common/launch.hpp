// Launch geometry as plain numbers, computed once for the device launcher and for the CPU simulation.
#pragma once
#include <cstdint>

namespace dd::kernels {

struct LaunchShape {
  std::int64_t grid[3] = {1, 1, 1};
  std::int32_t threads = 32;
  std::int32_t shared_bytes = 0;
};

// Hardware limits on a grid, the same since compute capability 3.0.
constexpr std::int64_t max_grid_x = 2147483647, max_grid_yz = 65535;
constexpr bool fits_grid(const LaunchShape& s) {
  return s.grid[0] <= max_grid_x && s.grid[1] <= max_grid_yz && s.grid[2] <= max_grid_yz;
}
constexpr std::int64_t blocks_for(std::int64_t items, std::int64_t per_block) {
  return (items + per_block - 1) / per_block;
}

}  // namespace dd::kernels
