// x times packed weights without ever writing the dequantized matrix. Two shapes of the same product:
// few rows: a warp owns one column, its lanes stride over k, up to RowsAtOnce rows share each decoded weight;
// many rows: 64x64 tiles on tensor cores, the weights decoded straight into shared memory.
#pragma once
#include "../gemm/epilogue.cuh"
#include "../gemm/tile.cuh"
#include "decode.cuh"

namespace dd::kernels {

// Codes as floats without a conversion instruction: 2^23 + code is exact, and its last bits are the code.
__device__ __forceinline__ float code_to_float(std::uint32_t code, float offset) {
  return bits_as_float(0x4b000000u | code) - offset;
}

// Grid: (ceil(n / warps a block), ceil(m / RowsAtOnce)). Fast: groups are multiples of 128 / Bits (or one covers all),
// packed rows are multiples of 16 bytes from an aligned base, and x is dense in multiples of 16 bytes.
template <class T, int Bits, int RowsAtOnce, bool Fast>
__device__ void packed_few_rows(const QuantArgs& a) {
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int column = static_cast<int>(blockIdx.x) * static_cast<int>(blockDim.x / 32) + warp;
  if (column >= a.n) return;
  const int row0 = static_cast<int>(blockIdx.y) * RowsAtOnce, rows = smaller(a.m - row0, RowsAtOnce);
  const T* x = static_cast<const T*>(a.x) + row0 * a.x_stride;
  float sum[RowsAtOnce];
  DD_UNROLL
  for (int r = 0; r < RowsAtOnce; ++r) sum[r] = 0.0f;

  if (Fast) {
    constexpr int run = 128 / Bits;  // codes in 16 bytes, all of one group
    const std::uint32_t flip = a.zeros ? 0u : Bits == 4 ? 0x88888888u : 0x80808080u;  // signed to offset codes
    for (int k0 = lane * run; k0 < a.k; k0 += 32 * run) {
      const Vec16 codes = load16(a.packed + column * a.packed_stride + k0 * Bits / 8);
      const int group = k0 / a.group;
      const float scale = scale_at<T>(a, group, column);
      const float offset = 8388608.0f + (a.zeros ? zero_at(a, group, column) : static_cast<float>(1 << (Bits - 1)));
      float part[RowsAtOnce];
      DD_UNROLL
      for (int r = 0; r < RowsAtOnce; ++r) part[r] = 0.0f;
      DD_UNROLL
      for (int piece = 0; piece < run / 8; ++piece) {
        float w[8];
        DD_UNROLL
        for (int i = 0; i < 8; ++i) {
          const int bit = (piece * 8 + i) * Bits;
          w[i] = code_to_float((codes.word[bit / 32] ^ flip) >> bit % 32 & ((1u << Bits) - 1), offset);
        }
        DD_UNROLL
        for (int r = 0; r < RowsAtOnce; ++r) {
          if (r >= rows) continue;
          const Vec16 xs = load16(x + r * a.x_stride + k0 + piece * 8);
          DD_UNROLL
          for (int i = 0; i < 4; ++i) {
            const Pair v = unpack2<T>(xs.word[i]);
            part[r] += w[2 * i] * v.low;
            part[r] += w[2 * i + 1] * v.high;
          }
        }
      }
      DD_UNROLL
      for (int r = 0; r < RowsAtOnce; ++r) sum[r] += scale * part[r];
    }
  } else {
    for (int k0 = lane * 8; k0 < a.k; k0 += 32 * 8) {
      float w[8];
      eight_weights<T, Bits>(a, column, k0, w);
      DD_UNROLL
      for (int r = 0; r < RowsAtOnce; ++r)
        for (int i = 0; i < 8; ++i)
          if (r < rows && k0 + i < a.k) sum[r] += w[i] * to_float(x[r * a.x_stride + k0 + i]);
    }
  }
  DD_UNROLL
  for (int r = 0; r < RowsAtOnce; ++r) {
    const float total = warp_sum(sum[r]);
    if (lane == 0 && r < rows)
      static_cast<T*>(a.out)[(row0 + r) * a.out_stride[0] + column * a.out_stride[1]] = from_float<T>(total);
  }
}

// Grid: (ceil(n / 64), ceil(m / 64)), 128 threads.
template <class T, int Bits, bool Aligned>
struct PackedTiles {
  static constexpr int rows = 64, cols = 64, depth = 32, threads = 128, pitch = depth + 8;
  static constexpr int strip_pitch = 20, strip = 16 * strip_pitch;
  static constexpr int tile_elements = (rows + cols) * pitch;
  static constexpr int shared_bytes = tile_elements * 2;
  static_assert(4 * strip * 4 <= shared_bytes);
  using FragX = wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major>;
  using FragW = wmma::fragment<wmma::matrix_b, 16, 16, 16, T, wmma::col_major>;
  using FragC = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

