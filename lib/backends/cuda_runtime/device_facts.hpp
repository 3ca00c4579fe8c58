// The GPU of this machine as facts with provenance; no context is made on it.
#pragma once
#include "facts/facts.hpp"

namespace dd::cuda {

// Adds nothing where there is no such device.
void add_device_facts(int ordinal, facts::FactSet& facts);

}  // namespace dd::cuda
