// The modes of one call side by side (eager, compiled, captured): what served it in each, by evidence of that mode's own,
// and where they differ. A backend that the evidence of a mode does not name stays unnamed there.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "report/report.hpp"

namespace dd::session {

struct ModeRun {
  std::string mode, which;  // which: the backend; empty when the evidence does not tell
  report::Attempt attempt;
};

struct ModesCompared {
  std::vector<std::string> lines;  // one a mode ("mode eager: …"), then how they differ from the first ("modes differ: …") or that they agree
  std::string difference;          // for the verdict, which speaks of the first mode: "; in mode compiled torch-math"; else empty
};

// `is_fallback` tells of a backend whether it is no fast path. Of fewer than two modes there is nothing to say.
ModesCompared compare_modes(const std::vector<ModeRun>& runs, const std::function<bool(const std::string&)>& is_fallback);

}  // namespace dd::session
