// Tensor: a named strided view of a host buffer that several tensors or a mapped file may share.
// Shape and strides are in elements; offset is the storage offset in elements. Two 4-bit elements share a byte.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/dtype.hpp"

namespace dd::core {

struct Tensor {
  DType dtype = DType::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
  std::int64_t offset = 0;             // elements from the start of the storage
  std::shared_ptr<std::byte> storage;  // at least storage_bytes, aligned to 64 bytes
  std::int64_t storage_bytes = 0;

  std::byte* data() const { return storage.get() + bytes_of(dtype, offset); }
};

// By role: q k v mask dropout_keep | x w bias scales zeros group_index x_scales | out
using TensorMap = std::map<std::string, Tensor>;

}  // namespace dd::core
