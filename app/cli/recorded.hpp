// What the cases of a recorded program say together: which share of its calls, and of their work, misses the fast path,
// and where in the program.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "report/report.hpp"
#include "session/batch.hpp"

namespace dd::cli {

// Empty when no spec carries the count of a recorder.
std::string recorded_summary(const std::vector<session::BatchItem>& items, std::span<const report::Case> cases);

}  // namespace dd::cli
