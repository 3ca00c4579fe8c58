// Mask content for the rules: what the spec names, or what a .npy or .safetensors file holds (see ops/mask_class).
#pragma once
#include <string>
#include <vector>

#include "core/result.hpp"
#include "core/tensor.hpp"
#include "facts/facts.hpp"
#include "ops/mask_class/mask_class.hpp"
#include "spec/spec.hpp"

namespace dd::session {

// A tensor from a NumPy file: C or Fortran order, little endian, bool, f2, f4, f8 and the 8- and 32-bit integers.
// At most 4 GiB; a damaged header or a short file is a problem, never a wrong read.
core::Result<core::Tensor> read_npy(const std::string& path);
// The mask in a file: the one tensor of a .npy, or "mask" / "attn_mask" / the only tensor of a .safetensors file.
core::Result<core::Tensor> read_mask_file(const std::string& path);

bool is_mask_file(const std::string& content);

// Replaces the facts of mask content by what the named file holds. Adds a line to `notes` for each thing found.
void add_mask_content(const spec::OpSpec& spec, facts::FactSet& facts, std::vector<std::string>& notes);

// The spec with what its mask file was found to contain, where one of the plain words of mask.content says the same.
spec::OpSpec with_plain_mask(const spec::OpSpec& spec, const facts::FactSet& facts);

}  // namespace dd::session
