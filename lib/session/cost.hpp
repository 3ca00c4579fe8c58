// What a choice costs: the time of the chosen backend beside that of the quickest other one that is permitted. Only like
// is compared with like: the same mode, the same clock, the same state of the caches.
#pragma once
#include <string>
#include <string_view>

#include "report/report.hpp"

namespace dd::session {

struct Cost {
  const report::Timing* own = nullptr;   // absent: nothing was measured
  const report::Timing* best = nullptr;  // absent: there is no other
  std::string best_name;
  double noise = 0;  // relative spread of the two together
  double ratio() const { return own->median / best->median; }
};

// nullptr when the case has none of that name; selected_of also when nothing was chosen.
const report::Candidate* candidate_named(const report::Case& c, std::string_view name);
const report::Candidate* selected_of(const report::Case& c);
// The attempt that the dispatcher itself made, or the first of all.
const report::Attempt* attempt_under(const report::Candidate& c, std::string_view policy);
Cost cost_of(const report::Case& c, const report::Candidate& selected);

}  // namespace dd::session
