// Entry points of the quantized kernels for the device, by plain C names: dd_dequantize_<type>_<bits>,
// dd_packed_few_<type>_<bits>_<rows at once>_<fast 0|1>, dd_packed_tiles_<type>_<bits>_<aligned 0|1>, dd_rescale_<type>.
#include "dequantize.cuh"
#include "launch.hpp"
#include "packed.cuh"
#include "rescale.cuh"

namespace dd::kernels {

#define DD_FEW(tag, T, bits, rows, fast)                                                   \
  extern "C" __global__ void __launch_bounds__(32 * few_rows_warps)                        \
      dd_packed_few_##tag##_##bits##_##rows##_##fast(const __grid_constant__ QuantArgs a) { \
    packed_few_rows<T, bits, rows, fast>(a);                                               \
  }
#define DD_TILES(tag, T, bits, aligned)                                                    \
  extern "C" __global__ void __launch_bounds__(128)                                        \
      dd_packed_tiles_##tag##_##bits##_##aligned(const __grid_constant__ QuantArgs a) {    \
    PackedTiles<T, bits, aligned>::run(a);                                                 \
  }
#define DD_QUANT(tag, T, bits)                                                                                        \
  DD_FEW(tag, T, bits, 1, 0)                                                                                          \
  DD_FEW(tag, T, bits, 1, 1)                                                                                          \
  DD_FEW(tag, T, bits, 2, 0)                                                                                          \
  DD_FEW(tag, T, bits, 2, 1)                                                                                          \
  DD_FEW(tag, T, bits, 4, 0)                                                                                          \
  DD_FEW(tag, T, bits, 4, 1)                                                                                          \
  DD_TILES(tag, T, bits, 0)                                                                                           \
  DD_TILES(tag, T, bits, 1)                                                                                           \
  extern "C" __global__ void dd_dequantize_##tag##_##bits(const __grid_constant__ QuantArgs a) { dequantize<T, bits>(a); }
DD_QUANT(f16, __half, 4)
DD_QUANT(f16, __half, 8)
DD_QUANT(bf16, __nv_bfloat16, 4)
DD_QUANT(bf16, __nv_bfloat16, 8)

#define DD_RESCALE(tag, T) \
  extern "C" __global__ void dd_rescale_##tag(const __grid_constant__ RescaleArgs a) { rescale<T>(a); }
DD_RESCALE(f16, __half)
DD_RESCALE(bf16, __nv_bfloat16)
DD_RESCALE(f32, float)

static_assert(PackedTiles<__half, 4, true>::shared_bytes == 2 * packed_tile * 40 * 2);

}  // namespace dd::kernels
