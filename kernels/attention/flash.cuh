// Fused attention forward on tensor cores (mma.sync, f32 accumulators), half or bfloat16. A block owns Rows query rows of
// one head; it walks the keys in steps of Step rows with a running maximum and sum, so the scores never leave registers.
// Needs: head sizes multiples of 8 up to D; in q, k and v the last axis dense, other strides multiples of 8, bases 16-byte
// aligned. The output may lie in any way. A row with nothing to attend to gives zeros. Plain: for calls without mask and
// dropout whose scale is positive (flash_is_plain); the maximum is then taken of unscaled scores, and the scale becomes a
// part of the exponent's multiply-add. Grid: (ceil(q_len / Rows), heads, batch).
#pragma once
#include "mask.cuh"

namespace dd::kernels {

template <class T, int D, int Rows, int Step, int Tiles, bool Plain>
struct Flash {
  static constexpr int warps = Rows / (16 * Tiles);
  static constexpr int threads = 32 * warps;
  static constexpr int pitch = D + 8;  // 16 bytes of padding: eight rows of ldmatrix fall into different banks
  static constexpr int shared_bytes = (Rows + 2 * Step) * pitch * 2;
  static_assert(D % 16 == 0 && Step % 16 == 0 && Rows % (16 * Tiles) == 0);

  struct State {
    float out[Tiles][D / 8][4];
    float largest[Tiles][2];  // of the exponent arguments (Plain: the scores), for the two rows that a lane holds of each tile
    float total[Tiles][2];    // this lane's share
  };

  // Count x D elements into shared memory; rows and columns that do not exist become zero. Neighbouring threads share a
  // power of two of columns and come back for the rest of a row (96, 192), so that every trip count is known when compiled.
  template <int Count>
  __device__ static __forceinline__ void load(T* to, const T* from, std::int64_t row_stride, int rows, int columns) {
    constexpr int width = D & -D, lanes = width / 8, step = threads / lanes;
    static_assert(threads % lanes == 0 && Count % step == 0);
    const int row = static_cast<int>(threadIdx.x) / lanes, col = static_cast<int>(threadIdx.x) % lanes * 8;
    const T* source = from + row * row_stride + col;
    to += row * pitch + col;
    if (rows >= Count && columns == D) {  // nearly every tile: nothing to ask for each copy
      DD_UNROLL
      for (int i = 0; i < Count; i += step, source += step * row_stride)
        DD_UNROLL
        for (int c = 0; c < D; c += width) cp_async16(to + i * pitch + c, source + c, 16);
      return;
    }
    DD_NO_UNROLL  // at the edges, and for head sizes between two instances: small code, few registers
    for (int i = 0; i < Count; i += step, source += step * row_stride)
      DD_UNROLL
      for (int c = 0; c < D; c += width) {
        const bool real = row + i < rows && col + c < columns;
        cp_async16(to + i * pitch + c, real ? source + c : from, real ? 16 : 0);
      }
  }

  __device__ static __forceinline__ void multiply_scores(float (&s)[Tiles][Step / 8][4], const T* q, const T* k,
                                                         int lane, int warp) {
    DD_UNROLL
    for (int t = 0; t < Tiles; ++t)
      DD_UNROLL
      for (int n = 0; n < Step / 8; ++n)
        DD_UNROLL
        for (int e = 0; e < 4; ++e) s[t][n][e] = 0.0f;
    DD_UNROLL
    for (int kk = 0; kk < D; kk += 16) {
      std::uint32_t a[Tiles][4];
      DD_UNROLL
      for (int t = 0; t < Tiles; ++t)
        ldmatrix_x4(a[t], q + ((warp * Tiles + t) * 16 + lane % 16) * pitch + kk + lane / 16 * 8);
      DD_UNROLL
      for (int n = 0; n < Step / 16; ++n) {
        std::uint32_t b[4];
        ldmatrix_x4(b, k + (n * 16 + lane % 8 + lane / 16 * 8) * pitch + kk + lane / 8 % 2 * 8);
        DD_UNROLL
        for (int t = 0; t < Tiles; ++t) {
          mma_16816<T>(s[t][2 * n], a[t], b[0], b[1]);
          mma_16816<T>(s[t][2 * n + 1], a[t], b[2], b[3]);
        }
      }
    }
  }

