#include "session/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "dispatch/dispatch.hpp"
#include "session/attempt.hpp"
#include "session/estimate.hpp"
#include "session/findings.hpp"
#include "session/interrupt.hpp"
#include "session/memory.hpp"
#include "session/save.hpp"
#include "session/verdict.hpp"

namespace dd::session {
namespace {

using backends::Backend;
using report::Outcome;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool on_gpu(const spec::OpSpec& spec) { return spec.context.target.rfind("cuda", 0) == 0; }

bool serves(const Backend& b, const spec::OpSpec& spec) {
  if (b.op != (spec.is_attention() ? spec::Op::sdpa : spec::Op::gemm)) return false;
  if ((b.device == "cuda") != on_gpu(spec)) return false;
  if (spec.is_attention()) return true;
  return spec.gemm().quant ? b.quantized : b.dense;
}

// A mode that this backend's dispatcher does not have at all, in words.
std::string mode_missing(const Backend& b, spec::Mode mode) {
  if (mode == spec::Mode::compiled) return "the native dispatcher compiles no graphs; compiled mode needs a framework (--framework torch)";
  if (mode == spec::Mode::captured && b.device != "cuda") return "nothing is captured on a processor; captured mode needs a CUDA graph";
  return {};
}

bool ran(Outcome o) { return o == Outcome::matched || o == Outcome::off || o == Outcome::mistrusted; }

class Diagnosis {
 public:
  Diagnosis(const spec::OpSpec& spec, const Services& services, const Settings& settings, Supervisor& supervisor, std::shared_ptr<Scratch> scratch)
      : spec_(spec), services_(services), settings_(settings), supervisor_(supervisor), scratch_(std::move(scratch)) {}

  report::Case run(const std::string& id) {
    const double begin = now();
    case_.id = id;
    case_.spec_json = services_.canonical(spec_);
    case_.repro = services_.repro(spec_);
    case_.title = title_of(case_.repro);
    if (fits()) {
      gather_facts();
      evaluate_candidates();
      if (make_reference()) {
        decide();
        force_each();
        further_modes();
      }
    }
    finish();
    case_.seconds = now() - begin;
    return std::move(case_);
  }

 private:
  struct Entry {
    const Backend* backend;
    facts::FactSet facts;
    std::vector<rules::Finding> findings;
    report::Candidate out;
    bool blocked = false;
  };

  // The repro line without the program's name, cut to what fits on a line.
  static std::string title_of(const std::string& repro) {
    const std::size_t space = repro.find(' ');
    std::string title = space == std::string::npos ? repro : repro.substr(space + 1);
    if (title.size() > 100) title = title.substr(0, 97) + "...";
    return title;
  }

  bool fits() {
    estimate_ = estimate(spec_);
    const auto available = memory_available();
    if (!available || estimate_.common() <= static_cast<double>(*available)) return true;
    case_.problems.push_back(fmt::format("the call does not fit into memory: {}; available {} bytes", estimate_.text(), *available));
    return false;
  }

  void gather_facts() {
    services_.add_facts(spec_, facts_);
    std::vector<void (*)(facts::FactSet&)> added;  // one library serves several backends
    for (const Backend& b : services_.backends) {
      if (!serves(b, spec_) || !b.add_facts || std::find(added.begin(), added.end(), b.add_facts) != added.end()) continue;
      b.add_facts(facts_);
      added.push_back(b.add_facts);
    }
    case_.facts = to_report(facts_);
  }

  void evaluate_candidates() {
    for (const Backend& b : services_.backends) {
      if (!serves(b, spec_)) continue;
      Entry e{&b, facts_, {}, {}, false};
      dispatch::set_policy_facts(e.facts, spec_.policy, std::string(b.name));
      const double needed = estimate_.common() + (b.extra_bytes ? static_cast<double>(b.extra_bytes(spec_)) : 0.0);
      e.facts.set(facts::Id::memory_needed, static_cast<std::int64_t>(std::min(needed, 9e18)), facts::Provenance::derived, "estimate");
      const auto add = [&](std::span<const rules::Rule> table) {
        auto found = rules::evaluate_all(table, e.facts, settings_.with_met);
        e.findings.insert(e.findings.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
      };
      add(dispatch::policy_rules());
      add(dispatch::memory_rules());
      add(b.rules());
      const rules::Eligibility eligibility = rules::eligibility(e.findings);
      e.blocked = eligibility == rules::Eligibility::blocked;
      e.out.backend = b.name;
      e.out.layer = b.layer;
      e.out.fast = b.fast;
      e.out.eligibility = core::to_text(eligibility);
      entries_.push_back(std::move(e));
    }
  }

  bool anything_to_run() const {
    return settings_.run_blocked || std::any_of(entries_.begin(), entries_.end(), [](const Entry& e) { return !e.blocked; });
  }

  // Inputs, reference and the files that workers see. Without anything to run none of it is needed.
  bool make_reference() {
    if (!anything_to_run() || stop_signal() != 0) return true;
    auto inputs = ops::cases::make_inputs(spec_);
    if (!inputs) return refuse(inputs.problems());
    inputs_ = std::move(*inputs);
    auto reference = ops::cases::run_reference(spec_, inputs_, settings_.reference_budget, settings_.threads);
    if (!reference) return refuse(reference.problems());
    reference_ = std::move(*reference);
    case_.reference = report::Reference{reference_.name, reference_.accumulate, reference_.bound_text, reference_.scope, reference_.seconds};
    auto run = CaseRun::make(spec_, case_.spec_json, inputs_, settings_, supervisor_, scratch_);
    if (!run) return refuse(run.problems());
    run_ = std::move(*run);
    exact_.emplace(spec_, case_.spec_json, settings_, supervisor_, scratch_);
    if (settings_.save_folder) {
      saver_.emplace(*settings_.save_folder, case_.id, case_.spec_json, case_);
      saver_->inputs(spec_, inputs_);
      saver_->reference(reference_);
    }
    return true;
  }

  bool refuse(const core::Problems& problems) {
    for (const core::Problem& p : problems) case_.problems.push_back(core::to_text(p));
    return false;
  }

  Entry& entry(const std::string& name) {
    return *std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.out.backend == name; });
  }

