// The texts of a report that may hold what a user calls his own: command lines, paths, what libraries and systems said.
// Names from tables (backends, rule ids, outcomes) are not among them.
#pragma once
#include <functional>
#include <string>

#include "report/report.hpp"

namespace dd::report {

using TextChange = std::function<void(std::string&)>;

void change_texts(Report& report, const TextChange& change);
// The repro line without the program's name, cut to what fits on a line.
std::string title_of(const std::string& repro);

}  // namespace dd::report
