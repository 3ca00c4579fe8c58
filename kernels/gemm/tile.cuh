// Tiles from global into shared memory for the tensor-core kernels. What lies outside the matrix becomes zero.
#pragma once
#include "../common/numeric.cuh"

namespace dd::kernels {

// Lines x Width elements, Width along the dense axis. Aligned: base and line stride are multiples of 16 bytes.
template <class T, int Lines, int Width, int Pitch, int Threads, bool Aligned>
__device__ __forceinline__ void load_tile(T* to, const T* from, std::int64_t line_stride, int lines, int width) {
  constexpr int chunks = Width / 8;
  for (int c = static_cast<int>(threadIdx.x); c < Lines * chunks; c += Threads) {
    const int line = c / chunks, at = c % chunks * 8;
    const int count = line < lines ? smaller(larger(width - at, 0), 8) : 0;
    T* target = to + line * Pitch + at;
    const T* source = count > 0 ? from + line * line_stride + at : from;
    if (Aligned) {
      cp_async16(target, source, count * 2);
    } else {
      DD_UNROLL
      for (int i = 0; i < 8; ++i) target[i] = i < count ? source[i] : from_float<T>(0.0f);
    }
  }
}

}  // namespace dd::kernels
