// Tensors in the safetensors file format (8-byte little-endian header length, JSON header, data). Reading maps the file
// and copies nothing. The header counts as hostile input: lengths, offsets, shapes, overlaps and overflow are all checked.
// What plain safetensors cannot say (strides, storage offset, shared storage, 4-bit types) goes into __metadata__ under
// "dispatchdoctor.tensors"; other readers see those tensors as the flat storage they are views of.
#pragma once
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/tensor.hpp"

namespace dd::session {

struct SafetensorsOptions {
  bool aligned = true;  // start each storage at a multiple of 64 bytes, with filler entries named "_fill_N" between
  // Further text for __metadata__ (spec, seed, what the tensor is): key -> value.
  std::map<std::string, std::string> metadata;
};

// Writes a new file (0600; fails when it exists). Tensors that share a storage share its bytes in the file too.
core::Result<std::int64_t> write_safetensors(const std::string& path, const core::TensorMap& tensors,
                                             const SafetensorsOptions& options = {});  // bytes written

struct SafetensorsFile {
  core::TensorMap tensors;
  std::map<std::string, std::string> metadata;
  std::vector<std::string> skipped;  // entries whose element type has no counterpart here: "name: I64"
};
core::Result<SafetensorsFile> read_safetensors(const std::string& path);

// A copy that is contiguous in the tensor's logical shape, at offset 0.
core::Tensor contiguous_copy(const core::Tensor& tensor);
// A tensor with fresh zeroed storage, contiguous.
core::Tensor make_tensor(core::DType dtype, std::vector<std::int64_t> shape);

}  // namespace dd::session
