// What a framework's dispatcher would do with a call, on a GPU that need not be here: nothing is run, every grade is
// `modelled`, or `asked` where a library answered for itself. Pure apart from reading a mask file that the spec names and
// from that question.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "facts/profiles.hpp"
#include "frameworks/framework.hpp"
#include "report/report.hpp"
#include "spec/spec.hpp"

namespace dd::session {

struct WhatIfOptions {
  bool with_met = false;  // findings that are met as well
  bool fix = false;       // --fix: try each proposal, also on the CPU reference
  bool brief = false;     // verdict and candidates only: no proposals, no facts
  const facts::FactSet* derived = nullptr;  // derive_facts of the spec without its target, when several targets are asked
  // The library behind a candidate, asked about the target; absent: nobody is asked.
  std::function<std::optional<report::Asked>(const spec::OpSpec&, const std::string& library, const facts::DeviceProfile&)> ask = {};
  std::string (*canonical)(const spec::OpSpec&) = nullptr;
  std::string (*repro)(const spec::OpSpec&) = nullptr;
};

// Facts of spec, target and mask content, as the framework's rules see them (without the framework's own additions).
// Without a target the spec's own is taken; a PyTorch version that nobody names is assumed, and says so.
facts::FactSet what_if_facts(const spec::OpSpec& spec, const facts::DeviceProfile* target, const facts::FactSet* derived = nullptr);

// `target` may be nullptr: the spec's own target then stands (sm_NN, cpu, or unknown).
report::Case what_if(const spec::OpSpec& spec, const std::string& id, const frameworks::Framework& framework,
                     const facts::DeviceProfile* target, const WhatIfOptions& options);

}  // namespace dd::session
