// What can be wrong with the PyTorch that would run a call, as rules over what its worker said of itself. Pure: the caller
// fills WorkerState from the worker's first message; the findings that come back are unmet or empty.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "facts/facts.hpp"
#include "rules/rule.hpp"
#include "spec/spec.hpp"

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

// torchao is a library above torch: for quantized products its layer is run beside torch's own entry points, where it is there.
std::string_view torchao_layer(const spec::Gemm& gemm);  // the candidate's name; empty where torchao has no layer for the scheme
// What is wrong with it: not installed, or its layer could not be made (trouble, in its own words); nothing otherwise.
std::optional<rules::Finding> torchao_finding(bool installed, const std::string& trouble);

}  // namespace dd::frameworks::torch
