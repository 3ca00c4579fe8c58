#include "dispatch/dispatch.hpp"

namespace dd::dispatch {

using namespace rules;
using facts::Id;

std::span<const Rule> policy_rules() {
  static const Rule table[] = {
      {.id = "POL001", .name = "backend-denied", .title = "the policy denies this backend", .level = Level::blocks,
       .blame = Blame::setting, .scope = "*", .applies = always(), .requires_that = is_false(Id::policy_denied),
       .effect = "passed over, whatever the spec",
       .fix = {"take the backend off --deny", Keeps::function, {Change::change_policy}},
       .source = {"this tool's policy", "1", "2026-11-29"},
       .blocked_example = "sdpa --q 1x2x8x8 --deny cpu-math", .passing_example = "sdpa --q 1x2x8x8"},
      {.id = "POL002", .name = "backend-not-allowed", .title = "the allow list leaves this backend out", .level = Level::blocks,
       .blame = Blame::setting, .scope = "*", .applies = always(), .requires_that = is_true(Id::policy_listed),
       .effect = "passed over, whatever the spec",
       .fix = {"add the backend to --allow", Keeps::function, {Change::change_policy}},
       .source = {"this tool's policy", "1", "2026-11-29"},
       .blocked_example = "sdpa --q 1x2x8x8 --allow cpu-flash", .passing_example = "sdpa --q 1x2x8x8 --allow cpu-math"},
      {.id = "POL003", .name = "another-backend-forced", .title = "another backend is forced", .level = Level::blocks,
       .blame = Blame::setting, .scope = "*", .applies = always(), .requires_that = is_false(Id::policy_forced_other),
       .effect = "passed over; under force only the forced backend may serve the call",
       .fix = {"drop --force to let the dispatcher choose", Keeps::function, {Change::change_policy}},
       .source = {"this tool's policy", "1", "2026-11-29"},
       .blocked_example = "sdpa --q 1x2x8x8 --force cpu-flash", .passing_example = "sdpa --q 1x2x8x8 --force cpu-math"},
  };
  return table;
}

}  // namespace dd::dispatch
