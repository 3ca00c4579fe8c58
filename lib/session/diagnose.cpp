#include "session/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ops/tensor/parallel.hpp"
#include "session/case_work.hpp"
#include "session/findings.hpp"
#include "session/framework_case.hpp"
#include "session/interrupt.hpp"
#include "session/memory.hpp"
#include "session/modes.hpp"
#include "session/roofline.hpp"

namespace dd::session {
namespace {

using backends::Backend;
using report::Outcome;

// Every target but the processor is a GPU, whether it is here or a profile.
bool on_gpu(const spec::OpSpec& spec) {
  const std::string& target = spec.context.target;
  return !target.empty() && target != "cpu" && target != "host";
}

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

class NativeCase : CaseWork {
 public:
  using CaseWork::CaseWork;

  report::Case run() {
    if (!here_ || fits()) {
      main_mode_ = main_mode();
      gather_facts();
      evaluate_candidates();
      // Without anything to run neither inputs nor reference are needed.
      if (!here_ || !anything_to_run() || stop_signal() != 0 || make_reference(false)) {
        for (const spec::Mode mode : asked_modes()) in_mode(mode);
        for (Entry& e : entries_) hold_modes(e);
        modes_ = compare_modes(by_mode_, [this](const std::string& name) { return is_fallback(name); });
      }
    }
    report::Case done = finish();
    done.verdict.because.insert(done.verdict.because.end(), modes_.lines.begin(), modes_.lines.end());
    // The verdict speaks of the main mode; one before it that does not exist here differs in nothing.
    if (spec_.mode == main_mode_) done.verdict.summary += modes_.difference;
    return done;
  }

 private:
  // What the rules say of a candidate in one mode.
  struct Judged {
    std::vector<rules::Finding> findings;
    bool blocked = false;
  };

  std::vector<spec::Mode> asked_modes() const {
    std::vector<spec::Mode> modes{spec_.mode};
    for (const spec::Mode mode : spec_.further_modes)
      if (std::find(modes.begin(), modes.end(), mode) == modes.end()) modes.push_back(mode);
    return modes;
  }

  // Why no backend for this call has the mode; empty when one has it.
  std::string missing_everywhere(spec::Mode mode) const {
    std::string why;
    for (const Backend& b : services_.backends) {
      if (!serves(b, spec_)) continue;
      why = mode_missing(b, mode);
      if (why.empty()) break;
    }
    return why;
  }

  // The first mode asked for that exists here decides; the others stand beside it.
  spec::Mode main_mode() const {
    for (const spec::Mode mode : asked_modes())
      if (missing_everywhere(mode).empty()) return mode;
    return spec_.mode;
  }

  void in_mode(spec::Mode mode) {
    const std::string missing = missing_everywhere(mode);
    if (mode != main_mode_ && !missing.empty()) {
      for (Entry& e : entries_) e.out.attempts.push_back(not_run("force", mode, Outcome::unavailable, "mode", missing, "native dispatcher"));
      by_mode_.push_back({std::string(core::to_text(mode)), "", not_run("allow", mode, Outcome::unavailable, "mode", missing, "native dispatcher")});
      return;
    }
    std::vector<Judged> judged;
    for (const Entry& e : entries_) judged.push_back(mode == main_mode_ ? Judged{e.findings, e.blocked} : judge(e, mode));
    decide(mode, judged);
    force_each(mode, judged);
  }

  void gather_facts() {
    services_.add_facts(spec_, facts_);
    if (main_mode_ != spec_.mode) facts_.set(facts::Id::mode, std::string(core::to_text(main_mode_)), facts::Provenance::spec, "mode");
    std::vector<void (*)(facts::FactSet&)> added;  // one library serves several backends
    for (const Backend& b : services_.backends) {
      if (!serves(b, spec_) || !b.add_facts || std::find(added.begin(), added.end(), b.add_facts) != added.end()) continue;
      b.add_facts(facts_);
      added.push_back(b.add_facts);
    }
    for (const Backend& b : services_.backends)
      if (serves(b, spec_) && b.add_call_facts) b.add_call_facts(spec_, facts_);
    if (here_ && on_gpu(spec_) && services_.gpu_findings)
      for (const rules::Finding& f : services_.gpu_findings()) case_.findings.push_back(to_report(f));
    case_.facts = to_report(facts_);
  }

