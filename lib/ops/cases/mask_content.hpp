// Fills an attention mask from its content class (see cases.hpp), or from a file.
#pragma once
#include <cstdint>
#include <optional>

#include "core/result.hpp"
#include "core/tensor.hpp"
#include "ops/cases/cases.hpp"
#include "spec/spec.hpp"

namespace dd::ops::cases {

// `reader` reads a mask file; without one a file name is an unknown content.
std::optional<core::Problem> fill_mask(core::Tensor& mask, const spec::Attention& attention, std::uint64_t seed, std::uint32_t stream,
                                       MaskReader reader);

// Why a file's tensor is no boolean mask: it has other elements than 0 (closed) and 1 (open). A float mask that means the
// contrary (0 open, -inf closed) is not turned into one silently.
std::optional<core::Problem> not_boolean(const core::Tensor& file, const std::string& name);

}  // namespace dd::ops::cases
