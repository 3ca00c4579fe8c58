// Facts of an attention spec, as the case readers need them.
#pragma once
#include "facts/facts.hpp"
#include "spec/spec.hpp"

namespace dd::cases {

facts::FactSet base_facts(const spec::OpSpec& spec);

}  // namespace dd::cases
