// Facts that follow from a spec alone. What the spec does not say stays unknown (versions, the device behind a profile
// name); what has no meaning for this spec is not applicable. Works on any spec, also one that validation refuses, so
// that hypothetical and recorded calls can be judged. Every fact says which field it comes from.
#pragma once
#include "facts/facts.hpp"
#include "spec/spec.hpp"

namespace dd::facts {

// Alignment of an address that is `bytes` into an allocation: the greatest power of two that divides it, at most this.
constexpr std::int64_t most_alignment = 256;

FactSet derive_facts(const spec::OpSpec& spec);
void add_spec_facts(const spec::OpSpec& spec, FactSet& facts);

// row, column or strided: which of the last two axes has stride 1 (the last one when both do).
std::string matrix_layout(const spec::TensorSpec& tensor);
// Alignment of the first element within the storage.
std::int64_t alignment_bytes(const spec::TensorSpec& tensor);

}  // namespace dd::facts
