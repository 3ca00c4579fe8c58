#include "session/case_work.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/clock.hpp"
#include "dispatch/dispatch.hpp"
#include "report/texts.hpp"
#include "session/autocast.hpp"
#include "session/cost.hpp"
#include "session/findings.hpp"
#include "session/interrupt.hpp"
#include "session/mask_file.hpp"
#include "session/memory.hpp"
#include "session/verdict.hpp"
#include "spec/values.hpp"

namespace dd::session {
namespace {

bool has_finding(const report::Candidate& c, std::string_view id) {
  return std::any_of(c.findings.begin(), c.findings.end(), [&](const report::Finding& f) { return f.id == id; });
}

}  // namespace

bool ran(report::Outcome o) { return o == report::Outcome::matched || o == report::Outcome::off || o == report::Outcome::mistrusted; }

bool on_this_machine(const std::string& target) {
  return target.empty() || target == "cpu" || target == "host" || spec::gpu_ordinal(target);
}

report::Attempt not_run(const std::string& policy, spec::Mode mode, report::Outcome outcome, std::string code, std::string text, std::string source) {
  report::Attempt a;
  a.policy = policy;
  a.mode = core::to_text(mode);
  a.outcome = outcome;
  a.error = report::Error{std::move(code), std::move(text), std::move(source)};
  return a;
}

CaseWork::CaseWork(const spec::OpSpec& spec, const std::string& id, const Services& services, const Settings& settings, Supervisor& supervisor,
                   std::shared_ptr<Scratch> scratch)
    : spec_(spec), services_(services), settings_(settings), supervisor_(supervisor), scratch_(std::move(scratch)), begin_(core::now()) {
  case_.id = id;
  case_.spec_json = services_.canonical(spec_);
  case_.repro = services_.repro(spec_);
  case_.title = report::title_of(case_.repro);
}

bool CaseWork::fits() {
  estimate_ = estimate(spec_);
  const auto available = memory_available();
  if (!available || estimate_.common() <= static_cast<double>(*available)) return true;
  case_.problems.push_back(fmt::format("the call does not fit into memory: {}; available {} bytes", estimate_.text(), *available));
  return false;
}

bool CaseWork::make_reference(bool with_dropout_keep) {
  lowered_ = lowered_by_autocast(spec_);
  const spec::OpSpec& computed = lowered_ ? *lowered_ : spec_;
  auto inputs = ops::cases::make_inputs(computed, std::nullopt, read_mask_file);
  if (!inputs) return refuse(inputs.problems());
  inputs_ = std::move(*inputs);
  auto reference = ops::cases::run_reference(computed, inputs_, settings_.reference_budget, {settings_.threads, stop_flag()});
  if (stop_signal() != 0) return refuse({{"reference", "", "", "stopped by the user before the reference was done", "", 0}});
  if (!reference) return refuse(reference.problems());
  reference_ = std::move(*reference);
  case_.reference = report::Reference{reference_.name, reference_.accumulate, reference_.bound_text, reference_.scope, reference_.seconds};
  // Only a worker that cannot make the mask from the seed itself is given it: it is as large as the scores.
  if (with_dropout_keep && spec_.is_attention() && spec_.attention().dropout_p > 0) inputs_["dropout_keep"] = ops::cases::dropout_keep_tensor(spec_);
  if (lowered_) inputs_ = in_types_of(spec_, inputs_);
  auto run = CaseRun::make(computed, case_.spec_json, inputs_, settings_, supervisor_, scratch_);
  if (!run) return refuse(run.problems());
  run_ = std::move(*run);
  exact_.emplace(computed, case_.spec_json, settings_, supervisor_, scratch_);
  if (settings_.save_folder) {
    saver_.emplace(*settings_.save_folder, settings_.save_prefix, case_.spec_json, case_);
    saver_->inputs(spec_, inputs_);
    saver_->reference(reference_);
  }
  return true;
}

bool CaseWork::refuse(const core::Problems& problems) {
  for (const core::Problem& p : problems) case_.problems.push_back(core::to_text(p));
  return false;
}

bool CaseWork::stopped() const { return stop_signal() != 0 || (run_ && run_->interrupted()); }

report::Attempt CaseWork::run_attempt(const AttemptRequest& request, Told* told) {
  Told own;
  if (!told) told = &own;
  report::Attempt a = run_->attempt(request, reference_, told);
  if (Entry* e = told->asked ? entry(request.backend) : nullptr) e->out.asked = told->asked;
  if (a.timing) add_limits(*a.timing);
  if (!ran(a.outcome)) return a;
  const std::string name = request.backend.empty() ? (told->which.empty() ? "default" : told->which) : request.backend;
  if (saver_) saver_->output(name, request.policy, a.mode, run_->output());
  if (request.policy == "force" && a.outcome == report::Outcome::matched && !stopped()) exact_->check(request, a);
  return a;
}

void CaseWork::hold_against_rules(Entry& e, const report::Attempt& a) {
  hold_recording(e, a);
  if (!ran(a.outcome) && a.outcome != report::Outcome::refused) return;
  using facts::Id;
  const auto set = [&](Id id, facts::Value value) { e.facts.set(id, std::move(value), facts::Provenance::measured, "run"); };
  set(Id::rules_block, e.blocked);
  set(Id::run_ran, ran(a.outcome));
  const auto add = [&](std::string_view owner) {
    for (const rules::Rule& rule : dispatch::outcome_rules()) {
      if (rule.id.substr(0, 3) != owner || has_finding(e.out, rule.id)) continue;
      const rules::Finding found = rules::evaluate(rule, e.facts);
      if (found.status == rules::Truth::unmet) e.out.findings.push_back(to_report(found));
    }
  };
  // Where the rules cannot tell, there is nothing to disagree with.
  // A call that runs and cannot be captured was not refused by any rule's lack; hold_recording has said so.
  if (e.out.eligibility != "unknown" && !(a.error && a.error->code == "cannot-capture")) add("RUL");
  if (!a.comparison) return;
  const report::Comparison& c = *a.comparison;
  const bool inexact = c.exact_pass.find("differ") != std::string::npos;
  const bool judged = c.verdict != "mistrusted";  // else a mismatch proves nothing
  set(Id::run_mismatched, judged ? std::max(c.mismatched, std::int64_t{inexact}) : 0);
  set(Id::run_unwritten, c.unwritten);
  set(Id::run_outside, c.guard_damaged);
  // Poison is a NaN too; what was never written has a rule of its own.
  set(Id::run_extra_nan, !judged ? 0 : std::max<std::int64_t>(0, c.nan_got - c.nan_want - c.unwritten));
  set(Id::run_judged, c.mistrust.empty() ? std::string("yes") : c.mistrust);
  add("NUM");
  hold_gradients(e, c);
}

// The gradient that is off worst, as one finding.
void CaseWork::hold_gradients(Entry& e, const report::Comparison& c) {
  const report::Gradient* worst = nullptr;
  for (const report::Gradient& g : c.gradients)
    if (g.mismatched > 0 && (!worst || g.mismatched > worst->mismatched)) worst = &g;
  if (!worst) return;
  facts::FactSet f = e.facts;
  f.set(facts::Id::run_mismatched, worst->mismatched, facts::Provenance::measured,
        fmt::format("{} of {}, greatest error {:.3g}, limit {:.3g}", worst->tensor, worst->total, worst->error, worst->limit));
  for (const rules::Rule& rule : dispatch::gradient_rules())
    if (!has_finding(e.out, rule.id)) e.out.findings.push_back(to_report(rules::evaluate(rule, f)));
}

void CaseWork::take_decision(const dispatch::Decision& d) {
  case_.decision.policy = d.policy;
  case_.decision.order = d.order;
  case_.decision.selected = d.selected;
  case_.decision.steps.clear();
  for (const dispatch::Step& s : d.steps) case_.decision.steps.push_back({s.backend, std::string(core::to_text(s.action)), s.finding_ids});
}

CaseWork::Entry* CaseWork::entry(std::string_view name) {
  const auto it = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.out.backend == name; });
  return it == entries_.end() ? nullptr : &*it;
}

