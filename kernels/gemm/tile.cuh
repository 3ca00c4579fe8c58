// Tiles from global into shared memory for the tensor-core kernels. What lies outside the matrix becomes zero.
#pragma once
#include "../common/numeric.cuh"

namespace dd::kernels {

// Lines x Width elements, Width along the dense axis. Aligned: base and line stride are multiples of 16 bytes. Neighbouring
// threads share a line; a thread keeps its columns and walks down the lines, a number of times that is known when compiled.
template <class T, int Lines, int Width, int Pitch, int Threads, bool Aligned>
__device__ __forceinline__ void load_tile(T* to, const T* from, std::int64_t line_stride, int lines, int width) {
  constexpr int chunks = Width / 8, step = Threads / chunks;
  static_assert(Threads % chunks == 0 && Lines % step == 0);
  const int line = static_cast<int>(threadIdx.x) / chunks, at = static_cast<int>(threadIdx.x) % chunks * 8;
  T* target = to + line * Pitch + at;
  const T* source = from + line * line_stride + at;
  if (Aligned && lines >= Lines && width >= Width) {  // nearly every tile: nothing to ask for each copy
    DD_UNROLL
    for (int i = 0; i < Lines; i += step, source += step * line_stride) cp_async16(target + i * Pitch, source, 16);
    return;
  }
  const int across = smaller(larger(width - at, 0), 8);
  DD_UNROLL
  for (int i = 0; i < Lines; i += step, source += step * line_stride) {
    const int count = line + i < lines ? across : 0;
    if (Aligned) {
      cp_async16(target + i * Pitch, count > 0 ? source : from, count * 2);
    } else {
      DD_UNROLL
      for (int e = 0; e < 8; ++e) target[i * Pitch + e] = e < count ? source[e] : from_float<T>(0.0f);
    }
  }
}

}  // namespace dd::kernels
