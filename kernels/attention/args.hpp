// What every attention kernel is given. Plain data, the same bytes on host and device. Strides are in elements, in the
// order batch, head, row, column; a stride of 0 broadcasts. Query head h reads key and value head h / (heads / kv_heads).
#pragma once
#include <cstdint>

namespace dd::kernels {

constexpr double log2_e = 1.4426950408889634;  // the fused kernel's exponentials are of base 2

enum MaskKind : std::int32_t {
  mask_none = 0,
  mask_bool = 1,         // one byte an element, non-zero takes part
  mask_float_as_q = 2,   // added to the scaled score, stored in the query's type
  mask_float_f32 = 3,    // added to the scaled score, stored as f32
};

struct AttentionArgs {
  const void* q;
  const void* k;
  const void* v;
  void* out;
  const void* mask;
  const std::uint8_t* keep;  // null: no dropout; else one byte a weight, zero drops it, kept ones are times keep_scale
  std::int64_t q_stride[4];
  std::int64_t k_stride[4];
  std::int64_t v_stride[4];
  std::int64_t out_stride[4];
  std::int64_t mask_stride[4];
  std::int64_t keep_stride[4];
  std::int32_t batch, heads, kv_heads;
  std::int32_t q_len, kv_len, dim, v_dim;
  std::int32_t mask_kind;
  // With causal set, row i sees column j when j <= i + causal_offset: 0 aligns top left, kv_len - q_len bottom right.
  std::int32_t causal;
  std::int32_t causal_offset;
  double scale;
  double keep_scale;
};

}  // namespace dd::kernels
