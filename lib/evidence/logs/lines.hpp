// Lines that a library's logging callback handed over while one attempt ran, as evidence: which functions were called,
// with which types and sizes, how often. The readers are those of log files.
#pragma once
#include <string_view>

#include "report/report.hpp"

namespace dd::evidence {

// `lines`: text in the form that the library writes into its log file.
void add_log_lines(std::string_view lines, report::Evidence& evidence);

}  // namespace dd::evidence
