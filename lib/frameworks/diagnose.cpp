#include <algorithm>
#include <array>
#include <limits>

#include "dispatch/asked.hpp"
#include "frameworks/framework.hpp"

namespace dd::frameworks {
namespace {

using rules::Finding;
using rules::Level;
using rules::Rule;
using rules::Truth;

bool raises(const Candidate& candidate, std::string_view id) {
  return std::find(candidate.raising.begin(), candidate.raising.end(), id) != candidate.raising.end();
}

// Position of a rule among the checks of this version; rules without one come after those that have one.
int position_of(const Candidate& candidate, const Rule& rule, const facts::FactSet& facts) {
  const auto* version = std::get_if<facts::Version>(&facts.value(candidate.version));
  for (const CheckPosition& p : candidate.positions) {
    if (p.rule == rule.id && (!version || contains(p.span, *version))) return p.position;
  }
  return candidate.positions.empty() ? rule.order : std::numeric_limits<int>::max();
}

// Folds the truths of a candidate's rules into its standing and the reason that comes first.
class Fold {
 public:
  // Without `reasons` the first reason is not looked for, which saves the search for positions.
  Fold(const Candidate& candidate, const facts::FactSet& facts, bool reasons = true) : candidate_(candidate), facts_(facts), reasons_(reasons) {}

  void add(const Rule& rule, Truth truth) {
    if (rule.level != Level::blocks || truth == Truth::met) return;
    const bool raising = raises(candidate_, rule.id);
    if (truth == Truth::unknown) {
      unknown_ = true;
      return;
    }
    (raising ? raised_ : refused_) = true;
    if (!reasons_) return;
    // A check that passes the candidate over is reached before anything that fails afterwards.
    const int at = position_of(candidate_, rule, facts_);
    if (!first_ || (first_raises_ && !raising) || (first_raises_ == raising && at < first_at_)) {
      first_ = &rule;
      first_at_ = at;
      first_raises_ = raising;
    }
  }

  Standing standing() const {
    if (refused_) return Standing::refused;
    if (unknown_) return Standing::unknown;
    return raised_ ? Standing::raises : Standing::eligible;
  }
  const Rule* first() const { return first_; }

 private:
  const Candidate& candidate_;
  const facts::FactSet& facts_;
  bool reasons_;
  const Rule* first_ = nullptr;
  int first_at_ = 0;
  bool first_raises_ = false, refused_ = false, raised_ = false, unknown_ = false;
};

CandidateResult judge(const Candidate& candidate, const spec::OpSpec& spec, facts::FactSet& facts, bool with_met) {
  CandidateResult result{candidate, Standing::eligible, {}, nullptr};
  Fold fold(candidate, facts);
  const auto keep = [&](Finding finding) {
    if (with_met || finding.status != Truth::met) result.findings.push_back(std::move(finding));
  };
  for (const Rule& rule : candidate.rules) {
    Finding finding = rules::evaluate(rule, facts, with_met);
    fold.add(rule, finding.status);
    keep(std::move(finding));
  }
  // A library that was asked itself is held against the rules, where these decide.
  if (dispatch::was_asked(candidate.name, facts) && fold.standing() != Standing::unknown) {
    facts.set(facts::Id::rules_block, fold.standing() != Standing::eligible);
    for (const Rule& rule : dispatch::asked_rules()) {
      Finding finding = rules::evaluate(rule, facts, with_met);
      fold.add(rule, finding.status);
      keep(std::move(finding));
    }
  }
  dispatch::set_policy_facts(facts, spec.policy, std::string(candidate.name));
  bool denied = false;
  for (const Rule& rule : dispatch::policy_rules()) {
    Finding finding = rules::evaluate(rule, facts, with_met);
    denied = denied || finding.status == Truth::unmet;
    keep(std::move(finding));
  }
  result.standing = denied ? Standing::refused : fold.standing();
  result.first_reason = fold.first();
  return result;
}

// The facts that judging sets, as they were.
class Restored {
 public:
  explicit Restored(facts::FactSet& facts) : facts_(facts) {
    for (std::size_t i = 0; i < ids.size(); ++i) before_[i] = facts[ids[i]];
  }
  Restored(const Restored&) = delete;
  ~Restored() {
    for (std::size_t i = 0; i < ids.size(); ++i) facts_.set(ids[i], std::move(before_[i].value), before_[i].provenance, std::move(before_[i].where));
  }

