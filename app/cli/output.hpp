// Where results go: the chosen format on standard output, further copies to files, everything else to standard error.
#pragma once
#include <string>

#include "cli/options.hpp"
#include "core/result.hpp"
#include "report/report.hpp"
#include "report/render/render.hpp"

namespace dd::cli {

// Whether standard output takes colours: --color, NO_COLOR, and whether it is a terminal.
bool use_color(const RunOptions& run);
report::TextOptions text_options(const RunOptions& run);
void print(const std::string& text);          // standard output; a closed pipe ends quietly
// `code`, or 2 with a message when something printed was lost (a full disk, a closed standard output).
int code_with_output(int code);
// Closed standard descriptors would be given to the next file opened, and the report be written into it.
void hold_standard_descriptors();
void say(const std::string& text);            // standard error; one that is closed or full changes nothing (fmt::print would throw)
void complain(const std::string& text);       // "dispatchdoctor: text" on standard error
void complain(const core::Problems& problems);
int refuse(const core::Problems& problems);   // the same for mistakes that keep everything from being run: 2
// Writes the report everywhere it was asked for; under --redact it loses private names and paths first. Returns the exit
// code: the report's own, or 2 when a file could not be written.
// `cases_shown`: the cases were printed as they ended; only the summary is left for text.
int write_report(report::Report& report, const RunOptions& run, bool cases_shown = false);
// The text, or under --redact what is left of it.
std::string shown_text(std::string text, const RunOptions& run);
// A skeleton with tool, argv and the (redacted) environment record.
report::Report new_report(const std::vector<std::string>& argv, const RunOptions& run);

}  // namespace dd::cli
