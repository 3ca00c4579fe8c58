// The answer as the part of a report that `trace` and `logs` fill, and the gate that --require puts on it.
#pragma once
#include <string>
#include <vector>

#include "evidence/answer/answer.hpp"
#include "evidence/answer/inputs.hpp"
#include "report/report.hpp"
namespace dd::evidence {

report::Trace to_report(const TraceAnswer& answer, bool verbose = false);

// "fast": no operation of the file is off the fast path. "backend=A,B": every attention call was served by one of
// these. "close": numbers cannot be compared from evidence, so it stays undecided.
enum class Held : unsigned char { yes, no, undecided };
Held holds(const TraceAnswer& answer, const std::string& requirement, std::string& why);

// 0, 3 or 5, for all files together.
int exit_code(const std::vector<TraceAnswer>& answers, const std::vector<std::string>& requirements, bool unknown_passes, std::vector<std::string>& messages);

}  // namespace dd::evidence
