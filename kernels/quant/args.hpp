// Group-wise quantized weights for out (m x n) = x (m x k) * w (k x n). Column n of w is one run of packed codes along k,
// `packed_stride` bytes from the next; 4-bit codes have the even k in the low half of a byte. A code c stands for
// scale * (c - zero) with unsigned codes when there are zero points, scale * c with signed codes otherwise; scale and zero
// belong to (k / group, n) and are addressed by two strides, so per-channel and per-tensor scales have a 0 there.
#pragma once
#include <cstdint>

namespace dd::kernels {

enum ScaleKind : std::int32_t { scale_as_x = 0, scale_f32 = 1 };

struct QuantArgs {
  const void* x;
  const std::uint8_t* packed;
  const void* scales;
  const std::uint8_t* zeros;  // null: symmetric; else one byte a (group, n)
  void* out;                  // the product, or for the dequantize kernel the weights
  std::int64_t x_stride;      // between rows; the last axis is dense
  std::int64_t packed_stride;
  std::int64_t scale_stride[2];
  std::int64_t zero_stride[2];
  std::int64_t out_stride[2];
  std::int32_t m, n, k, group;
  std::int32_t scale_kind;
};

// 32-bit sums of an integer product, [batch, m, n] dense, to out = sum * row_scales[row] * column_scales[column].
struct RescaleArgs {
  const std::int32_t* sums;
  const float* row_scales;     // m
  const float* column_scales;  // n
  void* out;
  std::int64_t out_stride[3];
  std::int32_t batch, m, n;
};

}  // namespace dd::kernels
