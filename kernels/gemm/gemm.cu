// Entry points of the matrix product kernels for the device, by plain C names:
// dd_gemm_naive_<x>_<w>_<out>, dd_gemm_wmma_<type>_<out>_<block rows>_<x n|t><w n|t>_<aligned 0|1>.
#include "launch.hpp"
#include "naive.cuh"
#include "wmma.cuh"

namespace dd::kernels {

#define DD_NAIVE(x, w, out, TX, TW, TO)                                                                \
  extern "C" __global__ void dd_gemm_naive_##x##_##w##_##out(const __grid_constant__ GemmArgs a) {     \
    gemm_naive<TX, TW, TO>(a);                                                                         \
  }
#include "naive_types.def"
#undef DD_NAIVE

#define DD_WMMA_ONE(tag, otag, T, TO, rows, cols, wr, wc, lx, lw, xt, wt, al)                                      \
  extern "C" __global__ void __launch_bounds__(GemmWmma<T, TO, rows, cols, wr, wc, xt, wt, al>::threads)           \
      dd_gemm_wmma_##tag##_##otag##_##rows##_##lx##lw##_##al(const __grid_constant__ GemmArgs a) {                 \
    GemmWmma<T, TO, rows, cols, wr, wc, xt, wt, al>::run(a);                                                       \
  }                                                                                                                \
  static_assert(GemmInstance{rows, cols, wr, wc}.shared_bytes(xt, wt) ==                                           \
                    GemmWmma<T, TO, rows, cols, wr, wc, xt, wt, al>::shared_bytes &&                               \
                GemmInstance{rows, cols, wr, wc}.threads() == GemmWmma<T, TO, rows, cols, wr, wc, xt, wt, al>::threads);
#define DD_WMMA_ALIGNED(tag, otag, T, TO, rows, cols, wr, wc, lx, lw, xt, wt) \
  DD_WMMA_ONE(tag, otag, T, TO, rows, cols, wr, wc, lx, lw, xt, wt, 0)        \
  DD_WMMA_ONE(tag, otag, T, TO, rows, cols, wr, wc, lx, lw, xt, wt, 1)
#define DD_WMMA_LAYOUTS(tag, otag, T, TO, rows, cols, wr, wc)                 \
  DD_WMMA_ALIGNED(tag, otag, T, TO, rows, cols, wr, wc, n, n, false, false)   \
  DD_WMMA_ALIGNED(tag, otag, T, TO, rows, cols, wr, wc, n, t, false, true)    \
  DD_WMMA_ALIGNED(tag, otag, T, TO, rows, cols, wr, wc, t, n, true, false)    \
  DD_WMMA_ALIGNED(tag, otag, T, TO, rows, cols, wr, wc, t, t, true, true)
#define DD_GEMM(rows, cols, wr, wc)                                                     \
  DD_WMMA_LAYOUTS(f16, f16, __half, __half, rows, cols, wr, wc)                         \
  DD_WMMA_LAYOUTS(f16, f32, __half, float, rows, cols, wr, wc)                          \
  DD_WMMA_LAYOUTS(bf16, bf16, __nv_bfloat16, __nv_bfloat16, rows, cols, wr, wc)         \
  DD_WMMA_LAYOUTS(bf16, f32, __nv_bfloat16, float, rows, cols, wr, wc)
#include "instances.def"
#undef DD_GEMM

}  // namespace dd::kernels
