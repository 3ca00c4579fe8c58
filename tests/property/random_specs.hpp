// Small random specs over every field that a processor backend looks at. The same seed gives the same spec; the result is
// valid (what validation refuses is drawn again).
#pragma once
#include <cstdint>

#include "spec/spec.hpp"

namespace dd::test {

spec::OpSpec random_spec(std::uint64_t seed);

}  // namespace dd::test
