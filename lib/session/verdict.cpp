#include "session/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/timing.hpp"
#include "session/cost.hpp"

namespace dd::session {
namespace {

using report::Attempt;
using report::Candidate;
using report::Case;
using report::Outcome;
using report::Status;

// Silent work on the operands of a product: then the kernel did not work on what was asked for.
std::string hidden_work(const Case& c, const Candidate& selected) {
  if (c.title.rfind("gemm", 0) != 0) return {};
  const Attempt* a = attempt_under(selected, "allow");
  if (!a) return {};
  std::int64_t bytes = 0;
  std::string what;
  for (const report::Conversion& v : a->evidence.conversions) {
    if (v.bytes <= 0 || v.kind.rfind("result", 0) == 0 || v.kind.rfind("autocast", 0) == 0) continue;  // neither is hidden
    bytes += v.bytes;
    what += fmt::format("{}{}: {}", what.empty() ? "" : ", ", v.kind, v.what);
  }
  return bytes > 0 ? fmt::format("{} ({} bytes)", what, bytes) : std::string();
}

// The case is about a device or version that is not here.
bool predicted(const Case& c) {
  return std::any_of(c.candidates.begin(), c.candidates.end(), [](const Candidate& candidate) {
    return std::any_of(candidate.attempts.begin(), candidate.attempts.end(), [](const Attempt& a) { return a.outcome == Outcome::predicted; });
  });
}

// Why a candidate did not serve the call, in a few words.
std::string reason_of(const Candidate& c, const report::Step& step) {
  for (const std::string& id : step.finding_ids)
    for (const report::Finding& f : c.findings)
      if (f.id == id && f.status != "met") return fmt::format("{}, {}", id, f.title);
  if (const Attempt* a = attempt_under(c, "allow"); a && a->error) return fmt::format("{}: {}", core::to_text(a->outcome), a->error->text);
  return step.action;
}

// Every step before the selected one, as ids and, where there are none, words.
void add_reasons(Case& c, bool fast_only) {
  for (const report::Step& step : c.decision.steps) {
    if (step.action == "chosen") return;
    const Candidate* candidate = candidate_named(c, step.backend);
    if (!candidate || (fast_only && !candidate->fast)) continue;
    c.verdict.because.push_back(fmt::format("{}: {}", step.backend, reason_of(*candidate, step)));
  }
}

std::string first_reason(const Case& c, bool fast_only) {
  for (const report::Step& step : c.decision.steps) {
    const Candidate* candidate = candidate_named(c, step.backend);
    if (step.action != "chosen" && candidate && (!fast_only || candidate->fast)) return fmt::format("{} ({})", step.backend, reason_of(*candidate, step));
  }
  return {};
}

// What the choice costs against the best other backend, when the timings can tell them apart.
void add_cost(Case& c, const Candidate& selected) {
  const Cost cost = cost_of(c, selected);
  if (!cost.best) return;
  const double ratio = cost.ratio();
  if (ratio > 1 + cost.noise) c.verdict.because.push_back(fmt::format("{} took {:.2f} times as long as {}", selected.backend, ratio, cost.best_name));
  else if (1 / ratio > 1 + cost.noise) c.verdict.because.push_back(fmt::format("the next best, {}, took {:.2f} times as long", cost.best_name, 1 / ratio));
  else if (cost.noise > report::noisy_spread) c.verdict.because.push_back("timings are too noisy to rank");
  else c.verdict.because.push_back(fmt::format("no difference to {} beyond the noise", cost.best_name));
}

// The finding that no GPU can be used here at all; then what else keeps the backends off is beside the point.
const report::Finding* no_gpu(const Case& c) {
  static constexpr std::string_view absent[] = {"ENV020", "ENV022", "ENV044", "ENV045"};
  for (const report::Finding& f : c.findings)
    if (f.status == "unmet" && std::find(std::begin(absent), std::end(absent), f.id) != std::end(absent)) return &f;
  return nullptr;
}

void say_no_gpu(Case& c, const report::Finding& absent) {
  c.verdict.summary = fmt::format("no GPU can be used here: {}, {}", absent.id, absent.title);
  c.verdict.because.push_back("fix: ask about a GPU that is not here with a profile, as in --target h100-sxm; `dispatchdoctor devices` lists them");
}

// Ctrl-C came before it was known which backend serves the call.
bool interrupted(const Case& c) {
  if (c.decision.selected) return false;
  return std::any_of(c.candidates.begin(), c.candidates.end(), [](const Candidate& candidate) {
    return std::any_of(candidate.attempts.begin(), candidate.attempts.end(), [](const Attempt& a) {
      return a.outcome == Outcome::not_tried && a.error && a.error->code == "interrupted";
    });
  });
}

void no_selection(Case& c) {
  if (interrupted(c)) {
    c.verdict.status = Status::undetermined;
    c.verdict.summary = "stopped by the user before a backend had served the call";
    return;
  }
  const bool none_tried = std::all_of(c.candidates.begin(), c.candidates.end(), [](const Candidate& candidate) {
    return std::all_of(candidate.attempts.begin(), candidate.attempts.end(), [](const Attempt& a) { return a.outcome == Outcome::not_tried; });
  });
  if (predicted(c) && c.decision.steps.empty()) {
    c.verdict.status = Status::undetermined;
    c.verdict.summary = "facts that decide are not known";
    return;
  }
  if (c.candidates.empty() || (none_tried && c.decision.steps.empty())) {
    c.verdict.status = Status::undetermined;
    c.verdict.summary = c.candidates.empty() ? "no backend of this build serves such calls" : "nothing was run";
    return;
  }
  c.verdict.status = Status::no_path;
  add_reasons(c, false);
  if (const report::Finding* absent = no_gpu(c)) {
    say_no_gpu(c, *absent);
    return;
  }
  const std::string reason = first_reason(c, c.decision.policy == "allow");
  const bool forced = c.decision.policy.rfind("force ", 0) == 0;
  if (forced) {
    const std::string name = c.decision.policy.substr(6);
    const auto step = std::find_if(c.decision.steps.begin(), c.decision.steps.end(), [&](const report::Step& s) { return s.backend == name; });
    const Candidate* candidate = candidate_named(c, name);
    c.verdict.because.clear();
    if (step != c.decision.steps.end() && candidate) {
      c.verdict.because.push_back(fmt::format("{}: {}", name, reason_of(*candidate, *step)));
      c.verdict.summary = fmt::format("forced {} did not serve the call: {}", name, reason_of(*candidate, *step));
    } else {
      std::string known;
      for (const Candidate& k : c.candidates)
        if (k.layer != "api") known += (known.empty() ? "" : ", ") + k.backend;
      c.verdict.summary = fmt::format("forced {} is no backend for this call{}", name, known.empty() ? "" : "; there are " + known);
    }
    return;
  }
  c.verdict.summary = reason.empty() ? "no backend served the call" : fmt::format("no backend served the call; the first was {}", reason);
}

void selection(Case& c, const Candidate& selected) {
  const Attempt* a = attempt_under(selected, "allow");
  const std::string hidden = hidden_work(c, selected);
  if (a && a->outcome == Outcome::off) {
    c.verdict.status = Status::wrong_result;
    c.verdict.summary = fmt::format("{} was chosen and its result is off", selected.backend);
    if (a->comparison && a->comparison->mismatched == 0) {
      for (const report::Gradient& g : a->comparison->gradients)
        if (g.mismatched > 0) c.verdict.because.push_back(fmt::format("{} of {} elements of the gradient {} are not close to its reference", g.mismatched, g.total, g.tensor));
    } else if (a->comparison)
      c.verdict.because.push_back(fmt::format("{} of {} elements are not close to the reference{}", a->comparison->mismatched, a->comparison->total,
                                              a->comparison->guard_damaged > 0 ? ", and memory outside the result was written" : ""));
    return;
  }
  const bool forced = c.decision.policy.rfind("force ", 0) == 0;
  const bool beyond = a && a->comparison && a->comparison->mismatched > 0;  // of what its arithmetic can hold
  const std::string trust = !a || a->outcome != Outcome::mistrusted ? "" : beyond ? " (its result cannot be judged: " + a->comparison->mistrust + ")" : " (close, but the data could not tell)";
  if (selected.fast && hidden.empty()) {
    c.verdict.status = Status::fast_path;
    c.verdict.summary = fmt::format("{} served the call{}", selected.backend, trust);
  } else {
    c.verdict.status = Status::fallback;
    const std::string reason = forced ? "" : first_reason(c, true);
    if (!hidden.empty()) c.verdict.because.push_back(fmt::format("{} converted silently: {}", selected.backend, hidden));
    c.verdict.summary = reason.empty() && hidden.empty() ? fmt::format("{}{} served the call, which is no fast path{}", selected.backend, forced ? " was forced and" : "", trust)
                        : reason.empty() || selected.fast ? fmt::format("{} served the call after silent conversions{}", selected.backend, trust)
                                                         : fmt::format("fell back to {}; fast path missed: {}{}", selected.backend, reason, trust);
  }
  if (!forced) add_reasons(c, true);
  add_cost(c, selected);
}

// The order in which the codes win.
constexpr int precedence[] = {2, 4, 1, 3, 6, 5};

}  // namespace

void set_verdict(Case& c) {
  c.verdict = {};
  c.verdict.grade = report::Grade::ran;
  const Candidate* selected = selected_of(c);
  if (selected && selected->grade == report::Grade::traced) c.verdict.grade = report::Grade::traced;
  if (selected) selection(c, *selected);
  else no_selection(c);
  // What is unavailable was not executed either, except where a framework's own choice showed without a result.
  const bool anything = std::any_of(c.candidates.begin(), c.candidates.end(), [&](const Candidate& candidate) {
    return std::any_of(candidate.attempts.begin(), candidate.attempts.end(), [&](const Attempt& a) {
      if (a.outcome == Outcome::unavailable) return &candidate == selected;
      return a.outcome != Outcome::blocked && a.outcome != Outcome::not_tried && a.outcome != Outcome::predicted;
    });
  });
  if (!anything) c.verdict.grade = report::Grade::modelled;
  if (!anything && predicted(c)) {
    std::string why;
    for (const Candidate& candidate : c.candidates)
      for (const Attempt& a : candidate.attempts)
        if (a.outcome == Outcome::predicted && a.error && why.empty()) why = fmt::format(" ({})", a.error->text);
    std::string& said = c.verdict.summary;
    if (const std::size_t at = said.find(" served the call"); at != std::string::npos) said.replace(at, 7, " would serve");
    if (const report::Finding* absent = no_gpu(c)) {
      // The GPU meant is the one of this machine, and there is none: what rules say of a GPU of which nothing is known decides nothing.
      c.verdict.status = Status::undetermined;
      c.verdict.because = {"by the rules alone, of a GPU that is not known: " + said};
      say_no_gpu(c, *absent);
    } else {
      said = fmt::format("not run{}; by the rules alone: {}", why, said);
    }
  }
  // A wrong result is said wherever it was seen, not only of the backend that was chosen.
  for (const Candidate& candidate : c.candidates) {
    if (&candidate == selected && c.verdict.status == Status::wrong_result) continue;
    const auto off = std::find_if(candidate.attempts.begin(), candidate.attempts.end(), [](const Attempt& a) { return a.outcome == Outcome::off; });
    if (off != candidate.attempts.end()) c.verdict.because.push_back(fmt::format("{} gives a wrong result when it is used", candidate.backend));
  }
}

bool tested(const Case& c) {
  for (const Candidate& candidate : c.candidates)
    for (const Attempt& a : candidate.attempts)
      if (a.outcome == Outcome::matched || a.outcome == Outcome::off) return true;
  return false;
}

bool faulted(Outcome o) { return o == Outcome::crashed || o == Outcome::timed_out || o == Outcome::out_of_memory; }

int exit_code_of(const Case& c, bool forced) {
  if (!c.problems.empty()) return 2;
  bool fault = false, off = false;
  for (const Candidate& candidate : c.candidates)
    for (const Attempt& a : candidate.attempts) {
      fault = fault || faulted(a.outcome);
      off = off || a.outcome == Outcome::off;
    }
  if (fault) return 4;
  if (off) return 1;
  if (interrupted(c)) return 5;
  const int missed = requirements_code(c);
  if (missed == 3 || (forced && !c.decision.selected && c.verdict.status != Status::undetermined)) return 3;
  if (missed != 0) return missed;
  // A prediction is a diagnosis too, as long as it decides.
  return tested(c) || (predicted(c) && c.verdict.status != Status::undetermined) ? 0 : 5;
}

int exit_code_of(std::span<const Case> cases) {
  if (cases.empty()) return 5;
  for (int code : precedence)
    if (std::any_of(cases.begin(), cases.end(), [&](const Case& c) { return c.exit_code == code; })) {
      // Something was tested as long as one case was.
      if (code == 5 && std::any_of(cases.begin(), cases.end(), [](const Case& c) { return c.exit_code != 5 && c.problems.empty(); })) continue;
      return code;
    }
  return 0;
}

report::Summary summarize(std::span<const Case> cases) {
  report::Summary s;
  for (const Case& c : cases) {
    ++s.cases;
    s.tested += tested(c);
    if (!c.problems.empty()) {
      ++s.errors;
      continue;
    }
    switch (c.verdict.status) {
      case Status::fast_path: ++s.fast; break;
      case Status::fallback: ++s.fallback; break;
      case Status::no_path: ++s.no_path; break;
      case Status::wrong_result: ++s.wrong; break;
      case Status::undetermined: ++s.undetermined; break;
    }
  }
  return s;
}

}  // namespace dd::session