bool CaseWork::is_fallback(const std::string& name) {
  const Entry* taken = entry(name);
  return taken && !taken->out.fast && std::any_of(entries_.begin(), entries_.end(), [](const Entry& e) { return e.out.fast; });
}

// A backend that exists and is no candidate of this call: it serves another operator, or runs in another place.
void CaseWork::name_absent() {
  if (case_.decision.selected) return;
  std::vector<std::string> named = spec_.policy.allow.value_or(std::vector<std::string>{});
  if (spec_.policy.force) named = {*spec_.policy.force};
  std::vector<std::string> reasons;
  for (const std::string& name : named) {
    if (candidate_named(case_, name)) return;  // its own reasons are told
    const auto of = [&](auto&& holds) { return std::any_of(services_.backends.begin(), services_.backends.end(), [&](const backends::Backend& b) { return b.name == name && holds(b); }); };
    const auto serves = [&](const backends::Backend& b) { return b.op == (spec_.is_attention() ? spec::Op::sdpa : spec::Op::gemm); };
    if (!of([](const backends::Backend&) { return true; })) continue;
    if (!of(serves)) reasons.push_back(fmt::format("{}: it serves {} only", name, spec_.is_attention() ? "gemm" : "sdpa"));
    else if (of([&](const backends::Backend& b) { return serves(b) && b.device == "cuda"; }))
      reasons.push_back(fmt::format("{}: it runs on a GPU, and this call is for the processor: --target cuda:0, or a GPU that is not here, as in --target h100-sxm", name));
    else reasons.push_back(fmt::format("{}: it runs on the processor, and this call is for a GPU: --target host", name));
  }
  if (!reasons.empty() && case_.verdict.status == report::Status::no_path) case_.verdict.because = std::move(reasons);
}

report::Case CaseWork::finish() {
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
    name_absent();
    check_requirements(case_, settings_.requirements, settings_.unknown_passes);
  }
  case_.exit_code = exit_code_of(case_, spec_.policy.force.has_value());
  case_.seconds = core::now() - begin_;
  return std::move(case_);
}

}  // namespace dd::session
