// What can be wrong with the PyTorch that would run a call, as rules over what its worker said of itself. Pure: the caller
// fills WorkerState from the worker's first message; the findings that come back are unmet or empty.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "facts/facts.hpp"
#include "rules/rule.hpp"

namespace dd::frameworks::torch {

struct WorkerState {
  bool started = false;                // the interpreter ran and said hello
  bool missing = false;                // it has no package of that name
  std::optional<facts::Version> torch; // absent although not missing: the import failed
  bool wants_gpu = false;              // the call is for a GPU
  bool built_for_gpu = false;
  bool sees_gpu = false;
  std::string detail;                  // the worker's, or the system's, own words
};

std::span<const rules::Rule> environment_rules();
std::vector<rules::Finding> environment_findings(const WorkerState& state);

}  // namespace dd::frameworks::torch