  void evaluate_candidates() {
    for (const Backend& b : services_.backends) {
      if (!serves(b, spec_)) continue;
      Entry e{&b, facts_, {}, {}, false};
      dispatch::set_policy_facts(e.facts, spec_.policy, std::string(b.name));
      const double needed = estimate_.common() + (b.extra_bytes ? static_cast<double>(b.extra_bytes(spec_)) : 0.0);
      e.facts.set(facts::Id::memory_needed, static_cast<std::int64_t>(std::min(needed, 9e18)), facts::Provenance::derived, "estimate");
      Judged judged = judge(e, main_mode_);
      e.findings = std::move(judged.findings);
      e.blocked = judged.blocked;
      e.out.eligibility = core::to_text(rules::eligibility(e.findings));
      e.out.backend = b.name;
      e.out.layer = b.layer;
      e.out.fast = b.fast;
      entries_.push_back(std::move(e));
    }
    // The rows come in default order; a call may change it.
    if (std::any_of(entries_.begin(), entries_.end(), [](const Entry& e) { return e.backend->rank_for != nullptr; }))
      std::stable_sort(entries_.begin(), entries_.end(), [this](const Entry& a, const Entry& b) { return a.backend->order_for(spec_) < b.backend->order_for(spec_); });
  }

  Judged judge(const Entry& e, spec::Mode mode) const {
    facts::FactSet facts = e.facts;
    if (mode != main_mode_) facts.set(facts::Id::mode, std::string(core::to_text(mode)), facts::Provenance::spec, "mode");
    Judged out;
    const auto add = [&](std::span<const rules::Rule> table) {
      auto found = rules::evaluate_all(table, facts, settings_.with_met);
      out.findings.insert(out.findings.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
    };
    add(dispatch::policy_rules());
    if (here_) add(dispatch::memory_rules());
    add(e.backend->judged_by());
    out.blocked = rules::eligibility(out.findings) == rules::Eligibility::blocked;
    return out;
  }

  bool anything_to_run() const {
    return std::any_of(entries_.begin(), entries_.end(), [this](const Entry& e) {
      const bool available = e.backend->run && (!e.backend->probe || e.backend->probe().available);
      return available && (settings_.run_blocked || !e.blocked);
    });
  }

  // Why no attempt is made, or nullopt.
  std::optional<report::Attempt> prevented(const Entry& e, const Judged& judged, const std::string& policy, spec::Mode mode) {
    if (stopped()) return not_run(policy, mode, Outcome::not_tried, "interrupted", "stopped by the user", "supervisor");
    if (!here_ && !judged.blocked)
      return not_run(policy, mode, Outcome::predicted, "not-run", fmt::format("{} is not on this machine", spec_.context.target), "rules");
    const auto blocking = dispatch::ids_of(judged.findings, rules::Level::blocks);
    const bool by_policy = judged.blocked && std::all_of(blocking.begin(), blocking.end(), [](const std::string& id) { return id.rfind("POL", 0) == 0; });
    if (!by_policy && here_) {
      if (const std::string missing = mode_missing(*e.backend, mode); !missing.empty())
        return not_run(policy, mode, Outcome::unavailable, "mode", missing, "native dispatcher");
      if (e.backend->probe) {
        if (const backends::Availability a = e.backend->probe(); !a.available)
          return not_run(policy, mode, Outcome::unavailable, "library", a.detail, std::string(e.backend->library));
      }
      if (!e.backend->run) return not_run(policy, mode, Outcome::unavailable, "not-built", "this build has no code to run it", "this build");
    }
    if (!judged.blocked || (settings_.run_blocked && !by_policy && here_)) return std::nullopt;
    std::string ids, titles;
    for (const rules::Finding& f : judged.findings) {
      if (f.rule->level != rules::Level::blocks || f.status != rules::Truth::unmet) continue;
      ids += fmt::format("{}{}", ids.empty() ? "" : " ", f.rule->id);
      titles += fmt::format("{}{}", titles.empty() ? "" : "; ", f.rule->title);
    }
    return not_run(policy, mode, Outcome::blocked, ids, titles, "rules");
  }

  const report::Attempt& attempt(Entry& e, const Judged& judged, const std::string& policy, spec::Mode mode) {
    auto none = prevented(e, judged, policy, mode);
    if (none) {
      e.out.attempts.push_back(std::move(*none));
      return e.out.attempts.back();
    }
    const AttemptRequest request{&services_.workers.front(), e.out.backend, policy, mode, {}};
    report::Attempt a = run_attempt(request);
    e.out.grade = std::max(e.out.grade, report::Grade::ran);
    hold_against_rules(e, a);
    e.out.attempts.push_back(std::move(a));
    return e.out.attempts.back();
  }

  // The dispatcher, with real runs. A wrong result is no reason to fall back: a dispatcher does not look at the numbers.
  void decide(spec::Mode mode, const std::vector<Judged>& judged) {
    std::vector<dispatch::Candidate> candidates;
    for (std::size_t i = 0; i < entries_.size(); ++i) candidates.push_back({entries_[i].out.backend, judged[i].findings});
    const bool user_force = spec_.policy.force.has_value();
    report::Attempt last = not_run("allow", mode, Outcome::blocked, "", "no backend serves the call in this mode", "rules");
    const dispatch::Decision d = dispatch::decide(spec_.policy, candidates, [&](const std::string& name) {
      Entry& e = *entry(name);
      const report::Attempt& a = attempt(e, judged[static_cast<std::size_t>(&e - entries_.data())], user_force ? "force" : "allow", mode);
      last = a;
      // What is not here is taken at its rules' word; the verdict's grade says so.
      dispatch::Tried tried{ran(a.outcome) || a.outcome == Outcome::predicted, {}};
      if (a.outcome == Outcome::refused)
        for (const report::Finding& f : e.out.findings)
          if (f.id.rfind("RUL", 0) == 0) tried.finding_ids.push_back(f.id);
      return tried;
    });
    if (mode == main_mode_) take_decision(d);
    by_mode_.push_back({std::string(core::to_text(mode)), d.selected.value_or(""), std::move(last)});
  }

  // Plain loops are run for comparison only. Where they cannot end in time, their timeout would look like a fault.
  std::optional<report::Attempt> too_long(const Entry& e, bool blocked, spec::Mode mode) const {
    if (e.backend->name != "cpu-naive" || blocked || !here_) return std::nullopt;
    constexpr double rate = 1e9;  // floating-point operations a second and thread
    const double seconds = 2 * work_of(spec_, inputs_) / (rate * ops::thread_count(settings_.threads));
    if (seconds <= settings_.timeout) return std::nullopt;
    return not_run("force", mode, Outcome::not_tried, "too-long",
                   fmt::format("about {:.0f} s of plain loops, above the timeout of {:.0f} s; --force {} runs it all the same", seconds,
                               settings_.timeout, e.backend->name), "estimate");
  }

  void force_each(spec::Mode mode, const std::vector<Judged>& judged) {
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      Entry& e = entries_[i];
      const auto own = [&](const report::Attempt& a) { return a.mode == core::to_text(mode); };
      const bool tried = std::any_of(e.out.attempts.begin(), e.out.attempts.end(), own);  // the dispatcher itself came down to it
      const bool forced = std::any_of(e.out.attempts.begin(), e.out.attempts.end(), [&](const report::Attempt& a) { return own(a) && a.policy == "force"; });
      if (forced) continue;
      if (auto none = tried ? std::nullopt : too_long(e, judged[i].blocked, mode)) e.out.attempts.push_back(std::move(*none));
      else attempt(e, judged[i], "force", mode);
    }
  }

  const bool here_ = on_this_machine(spec_.context.target);
  spec::Mode main_mode_ = spec::Mode::eager;
  std::vector<ModeRun> by_mode_;  // what the dispatcher did, mode by mode
  ModesCompared modes_;
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
    if (spec.context.framework != "native") return diagnose_framework(spec, id, services, settings, supervisor, scratch);
    return NativeCase(spec, id, services, settings, supervisor, scratch).run();
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
