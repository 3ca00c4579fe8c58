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

// The versions that all rows share stand in one line; those that differ have a column each.
struct Versions {
  std::vector<VersionRead> common;
  std::vector<std::string> differing;  // names
};

const VersionRead* find_version(const Matrix::Row& row, const std::string& name) {
  const auto it = std::find_if(row.versions.begin(), row.versions.end(), [&](const VersionRead& v) { return v.name == name; });
  return it == row.versions.end() ? nullptr : &*it;
}

std::string in_cell(const Matrix::Row& row, const std::string& name) {
  const VersionRead* v = find_version(row, name);
  return v ? v->value + (v->assumed ? " (assumed)" : "") : std::string("-");
}

Versions versions_of(const Matrix& m) {
  Versions out;
  std::vector<std::string> seen;
  for (const Matrix::Row& row : m.rows)
    for (const VersionRead& v : row.versions) {
      if (std::find(seen.begin(), seen.end(), v.name) != seen.end()) continue;
      seen.push_back(v.name);
      const bool same = std::all_of(m.rows.begin(), m.rows.end(), [&](const Matrix::Row& other) {
        const VersionRead* theirs = find_version(other, v.name);
        return !theirs || *theirs == v;
      });
      const bool in_label = std::all_of(m.rows.begin(), m.rows.end(), [&](const Matrix::Row& other) {
        return other.label.find(fmt::format(" {} {}", v.name, in_cell(other, v.name))) != std::string::npos;
      });
      if (same) out.common.push_back(v);
      else if (!in_label) out.differing.push_back(v.name);
    }
  return out;
}

std::string in_line(const std::vector<VersionRead>& versions) {
  std::string out;
  for (const VersionRead& v : versions)
    out += fmt::format("{}{} {}{}", out.empty() ? "" : ", ", v.name, v.value, v.assumed ? fmt::format(" (assumed; {} names another)", v.option) : std::string());
  return out;
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
  row.versions = c.versions;
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
  const Versions versions = versions_of(m);
  std::string out = "`" + m.title + "`\n\n";
  if (!versions.common.empty()) out += "Versions: " + in_line(versions.common) + "\n\n";
  out += "| target |";
  std::string rule = "| --- |";
  const auto heading = [&](const std::string& name) {
    out += fmt::format(" {} |", escaped(name));
    rule += " --- |";
  };
  for (const std::string& name : versions.differing) heading(name);
  for (const std::string& name : m.columns) heading(name);
  out += " verdict |\n" + rule + " --- |\n";
  for (const Matrix::Row& row : m.rows) {
    out += fmt::format("| {} |", escaped(row.label));
    for (const std::string& name : versions.differing) out += fmt::format(" {} |", in_cell(row, name));
    for (const MatrixCell& cell : row.cells) out += fmt::format(" {} |", cell.chosen ? "**chosen**" : escaped(cell.text));
    out += fmt::format(" {} |\n", row.verdict);
  }
  if (!m.legend.empty()) out += "\n";
  for (const auto& [id, title] : m.legend) out += fmt::format("- {}: {}\n", id, escaped(title));
  return out;
}

std::string matrix_text(const Matrix& m) {
  const Versions versions = versions_of(m);
  // Cells as they are printed, the heading first.
  std::vector<std::vector<std::string>> lines(m.rows.size() + 1);
  lines[0] = {"target"};
  lines[0].insert(lines[0].end(), versions.differing.begin(), versions.differing.end());
  lines[0].insert(lines[0].end(), m.columns.begin(), m.columns.end());
  lines[0].push_back("verdict");
  for (std::size_t i = 0; i < m.rows.size(); ++i) {
    const Matrix::Row& row = m.rows[i];
    lines[i + 1].push_back(row.label);
    for (const std::string& name : versions.differing) lines[i + 1].push_back(in_cell(row, name));
    for (const MatrixCell& cell : row.cells) lines[i + 1].push_back(cell.text);
    lines[i + 1].push_back(row.verdict);
  }
  std::vector<std::size_t> widths(lines[0].size(), 0);
  for (const auto& line : lines)
    for (std::size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], line[i].size());
  std::string out = m.title + "\n";
  if (!versions.common.empty()) out += "versions: " + in_line(versions.common) + "\n";
  for (const auto& line : lines) {
    for (std::size_t i = 0; i + 1 < line.size(); ++i) out += fmt::format("{:<{}}  ", line[i], widths[i]);
    out += line.back() + "\n";
  }
  if (!m.legend.empty()) out += "\n";
  for (const auto& [id, title] : m.legend) out += fmt::format("{}  {}\n", id, title);
  return out;
}

}  // namespace dd::report
