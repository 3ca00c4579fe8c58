// Rule: one row of data. From it come the dispatcher's decision, the finding, explain, the generated catalogue and the
// table tests. A Finding is a rule evaluated against one FactSet; it always carries what was seen and what is required.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "rules/condition.hpp"

namespace dd::rules {

enum class Level {
  blocks,   // the candidate cannot serve the call
  slows,    // it can, on a slower path
  changes,  // it can, with other numbers or another meaning
  warns,    // a hazard worth knowing
  informs
};

// What a fix leaves as it was.
enum class Keeps { function, precision, meaning };  // function: same mathematical function (rounding may differ);
// precision: same function, but accuracy is given up (e.g. TF32); meaning: the caller must decide that it is still wanted

// Who is to blame, so that "the GPU lacks X" is never said when a setting is the cause.
enum class Blame { spec, hardware, library_version, build, checkpoint, setting, heuristic };

// Changes that the tool can apply to a spec by itself (see lib/session/fix or nearest.hpp).
enum class Change {
  none, cast_dtype, pad_head_dim, pad_k, pad_n, pad_m, make_contiguous, drop_mask, mask_to_causal, expand_kv_heads, transpose_view,
  align_offset, enable_flag, disable_flag, change_version, change_setting, change_policy, split_batch, regroup, disable_grad,
  drop_dropout, drop_causal, cast_mask, reshape_mask, disable_mask_grad, add_axis, expand_batch, set_gqa
};

struct Fix {
  std::string_view text;  // imperative, one sentence; empty: nothing helps
  Keeps keeps = Keeps::function;
  std::vector<Change> changes = {};
};

struct Source {
  std::string_view text;     // file or document, in the project's own words
  std::string_view version;  // of the library or document
  std::string_view checked;  // date, YYYY-MM-DD
};

struct Rule {
  std::string_view id;       // three capitals, three digits
  std::string_view name;     // kebab-case, says the bad thing
  std::string_view title;    // "head size is not a multiple of 8": lower case, no advice
  Level level = Level::blocks;
  Blame blame = Blame::spec;
  std::string_view scope;    // backend name, or "*" for every candidate of the operator, or a verb's area
  Condition applies;         // guard: where it is unmet the rule has nothing to say (met)
  Condition requires_that;   // what must hold
  std::string_view effect = {};   // what happens when it does not hold
  Fix fix = {};
  Source source = {};
  std::string_view blocked_example = {};  // a spec as a command line without the program name, e.g. "sdpa --q 1x8x256x100"
  std::string_view passing_example = {};
  int order = 0;             // position among the checks of the library itself (0: unordered)
};

struct Finding {
  const Rule* rule = nullptr;
  Truth status = Truth::met;
  std::string seen, required;  // filled for unmet and unknown (and met when asked for)
};

Truth status(const Rule& rule, const facts::FactSet& facts);
// With texts; `with_met` also fills texts of met rules.
Finding evaluate(const Rule& rule, const facts::FactSet& facts, bool with_met = false);
// All rules always; in table order.
std::vector<Finding> evaluate_all(std::span<const Rule> rules, const facts::FactSet& facts, bool with_met = false);

enum class Eligibility { eligible, blocked, unknown };
// blocked when any blocking rule is unmet; unknown when none is, but one is unknown.
Eligibility eligibility(std::span<const Finding> findings);
Eligibility eligibility(std::span<const Rule> rules, const facts::FactSet& facts);  // without building texts

}  // namespace dd::rules

DD_ENUM_TEXT(dd::rules::Level, {dd::rules::Level::blocks, "blocked"}, {dd::rules::Level::slows, "slow"},
             {dd::rules::Level::changes, "changes"}, {dd::rules::Level::warns, "warning"}, {dd::rules::Level::informs, "note"})
DD_ENUM_TEXT(dd::rules::Keeps, {dd::rules::Keeps::function, "function"}, {dd::rules::Keeps::precision, "precision"},
             {dd::rules::Keeps::meaning, "meaning"})
DD_ENUM_TEXT(dd::rules::Blame, {dd::rules::Blame::spec, "call"}, {dd::rules::Blame::hardware, "hardware"},
             {dd::rules::Blame::library_version, "library version"}, {dd::rules::Blame::build, "build"},
             {dd::rules::Blame::checkpoint, "checkpoint"}, {dd::rules::Blame::setting, "setting"},
             {dd::rules::Blame::heuristic, "heuristic"})
DD_ENUM_TEXT(dd::rules::Eligibility, {dd::rules::Eligibility::eligible, "eligible"},
             {dd::rules::Eligibility::blocked, "blocked"}, {dd::rules::Eligibility::unknown, "unknown"})
