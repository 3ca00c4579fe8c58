// What the NVIDIA libraries of this machine are and what is wrong with them: facts, the rules over them (ENV020 and up),
// and a record for `env`. Opening them is the caller's decision: environment_facts() opens all, and cublasLt alone takes a
// third of a second, so ask for it only where the answer is wanted.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <span>

#include "backends/cuda_runtime/libraries.hpp"
#include "facts/facts.hpp"
#include "rules/rule.hpp"

namespace dd::cuda {

// Facts of one library, and of the driver's devices (only their number: devices are in device.hpp).
void add_library_facts(Library which, facts::FactSet& facts);
void add_all_library_facts(facts::FactSet& facts);

// driver missing, driver without a device, driver older than the libraries, each library missing, cuDNN mixed, ...
std::span<const rules::Rule> environment_rules();

// The rules over these libraries, and over this build's device code with `whole`: what is unmet.
std::vector<rules::Finding> environment_findings(std::span<const Library> which, bool whole);
// What a GPU is asked to do here: without a driver nothing but that is looked at.
std::vector<rules::Finding> findings_for_a_run();

nlohmann::json library_record_json(Library which);  // {"name", "path", "version", "error", ...}

}  // namespace dd::cuda
