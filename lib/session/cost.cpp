#include "session/cost.hpp"

#include <algorithm>

#include "report/timing.hpp"

namespace dd::session {

const report::Candidate* candidate_named(const report::Case& c, std::string_view name) {
  for (const report::Candidate& candidate : c.candidates)
    if (candidate.backend == name) return &candidate;
  return nullptr;
}

const report::Candidate* selected_of(const report::Case& c) {
  return c.decision.selected ? candidate_named(c, *c.decision.selected) : nullptr;
}

const report::Attempt* attempt_under(const report::Candidate& c, std::string_view policy) {
  for (const report::Attempt& a : c.attempts)
    if (a.policy == policy) return &a;
  return c.attempts.empty() ? nullptr : &c.attempts.front();
}

Cost cost_of(const report::Case& c, const report::Candidate& selected) {
  Cost cost;
  const report::Attempt* own = nullptr;
  const auto timed = [&](const report::Attempt& a) {
    return a.timing && a.timing->runs > 2 && a.timing->median > 0 && (!own || (a.mode == own->mode && a.timing->method == own->timing->method));
  };
  const auto first = std::find_if(selected.attempts.begin(), selected.attempts.end(), timed);
  if (first == selected.attempts.end()) return cost;
  own = &*first;
  cost.own = &*own->timing;
  for (const report::Candidate& other : c.candidates) {
    if (&other == &selected || other.eligibility == "blocked") continue;
    const auto a = std::find_if(other.attempts.begin(), other.attempts.end(), timed);
    if (a == other.attempts.end() || (cost.best && a->timing->median >= cost.best->median)) continue;
    cost.best = &*a->timing;
    cost.best_name = other.backend;
  }
  if (cost.best) cost.noise = std::max({cost.own->spread, cost.best->spread, report::quiet_spread});
  return cost;
}

}  // namespace dd::session
