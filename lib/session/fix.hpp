// The smallest change that helps. For every fast candidate that is passed over, the changes that its unmet rules name
// are applied to the spec and the whole dispatcher is evaluated again; only what makes that candidate the chosen one
// is proposed. For a chosen candidate that is slowed, what takes a reason away and adds none. Ranked: what keeps the function first, then fewer changes, then the cost. Pairs are searched only where
// no single change is enough. Nothing is proposed that was not tried this way.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "facts/profiles.hpp"
#include "frameworks/framework.hpp"
#include "report/report.hpp"
#include "rules/rule.hpp"
#include "session/what_if.hpp"
#include "spec/spec.hpp"

namespace dd::session {

// One concrete change of a spec.
struct Edit {
  rules::Change change = rules::Change::none;
  std::string text;                             // imperative: "pad the head size from 100 to 104 with zeros, keep scale 0.1, slice the output"
  rules::Keeps keeps = rules::Keeps::function;
  double bytes = 0;                             // copied or allocated
  double flops_percent = 0;                     // more arithmetic, in per cent
  spec::OpSpec spec;                            // after the change
};

// Every concrete form of one kind of change that this spec allows; empty when it does not apply.
std::vector<Edit> edits_for(rules::Change change, const spec::OpSpec& spec, const std::string& candidate);

struct Proposal {
  std::string candidate;             // becomes the chosen one, or stays it
  bool chosen_before = false;        // stays the chosen one, and is slowed by less
  std::vector<std::string> clears;   // ids of the rules that stood in its way
  std::vector<Edit> edits;           // one or two; the last holds the resulting spec
  rules::Keeps keeps = rules::Keeps::function;
  double bytes = 0, flops_percent = 0;
  std::string tried;                 // what running original and changed spec on the reference gave; empty: not run
  std::string text() const;
};

// How a spec is judged: each fast candidate with the rules in its way, and what is chosen.
struct Judged {
  struct Candidate {
    std::string name;
    bool fast = false, eligible = false;
    std::vector<const rules::Rule*> blockers;  // unmet blocking rules
    std::vector<const rules::Rule*> slowers;   // unmet slowing rules
  };
  std::vector<Candidate> candidates;           // in the order tried
  std::optional<std::string> selected;
  bool fails = false;                          // the call itself fails
};
using Judge = std::function<Judged(const spec::OpSpec&)>;

Judge judge_of(const frameworks::Framework& framework, const facts::DeviceProfile* target);

// At most `most` proposals for each candidate.
std::vector<Proposal> propose(const spec::OpSpec& spec, const Judge& judge, std::size_t most = 3);

// Runs the original and the changed spec on the CPU reference with the same data and says how far apart the results
// are. Empty when the change has no effect on numbers, or the call is too large to be run in a few seconds.
std::string try_on_reference(const spec::OpSpec& original, const spec::OpSpec& changed);

// For the report: fills `tried` of the findings that a proposal clears and adds the proposals to the verdict. `facts` say
// what a mask file contains.
void add_fixes(const spec::OpSpec& spec, const frameworks::Framework& framework, const facts::DeviceProfile* target,
               const facts::FactSet& facts, const WhatIfOptions& options, report::Case& c);

}  // namespace dd::session
