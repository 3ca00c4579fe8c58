#include "dispatch/asked.hpp"

namespace dd::dispatch {

using namespace rules;
using facts::Id;

namespace {

constexpr std::string_view serves = " serves", declines = " declines", not_asked = " not asked";

// The library's word on one of the three, in the fact that set_asked_fact() wrote.
CustomResult library_says(const facts::FactSet& f, std::string_view unwanted, std::string_view required) {
  const auto* word = std::get_if<std::string>(&f.value(Id::run_backend));
  if (!word) return {Truth::unknown, "nobody was asked", std::string(required)};
  return {word->ends_with(unwanted) ? Truth::unmet : Truth::met, *word + " (" + f[Id::run_backend].where + ")", std::string(required)};
}

}  // namespace

void set_asked_fact(facts::FactSet& facts, std::string_view backend, std::optional<bool> answer, const std::string& who) {
  const std::string_view word = !answer ? not_asked : *answer ? serves : declines;
  facts.set(Id::run_backend, std::string(backend) + std::string(word), facts::Provenance::library, who);
}

bool was_asked(std::string_view backend, const facts::FactSet& facts) {
  const auto* word = std::get_if<std::string>(&facts.value(Id::run_backend));
  return word && (*word == std::string(backend) + std::string(serves) || *word == std::string(backend) + std::string(declines));
}

std::span<const Rule> asked_rules() {
  static const Source here{"this tool's rules held against a library's own support query about a device", "1", "2026-11-29"};
  static constexpr std::string_view call = "sdpa --q 1x8x256x64 --dtype f16 --target sm_90";
  static const Rule table[] = {
      {.id = "RUL011", .name = "library-declines-when-asked", .title = "the library, asked about this device, declines a call that no rule of this tool blocks",
       .level = Level::blocks, .blame = Blame::library_version, .scope = "*", .applies = is_false(Id::rules_block),
       .requires_that = custom([](const facts::FactSet& f) { return library_says(f, declines, "the library serves what the rules allow"); }, {Id::run_backend}),
       .effect = "the library's own word counts: this backend would not serve the call",
       .fix = {"take the library's reasons in the list of its engines, and report the call so that a rule can be added", Keeps::function},
       .source = here, .blocked_example = call, .passing_example = call},
      {.id = "RUL012", .name = "library-accepts-when-asked", .title = "the library, asked about this device, accepts a call that a rule of this tool blocks",
       .level = Level::warns, .blame = Blame::library_version, .scope = "*", .applies = is_true(Id::rules_block),
       // A framework may well refuse by itself what its library would serve.
       .requires_that = custom([](const facts::FactSet& f) { return library_says(f, was_asked("cudnn", f) ? serves : "-", "the library declines what the rules block"); }, {Id::run_backend}),
       .effect = "a rule of this backend is too strict for this version; a faster path may go unused",
       .fix = {"report the call and the version so that the rule can be narrowed", Keeps::function},
       .source = here, .blocked_example = "sdpa --q 1x8x256x100 --dtype f16 --target sm_90", .passing_example = call},
      {.id = "RUL013", .name = "library-not-asked", .title = "the library itself could not be asked about this device",
       .level = Level::informs, .blame = Blame::build, .scope = "*", .applies = always(),
       .requires_that = custom([](const facts::FactSet& f) { return library_says(f, not_asked, "an answer of the library"); }, {Id::run_backend}),
       .effect = "what is said about its backends rests on the rules alone",
       .fix = {"install cuDNN 9.8 or newer and some libcuda.so.1 (the toolkit's stand-in is enough), or name them with --lib-dir or --python; --ask none says nothing of it", Keeps::function},
       .source = here, .blocked_example = call, .passing_example = call},
  };
  return table;
}

}  // namespace dd::dispatch
