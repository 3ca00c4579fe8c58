// One table from many cases of the same call: a row for each target or version, a column for each backend, the rule that
// bars the way in each cell, the versions that the rows stand on, and a legend of those rules. Pure; pastes well as Markdown.
#pragma once
#include <span>
#include <string>

#include "report/report.hpp"

namespace dd::report {

// Adds a row; at most `most_ids` ids are shown in a cell.
void add_row(Matrix& matrix, const Case& c, const std::string& label, std::size_t most_ids = 2);
// `labels` has one entry per case; missing ones are numbered.
Matrix make_matrix(std::span<const Case> cases, std::span<const std::string> labels);

std::string matrix_markdown(const Matrix& matrix);
std::string matrix_text(const Matrix& matrix);

}  // namespace dd::report
