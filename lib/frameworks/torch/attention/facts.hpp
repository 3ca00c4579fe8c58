// Facts that only PyTorch's attention dispatcher looks at: what the build contains, environment variables, types after
// autocast, vector widths, ragged lengths. What an ordinary call fixes is set with provenance assumed and can be
// stated in the spec; versions and GPU stay unknown unless somebody names them.
#pragma once
#include "facts/facts.hpp"
#include "spec/spec.hpp"

namespace dd::frameworks::torch_attention {

void add_facts(const spec::OpSpec& spec, facts::FactSet& facts);

}  // namespace dd::frameworks::torch_attention
