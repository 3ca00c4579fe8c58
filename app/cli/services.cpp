#include "cli/services.hpp"

#include "backends/backend.hpp"
#include "backends/cuda_runtime/environment.hpp"
#include "backends/cudnn/frontend/ask.hpp"
#include "cli/torch_files.hpp"
#include "facts/derive.hpp"
#include "facts/machine.hpp"
#include "facts/profiles.hpp"
#include "spec/canonical.hpp"

namespace dd::cli {
namespace {

// The spec's own facts, then those of where the call runs: this machine's processor, or a GPU by number or by profile.
// Where a call runs is part of the answer, so it is a fact as well.
void add_facts(const spec::OpSpec& spec, facts::FactSet& facts) {
  facts = facts::derive_facts(spec);
  facts::add_machine_facts(facts);
  const std::string& target = spec.context.target;
  if (target.empty() || target == "host" || target == "cpu") {
    facts.set(facts::Id::target, std::string("host"), facts::Provenance::measured);
    facts.set(facts::Id::device_type, std::string("cpu"), facts::Provenance::measured);
    return;
  }
  if (target.starts_with("cuda")) return;  // derive_facts has said so; what the GPU is, its driver or a worker says
  if (const auto profile = facts::find_profile(target)) facts::apply(*profile, facts);
}

}  // namespace

session::Services services(const RunOptions& run) {
  session::Services out;
  out.backends = backends::all_backends();
  out.workers = {session::native_worker()};
  if (auto torch = torch_worker(run)) out.workers.push_back(std::move(*torch));
  out.add_facts = add_facts;
  out.gpu_findings = cuda::findings_for_a_run;
  out.canonical = spec::canonical;
  out.repro = spec::repro_line;
  return out;
}

session::AskService ask_service(const RunOptions& run) {
  session::AskService out;
  // A worker of its own: the toolkit's stand-in of the driver that it may load must not meet a backend that runs.
  out.worker = session::native_worker();
  out.worker.name = "ask";
  if (run.python) out.worker.environment.emplace_back("DD_PYTHON", *run.python);
  out.device = cudnn::device_properties_of;
  out.canonical = spec::canonical;
  return out;
}

core::Result<session::Settings> settings(const RunOptions& run) {
  session::Settings out;
  core::Problems problems;
  out.timeout = run.timeout_s;
  out.reference_budget = run.reference_budget_s;
  if (run.bench) out.bench = session::BenchPlan{};
  out.save_folder = run.save_tensors;
  for (const std::string& text : run.require) {
    auto requirement = session::parse_requirement(text);
    if (requirement) {
      out.requirements.push_back(*requirement);
    } else {
      problems.insert(problems.end(), requirement.problems().begin(), requirement.problems().end());
    }
  }
  for (const session::Requirement& r : out.requirements)
    if (r.kind == session::Requirement::Kind::slowdown && !out.bench) out.bench = session::BenchPlan{};
  out.threads = facts::machine().threads;  // what affinity and the container leave, not what the machine has
  out.unknown_passes = run.unknown_passes;
  out.with_met = run.verbosity > 0;
  out.run_blocked = run.run_blocked;
  if (!problems.empty()) return problems;
  return out;
}

}  // namespace dd::cli
