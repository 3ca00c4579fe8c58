// From what was seen to what is said: verdict, requirements and exit codes. Pure functions of the report, so that each
// line of the contract about them can be tested without running anything.
#pragma once
#include <span>
#include <vector>

#include "report/report.hpp"
#include "session/settings.hpp"

namespace dd::session {

// Fills verdict from candidates and decision.
void set_verdict(report::Case& c);
// Fills requirements; `unknown_passes` is --unknown pass.
void check_requirements(report::Case& c, std::span<const Requirement> requirements, bool unknown_passes);
// What the requirements alone make of it: 0, 3, or 6 when nothing but performance was missed.
int requirements_code(const report::Case& c);
// 0..6 of one case. `forced`: the user forced a path, so that its failure counts as 3.
int exit_code_of(const report::Case& c, bool forced);
// Of several cases: the first of 2, 4, 1, 3, 6, 5 that any of them has, else 0. No cases: 5.
int exit_code_of(std::span<const report::Case> cases);
// Whether something was judged: a result that is close or off.
bool tested(const report::Case& c);
// It crashed, hung or ran out of memory.
bool faulted(report::Outcome outcome);
report::Summary summarize(std::span<const report::Case> cases);

}  // namespace dd::session