  __device__ static __forceinline__ void decode_tile(const QuantArgs& a, T* to, int col0, int k0) {
    for (int c = static_cast<int>(threadIdx.x); c < cols * depth / 8; c += threads) {
      const int col = c / (depth / 8), at = c % (depth / 8) * 8;
      float w[8];
      DD_UNROLL
      for (int i = 0; i < 8; ++i) w[i] = 0.0f;
      if (col0 + col < a.n && k0 + at < a.k) eight_weights<T, Bits>(a, col0 + col, k0 + at, w);
      store_eight(to + col * pitch + at, w, 8);
    }
  }

  __device__ static void run(const QuantArgs& a) {
    const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
    const int row0 = static_cast<int>(blockIdx.y) * rows, col0 = static_cast<int>(blockIdx.x) * cols;
    const int warp_row = warp / 2 * 32, warp_col = warp % 2 * 32;
    const T* x = static_cast<const T*>(a.x) + row0 * a.x_stride;
    T* tile_x = reinterpret_cast<T*>(shared_memory());
    T* tile_w = tile_x + rows * pitch;
    FragC c[2][2];
    DD_UNROLL
    for (int i = 0; i < 2; ++i)
      DD_UNROLL
      for (int j = 0; j < 2; ++j) wmma::fill_fragment(c[i][j], 0.0f);

    for (int k0 = 0; k0 < a.k; k0 += depth) {
      load_tile<T, rows, depth, pitch, threads, Aligned>(tile_x, x + k0, a.x_stride, a.m - row0, a.k - k0);
      cp_async_commit();
      decode_tile(a, tile_w, col0, k0);
      cp_async_wait<0>();
      __syncthreads();
      DD_UNROLL
      for (int k = 0; k < depth; k += 16) {
        FragX fx[2];
        FragW fw[2];
        DD_UNROLL
        for (int i = 0; i < 2; ++i) {
          wmma::load_matrix_sync(fx[i], tile_x + (warp_row + i * 16) * pitch + k, pitch);
          wmma::load_matrix_sync(fw[i], tile_w + (warp_col + i * 16) * pitch + k, pitch);
        }
        DD_UNROLL
        for (int i = 0; i < 2; ++i)
          DD_UNROLL
          for (int j = 0; j < 2; ++j) wmma::mma_sync(c[i][j], fx[i], fw[j], c[i][j]);
      }
      __syncthreads();
    }

    float* own = reinterpret_cast<float*>(shared_memory()) + warp * strip;
    DD_UNROLL
    for (int i = 0; i < 2; ++i)
      DD_UNROLL
      for (int j = 0; j < 2; ++j) {
        wmma::store_matrix_sync(own, c[i][j], strip_pitch, wmma::mem_row_major);
        __syncwarp();
        const int row = row0 + warp_row + i * 16 + lane / 2, col = col0 + warp_col + j * 16 + lane % 2 * 8;
        const int count = smaller(a.n - col, 8);
        if (row < a.m && count > 0) {
          float v[8];
          DD_UNROLL
          for (int e = 0; e < 8; ++e) v[e] = own[lane / 2 * strip_pitch + lane % 2 * 8 + e];
          store_eight(static_cast<T*>(a.out) + row * a.out_stride[0] + col * a.out_stride[1], v, count, a.out_stride[1]);
        }
        __syncwarp();
      }
  }
};

}  // namespace dd::kernels
