// A call under autocast computes in the narrower type: its operands are rounded first, and its result has that type. The
// reference therefore works on operands that are rounded already; the worker gets the same values in the types of the spec.
#pragma once
#include <optional>

#include "core/tensor.hpp"
#include "spec/spec.hpp"

namespace dd::session {

// The call as autocast makes it; nothing where the spec asks for no autocast, or where it changes no operand.
std::optional<spec::OpSpec> lowered_by_autocast(const spec::OpSpec& spec);
// The operands of the lowered call, value for value in the types of `spec`; storages that were shared stay shared.
core::TensorMap in_types_of(const spec::OpSpec& spec, const core::TensorMap& lowered);

}  // namespace dd::session
