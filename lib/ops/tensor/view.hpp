// A non-owning strided view: base pointer, element type, shape and strides in elements, offset in elements.
// Element (i0, i1, ...) lives at element index offset + sum(i_k * stride_k); 4-bit types hold two elements a byte, low
// nibble at the even index. Nothing here checks bounds: the owner of the buffer does (see spec validation). A view used
// as an input is never written through.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "core/dtype.hpp"

namespace dd::ops {

using core::DType;
inline constexpr int max_rank = 6;

struct TensorView {
  void* data = nullptr;
  DType dtype = DType::f32;
  int rank = 0;
  std::int64_t shape[max_rank] = {};
  std::int64_t stride[max_rank] = {};
  std::int64_t offset = 0;
};

// Row-major contiguous view. `data` may be const-cast by the caller for inputs.
TensorView contiguous(const void* data, DType dtype, std::initializer_list<std::int64_t> shape,
                      std::int64_t offset = 0);
// Number of elements (product of the shape; 1 for rank 0).
std::int64_t element_count(const TensorView& view);
// Element index of the logical row-major position `flat`.
std::int64_t element_index(const TensorView& view, std::int64_t flat);

}  // namespace dd::ops
