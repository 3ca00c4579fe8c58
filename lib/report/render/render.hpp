// The renderings of one Report value. Text is for people (verdict first, then the steps in the order of diagnosis); JSON
// and JUnit are for programs; Markdown pastes into an issue. Renderers read the Report and nothing else.
#pragma once
#include <string>

#include "report/report.hpp"

namespace dd::report {

struct TextOptions {
  bool color = false;
  int verbosity = 0;  // -1: verdict and failures only; 0: the usual; 1: met findings and all facts as well
};

std::string render_text(const Report& report, const TextOptions& options);
// One case alone, as `run` prints while it goes.
std::string render_case(const Case& c, const TextOptions& options);
// A problem without the file and line that it begins with, where the id of the case says them already.
std::string without_place(const Case& c, const std::string& problem);
// The first problem of a case that could not be run, and how many more there are.
std::string problem_line(const Case& c);
// One line for a case in a batch: "ok", "off", … id, title, verdict.
std::string render_case_line(const Case& c, const TextOptions& options);
std::string render_summary(const Report& report, const TextOptions& options);

// What a recorded program as a whole has to know: shares, then the places in it, heaviest first.
std::string render_recorded(const Recorded& recorded);

// The trace part alone (trace, logs).
std::string render_traces(const Report& report, const TextOptions& options);

std::string render_json(const Report& report, int indent = 2);
std::string render_markdown(const Report& report, int verbosity = 0);
std::string render_junit(const Report& report);

}  // namespace dd::report
