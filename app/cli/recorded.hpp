// What the cases of a recorded program say together: which share of its calls, and of their work, misses the fast path,
// and where in the program.
#pragma once
#include <span>
#include <vector>

#include "report/report.hpp"
#include "session/batch.hpp"

namespace dd::cli {

// The spec carries the count of a recorder.
bool is_recorded(const spec::OpSpec& spec);

// One entry a target, in the order of the cases; empty when no spec carries the count of a recorder.
std::vector<report::Recorded> recorded_program(const std::vector<session::BatchItem>& items, std::span<const report::Case> cases);

}  // namespace dd::cli
