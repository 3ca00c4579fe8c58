// How much memory a case takes before anything of it is allocated. Doubles, since a spec may ask for more than 63 bits say.
#pragma once
#include <cstdint>
#include <string>

#include "spec/spec.hpp"

namespace dd::session {

struct Estimate {
  double inputs = 0;     // bytes of all inputs as the spec lays them out
  double output = 0;
  double reference = 0;  // values, limits and sums of magnitudes in double
  // Without what a backend takes for itself: inputs here and in the exchange file, output area and its dense copy.
  double common() const { return 2 * inputs + 2 * output + reference; }
  std::string text() const;
};

Estimate estimate(const spec::OpSpec& spec);

}  // namespace dd::session
