// The dispatcher of a framework as data: which candidates it looks at, in which order, by which checks. Everything is
// pure: facts in, findings and a predicted decision out (grade modelled). One instance per framework, listed in
// catalogue.cpp; the generic walk is diagnose(), so that a framework brings rows and an order but no control flow.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "dispatch/dispatch.hpp"
#include "facts/facts.hpp"
#include "rules/rule.hpp"
#include "spec/spec.hpp"

namespace dd::frameworks {

// Versions are closed ranges; "2.6" as an end means every 2.6.x, "" is an open end.
struct Span {
  std::string_view since, until;
};
bool contains(Span span, facts::Version version);
// Condition form of a span: met when `fact` lies in it.
rules::Condition in_span(facts::Id fact, Span span);

// Where a rule stands among the checks that the dispatcher itself makes. Such dispatchers stop at their first failing
// check, so the lowest position among the unmet rules is the reason that the framework would print.
struct CheckPosition {
  std::string_view rule;  // id
  Span span;
  int position;           // hundredths, so that checks can be told apart that share a step
};

// One backend that the dispatcher may choose.
struct Candidate {
  std::string_view name;                           // torch-flash; printed and accepted
  std::string_view text;                           // one line: what it is
  bool fast = false;                               // counts as the fast path
  bool last_resort = false;                        // takes whatever reaches it
  std::span<const rules::Rule> rules = {};         // all of them, whatever their level; listed in checked order
  std::span<const std::string_view> raising = {};  // ids of blocking rules that do not pass the candidate over: it is
                                                   // chosen and the call then fails
  std::span<const CheckPosition> positions = {};   // empty: checked in table order
  facts::Id version{};                             // fact that the spans of `positions` are about
  std::span<const std::string_view> operators = {};  // profiler events below the API call when it ran, outermost first
  std::span<const std::string_view> kernels = {};  // parts of device kernel names, when known
};

// The order in which candidates are tried, and why this one.
struct Priority {
  std::vector<std::string_view> order;
  std::string reason;
};

enum class Confidence { exact, high, medium_high, medium, low, unknown };

struct VersionConfidence {
  Span span;
  Confidence confidence = Confidence::unknown;
  std::string_view text;  // what was read, in one sentence
};

class Framework {
 public:
  virtual ~Framework() = default;
  virtual std::string_view name() const = 0;                          // torch
  virtual bool serves(const spec::OpSpec& spec) const = 0;            // has a dispatcher for this operator
  // Facts that only this dispatcher looks at (build, environment, derived limits). The facts of the spec and of the
  // target are there already; a fact that nobody stated stays unknown. A field that nobody named but whose default the
  // framework fixes is set with provenance assumed.
  virtual void add_facts(const spec::OpSpec& spec, facts::FactSet& facts) const = 0;
  // Rules about the whole call: an unmet blocking one fails the call before, or whatever, backend is chosen.
  virtual std::span<const rules::Rule> call_rules(const spec::OpSpec& spec) const = 0;
  virtual std::vector<Candidate> candidates(const spec::OpSpec& spec, const facts::FactSet& facts) const = 0;
  // Usually one; several when a fact that decides the order is unknown. Never empty.
  virtual std::vector<Priority> priorities(const spec::OpSpec& spec, const facts::FactSet& facts) const = 0;
  virtual VersionConfidence confidence(const facts::FactSet& facts) const = 0;
  // Rules that look at the outcome (facts set by diagnose: no_backend_accepts, chosen_backend). May be empty.
  virtual std::span<const rules::Rule> outcome_rules(const spec::OpSpec&) const { return {}; }
  // Ids of call rules that, unmet, mean that the layer above does not use this dispatcher at all.
  virtual std::span<const std::string_view> rerouting() const { return {}; }
  // Every table of the framework, for the catalogue of rules.
  virtual std::vector<std::span<const rules::Rule>> tables() const = 0;
};

// Every framework of this build, and one by name (nullptr when there is none).
std::span<const Framework* const> all_frameworks();
const Framework* find_framework(std::string_view name);
// The one of that name that has a dispatcher for the operator of this spec.
const Framework* find_framework(std::string_view name, const spec::OpSpec& spec);

// ---- the generic walk ------------------------------------------------------------------------------------------

enum class Standing { eligible, refused, raises, unknown };  // raises: would be chosen, and the call then fails

struct CandidateResult {
  Candidate candidate;
  Standing standing = Standing::eligible;
  std::vector<rules::Finding> findings;          // unmet and unknown ones (all when asked for)
  const rules::Rule* first_reason = nullptr;     // what the framework itself would name; nullptr when it accepts
};

struct Diagnosis {
  std::vector<rules::Finding> call_findings;     // of call rules and outcome rules
  const rules::Rule* call_error = nullptr;       // the call fails with this before any choice
  std::vector<CandidateResult> candidates;       // in the order of candidates()
  std::vector<Priority> priorities;
  std::optional<std::string> selected;           // nullopt: none, or not decided (see undetermined)
  bool error = false;                            // the call fails: no candidate left, or the chosen one raises
  bool undetermined = false;                     // an unknown fact decides
  dispatch::Decision decision;                   // the walk under the first priority
  VersionConfidence confidence;

  const CandidateResult* find(std::string_view backend) const;
};

// Facts of the spec and of the target must be in `facts`; add_facts is called here. `with_met` keeps met findings.
Diagnosis diagnose(const Framework& framework, const spec::OpSpec& spec, facts::FactSet facts, bool with_met = false);
// The same where add_facts was called already. What judging sets for a moment (policies, outcomes) is taken back: `facts`
// is afterwards what it was, without a copy of it.
Diagnosis diagnose_placed(const Framework& framework, const spec::OpSpec& spec, facts::FactSet& facts, bool with_met = false);

// Only the standing, without texts and without a copy of the facts (which must be complete): for sweeps and matrices.
Standing standing_of(const Candidate& candidate, const facts::FactSet& facts, const rules::Rule** first_reason = nullptr);

}  // namespace dd::frameworks

DD_ENUM_TEXT(dd::frameworks::Confidence, {dd::frameworks::Confidence::exact, "exact"},
             {dd::frameworks::Confidence::high, "high"}, {dd::frameworks::Confidence::medium_high, "medium-high"},
             {dd::frameworks::Confidence::medium, "medium"}, {dd::frameworks::Confidence::low, "low"},
             {dd::frameworks::Confidence::unknown, "unknown"})
DD_ENUM_TEXT(dd::frameworks::Standing, {dd::frameworks::Standing::eligible, "eligible"},
             {dd::frameworks::Standing::refused, "refused"}, {dd::frameworks::Standing::raises, "error"},
             {dd::frameworks::Standing::unknown, "unknown"})
