// Vector extensions of the processor that the operating system has switched on. Empty on other architectures.
#pragma once
#include <string>
#include <vector>

namespace dd::facts {

std::vector<std::string> vector_extensions();

}  // namespace dd::facts
