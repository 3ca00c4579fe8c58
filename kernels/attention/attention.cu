// Entry points of the attention kernels for the device, by plain C names: dd_flash_<type>_<head size>,
// dd_flash_plain_<type>_<head size>, dd_attention_naive_<type>, dd_attention_softmax_<score type>_<probability type>.
#include "flash.cuh"
#include "launch.hpp"
#include "naive.cuh"
#include "softmax.cuh"

namespace dd::kernels {

#define DD_FLASH_ENTRY(tag, T, d, rows, step, tiles, plain)                                                              \
  extern "C" __global__ void __launch_bounds__(Flash<T, d, rows, step, tiles, plain>::threads)                          \
      dd_flash_##tag##_##d(const __grid_constant__ AttentionArgs a) {                                                   \
    Flash<T, d, rows, step, tiles, plain>::run(a);                                                                      \
  }                                                                                                                     \
  static_assert(FlashInstance{d, rows, step, step, tiles}.shared_bytes(plain) == Flash<T, d, rows, step, tiles, plain>::shared_bytes && \
                FlashInstance{d, rows, step, step, tiles}.threads() == Flash<T, d, rows, step, tiles, plain>::threads);
#define DD_FLASH(d, rows, step, plain_step, tiles)                        \
  DD_FLASH_ENTRY(f16, __half, d, rows, step, tiles, false)                \
  DD_FLASH_ENTRY(bf16, __nv_bfloat16, d, rows, step, tiles, false)        \
  DD_FLASH_ENTRY(plain_f16, __half, d, rows, plain_step, tiles, true)     \
  DD_FLASH_ENTRY(plain_bf16, __nv_bfloat16, d, rows, plain_step, tiles, true)
#include "instances.def"
#undef DD_FLASH

#define DD_NAIVE(tag, T) \
  extern "C" __global__ void dd_attention_naive_##tag(const __grid_constant__ AttentionArgs a) { attention_naive<T>(a); }
DD_NAIVE(f64, double)
DD_NAIVE(f32, float)
DD_NAIVE(f16, __half)
DD_NAIVE(bf16, __nv_bfloat16)

#define DD_SOFTMAX(score_tag, tag, A, T)                                                                       \
  extern "C" __global__ void dd_attention_softmax_##score_tag##_##tag(const __grid_constant__ AttentionArgs a, \
                                                                      const A* scores, T* probabilities) {     \
    attention_softmax<T, A>(a, scores, probabilities);                                                         \
  }
DD_SOFTMAX(f64, f64, double, double)
DD_SOFTMAX(f32, f32, float, float)
DD_SOFTMAX(f32, f16, float, __half)
DD_SOFTMAX(f32, bf16, float, __nv_bfloat16)

}  // namespace dd::kernels
