// The CUDA names that our kernels use, with their meaning on the CPU. The build picks this file or cuda/gpu.hpp by
// include path, so that a kernel file has one source and no conditional code. Semantics follow the CUDA C++ programming
// guide and the PTX ISA 9.0 (fragment layouts of mma.m16n8k16 and ldmatrix), checked by tests/kernels.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "host/float16.hpp"
#include "host/sim.hpp"

#define __global__
#define __device__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define DD_UNROLL
#define DD_NO_UNROLL

namespace dd::kernels {

constexpr unsigned full_warp = 0xffffffffu;

inline unsigned char* shared_memory() { return host::shared_memory(); }
inline void __syncthreads() { host::barrier(); }

inline void __syncwarp() {
  host::warp_collective("__syncwarp", nullptr, [](void* const*) {});
}

namespace host {
template <class T>
struct ShuffleArg {
  T value;
  T result;
  int selector;
};
}  // namespace host

template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask) {
  if (mask != full_warp) host::fail("only full-warp shuffles are simulated");
  host::ShuffleArg<T> arg{value, value, lane_mask};
  host::warp_collective("__shfl_xor_sync", &arg, [](void* const* lanes) {
    for (int i = 0; i < 32; ++i) {
      auto* self = static_cast<host::ShuffleArg<T>*>(lanes[i]);
      self->result = static_cast<host::ShuffleArg<T>*>(lanes[(i ^ self->selector) & 31])->value;
    }
  });
  return arg.result;
}

template <class T>
inline T __shfl_sync(unsigned mask, T value, int lane) {
  if (mask != full_warp) host::fail("only full-warp shuffles are simulated");
  host::ShuffleArg<T> arg{value, value, lane};
  host::warp_collective("__shfl_sync", &arg, [](void* const* lanes) {
    for (int i = 0; i < 32; ++i) {
      auto* self = static_cast<host::ShuffleArg<T>*>(lanes[i]);
      self->result = static_cast<host::ShuffleArg<T>*>(lanes[self->selector & 31])->value;
    }
  });
  return arg.result;
}

// 16 bytes at once, as the device does it: a misaligned address is an error there.
struct alignas(16) Vec16 {
  std::uint32_t word[4];
};
inline Vec16 load16(const void* from) {
  host::require_aligned(from, 16, "16-byte load");
  Vec16 v;
  std::memcpy(&v, from, 16);
  return v;
}
inline std::uint32_t load4(const void* from) {
  host::require_aligned(from, 4, "4-byte load");
  std::uint32_t v;
  std::memcpy(&v, from, 4);
  return v;
}
inline void store16(void* to, const Vec16& v) {
  host::require_aligned(to, 16, "16-byte store");
  std::memcpy(to, &v, 16);
}
inline void store4(void* to, std::uint32_t v) {
  host::require_aligned(to, 4, "4-byte store");
  std::memcpy(to, &v, 4);
}

// Asynchronous copy of 16 bytes from global to shared memory; only `bytes` of them are read, the rest become zero.
inline void cp_async16(void* to_shared, const void* from_global, int bytes) {
  host::require_aligned(to_shared, 16, "cp.async destination");
  host::require_aligned(from_global, 16, "cp.async source");
  host::async_copy(to_shared, from_global, static_cast<std::size_t>(bytes), static_cast<std::size_t>(16 - bytes));
}
inline void cp_async_commit() { host::async_commit(); }
template <int GroupsLeft>
inline void cp_async_wait() {
  host::async_wait(GroupsLeft);
}

