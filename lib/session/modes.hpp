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

// One line a mode, then the differences from the first. `is_fallback` tells of a backend whether it is no fast path.
std::vector<std::string> compare_modes(const std::vector<ModeRun>& runs, const std::function<bool(const std::string&)>& is_fallback);

}  // namespace dd::session
