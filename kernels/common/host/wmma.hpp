// nvcuda::wmma for 16x16x16 tiles of half and bfloat16 with f32 accumulators, on the CPU. The element-to-lane mapping is
// private here as it is on the device, so only uses that do not depend on it are right on both.
#pragma once

namespace dd::kernels::wmma {

struct matrix_a;
struct matrix_b;
struct accumulator;
struct row_major;
struct col_major;
enum layout_t { mem_row_major, mem_col_major };

template <class Use, int M, int N, int K, class T, class Layout = void>
struct fragment {
  static_assert(M == 16 && N == 16 && K == 16, "only 16x16x16 is simulated");
  static constexpr int num_elements = 8;
  T x[num_elements];
};

namespace detail {
inline int lane() { return static_cast<int>(threadIdx.x % 32); }
inline int row_of(int element, int lane_index) { return (element * 32 + lane_index) / 16; }
inline int col_of(int element, int lane_index) { return (element * 32 + lane_index) % 16; }

template <class Layout>
struct IsRow;
template <>
struct IsRow<row_major> {
  static constexpr bool value = true;
};
template <>
struct IsRow<col_major> {
  static constexpr bool value = false;
};

struct MmaArg {
  void* d;
  const void* a;
  const void* b;
  const void* c;
};
}  // namespace detail

template <class Use, class T, class Layout>
inline void fill_fragment(fragment<Use, 16, 16, 16, T, Layout>& f, T value) {
  for (T& e : f.x) e = value;
}

template <class Use, class T, class Layout>
inline void load_matrix_sync(fragment<Use, 16, 16, 16, T, Layout>& f, const T* from, unsigned ld) {
  host::require_aligned(from, 32, "wmma load address");
  if (ld * sizeof(T) % 16 != 0) host::fail("wmma leading dimension is not a multiple of 16 bytes");
  host::warp_collective("wmma::load_matrix_sync", nullptr, [](void* const*) {});
  for (int e = 0; e < 8; ++e) {
    const int r = detail::row_of(e, detail::lane()), c = detail::col_of(e, detail::lane());
    f.x[e] = detail::IsRow<Layout>::value ? from[r * ld + c] : from[c * ld + r];
  }
}

inline void store_matrix_sync(float* to, const fragment<accumulator, 16, 16, 16, float>& f, unsigned ld,
                              layout_t layout) {
  host::require_aligned(to, 32, "wmma store address");
  if (ld % 4 != 0) host::fail("wmma leading dimension is not a multiple of 16 bytes");
  host::warp_collective("wmma::store_matrix_sync", nullptr, [](void* const*) {});
  for (int e = 0; e < 8; ++e) {
    const int r = detail::row_of(e, detail::lane()), c = detail::col_of(e, detail::lane());
    (layout == mem_row_major ? to[r * ld + c] : to[c * ld + r]) = f.x[e];
  }
}

template <class T, class LA, class LB>
inline void mma_sync(fragment<accumulator, 16, 16, 16, float>& d, const fragment<matrix_a, 16, 16, 16, T, LA>& a,
                     const fragment<matrix_b, 16, 16, 16, T, LB>& b,
                     const fragment<accumulator, 16, 16, 16, float>& c) {
  using A = fragment<matrix_a, 16, 16, 16, T, LA>;
  using B = fragment<matrix_b, 16, 16, 16, T, LB>;
  using C = fragment<accumulator, 16, 16, 16, float>;
  detail::MmaArg arg{&d, &a, &b, &c};
  host::warp_collective("wmma::mma_sync", &arg, [](void* const* lanes) {
    float ma[16][16], mb[16][16], mc[16][16];
    for (int l = 0; l < 32; ++l) {
      const auto* in = static_cast<detail::MmaArg*>(lanes[l]);
      for (int e = 0; e < 8; ++e) {
        const int r = detail::row_of(e, l), c = detail::col_of(e, l);
        ma[r][c] = to_float(static_cast<const A*>(in->a)->x[e]);
        mb[r][c] = to_float(static_cast<const B*>(in->b)->x[e]);
        mc[r][c] = static_cast<const C*>(in->c)->x[e];
      }
    }
    for (int k = 0; k < 16; ++k)
      for (int i = 0; i < 16; ++i)
        for (int j = 0; j < 16; ++j) mc[i][j] += ma[i][k] * mb[k][j];
    for (int l = 0; l < 32; ++l)
      for (int e = 0; e < 8; ++e)
        static_cast<C*>(static_cast<detail::MmaArg*>(lanes[l])->d)->x[e] = mc[detail::row_of(e, l)][detail::col_of(e, l)];
  });
}

}  // namespace dd::kernels::wmma
