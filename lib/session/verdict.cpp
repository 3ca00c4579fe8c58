#include "session/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "report/timing.hpp"

namespace dd::session {
namespace {

using report::Attempt;
using report::Candidate;
using report::Case;
using report::Outcome;
using report::Status;

const Candidate* find(const Case& c, const std::string& name) {
  for (const Candidate& candidate : c.candidates)
    if (candidate.backend == name) return &candidate;
  return nullptr;
}

const Attempt* attempt_under(const Candidate& c, std::string_view policy) {
  for (const Attempt& a : c.attempts)
    if (a.policy == policy) return &a;
  return c.attempts.empty() ? nullptr : &c.attempts.front();
}

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
    const Candidate* candidate = find(c, step.backend);
    if (!candidate || (fast_only && !candidate->fast)) continue;
    c.verdict.because.push_back(fmt::format("{}: {}", step.backend, reason_of(*candidate, step)));
  }
}

std::string first_reason(const Case& c, bool fast_only) {
  for (const report::Step& step : c.decision.steps) {
    const Candidate* candidate = find(c, step.backend);
    if (step.action != "chosen" && candidate && (!fast_only || candidate->fast)) return fmt::format("{} ({})", step.backend, reason_of(*candidate, step));
  }
  return {};
}

// What the choice costs against the best other backend, when the timings can tell them apart.
void add_cost(Case& c, const Candidate& selected) {
  // Only like is compared with like: the same mode, the same clock, the same state of the caches.
  const Attempt* own_attempt = nullptr;
  const auto timed = [&](const Attempt& a) {
    return a.timing && a.timing->runs > 2 && a.timing->median > 0 &&
           (!own_attempt || (a.mode == own_attempt->mode && a.timing->method == own_attempt->timing->method));
  };
  const auto timing = [&](const Candidate& candidate) -> const report::Timing* {
    const auto a = std::find_if(candidate.attempts.begin(), candidate.attempts.end(), timed);
    return a == candidate.attempts.end() || (candidate.eligibility == "blocked" && &candidate != &selected) ? nullptr : &*a->timing;
  };
  const auto first = std::find_if(selected.attempts.begin(), selected.attempts.end(), timed);
  if (first == selected.attempts.end()) return;
  own_attempt = &*first;
  const report::Timing* own = &*first->timing;
  const Candidate* best = nullptr;
  for (const Candidate& other : c.candidates)
    if (&other != &selected && timing(other) && (!best || timing(other)->median < timing(*best)->median)) best = &other;
  if (!best) return;
  const double ratio = own->median / timing(*best)->median;
  const double noise = std::max({own->spread, timing(*best)->spread, report::quiet_spread});
  if (noise > report::noisy_spread) c.verdict.because.push_back("timings are too noisy to rank");
  else if (ratio > 1 + noise) c.verdict.because.push_back(fmt::format("{} took {:.2f} times as long as {}", selected.backend, ratio, best->backend));
  else if (ratio < 1 - noise) c.verdict.because.push_back(fmt::format("the next best, {}, took {:.2f} times as long", best->backend, 1 / ratio));
  else c.verdict.because.push_back(fmt::format("no difference to {} beyond the noise", best->backend));
}

