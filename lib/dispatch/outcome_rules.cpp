#include "dispatch/dispatch.hpp"

namespace dd::dispatch {

using namespace rules;
using facts::Id;

namespace {

// Two statements about one thing, each in its own words: run_backend what the library said, chosen_backend what it is held
// against. They are only set where the statements differ.
CustomResult same_word(const facts::FactSet& f) {
  const auto word = [&](Id id) {
    const auto* text = std::get_if<std::string>(&f.value(id));
    return text ? *text : std::string();
  };
  const std::string seen = word(Id::run_backend), required = word(Id::chosen_backend);
  return {seen == required ? Truth::met : Truth::unmet, seen, required.empty() ? "the same answer" : required};
}

}  // namespace

std::span<const Rule> outcome_rules() {
  static const Source here{"this tool's comparison of a run with its reference", "1", "2026-11-29"};
  static const Rule table[] = {
      {.id = "RUL001", .name = "library-refuses-what-rules-allow", .title = "the backend refused a call that no rule of this tool blocks",
       .level = Level::warns, .blame = Blame::library_version, .scope = "*", .applies = is_false(Id::rules_block),
       .requires_that = is_true(Id::run_ran), .effect = "the rules of this backend are incomplete; what it did counts, the dispatcher went on",
       .fix = {"take the backend's own words in the attempt as the reason, and report the call so that a rule can be added", Keeps::function},
       .source = here, .blocked_example = "sdpa --q 1x2x8x8 --force cpu-flash", .passing_example = "sdpa --q 1x2x8x8"},
      {.id = "RUL002", .name = "library-runs-what-rules-block", .title = "the backend served a call that a rule of this tool blocks",
       .level = Level::warns, .blame = Blame::library_version, .scope = "*", .applies = is_true(Id::rules_block),
       .requires_that = is_false(Id::run_ran), .effect = "a rule of this backend is too strict for this version; a faster path may go unused",
       .fix = {"report the call and the version so that the rule can be narrowed", Keeps::function},
       .source = here, .blocked_example = "sdpa --q 1x2x8x8 --dtype f64", .passing_example = "sdpa --q 1x2x8x8"},
      {.id = "RUL003", .name = "prediction-and-run-differ", .title = "the framework picked another backend than the rules of its version say",
       .level = Level::warns, .blame = Blame::library_version, .scope = "*", .applies = stated(Id::run_backend),
       .requires_that = equals(Id::run_backend, Id::chosen_backend), .effect = "what ran counts; predictions for this version are in doubt",
       .fix = {"report the call with the environment record so that the rules can be corrected", Keeps::function},
       .source = here, .blocked_example = "sdpa --q 1x8x256x64 --framework torch", .passing_example = "sdpa --q 1x8x256x64"},
      {.id = "NUM001", .name = "result-off", .title = "the result is not close to the reference", .level = Level::changes,
       .blame = Blame::library_version, .scope = "*", .applies = always(), .requires_that = at_most(Id::run_mismatched, 0),
       .effect = "whoever uses this backend gets other numbers", .fix = {"deny the backend for this call until the cause is known", Keeps::function},
       .source = here, .blocked_example = "sdpa --q 1x2x8x8 --rtol 0 --atol 0", .passing_example = "sdpa --q 1x2x8x8"},
      {.id = "NUM002", .name = "output-not-written", .title = "elements of the result were never written", .level = Level::changes,
       .blame = Blame::library_version, .scope = "*", .applies = always(), .requires_that = at_most(Id::run_unwritten, 0),
       .effect = "the caller sees whatever the memory held before", .fix = {"deny the backend for this call until the cause is known", Keeps::function},
       .source = here, .blocked_example = "sdpa --q 1x2x8x8", .passing_example = "sdpa --q 1x2x8x8"},
      {.id = "NUM003", .name = "write-outside-output", .title = "memory outside the result was written", .level = Level::changes,
       .blame = Blame::library_version, .scope = "*", .applies = always(), .requires_that = at_most(Id::run_outside, 0),
       .effect = "other tensors of the caller may be damaged", .fix = {"deny the backend; in a real program this corrupts memory", Keeps::function},
       .source = here, .blocked_example = "sdpa --q 1x2x8x8", .passing_example = "sdpa --q 1x2x8x8"},
      {.id = "NUM004", .name = "nan-in-result", .title = "the result has NaN where the reference has numbers", .level = Level::changes,
       .blame = Blame::library_version, .scope = "*", .applies = always(), .requires_that = at_most(Id::run_extra_nan, 0),
       .effect = "NaN spreads through everything that follows",
       .fix = {"deny the backend for this call, or look whether a row has nothing to attend to", Keeps::function},
       .source = here, .blocked_example = "sdpa --q 1x2x8x8", .passing_example = "sdpa --q 1x2x8x8"},
      {.id = "NUM005", .name = "data-cannot-tell", .title = "these inputs cannot tell a right result from a wrong one", .level = Level::warns,
       .blame = Blame::spec, .scope = "*", .applies = always(), .requires_that = equals(Id::run_judged, "yes"),
       .effect = "a close result is marked mistrusted and counts as not judged", .fix = {"use --data normal, or a mask that leaves keys open", Keeps::meaning},
       .source = here, .blocked_example = "sdpa --q 1x2x8x8 --mask bool --mask-content zeros", .passing_example = "sdpa --q 1x2x8x8"},
  };
  return table;
}

std::span<const Rule> answer_rules() {
  static const Source here{"the library's own query, asked before the call", "1", "2026-11-29"};
  static const Rule table[] = {
      {.id = "RUL004", .name = "library-answer-and-rules-differ", .title = "the library's own query answers otherwise than the rules of its version",
       .level = Level::warns, .blame = Blame::library_version, .scope = "*", .applies = stated(Id::run_backend),
       .requires_that = custom(same_word, {Id::run_backend, Id::chosen_backend}), .effect = "the library's word counts; predictions for this version are in doubt",
       .fix = {"report the call with the environment record so that the rules can be corrected", Keeps::function},
       .source = here, .blocked_example = "sdpa --q 1x8x256x64 --framework torch", .passing_example = "sdpa --q 1x8x256x64"},
      {.id = "RUL005", .name = "library-answer-and-run-differ", .title = "the library's own query answers otherwise than what then ran",
       .level = Level::warns, .blame = Blame::library_version, .scope = "*", .applies = stated(Id::run_backend),
       .requires_that = custom(same_word, {Id::run_backend, Id::chosen_backend}), .effect = "what ran counts; a program that asks before it calls decides on a wrong answer",
       .fix = {"trust the run, and report the difference to the library", Keeps::function},
       .source = here, .blocked_example = "sdpa --q 1x8x256x64 --framework torch", .passing_example = "sdpa --q 1x8x256x64"},
  };
  return table;
}

std::span<const Rule> gradient_rules() {
  static const Source here{"this tool's comparison of a backward pass with its reference", "1", "2026-11-29"};
  static const Rule table[] = {
      {.id = "NUM006", .name = "gradient-off", .title = "a gradient is not close to its reference", .level = Level::changes,
       .blame = Blame::library_version, .scope = "*", .applies = always(), .requires_that = at_most(Id::run_mismatched, 0),
       .effect = "the forward result may be right, and training still goes wrong", .fix = {"deny the backend for training until the cause is known", Keeps::function},
       .source = here, .blocked_example = "sdpa --q 1x2x8x8 --train --framework torch", .passing_example = "sdpa --q 1x2x8x8"},
  };
  return table;
}

std::span<const Rule> memory_rules() {
  static const Rule table[] = {
      {.id = "MEM001", .name = "memory-short", .title = "the memory that is free does not hold this call on this backend",
       .level = Level::blocks, .blame = Blame::hardware, .scope = "*", .applies = always(),
       .requires_that = at_most(Id::memory_needed, Id::memory_available), .effect = "passed over before anything is allocated",
       .fix = {"split the batch, free memory, or raise the limit of the container", Keeps::function, {Change::split_batch}},
       .source = {"this tool's estimate: inputs twice, result, reference, and what the backend says it takes", "1", "2026-11-29"},
       .blocked_example = "sdpa --q 1x64x400000x8", .passing_example = "sdpa --q 1x2x8x8"},
  };
  return table;
}

}  // namespace dd::dispatch
