#include "spec/spec.hpp"

namespace dd::spec {

Dims contiguous_strides(const Dims& shape) {
  Dims strides(shape.size(), 1);
  for (std::size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * (shape[i] > 0 ? shape[i] : 1);
  return strides;
}

Dims strides_of(const TensorSpec& tensor) { return tensor.strides ? *tensor.strides : contiguous_strides(tensor.shape); }

std::optional<std::int64_t> element_count(const Dims& shape) {
  std::int64_t count = 1;
  for (std::int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) return std::nullopt;
  }
  return count;
}

}  // namespace dd::spec