void no_selection(Case& c) {
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
  const std::string reason = first_reason(c, c.decision.policy == "allow");
  const bool forced = c.decision.policy.rfind("force ", 0) == 0;
  if (forced) {
    const std::string name = c.decision.policy.substr(6);
    const auto step = std::find_if(c.decision.steps.begin(), c.decision.steps.end(), [&](const report::Step& s) { return s.backend == name; });
    const Candidate* candidate = find(c, name);
    c.verdict.because.clear();
    if (step != c.decision.steps.end() && candidate) {
      c.verdict.because.push_back(fmt::format("{}: {}", name, reason_of(*candidate, *step)));
      c.verdict.summary = fmt::format("forced {} did not serve the call: {}", name, reason_of(*candidate, *step));
    } else {
      c.verdict.summary = fmt::format("forced {} is no backend for this call", name);
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
  const std::string trust = a && a->outcome == Outcome::mistrusted ? " (close, but the data could not tell)" : "";
  if (selected.fast && hidden.empty()) {
    c.verdict.status = Status::fast_path;
    c.verdict.summary = fmt::format("{} served the call{}", selected.backend, trust);
  } else {
    c.verdict.status = Status::fallback;
    const std::string reason = first_reason(c, true);
    if (!hidden.empty()) c.verdict.because.push_back(fmt::format("{} converted silently: {}", selected.backend, hidden));
    c.verdict.summary = reason.empty() && hidden.empty() ? fmt::format("{} served the call, which is no fast path{}", selected.backend, trust)
                        : reason.empty() || selected.fast ? fmt::format("{} served the call after silent conversions{}", selected.backend, trust)
                                                         : fmt::format("fell back to {}; fast path missed: {}{}", selected.backend, reason, trust);
  }
  add_reasons(c, true);
  add_cost(c, selected);
}

std::string backend_list(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

// The verdict speaks of the first mode; a requirement holds only where every mode that ran keeps it.
std::string broken_in_another_mode(const Case& c, const Candidate& selected, const std::function<bool(const Candidate&)>& keeps) {
  const Attempt* own = attempt_under(selected, "allow");
  for (const Candidate& other : c.candidates)
    for (const Attempt& a : other.attempts)
      if (own && a.policy == own->policy && a.mode != own->mode && a.comparison && other.layer != "api" && !keeps(other))
        return fmt::format("in mode {} {} served the call", a.mode, other.backend);
  return {};
}

report::Requirement check(const Case& c, const Requirement& r) {
  report::Requirement out{r.text, "unknown", {}};
  const auto set = [&](bool met, std::string detail) {
    out.status = met ? "met" : "unmet";
    out.detail = met ? "" : std::move(detail);
  };
  const Status status = c.verdict.status;
  if (r.kind == Requirement::Kind::close) {
    bool off = false, close = false;
    for (const Candidate& candidate : c.candidates)
      for (const Attempt& a : candidate.attempts) {
        off = off || a.outcome == Outcome::off;
        close = close || a.outcome == Outcome::matched;
      }
    if (off) set(false, "a result is not close to the reference");
    else if (close) set(true, {});
    else out.detail = "no result could be judged";
    return out;
  }
  if (status == Status::undetermined) {
    out.detail = c.verdict.summary;
    return out;
  }
  const Candidate* selected = c.decision.selected ? find(c, *c.decision.selected) : nullptr;
  const bool fast = r.kind == Requirement::Kind::fast;
  const auto keeps = [&](const Candidate& k) { return fast ? k.fast : std::find(r.backends.begin(), r.backends.end(), k.backend) != r.backends.end(); };
  const bool here = fast ? status == Status::fast_path || (status == Status::wrong_result && selected && selected->fast) : selected && keeps(*selected);
  const std::string elsewhere = here && selected ? broken_in_another_mode(c, *selected, keeps) : std::string();
  if (!elsewhere.empty()) set(false, elsewhere);
  else if (fast) set(here, c.verdict.summary);
  else set(here, selected ? fmt::format("{} was chosen, not {}", *c.decision.selected, backend_list(r.backends)) : "no backend served the call");
  return out;
}

// The order in which the codes win.
constexpr int precedence[] = {2, 4, 1, 3, 6, 5};

}  // namespace

core::Result<Requirement> parse_requirement(std::string_view text) {
  Requirement r;
  r.text = text;
  if (text == "fast") return r;
  if (text == "close") {
    r.kind = Requirement::Kind::close;
    return r;
  }
  constexpr std::string_view prefix = "backend=";
  if (text.substr(0, prefix.size()) == prefix) {
    r.kind = Requirement::Kind::backend;
    text.remove_prefix(prefix.size());
    while (!text.empty()) {
      const std::size_t comma = text.find(',');
      if (comma != 0) r.backends.emplace_back(text.substr(0, comma));
      text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    }
    if (!r.backends.empty()) return r;
  }
  return core::Problem{"--require", r.text, "fast, close or backend=NAME[,NAME]", "no such requirement", {}, 0};
}

void set_verdict(Case& c) {
  c.verdict = {};
  c.verdict.grade = report::Grade::ran;
  const Candidate* selected = c.decision.selected ? find(c, *c.decision.selected) : nullptr;
  if (selected && selected->grade == report::Grade::traced) c.verdict.grade = report::Grade::traced;
  if (selected) selection(c, *selected);
  else no_selection(c);
  const bool anything = std::any_of(c.candidates.begin(), c.candidates.end(), [](const Candidate& candidate) {
    return std::any_of(candidate.attempts.begin(), candidate.attempts.end(), [](const Attempt& a) {
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
    said = fmt::format("not run{}; by the rules alone: {}", why, said);
  }
  // A wrong result is said wherever it was seen, not only of the backend that was chosen.
  for (const Candidate& candidate : c.candidates) {
    if (&candidate == selected && c.verdict.status == Status::wrong_result) continue;
    const auto off = std::find_if(candidate.attempts.begin(), candidate.attempts.end(), [](const Attempt& a) { return a.outcome == Outcome::off; });
    if (off != candidate.attempts.end()) c.verdict.because.push_back(fmt::format("{} gives a wrong result when it is used", candidate.backend));
  }
}

void check_requirements(Case& c, std::span<const Requirement> requirements, bool unknown_passes) {
  c.requirements.clear();
  for (const Requirement& r : requirements) {
    report::Requirement checked = check(c, r);
    if (checked.status == "unknown" && unknown_passes) checked.detail += checked.detail.empty() ? "passed by --unknown pass" : "; passed by --unknown pass";
    c.requirements.push_back(std::move(checked));
  }
}

bool tested(const Case& c) {
  for (const Candidate& candidate : c.candidates)
    for (const Attempt& a : candidate.attempts)
      if (a.outcome == Outcome::matched || a.outcome == Outcome::off) return true;
  return false;
}

int exit_code_of(const Case& c, bool forced) {
  if (!c.problems.empty()) return 2;
  bool fault = false, off = false;
  for (const Candidate& candidate : c.candidates)
    for (const Attempt& a : candidate.attempts) {
      fault = fault || a.outcome == Outcome::crashed || a.outcome == Outcome::timed_out || a.outcome == Outcome::out_of_memory;
      off = off || a.outcome == Outcome::off;
    }
  if (fault) return 4;
  if (off) return 1;
  for (const report::Requirement& r : c.requirements) {
    const bool passed = r.status == "met" || (r.status == "unknown" && r.detail.find("--unknown pass") != std::string::npos);
    if (!passed) return 3;
  }
  if (forced && !c.decision.selected && c.verdict.status != Status::undetermined) return 3;
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
    if (!c.problems.empty()) continue;
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
