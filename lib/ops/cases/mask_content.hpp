// Fills an attention mask from its content class (see cases.hpp), or from a file.
#pragma once
#include <cstdint>
#include <optional>

#include "core/result.hpp"
#include "core/tensor.hpp"
#include "spec/spec.hpp"

namespace dd::ops::cases {

std::optional<core::Problem> fill_mask(core::Tensor& mask, const spec::Attention& attention, std::uint64_t seed, std::uint32_t stream);

}  // namespace dd::ops::cases
