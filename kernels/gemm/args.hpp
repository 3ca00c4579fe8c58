// What every matrix product kernel is given: out[b] = epilogue(x[b] (m x k) * w[b] (k x n) + bias). Plain data, the same
// bytes on host and device. Strides are in elements, in the order batch, row, column; 0 broadcasts.
#pragma once
#include <cstdint>

namespace dd::kernels {

enum Activation : std::int32_t { act_none = 0, act_relu = 1, act_gelu_erf = 2, act_gelu_tanh = 3 };
enum BiasKind : std::int32_t { bias_none = 0, bias_as_x = 1, bias_f32 = 2 };

struct GemmArgs {
  const void* x;
  const void* w;
  const void* bias;  // n elements, dense
  void* out;
  std::int64_t x_stride[3];
  std::int64_t w_stride[3];
  std::int64_t out_stride[3];
  std::int32_t batch, m, n, k;
  std::int32_t activation;
  std::int32_t bias_kind;
};

}  // namespace dd::kernels