 private:
  using Id = facts::Id;
  static constexpr std::array ids{Id::policy_listed, Id::policy_denied,      Id::policy_forced_other, Id::rules_block,
                                  Id::no_backend_accepts, Id::kernels_accepting, Id::chosen_backend};
  facts::FactSet& facts_;
  std::array<facts::Entry, ids.size()> before_;
};

struct Outcome {
  std::optional<std::string> selected;
  bool error = false, undetermined = false;
  bool operator==(const Outcome&) const = default;
};

std::vector<std::string> reasons(const CandidateResult& result, Level level) { return dispatch::ids_of(result.findings, level); }

Outcome walk(const Diagnosis& diagnosis, const Priority& priority, dispatch::Decision* record) {
  const auto step = [&](std::string_view backend, dispatch::Action action, std::vector<std::string> ids) {
    if (record) record->steps.push_back({std::string(backend), action, std::move(ids)});
  };
  for (std::string_view name : priority.order) {
    const CandidateResult* result = diagnosis.find(name);
    if (!result) continue;
    switch (result->standing) {
      case Standing::refused: step(name, dispatch::Action::passed_over, reasons(*result, Level::blocks)); continue;
      case Standing::unknown: return {std::nullopt, false, true};
      case Standing::raises:
        step(name, dispatch::Action::failed, reasons(*result, Level::blocks));
        return {std::string(name), true, false};
      case Standing::eligible:
        step(name, dispatch::Action::chosen, reasons(*result, Level::slows));
        return {std::string(name), false, false};
    }
  }
  return {std::nullopt, true, false};
}

void choose(Diagnosis& diagnosis, const spec::OpSpec& spec) {
  dispatch::Decision& decision = diagnosis.decision;
  decision.policy = spec.policy.force ? "force " + *spec.policy.force : "allow";
  std::optional<Outcome> outcome;
  for (const Priority& priority : diagnosis.priorities) {
    const bool first = !outcome;
    if (first) decision.order.assign(priority.order.begin(), priority.order.end());
    const Outcome next = walk(diagnosis, priority, first ? &decision : nullptr);
    if (first) {
      outcome = next;
    } else if (!(next == *outcome)) {
      outcome = Outcome{std::nullopt, false, true};
    }
  }
  diagnosis.selected = outcome->selected;
  diagnosis.error = outcome->error;
  diagnosis.undetermined = outcome->undetermined;
  if (diagnosis.call_error) {
    diagnosis.selected.reset();
    diagnosis.error = true;
    diagnosis.undetermined = false;
  }
  if (!diagnosis.error) decision.selected = diagnosis.selected;
}

}  // namespace

const CandidateResult* Diagnosis::find(std::string_view backend) const {
  for (const CandidateResult& c : candidates)
    if (c.candidate.name == backend) return &c;
  return nullptr;
}

Standing standing_of(const Candidate& candidate, const facts::FactSet& facts, const Rule** first_reason) {
  Fold fold(candidate, facts, first_reason != nullptr);
  for (const Rule& rule : candidate.rules)
    if (rule.level == Level::blocks) fold.add(rule, rules::status(rule, facts));
  if (first_reason) *first_reason = fold.first();
  return fold.standing();
}

Diagnosis diagnose(const Framework& framework, const spec::OpSpec& spec, facts::FactSet facts, bool with_met) {
  framework.add_facts(spec, facts);
  return diagnose_placed(framework, spec, facts, with_met);
}

Diagnosis diagnose_placed(const Framework& framework, const spec::OpSpec& spec, facts::FactSet& facts, bool with_met) {
  Diagnosis diagnosis;
  const Restored restored(facts);
  diagnosis.confidence = framework.confidence(facts);
  const auto add_call = [&](std::span<const Rule> table) {
    for (const Rule& rule : table) {
      Finding finding = rules::evaluate(rule, facts, with_met);
      if (finding.status == Truth::unmet && rule.level == Level::blocks && !diagnosis.call_error) diagnosis.call_error = &rule;
      if (with_met || finding.status != Truth::met) diagnosis.call_findings.push_back(std::move(finding));
    }
  };
  add_call(framework.call_rules(spec));
  for (const Candidate& candidate : framework.candidates(spec, facts))
    diagnosis.candidates.push_back(judge(candidate, spec, facts, with_met));
  diagnosis.priorities = framework.priorities(spec, facts);
  choose(diagnosis, spec);
  if (!diagnosis.undetermined) {
    facts.set(facts::Id::no_backend_accepts, diagnosis.error && !diagnosis.selected);
    const auto accepts = [](const CandidateResult& c) { return c.standing == Standing::eligible || c.standing == Standing::raises; };
    facts.set(facts::Id::kernels_accepting, static_cast<std::int64_t>(std::count_if(diagnosis.candidates.begin(), diagnosis.candidates.end(), accepts)));
    if (diagnosis.selected) facts.set(facts::Id::chosen_backend, *diagnosis.selected);
    else facts.set(facts::Id::chosen_backend, facts::NotApplicable{});
  }
  for (const Rule& rule : framework.outcome_rules(spec)) {
    Finding finding = rules::evaluate(rule, facts, with_met);
    if (with_met || finding.status != Truth::met) diagnosis.call_findings.push_back(std::move(finding));
  }
  return diagnosis;
}

}  // namespace dd::frameworks
