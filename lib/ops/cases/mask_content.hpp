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

}  // namespace dd::ops::cases
