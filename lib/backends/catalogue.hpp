// The one catalogue of rules: every table of every owner, for explain, the generated catalogue and the table tests.
#pragma once
#include "rules/registry.hpp"

namespace dd::backends {

const rules::Registry& catalogue();

}  // namespace dd::backends
