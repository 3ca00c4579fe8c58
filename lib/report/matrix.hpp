// One table from many cases of the same call: a row for each target or version, a column for each backend, the rule that
// bars the way in each cell, and a legend of those rules. Pure; pastes well as Markdown.
#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "report/report.hpp"

namespace dd::report {

struct MatrixCell {
  std::string text;              // "chosen", "eligible", "unknown", or the ids that block
  std::vector<std::string> ids;  // of the rules behind it, in the order of the findings
  bool chosen = false;
};

struct Matrix {
  std::string title;                          // the call
  std::vector<std::string> columns;           // backends, in the order met
  struct Row {
    std::string label;                        // target, or target and version
    std::vector<MatrixCell> cells;            // one per column; empty text: not a candidate there
    std::string verdict;
  };
  std::vector<Row> rows;
  std::map<std::string, std::string> legend;  // rule id -> title
};

// `labels` has one entry per case; missing ones are numbered. At most `most_ids` ids are shown in a cell.
Matrix make_matrix(std::span<const Case> cases, std::span<const std::string> labels, std::size_t most_ids = 2);

std::string matrix_markdown(const Matrix& matrix);
std::string matrix_text(const Matrix& matrix);

}  // namespace dd::report
