// Parameters of graph nodes as the driver writes them: CUDA_KERNEL_NODE_PARAMS_v2, CUDA_MEMSET_NODE_PARAMS and
// CUDA_MEMCPY3D. A test compares them with cuda.h wherever it is installed.
#pragma once
#include <cstddef>
#include <cstdint>

namespace dd::cuda {

struct KernelNode {
  void* function;
  unsigned grid[3], block[3], shared;
  void** parameters;
  void** extra;
  void* kernel;
  void* context;
};

struct FillNode {
  std::uint64_t to;
  std::size_t pitch;
  unsigned value, element_size;
  std::size_t width, height;
};

struct CopyNode {
  std::size_t from_x, from_y, from_z, from_lod;
  int from_type;
  const void* from_host;
  std::uint64_t from_device;
  void *from_array, *reserved;
  std::size_t from_pitch, from_height;
  std::size_t to_x, to_y, to_z, to_lod;
  int to_type;
  void* to_host;
  std::uint64_t to_device;
  void *to_array, *reserved_too;
  std::size_t to_pitch, to_height;
  std::size_t width, height, depth;

  // The number by which CUPTI calls such a copy; 0 where it is none of the common ones.
  int activity_kind() const {
    constexpr int host = 1, device = 2;
    if (from_type == host && to_type == device) return 1;
    if (from_type == device && to_type == host) return 2;
    if (from_type == device && to_type == device) return 8;
    return 0;
  }
};

}  // namespace dd::cuda
