#include "ops/tensor/view.hpp"

namespace dd::ops {

TensorView contiguous(const void* data, DType dtype, std::initializer_list<std::int64_t> shape, std::int64_t offset) {
  TensorView view;
  view.data = const_cast<void*>(data);
  view.dtype = dtype;
  view.offset = offset;
  for (std::int64_t size : shape) {
    if (view.rank == max_rank) break;
    view.shape[view.rank++] = size;
  }
  std::int64_t stride = 1;
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    view.stride[axis] = stride;
    stride *= view.shape[axis];
  }
  return view;
}

std::int64_t element_count(const TensorView& view) {
  std::int64_t n = 1;
  for (int axis = 0; axis < view.rank; ++axis) n *= view.shape[axis];
  return n;
}

std::int64_t element_index(const TensorView& view, std::int64_t flat) {
  std::int64_t index = view.offset;
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    index += flat % view.shape[axis] * view.stride[axis];
    flat /= view.shape[axis];
  }
  return index;
}

}  // namespace dd::ops
