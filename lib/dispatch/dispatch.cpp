#include "dispatch/dispatch.hpp"

#include <algorithm>

namespace dd::dispatch {
namespace {

bool contains(const std::vector<std::string>& list, const std::string& name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

}  // namespace

void set_policy_facts(facts::FactSet& facts, const spec::Policy& policy, const std::string& backend) {
  using facts::Id;
  const auto set = [&](Id id, bool value, const char* where) {
    facts.set(id, value, facts::Provenance::spec, where);
  };
  set(Id::policy_listed, !policy.allow || contains(*policy.allow, backend), "policy.allow");
  set(Id::policy_denied, contains(policy.deny, backend), "policy.deny");
  set(Id::policy_forced_other, policy.force && *policy.force != backend, "policy.force");
}

std::vector<std::string> walk_order(const spec::Policy& policy, std::span<const Candidate> candidates) {
  std::vector<std::string> order;
  const auto known = [&](const std::string& name) {
    return std::any_of(candidates.begin(), candidates.end(), [&](const Candidate& c) { return c.backend == name; });
  };
  if (policy.order)
    for (const std::string& name : *policy.order)
      if (known(name) && !contains(order, name)) order.push_back(name);
  for (const Candidate& c : candidates)
    if (!contains(order, c.backend)) order.push_back(c.backend);
  return order;
}

std::vector<std::string> ids_of(std::span<const rules::Finding> findings, rules::Level level) {
  std::vector<std::string> unmet, unknown;
  for (const rules::Finding& f : findings) {
    if (f.rule->level != level || f.status == rules::Truth::met) continue;
    (f.status == rules::Truth::unmet ? unmet : unknown).emplace_back(f.rule->id);
  }
  return unmet.empty() ? unknown : unmet;
}

Decision decide(const spec::Policy& policy, std::span<const Candidate> candidates, const TryFn& try_candidate) {
  Decision decision;
  decision.policy = policy.force ? "force " + *policy.force : "allow";
  decision.order = walk_order(policy, candidates);
  for (const std::string& name : decision.order) {
    const auto it = std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& c) { return c.backend == name; });
    if (rules::eligibility(it->findings) == rules::Eligibility::blocked) {
      decision.steps.push_back({name, Action::passed_over, ids_of(it->findings, rules::Level::blocks)});
      continue;
    }
    Tried tried = try_candidate(name);
    if (!tried.ok) {
      decision.steps.push_back({name, Action::failed, std::move(tried.finding_ids)});
      continue;
    }
    decision.steps.push_back({name, Action::chosen, ids_of(it->findings, rules::Level::slows)});
    decision.selected = name;
    break;
  }
  return decision;
}

}  // namespace dd::dispatch