  // What must not take part becomes minus infinity; the other scores become exponent arguments in base 2 (Plain: later).
  __device__ static __forceinline__ void apply_mask(const AttentionArgs& a, float (&s)[Tiles][Step / 8][4], int row0,
                                                    int column0, int head, int batch, int lane) {
    const float scale = static_cast<float>(a.scale);
    DD_UNROLL
    for (int t = 0; t < Tiles; ++t)
      DD_UNROLL
      for (int e = 0; e < 4; ++e) {
        const int row = row0 + t * 16 + lane / 4 + e / 2 * 8;
        const int columns = row < a.q_len ? visible_columns(a, row) : 0;
        DD_UNROLL
        for (int n = 0; n < Step / 8; ++n) {
          const int column = column0 + n * 8 + lane % 4 * 2 + e % 2;
          float& x = s[t][n][e];
          if (column >= columns)
            x = minus_infinity<float>();
          else if (!Plain)
            x = masked<T>(a, batch, head, row, column, x * scale) * static_cast<float>(log2_e);
        }
      }
  }

  // `factor` makes exponent arguments of s; it is positive, so the largest stays the largest and minus infinity itself.
  __device__ static __forceinline__ void softmax_step(State& st, float (&s)[Tiles][Step / 8][4], float factor) {
    DD_UNROLL
    for (int t = 0; t < Tiles; ++t)
      DD_UNROLL
      for (int half = 0; half < 2; ++half) {
        float now = st.largest[t][half];
        DD_UNROLL
        for (int n = 0; n < Step / 8; ++n) now = fmaxf(now, fmaxf(s[t][n][2 * half], s[t][n][2 * half + 1]));
        now = fmaxf(now, __shfl_xor_sync(full_warp, now, 1));
        now = fmaxf(now, __shfl_xor_sync(full_warp, now, 2));
        const float base = now == minus_infinity<float>() ? 0.0f : now * factor;
        const float shrink = exp2_fast(st.largest[t][half] * factor - base);
        float sum = 0.0f;
        DD_UNROLL
        for (int n = 0; n < Step / 8; ++n)
          DD_UNROLL
          for (int e = 2 * half; e < 2 * half + 2; ++e) sum += s[t][n][e] = exp2_fast(s[t][n][e] * factor - base);
        st.total[t][half] = st.total[t][half] * shrink + sum;
        st.largest[t][half] = now;
        DD_UNROLL
        for (int n = 0; n < D / 8; ++n)
          DD_UNROLL
          for (int e = 2 * half; e < 2 * half + 2; ++e) st.out[t][n][e] *= shrink;
      }
  }

  __device__ static __forceinline__ void apply_dropout(const AttentionArgs& a, float (&s)[Tiles][Step / 8][4], int row0,
                                                       int column0, int head, int batch, int lane) {
    DD_UNROLL
    for (int t = 0; t < Tiles; ++t)
      DD_UNROLL
      for (int e = 0; e < 4; ++e) {
        const int row = row0 + t * 16 + lane / 4 + e / 2 * 8;
        DD_UNROLL
        for (int n = 0; n < Step / 8; ++n) {
          const int column = column0 + n * 8 + lane % 4 * 2 + e % 2;
          if (row < a.q_len && column < a.kv_len)
            s[t][n][e] = dropped(a, batch, head, row, column, s[t][n][e]);
        }
      }
  }

  __device__ static __forceinline__ void multiply_values(State& st, const float (&s)[Tiles][Step / 8][4], const T* v,
                                                         int lane) {
    DD_UNROLL
    for (int kk = 0; kk < Step / 16; ++kk) {
      std::uint32_t a[Tiles][4];
      DD_UNROLL
      for (int t = 0; t < Tiles; ++t) {
        a[t][0] = pack2<T>(s[t][2 * kk][0], s[t][2 * kk][1]);
        a[t][1] = pack2<T>(s[t][2 * kk][2], s[t][2 * kk][3]);
        a[t][2] = pack2<T>(s[t][2 * kk + 1][0], s[t][2 * kk + 1][1]);
        a[t][3] = pack2<T>(s[t][2 * kk + 1][2], s[t][2 * kk + 1][3]);
      }
      DD_UNROLL
      for (int n = 0; n < D / 16; ++n) {
        std::uint32_t b[4];
        ldmatrix_x4_trans(b, v + (kk * 16 + lane % 16) * pitch + n * 16 + lane / 16 * 8);
        DD_UNROLL
        for (int t = 0; t < Tiles; ++t) {
          mma_16816<T>(st.out[t][2 * n], a[t], b[0], b[1]);
          mma_16816<T>(st.out[t][2 * n + 1], a[t], b[2], b[3]);
        }
      }
    }
  }

