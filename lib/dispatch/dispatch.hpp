// The dispatcher: walks the candidates in order under a policy, falls back, and records every step with the ids of
// the findings behind it. Pure: running a candidate is a callback, so that the same code serves execution (grade ran)
// and prediction (grade modelled).
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "rules/rule.hpp"
#include "spec/spec.hpp"

namespace dd::dispatch {

enum class Action { chosen, passed_over, failed };

struct Step {
  std::string backend;
  Action action = Action::passed_over;
  std::vector<std::string> finding_ids;  // why it was passed over or failed; slows of a chosen one
};

struct Candidate {
  std::string backend;
  std::vector<rules::Finding> findings;  // all that apply, whatever their status
};

struct Decision {
  std::string policy;              // "allow", or "force NAME"
  std::vector<std::string> order;  // as walked
  std::vector<Step> steps;
  std::optional<std::string> selected;
};

// What trying a candidate gave: ok, or the ids of the findings that explain why not.
struct Tried {
  bool ok = false;
  std::vector<std::string> finding_ids;
};
using TryFn = std::function<Tried(const std::string& backend)>;

// Sets the policy facts of one backend (policy.listed, policy.denied, policy.force) that the POL rules read.
void set_policy_facts(facts::FactSet& facts, const spec::Policy& policy, const std::string& backend);

// POL rules: in force for every backend of every framework.
std::span<const rules::Rule> policy_rules();

// RUL and NUM rules: what a run showed (facts rules_block and run.*) held against the rules and against the reference.
std::span<const rules::Rule> outcome_rules();
// RUL rules on what a library's own query said (run_backend) against the rules or the run (chosen_backend).
std::span<const rules::Rule> answer_rules();
// NUM rules on gradients: run_mismatched counts their elements.
std::span<const rules::Rule> gradient_rules();

// MEM rules (facts memory_needed and memory_available): in force for every backend that would really run.
std::span<const rules::Rule> memory_rules();

// The order to walk: policy.order first (names in it that exist), then the rest in default order.
std::vector<std::string> walk_order(const spec::Policy& policy, std::span<const Candidate> candidates);

// Candidates come in default order. A candidate with an unmet blocking finding is passed over; one whose eligibility
// is unknown is tried, since only the run can tell. Without a selection `selected` stays empty.
Decision decide(const spec::Policy& policy, std::span<const Candidate> candidates, const TryFn& try_candidate);

// Ids of unmet (or, without any unmet, unknown) findings of these levels.
std::vector<std::string> ids_of(std::span<const rules::Finding> findings, rules::Level level);

}  // namespace dd::dispatch

DD_ENUM_TEXT(dd::dispatch::Action, {dd::dispatch::Action::chosen, "chosen"},
             {dd::dispatch::Action::passed_over, "passed-over"}, {dd::dispatch::Action::failed, "failed"})
