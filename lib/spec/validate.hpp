// Validation: every problem of a spec at once, each with field, value seen and value wanted. A spec without problems
// can be executed as it stands (given the memory, see memory.hpp); whether a backend takes it is the rules' matter.
// Extents of 0 are valid where the result is defined: an empty batch, no queries, no keys (all rows masked), m, n or k.
#pragma once
#include "core/result.hpp"
#include "spec/spec.hpp"

namespace dd::spec {

// With a framework named, q, k and v need not fit together (heads, batch, head sizes): whether such a call is taken is
// what its rules say. Nothing may be computed from such a spec before validate_to_compute() has passed.
core::Problems validate(const OpSpec& spec);
core::Problems validate_to_compute(const OpSpec& spec);

// Names that only the program knows (backends, places). Asked once a spec has other mistakes, so that one pass names all;
// of a spec without any the program asks itself. The spec that is handed over may be invalid in every other way.
using NameCheck = core::Problems (*)(const OpSpec&);
void set_name_check(NameCheck check);
void add_unknown_names(const OpSpec& spec, core::Problems& problems);

}  // namespace dd::spec
