#include "cli/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "backends/backend.hpp"
#include "cli/recorded.hpp"
#include "facts/derive.hpp"
#include "frameworks/framework.hpp"
#include "session/case_work.hpp"
#include "session/verdict.hpp"
#include "session/what_if.hpp"
#include "spec/canonical.hpp"

namespace dd::cli {
namespace {

// The tool's own dispatcher seen as a framework, so that it answers for GPUs that are not here as well.
class Native final : public frameworks::Framework {
 public:
  std::string_view name() const override { return "native"; }
  bool serves(const spec::OpSpec&) const override { return true; }
  void add_facts(const spec::OpSpec& spec, facts::FactSet& facts) const override {
    for (const backends::Backend& b : backends::all_backends())
      if (fits(b, spec, facts) && b.add_call_facts) b.add_call_facts(spec, facts);
  }
  std::span<const rules::Rule> call_rules(const spec::OpSpec&) const override { return {}; }
  std::vector<std::span<const rules::Rule>> tables() const override { return {}; }
  frameworks::VersionConfidence confidence(const facts::FactSet&) const override {
    return {{}, frameworks::Confidence::exact, "the rules of this program itself"};
  }

  std::vector<frameworks::Candidate> candidates(const spec::OpSpec& spec, const facts::FactSet& facts) const override {
    std::vector<frameworks::Candidate> out;
    for (const backends::Backend& b : backends::all_backends()) {
      if (!fits(b, spec, facts)) continue;
      frameworks::Candidate c{b.name, b.summary};
      c.fast = b.fast;
      c.rules = b.judged_by();
      c.version = facts::Id::cuda_version;
      out.push_back(c);
    }
    return out;
  }

  std::vector<frameworks::Priority> priorities(const spec::OpSpec& spec, const facts::FactSet& facts) const override {
    frameworks::Priority p;
    p.reason = "default order of this program";
    if (spec.policy.order)
      for (const std::string& wanted : *spec.policy.order)
        for (const backends::Backend& b : backends::all_backends())
          if (b.name == wanted && fits(b, spec, facts)) p.order.push_back(b.name);
    for (const backends::Backend& b : backends::all_backends())
      if (fits(b, spec, facts) && std::find(p.order.begin(), p.order.end(), b.name) == p.order.end()) p.order.push_back(b.name);
    return {p};
  }

 private:
  static bool fits(const backends::Backend& b, const spec::OpSpec& spec, const facts::FactSet& facts) {
    const auto* device = std::get_if<std::string>(&facts.value(facts::Id::device_type));
    if (b.op != (spec.is_attention() ? spec::Op::sdpa : spec::Op::gemm) || (device && *device != b.device)) return false;
    return spec.is_attention() || (spec.gemm().quant ? b.quantized : b.dense);
  }
};

const frameworks::Framework* framework_of(const spec::OpSpec& spec) {
  static const Native native;
  if (spec.context.framework == "native") return &native;
  // One name may stand for several dispatchers, each for its operators.
  const frameworks::Framework* serving = frameworks::find_framework(spec.context.framework, spec);
  return serving ? serving : frameworks::find_framework(spec.context.framework);
}

report::Case failed(const session::BatchItem& item, const std::string& problem) {
  report::Case c;
  c.id = item.id;
  c.problems.push_back(problem);
  c.verdict.summary = problem;
  c.exit_code = 2;
  return c;
}

// What a prediction can answer: 3 where a requirement or a forced path does not hold, 5 where nothing was decided.
void set_exit_code(report::Case& c, const spec::OpSpec& spec, const session::Settings& settings) {
  session::check_requirements(c, settings.requirements, settings.unknown_passes);
  const bool missed = session::requirements_code(c) != 0;
  const bool forced_away = spec.policy.force && !c.decision.selected;
  if (missed || forced_away) c.exit_code = 3;
  else if (c.verdict.status == report::Status::undetermined) c.exit_code = 5;
}

}  // namespace

bool is_modelled(const spec::OpSpec& spec) { return !session::on_this_machine(spec.context.target); }

Modelled model(const session::BatchItem& item, const core::Result<std::vector<facts::DeviceProfile>>& targets, const RunOptions& run,
               const session::Settings& settings, bool brief, session::Asker* asker) {
  Modelled out;
  const spec::OpSpec& spec = *item.spec;
  const frameworks::Framework* framework = framework_of(spec);
  if (!framework) {
    out.cases.push_back(failed(item, fmt::format("context.framework: {} is not a framework of this build", spec.context.framework)));
    out.labels.push_back("?");
    return out;
  }
  if (!targets) {
    for (const core::Problem& p : targets.problems()) {
      if (out.cases.empty()) out.cases.push_back(failed(item, core::to_text(p)));
      else out.cases.front().problems.push_back(core::to_text(p));
    }
    out.labels.push_back(spec.context.target);
    return out;
  }
  session::WhatIfOptions options;
  options.with_met = settings.with_met;
  options.fix = run.fix;
  options.brief = brief && !is_recorded(spec);  // where to change a program, and what, is the point of recording it
  std::optional<facts::FactSet> derived;
  if (targets->size() > 1) {
    spec::OpSpec nowhere = spec;
    nowhere.context.target.clear();
    derived = facts::derive_facts(nowhere);
    options.derived = &*derived;
  }
  if (asker)
    options.ask = [asker](const spec::OpSpec& call, const std::string& library, const facts::DeviceProfile& device) { return asker->ask(call, library, device); };
  options.canonical = spec::canonical;
  options.repro = spec::repro_line;
  const auto add = [&](const facts::DeviceProfile* target, const std::string& label) {
    report::Case c = session::what_if(spec, targets->size() > 1 ? item.id + "/" + label : item.id, *framework, target, options);
    set_exit_code(c, spec, settings);
    out.cases.push_back(std::move(c));
    out.labels.push_back(label);
  };
  for (const facts::DeviceProfile& target : *targets) add(&target, target.name);
  return out;
}

}  // namespace dd::cli