  bool stopped() const { return stop_signal() != 0 || (run_ && run_->interrupted()); }

  static report::Attempt not_run(const std::string& policy, spec::Mode mode, Outcome outcome, std::string code, std::string text, std::string source) {
    report::Attempt a;
    a.policy = policy;
    a.mode = core::to_text(mode);
    a.outcome = outcome;
    a.error = report::Error{std::move(code), std::move(text), std::move(source)};
    return a;
  }

  // Why no attempt is made, or nullopt.
  std::optional<report::Attempt> prevented(const Entry& e, const std::string& policy, spec::Mode mode) {
    if (stopped()) return not_run(policy, mode, Outcome::not_tried, "interrupted", "stopped by the user", "supervisor");
    const auto blocking = dispatch::ids_of(e.findings, rules::Level::blocks);
    const bool by_policy = e.blocked && std::all_of(blocking.begin(), blocking.end(), [](const std::string& id) { return id.rfind("POL", 0) == 0; });
    if (!by_policy) {
      if (const std::string missing = mode_missing(*e.backend, mode); !missing.empty())
        return not_run(policy, mode, Outcome::unavailable, "mode", missing, "native dispatcher");
      if (e.backend->probe) {
        if (const backends::Availability a = e.backend->probe(); !a.available)
          return not_run(policy, mode, Outcome::unavailable, "library", a.detail, std::string(e.backend->library));
      }
      if (!e.backend->run) return not_run(policy, mode, Outcome::unavailable, "not-built", "this build has no code to run it", "this build");
    }
    if (!e.blocked || (settings_.run_blocked && !by_policy)) return std::nullopt;
    std::string ids, titles;
    for (const rules::Finding& f : e.findings) {
      if (f.rule->level != rules::Level::blocks || f.status != rules::Truth::unmet) continue;
      ids += fmt::format("{}{}", ids.empty() ? "" : " ", f.rule->id);
      titles += fmt::format("{}{}", titles.empty() ? "" : "; ", f.rule->title);
    }
    return not_run(policy, mode, Outcome::blocked, ids, titles, "rules");
  }

  const report::Attempt& attempt(Entry& e, const std::string& policy, spec::Mode mode) {
    auto none = prevented(e, policy, mode);
    if (none) {
      e.out.attempts.push_back(std::move(*none));
      return e.out.attempts.back();
    }
    const AttemptRequest request{&services_.workers.front(), e.out.backend, policy, mode, {}};
    report::Attempt a = run_->attempt(request, reference_);
    e.out.grade = report::Grade::ran;
    if (ran(a.outcome)) {
      if (saver_) saver_->output(e.out.backend, policy, a.mode, run_->output());
      if (policy == "force" && a.outcome == Outcome::matched && !stopped()) a.comparison->exact_pass = exact_->check(request);
      if (a.comparison->exact_pass.find("differ") != std::string::npos) {
        a.outcome = Outcome::off;
        a.comparison->verdict = "off";
      }
    }
    hold_against_rules(e, a);
    e.out.attempts.push_back(std::move(a));
    return e.out.attempts.back();
  }

