#include "rules/rule.hpp"

namespace dd::rules {

Truth status(const Rule& rule, const facts::FactSet& facts) {
  const Truth applies = evaluate(rule.applies, facts);
  if (applies == Truth::unmet) return Truth::met;
  const Truth holds = evaluate(rule.requires_that, facts);
  if (holds == Truth::met) return Truth::met;
  return applies == Truth::unknown ? Truth::unknown : holds;
}

Finding evaluate(const Rule& rule, const facts::FactSet& facts, bool with_met) {
  Finding finding{&rule, status(rule, facts), {}, {}};
  if (finding.status == Truth::met && !with_met) return finding;
  // An undecided guard is what the reader has to know about, so it is shown as well.
  finding.seen = seen_text(rule.requires_that, facts);
  finding.required = required_text(rule.requires_that);
  if (evaluate(rule.applies, facts) == Truth::unknown) {
    finding.seen += (finding.seen.empty() ? "" : ", ") + seen_text(rule.applies, facts);
    finding.required += " (when " + required_text(rule.applies) + ")";
  }
  if (finding.seen.empty()) finding.seen = seen_text(rule.applies, facts);
  return finding;
}

std::vector<Finding> evaluate_all(std::span<const Rule> rules, const facts::FactSet& facts, bool with_met) {
  std::vector<Finding> out;
  out.reserve(rules.size());
  for (const Rule& rule : rules) out.push_back(evaluate(rule, facts, with_met));
  return out;
}

namespace {

void fold(Eligibility& result, const Rule& rule, Truth truth) {
  if (rule.level != Level::blocks || truth == Truth::met) return;
  if (truth == Truth::unmet) {
    result = Eligibility::blocked;
  } else if (result == Eligibility::eligible) {
    result = Eligibility::unknown;
  }
}

}  // namespace

Eligibility eligibility(std::span<const Finding> findings) {
  Eligibility result = Eligibility::eligible;
  for (const Finding& f : findings) fold(result, *f.rule, f.status);
  return result;
}

Eligibility eligibility(std::span<const Rule> rules, const facts::FactSet& facts) {
  Eligibility result = Eligibility::eligible;
  for (const Rule& rule : rules) fold(result, rule, status(rule, facts));
  return result;
}

}  // namespace dd::rules