namespace host {
struct LdmatrixArg {
  const void* row;
  std::uint32_t* result;
};
// Matrix i has its eight row addresses in lanes 8i..8i+7; lane l receives row l/4, columns 2*(l%4) and the next.
template <bool Transposed>
inline void ldmatrix(std::uint32_t (&result)[4], const void* row) {
  require_aligned(row, 16, "ldmatrix row");
  LdmatrixArg arg{row, result};
  warp_collective(Transposed ? "ldmatrix.trans" : "ldmatrix", &arg, [](void* const* lanes) {
    for (int matrix = 0; matrix < 4; ++matrix) {
      std::uint16_t m[8][8];
      for (int r = 0; r < 8; ++r) std::memcpy(m[r], static_cast<LdmatrixArg*>(lanes[8 * matrix + r])->row, 16);
      for (int lane = 0; lane < 32; ++lane) {
        const int r = lane / 4, c = lane % 4 * 2;
        const std::uint32_t low = Transposed ? m[c][r] : m[r][c];
        const std::uint32_t high = Transposed ? m[c + 1][r] : m[r][c + 1];
        static_cast<LdmatrixArg*>(lanes[lane])->result[matrix] = low | high << 16;
      }
    }
  });
}
}  // namespace host

inline void ldmatrix_x4(std::uint32_t (&result)[4], const void* row) { host::ldmatrix<false>(result, row); }
inline void ldmatrix_x4_trans(std::uint32_t (&result)[4], const void* row) { host::ldmatrix<true>(result, row); }

namespace host {
template <class T>
inline float element_of(std::uint32_t word, int half) {
  T value;
  value.bits = static_cast<std::uint16_t>(half ? word >> 16 : word & 0xffff);
  return to_float(value);
}

struct MmaArg {
  float* c;
  const std::uint32_t* a;
  std::uint32_t b[2];
};

template <class T>
inline void mma_lanes(void* const* lanes) {
  float a[16][16], b[16][8], c[16][8];
  for (int lane = 0; lane < 32; ++lane) {
    const auto* arg = static_cast<MmaArg*>(lanes[lane]);
    const int group = lane / 4, pair = lane % 4 * 2;
    for (int h = 0; h < 2; ++h) {
      a[group][pair + h] = element_of<T>(arg->a[0], h);
      a[group + 8][pair + h] = element_of<T>(arg->a[1], h);
      a[group][pair + 8 + h] = element_of<T>(arg->a[2], h);
      a[group + 8][pair + 8 + h] = element_of<T>(arg->a[3], h);
      b[pair + h][group] = element_of<T>(arg->b[0], h);
      b[pair + 8 + h][group] = element_of<T>(arg->b[1], h);
      c[group][pair + h] = arg->c[h];
      c[group + 8][pair + h] = arg->c[2 + h];
    }
  }
  for (int k = 0; k < 16; ++k)
    for (int i = 0; i < 16; ++i)
      for (int j = 0; j < 8; ++j) c[i][j] += a[i][k] * b[k][j];
  for (int lane = 0; lane < 32; ++lane) {
    auto* arg = static_cast<MmaArg*>(lanes[lane]);
    const int group = lane / 4, pair = lane % 4 * 2;
    for (int h = 0; h < 2; ++h) {
      arg->c[h] = c[group][pair + h];
      arg->c[2 + h] = c[group + 8][pair + h];
    }
  }
}
}  // namespace host

// c (16x8, f32) += a (16x16) * b (16x8), each lane holding its fragment.
template <class T>
inline void mma_16816(float (&c)[4], const std::uint32_t (&a)[4], std::uint32_t b0, std::uint32_t b1) {
  host::MmaArg arg{c, a, {b0, b1}};
  host::warp_collective("mma.m16n8k16", &arg, &host::mma_lanes<T>);
}

template <class T>
inline std::uint32_t pack2(float low, float high) {
  return static_cast<std::uint32_t>(from_float<T>(low).bits) | static_cast<std::uint32_t>(from_float<T>(high).bits)
                                                                   << 16;
}

struct Pair {
  float low, high;
};
template <class T>
inline Pair unpack2(std::uint32_t word) {
  return {host::element_of<T>(word, 0), host::element_of<T>(word, 1)};
}
inline float bits_as_float(std::uint32_t bits) { return std::bit_cast<float>(bits); }

// ex2.approx.ftz.f32 but for its last bits: results below the normal numbers are zero.
inline float exp2_fast(float x) {
  const float y = exp2f(x);
  return y < 0x1p-126f ? 0.0f : y;
}

}  // namespace dd::kernels

#include "host/wmma.hpp"
