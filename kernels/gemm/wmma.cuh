// Matrix product on tensor cores through wmma fragments, half or bfloat16 in, f32 accumulators, any sizes, each operand
// in either orientation (XT: x has its rows dense; WT: w has its columns dense along k). Three stages of asynchronous
// copies when Aligned, element-wise copies otherwise. The result may lie in any way. Grid: (ceil(n / Cols), ceil(m / Rows), batch).
#pragma once
#include "epilogue.cuh"
#include "tile.cuh"

namespace dd::kernels {

template <class T, class TOut, int Rows, int Cols, int WarpRows, int WarpCols, bool XT, bool WT, bool Aligned>
struct GemmWmma {
  static constexpr int depth = 32, stages = 3;
  static constexpr int warps_across = Cols / WarpCols, warps = Rows / WarpRows * warps_across;
  static constexpr int threads = 32 * warps;
  static constexpr int x_lines = XT ? depth : Rows, x_width = XT ? Rows : depth, x_pitch = x_width + 8;
  static constexpr int w_lines = WT ? Cols : depth, w_width = WT ? depth : Cols, w_pitch = w_width + 8;
  static constexpr int x_tile = x_lines * x_pitch, w_tile = w_lines * w_pitch, stage = x_tile + w_tile;
  static constexpr int shared_bytes = stages * stage * 2;
  static constexpr int strip_pitch = WarpCols + 4, strip = 16 * strip_pitch;  // a warp's results on the way out
  static_assert(warps * strip * 4 <= shared_bytes && WarpRows % 16 == 0 && WarpCols % 16 == 0);

  static constexpr int tiles_m = WarpRows / 16, tiles_n = WarpCols / 16;
  template <bool ColumnMajor, class Dummy = void>
  struct Layout {
    using type = wmma::row_major;
  };
  template <class Dummy>
  struct Layout<true, Dummy> {
    using type = wmma::col_major;
  };
  using FragX = wmma::fragment<wmma::matrix_a, 16, 16, 16, T, typename Layout<XT>::type>;
  using FragW = wmma::fragment<wmma::matrix_b, 16, 16, 16, T, typename Layout<WT>::type>;
  using FragC = wmma::fragment<wmma::accumulator, 16, 16, 16, float>;

  // x and w point at this block's first row and column; k0 is where the stage begins.
  __device__ static __forceinline__ void load(const GemmArgs& a, T* to, const T* x, const T* w, int rows, int columns,
                                              int k0) {
    const int left = a.k - k0;
    if (XT)
      load_tile<T, x_lines, x_width, x_pitch, threads, Aligned>(to, x + k0 * a.x_stride[2], a.x_stride[2], left, rows);
    else
      load_tile<T, x_lines, x_width, x_pitch, threads, Aligned>(to, x + k0, a.x_stride[1], rows, left);
    if (WT)
      load_tile<T, w_lines, w_width, w_pitch, threads, Aligned>(to + x_tile, w + k0, a.w_stride[2], columns, left);
    else
      load_tile<T, w_lines, w_width, w_pitch, threads, Aligned>(to + x_tile, w + k0 * a.w_stride[1], a.w_stride[1], left,
                                                                columns);
  }

  __device__ static __forceinline__ void multiply(const T* tile, FragC (&c)[tiles_m][tiles_n], int warp_row,
                                                  int warp_col) {
    DD_UNROLL
    for (int k = 0; k < depth; k += 16) {
      FragX fx[tiles_m];
      FragW fw[tiles_n];
      DD_UNROLL
      for (int i = 0; i < tiles_m; ++i) {
        const int row = warp_row + i * 16;
        wmma::load_matrix_sync(fx[i], tile + (XT ? k * x_pitch + row : row * x_pitch + k), x_pitch);
      }
      DD_UNROLL
      for (int j = 0; j < tiles_n; ++j) {
        const int col = warp_col + j * 16;
        wmma::load_matrix_sync(fw[j], tile + x_tile + (WT ? col * w_pitch + k : k * w_pitch + col), w_pitch);
      }
      DD_UNROLL
      for (int i = 0; i < tiles_m; ++i)
        DD_UNROLL
        for (int j = 0; j < tiles_n; ++j) wmma::mma_sync(c[i][j], fx[i], fw[j], c[i][j]);
    }
  }

  __device__ static __forceinline__ void write(const GemmArgs& a, FragC (&c)[tiles_m][tiles_n], TOut* out, int row0,
                                               int col0, int lane, int warp) {
    float* own = reinterpret_cast<float*>(shared_memory()) + warp * strip;
    DD_UNROLL
    for (int i = 0; i < tiles_m; ++i) {
      DD_UNROLL
      for (int j = 0; j < tiles_n; ++j)
        wmma::store_matrix_sync(own + j * 16, c[i][j], strip_pitch, wmma::mem_row_major);
      __syncwarp();
      DD_NO_UNROLL
      for (int piece = lane; piece < 16 * WarpCols / 8; piece += 32) {
        const int r = piece / (WarpCols / 8), at = piece % (WarpCols / 8) * 8;
        const int row = row0 + i * 16 + r, col = col0 + at, count = smaller(a.n - col, 8);
        if (row < a.m && count > 0)
          finish_eight<T>(a, out + row * a.out_stride[1] + col * a.out_stride[2], own + r * strip_pitch + at, col, count);
      }
      __syncwarp();
    }
  }

  __device__ static void run(const GemmArgs& a) {
    const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
    const int row0 = static_cast<int>(blockIdx.y) * Rows, col0 = static_cast<int>(blockIdx.x) * Cols;
    const int warp_row = warp / warps_across * WarpRows, warp_col = warp % warps_across * WarpCols;
    const T* x = static_cast<const T*>(a.x) + blockIdx.z * a.x_stride[0] + row0 * a.x_stride[1];
    const T* w = static_cast<const T*>(a.w) + blockIdx.z * a.w_stride[0] + col0 * a.w_stride[2];
    TOut* out = static_cast<TOut*>(a.out) + blockIdx.z * a.out_stride[0];
    T* shared = reinterpret_cast<T*>(shared_memory());

    FragC c[tiles_m][tiles_n];
    DD_UNROLL
    for (int i = 0; i < tiles_m; ++i)
      DD_UNROLL
      for (int j = 0; j < tiles_n; ++j) wmma::fill_fragment(c[i][j], 0.0f);

    const int steps = (a.k + depth - 1) / depth;
    for (int s = 0; s < stages - 1; ++s) {
      if (s < steps) load(a, shared + s * stage, x, w, a.m - row0, a.n - col0, s * depth);
      cp_async_commit();
    }
    for (int s = 0; s < steps; ++s) {
      cp_async_wait<stages - 2>();
      __syncthreads();  // stage s is here, and everybody is done with the one that the next load overwrites
      const int ahead = s + stages - 1;
      if (ahead < steps) load(a, shared + ahead % stages * stage, x, w, a.m - row0, a.n - col0, ahead * depth);
      cp_async_commit();
      multiply(shared + s % stages * stage, c, warp_row, warp_col);
    }
    __syncthreads();  // the stages become the strips for the results
    write(a, c, out, row0 + warp_row, col0 + warp_col, lane, warp);
  }
};

}  // namespace dd::kernels