  __device__ static __forceinline__ void write(const AttentionArgs& a, State& st, T* out, int row0, int lane) {
    DD_UNROLL
    for (int t = 0; t < Tiles; ++t)
      DD_UNROLL
      for (int half = 0; half < 2; ++half) {
        float total = st.total[t][half];
        total += __shfl_xor_sync(full_warp, total, 1);
        total += __shfl_xor_sync(full_warp, total, 2);
        const float factor = total == 0.0f ? 0.0f : 1.0f / total;
        const int row = row0 + t * 16 + lane / 4 + half * 8;
        if (row >= a.q_len) continue;
        T* to = out + row * a.out_stride[2];
        // Both neighbours in one store where they are neighbours in memory too, at an address that takes it.
        const bool pairs = a.out_stride[3] == 1 && reinterpret_cast<std::uintptr_t>(to) % 4 == 0;
        DD_UNROLL
        for (int n = 0; n < D / 8; ++n) {
          const int column = n * 8 + lane % 4 * 2;
          if (column >= a.v_dim) continue;
          const float low = st.out[t][n][2 * half] * factor, high = st.out[t][n][2 * half + 1] * factor;
          if (pairs) {
            store4(to + column, pack2<T>(low, high));
          } else {
            to[column * a.out_stride[3]] = from_float<T>(low);
            to[(column + 1) * a.out_stride[3]] = from_float<T>(high);
          }
        }
      }
  }

  __device__ static void run(const AttentionArgs& a) {
    const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
    const int batch = static_cast<int>(blockIdx.z), head = static_cast<int>(blockIdx.y);
    const int kv_head = head / (a.heads / a.kv_heads);
    // The longest rows of a causal problem start first, so that the last wave is short.
    const int block_row = static_cast<int>(gridDim.x - 1 - blockIdx.x) * Rows;
    const int warp_row = block_row + warp * Tiles * 16;
    const T* q = static_cast<const T*>(a.q) + batch * a.q_stride[0] + head * a.q_stride[1] + block_row * a.q_stride[2];
    const T* k = static_cast<const T*>(a.k) + batch * a.k_stride[0] + kv_head * a.k_stride[1];
    const T* v = static_cast<const T*>(a.v) + batch * a.v_stride[0] + kv_head * a.v_stride[1];
    T* shared_q = reinterpret_cast<T*>(shared_memory());
    T* shared_k = shared_q + Rows * pitch;
    T* shared_v = shared_k + Step * pitch;

    State st;
    DD_UNROLL
    for (int t = 0; t < Tiles; ++t) {
      DD_UNROLL
      for (int n = 0; n < D / 8; ++n)
        DD_UNROLL
        for (int e = 0; e < 4; ++e) st.out[t][n][e] = 0.0f;
      DD_UNROLL
      for (int half = 0; half < 2; ++half) {
        st.largest[t][half] = minus_infinity<float>();
        st.total[t][half] = 0.0f;
      }
    }
    // The last row of the block sees most.
    const int columns = visible_columns(a, smaller(block_row + Rows, a.q_len) - 1);
    // Up to here every row of the block sees everything.
    const int unmasked = visible_columns(a, block_row);
    const float factor = Plain ? static_cast<float>(a.scale * log2_e) : 1.0f;
    if (columns > 0) {
      load<Rows>(shared_q, q, a.q_stride[2], a.q_len - block_row, a.dim);
      load<Step>(shared_k, k, a.k_stride[2], a.kv_len, a.dim);
      cp_async_commit();
    }
    for (int column0 = 0; column0 < columns; column0 += Step) {
      cp_async_wait<0>();
      __syncthreads();  // the keys are here, and the values of the step before have been read
      load<Step>(shared_v, v + column0 * a.v_stride[2], a.v_stride[2], a.kv_len - column0, a.v_dim);
      cp_async_commit();
      float s[Tiles][Step / 8][4];
      multiply_scores(s, shared_q, shared_k, lane, warp);
      if (!Plain || column0 + Step > unmasked) apply_mask(a, s, warp_row, column0, head, batch, lane);
      softmax_step(st, s, factor);
      if (!Plain && a.keep) apply_dropout(a, s, warp_row, column0, head, batch, lane);
      cp_async_wait<0>();
      __syncthreads();  // the values are here, and the keys have been read
      const int next = column0 + Step;
      if (next < columns) load<Step>(shared_k, k + next * a.k_stride[2], a.k_stride[2], a.kv_len - next, a.dim);
      cp_async_commit();
      multiply_values(st, s, shared_v, lane);
    }
    write(a, st, static_cast<T*>(a.out) + batch * a.out_stride[0] + head * a.out_stride[1], warp_row, lane);
  }
};

}  // namespace dd::kernels
