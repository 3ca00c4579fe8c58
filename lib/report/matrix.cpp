#include "report/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dd::report {
namespace {

MatrixCell cell_of(const Candidate& candidate, const Case& c, Matrix& matrix, std::size_t most_ids) {
  MatrixCell cell;
  cell.chosen = c.decision.selected && *c.decision.selected == candidate.backend;
  cell.standing = cell.chosen ? "chosen" : candidate.eligibility;
  const std::string wanted = candidate.eligibility == "unknown" ? "unknown" : "unmet";
  for (const Finding& f : candidate.findings) {
    if (f.level != "blocked" || f.status != wanted) continue;
    cell.ids.push_back(f.id);
    matrix.legend.emplace(f.id, f.title);
  }
  if (cell.chosen) {
    cell.text = "chosen";
    return cell;
  }
  cell.text = candidate.eligibility == "blocked" ? "" : candidate.eligibility;
  for (std::size_t i = 0; i < cell.ids.size() && i < most_ids; ++i) cell.text += (cell.text.empty() ? "" : " ") + cell.ids[i];
  if (cell.ids.size() > most_ids) cell.text += fmt::format(" +{}", cell.ids.size() - most_ids);
  if (cell.text.empty()) cell.text = candidate.eligibility;
  return cell;
}

std::size_t column(Matrix& matrix, const std::string& backend) {
  const auto it = std::find(matrix.columns.begin(), matrix.columns.end(), backend);
  if (it != matrix.columns.end()) return static_cast<std::size_t>(it - matrix.columns.begin());
  matrix.columns.push_back(backend);
  return matrix.columns.size() - 1;
}

std::string escaped(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.replace(at, 1, "\\|");
  return text;
}

}  // namespace

void add_row(Matrix& matrix, const Case& c, const std::string& label, std::size_t most_ids) {
  Matrix::Row row;
  row.label = label;
  row.verdict = core::to_text(c.verdict.status);
  for (const Candidate& candidate : c.candidates) {
    const std::size_t at = column(matrix, candidate.backend);
    row.cells.resize(std::max(row.cells.size(), at + 1));
    row.cells[at] = cell_of(candidate, c, matrix, most_ids);
  }
  matrix.rows.push_back(std::move(row));
  for (Matrix::Row& each : matrix.rows) each.cells.resize(matrix.columns.size());
}

Matrix make_matrix(std::span<const Case> cases, std::span<const std::string> labels) {
  Matrix matrix;
  if (!cases.empty()) matrix.title = cases.front().title;
  for (std::size_t i = 0; i < cases.size(); ++i) add_row(matrix, cases[i], i < labels.size() ? labels[i] : std::to_string(i + 1));
  return matrix;
}

std::string matrix_markdown(const Matrix& m) {
  std::string out = "`" + m.title + "`\n\n| target |";
  std::string rule = "| --- |";
  for (const std::string& name : m.columns) {
    out += fmt::format(" {} |", escaped(name));
    rule += " --- |";
  }
  out += " verdict |\n" + rule + " --- |\n";
  for (const Matrix::Row& row : m.rows) {
    out += fmt::format("| {} |", escaped(row.label));
    for (const MatrixCell& cell : row.cells) out += fmt::format(" {} |", cell.chosen ? "**chosen**" : escaped(cell.text));
    out += fmt::format(" {} |\n", row.verdict);
  }
  if (!m.legend.empty()) out += "\n";
  for (const auto& [id, title] : m.legend) out += fmt::format("- {}: {}\n", id, escaped(title));
  return out;
}

std::string matrix_text(const Matrix& m) {
  std::vector<std::size_t> widths{6};
  for (const Matrix::Row& row : m.rows) widths[0] = std::max(widths[0], row.label.size());
  for (std::size_t i = 0; i < m.columns.size(); ++i) {
    widths.push_back(m.columns[i].size());
    for (const Matrix::Row& row : m.rows) widths.back() = std::max(widths.back(), row.cells[i].text.size());
  }
  std::string out = m.title + "\n" + fmt::format("{:<{}}", "target", widths[0]);
  for (std::size_t i = 0; i < m.columns.size(); ++i) out += fmt::format("  {:<{}}", m.columns[i], widths[i + 1]);
  out += "  verdict\n";
  for (const Matrix::Row& row : m.rows) {
    out += fmt::format("{:<{}}", row.label, widths[0]);
    for (std::size_t i = 0; i < m.columns.size(); ++i) out += fmt::format("  {:<{}}", row.cells[i].text, widths[i + 1]);
    out += fmt::format("  {}\n", row.verdict);
  }
  if (!m.legend.empty()) out += "\n";
  for (const auto& [id, title] : m.legend) out += fmt::format("{}  {}\n", id, title);
  return out;
}

}  // namespace dd::report
