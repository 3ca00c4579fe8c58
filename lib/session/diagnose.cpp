#include "session/diagnose.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ops/tensor/parallel.hpp"
#include "session/case_work.hpp"
#include "session/findings.hpp"
#include "session/framework_case.hpp"
#include "session/interrupt.hpp"
#include "session/memory.hpp"
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
      gather_facts();
      evaluate_candidates();
      // Without anything to run neither inputs nor reference are needed.
      if (!here_ || !anything_to_run() || stop_signal() != 0 || make_reference(false)) {
        decide();
        force_each();
        further_modes();
      }
    }
    return finish();
  }

 private:
  void gather_facts() {
    services_.add_facts(spec_, facts_);
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
      const auto add = [&](std::span<const rules::Rule> table) {
        auto found = rules::evaluate_all(table, e.facts, settings_.with_met);
        e.findings.insert(e.findings.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
      };
      add(dispatch::policy_rules());
      if (here_) add(dispatch::memory_rules());
      add(b.judged_by());
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

  // Why no attempt is made, or nullopt.
  std::optional<report::Attempt> prevented(const Entry& e, const std::string& policy, spec::Mode mode) {
    if (stopped()) return not_run(policy, mode, Outcome::not_tried, "interrupted", "stopped by the user", "supervisor");
    if (!here_ && !e.blocked)
      return not_run(policy, mode, Outcome::predicted, "not-run", fmt::format("{} is not on this machine", spec_.context.target), "rules");
    const auto blocking = dispatch::ids_of(e.findings, rules::Level::blocks);
    const bool by_policy = e.blocked && std::all_of(blocking.begin(), blocking.end(), [](const std::string& id) { return id.rfind("POL", 0) == 0; });
    if (!by_policy && here_) {
      if (const std::string missing = mode_missing(*e.backend, mode); !missing.empty())
        return not_run(policy, mode, Outcome::unavailable, "mode", missing, "native dispatcher");
      if (e.backend->probe) {
        if (const backends::Availability a = e.backend->probe(); !a.available)
          return not_run(policy, mode, Outcome::unavailable, "library", a.detail, std::string(e.backend->library));
      }
      if (!e.backend->run) return not_run(policy, mode, Outcome::unavailable, "not-built", "this build has no code to run it", "this build");
    }
    if (!e.blocked || (settings_.run_blocked && !by_policy && here_)) return std::nullopt;
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
    report::Attempt a = run_attempt(request);
    e.out.grade = std::max(e.out.grade, report::Grade::ran);
    hold_against_rules(e, a);
    e.out.attempts.push_back(std::move(a));
    return e.out.attempts.back();
  }

  // The dispatcher, with real runs. A wrong result is no reason to fall back: a dispatcher does not look at the numbers.
  void decide() {
    std::vector<dispatch::Candidate> candidates;
    for (const Entry& e : entries_) candidates.push_back({e.out.backend, e.findings});
    const bool user_force = spec_.policy.force.has_value();
    const dispatch::Decision d = dispatch::decide(spec_.policy, candidates, [&](const std::string& name) {
      Entry& e = *entry(name);
      const report::Attempt& a = attempt(e, user_force ? "force" : "allow", spec_.mode);
      // What is not here is taken at its rules' word; the verdict's grade says so.
      dispatch::Tried tried{ran(a.outcome) || a.outcome == Outcome::predicted, {}};
      if (a.outcome == Outcome::refused)
        for (const report::Finding& f : e.out.findings)
          if (f.id.rfind("RUL", 0) == 0) tried.finding_ids.push_back(f.id);
      return tried;
    });
    take_decision(d);
  }

  // Plain loops are run for comparison only. Where they cannot end in time, their timeout would look like a fault.
  std::optional<report::Attempt> too_long(const Entry& e) const {
    if (e.backend->name != "cpu-naive" || e.blocked || !here_) return std::nullopt;
    constexpr double rate = 1e9;  // floating-point operations a second and thread
    const double seconds = 2 * work_of(spec_, inputs_) / (rate * ops::thread_count(settings_.threads));
    if (seconds <= settings_.timeout) return std::nullopt;
    return not_run("force", spec_.mode, Outcome::not_tried, "too-long",
                   fmt::format("about {:.0f} s of plain loops, above the timeout of {:.0f} s; --force {} runs it all the same", seconds,
                               settings_.timeout, e.backend->name), "estimate");
  }

  void force_each() {
    for (Entry& e : entries_) {
      const bool done = std::any_of(e.out.attempts.begin(), e.out.attempts.end(), [](const report::Attempt& a) { return a.policy == "force"; });
      const bool allowed = !e.out.attempts.empty();  // the dispatcher itself came down to it
      if (done) continue;
      if (auto none = allowed ? std::nullopt : too_long(e)) e.out.attempts.push_back(std::move(*none));
      else attempt(e, "force", spec_.mode);
    }
  }

  void further_modes() {
    for (spec::Mode mode : spec_.further_modes)
      for (Entry& e : entries_)
        if (mode != spec_.mode) attempt(e, "force", mode);
    for (Entry& e : entries_) hold_modes(e);
  }

  const bool here_ = on_this_machine(spec_.context.target);
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
