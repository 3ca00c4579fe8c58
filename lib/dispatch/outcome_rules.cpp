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
       .effect = "the result is marked mistrusted and counts as not judged", .fix = {"ask about a call with elements in its result and keys left open by the mask, on --data normal and with a scale that its arithmetic can hold", Keeps::meaning},
       .source = here, .blocked_example = "sdpa --q 1x2x8x8 --mask bool --mask-content zeros", .passing_example = "sdpa --q 1x2x8x8"},
  };
  return table;
}

std::span<const Rule> recording_rules() {
  static const Source cupti{"CUPTI activity around the attempt; result codes of cuptiActivityEnable", "13.0", "2026-11-29"};
  static const Source graph{"stream capture and the nodes of its graph (cuStreamBeginCapture, cuGraphGetNodes)", "13.0", "2026-11-29"};
  static const Source nvml{"clock event reasons of NVML before and after the timed runs", "13.0", "2026-11-29"};
  static constexpr std::string_view call = "sdpa --q 1x8x256x64 --dtype f16 --causal --target cuda:0";
  static constexpr std::string_view captured = "sdpa --q 1x8x256x64 --dtype f16 --causal --target cuda:0 --mode eager,captured";
  static const Rule table[] = {
      {.id = "EVD090", .name = "kernels-not-recorded", .title = "the kernels of this run could not be recorded", .level = Level::warns,
       .blame = Blame::setting, .scope = "*", .applies = all({stated(Id::run_recording), differs(Id::run_recording, "missing")}),  // ENV027 speaks of that
       .requires_that = equals(Id::run_recording, "recorded"),
       .effect = "the grade stays ran, not traced: which kernels ran is known only from the backend's own word and from captured graphs",
       .fix = {"not-permitted: set the driver option NVreg_RestrictProfilingToAdminUsers=0 or run "
               "with CAP_SYS_ADMIN; failed: end other profilers, and see that the driver is as new as CUPTI; or add --mode captured",
               Keeps::function, {Change::change_setting}},
       .source = cupti, .blocked_example = call, .passing_example = call},
      {.id = "EVD091", .name = "kernel-named-but-not-seen", .title = "a kernel that the backend names was not among the recorded ones", .level = Level::warns,
       .blame = Blame::library_version, .scope = "*", .applies = equals(Id::run_recording, "recorded"), .requires_that = at_most(Id::run_unseen, 0),
       .effect = "the backend's own word and the recording disagree; the recording counts",
       .fix = {"report the call with the environment record; the evidence lists both", Keeps::function}, .source = cupti, .blocked_example = call,
       .passing_example = call},
      {.id = "EVD092", .name = "cannot-be-captured", .title = "the call runs but cannot be recorded into a CUDA graph", .level = Level::warns,
       .blame = Blame::library_version, .scope = "*", .applies = stated(Id::run_captured), .requires_that = is_true(Id::run_captured),
       .effect = "a program that captures this call fails, or has to leave it out of its graph",
       .fix = {"use a backend that can be captured, or keep this call outside the captured region", Keeps::function, {Change::change_policy}}, .source = graph,
       .blocked_example = captured, .passing_example = captured},
      {.id = "EVD093", .name = "captured-kernels-differ", .title = "the captured graph runs other kernels than the eager call", .level = Level::warns,
       .blame = Blame::heuristic, .scope = "*", .applies = stated(Id::run_same_kernels), .requires_that = is_true(Id::run_same_kernels),
       .effect = "what was measured or judged in one mode says nothing about the other",
       .fix = {"diagnose the mode that the program uses; the evidence lists the kernels of both", Keeps::function, {Change::change_setting}}, .source = graph,
       .blocked_example = captured, .passing_example = captured},
      {.id = "EVD094", .name = "clocks-lowered-while-timed", .title = "the device lowered its clocks while it was timed", .level = Level::warns,
       .blame = Blame::hardware, .scope = "*", .applies = all({stated(Id::run_throttle), differs(Id::run_throttle, "unknown")}),
       .requires_that = equals(Id::run_throttle, "none"), .effect = "times are longer than the device allows, and not the same from run to run",
       .fix = {"let the device cool, raise its power limit, or lock its clocks, then measure again", Keeps::function, {Change::change_setting}},
       .source = nvml, .blocked_example = call, .passing_example = call},
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