  // Rule against library, and what the comparison says, as findings of the candidate; each once.
  void hold_against_rules(Entry& e, const report::Attempt& a) {
    if (!ran(a.outcome) && a.outcome != Outcome::refused) return;
    using facts::Id;
    const auto set = [&](Id id, facts::Value value) { e.facts.set(id, std::move(value), facts::Provenance::measured, "run"); };
    set(Id::rules_block, e.blocked);
    set(Id::run_ran, ran(a.outcome));
    std::vector<rules::Finding> found;
    const auto add = [&](std::string_view owner) {
      for (const rules::Rule& rule : dispatch::outcome_rules())
        if (rule.id.substr(0, 3) == owner) found.push_back(rules::evaluate(rule, e.facts));
    };
    if (e.out.eligibility != "unknown") add("RUL");
    if (a.comparison) {
      const report::Comparison& c = *a.comparison;
      set(Id::run_mismatched, std::max(c.mismatched, std::int64_t{c.exact_pass.find("differ") != std::string::npos}));
      set(Id::run_unwritten, c.unwritten);
      set(Id::run_outside, c.guard_damaged);
      // Poison is a NaN too; what was never written has a rule of its own.
      set(Id::run_extra_nan, std::max<std::int64_t>(0, c.nan_got - c.nan_want - c.unwritten));
      set(Id::run_judged, c.mistrust.empty() ? std::string("yes") : c.mistrust);
      add("NUM");
    }
    for (const rules::Finding& f : found) {
      if (f.status == rules::Truth::met) continue;
      const bool known = std::any_of(e.out.findings.begin(), e.out.findings.end(), [&](const report::Finding& g) { return g.id == f.rule->id; });
      if (!known) e.out.findings.push_back(to_report(f));
    }
  }

  // The dispatcher, with real runs. A wrong result is no reason to fall back: a dispatcher does not look at the numbers.
  void decide() {
    std::vector<dispatch::Candidate> candidates;
    for (const Entry& e : entries_) candidates.push_back({e.out.backend, e.findings});
    const bool user_force = spec_.policy.force.has_value();
    const dispatch::Decision d = dispatch::decide(spec_.policy, candidates, [&](const std::string& name) {
      Entry& e = entry(name);
      const report::Attempt& a = attempt(e, user_force ? "force" : "allow", spec_.mode);
      dispatch::Tried tried{ran(a.outcome), {}};
      if (a.outcome == Outcome::refused)
        for (const report::Finding& f : e.out.findings)
          if (f.id.rfind("RUL", 0) == 0) tried.finding_ids.push_back(f.id);
      return tried;
    });
    case_.decision.policy = d.policy;
    case_.decision.order = d.order;
    case_.decision.selected = d.selected;
    for (const dispatch::Step& s : d.steps) case_.decision.steps.push_back({s.backend, std::string(core::to_text(s.action)), s.finding_ids});
  }

  void force_each() {
    for (Entry& e : entries_) {
      const bool done = std::any_of(e.out.attempts.begin(), e.out.attempts.end(), [](const report::Attempt& a) { return a.policy == "force"; });
      if (!done) attempt(e, "force", spec_.mode);
    }
  }

  void further_modes() {
    for (spec::Mode mode : spec_.further_modes)
      for (Entry& e : entries_)
        if (mode != spec_.mode) attempt(e, "force", mode);
  }

  void finish() {
    for (Entry& e : entries_) {
      auto findings = to_report(e.findings, settings_.with_met);
      // Rules first, then what running showed.
      findings.insert(findings.end(), std::make_move_iterator(e.out.findings.begin()), std::make_move_iterator(e.out.findings.end()));
      e.out.findings = std::move(findings);
      case_.candidates.push_back(std::move(e.out));
    }
    if (!case_.problems.empty()) {
      case_.verdict = {report::Status::undetermined, report::Grade::modelled, case_.problems.front(), {}};
    } else {
      set_verdict(case_);
      check_requirements(case_, settings_.requirements, settings_.unknown_passes);
    }
    case_.exit_code = exit_code_of(case_, spec_.policy.force.has_value());
  }

  const spec::OpSpec& spec_;
  const Services& services_;
  const Settings& settings_;
  Supervisor& supervisor_;
  std::shared_ptr<Scratch> scratch_;
  report::Case case_;
  Estimate estimate_;
  facts::FactSet facts_;
  std::vector<Entry> entries_;
  core::TensorMap inputs_;
  ops::cases::ReferenceValues reference_;
  std::unique_ptr<CaseRun> run_;
  std::optional<ExactPass> exact_;
  std::optional<TensorSaver> saver_;
};

}  // namespace

WorkerLimits limits_of(const Settings& settings) {
  WorkerLimits limits;
  limits.timeout = settings.timeout;
  limits.memory_bytes = settings.memory_limit;
  if (!limits.memory_bytes)
    if (const auto available = memory_available()) limits.memory_bytes = static_cast<std::int64_t>(0.9 * static_cast<double>(*available));
  return limits;
}

report::Case diagnose(const spec::OpSpec& spec, const std::string& id, const Services& services, const Settings& settings,
                      Supervisor& supervisor, const std::shared_ptr<Scratch>& scratch) {
  try {
    return Diagnosis(spec, services, settings, supervisor, scratch).run(id);
  } catch (const std::exception& e) {  // memory of our own, mostly
    report::Case c;
    c.id = id;
    c.problems.push_back(fmt::format("this case could not be run: {}", e.what()));
    c.verdict.summary = c.problems.front();
    c.exit_code = 2;
    return c;
  }
}

}  // namespace dd::session
