#include <nlohmann/json.hpp>

#include "evidence/diff/diff.hpp"
#include "fmt/format.h"

namespace dd::evidence {
namespace {

std::string change_line(const OperatorChange& c) {
  std::string out = fmt::format("{}{}{}", c.worse ? "worse  " : c.kind == "changed" ? "       " : "", c.op, c.inputs.empty() ? "" : " [" + c.inputs + "]");
  out += fmt::format("\n         {} -> {}", c.before.empty() ? "(not there)" : c.before, c.after.empty() ? "(not there)" : c.after);
  if (!c.before_state.empty() || !c.after_state.empty()) out += fmt::format("  ({} -> {})", c.before_state.empty() ? "-" : c.before_state, c.after_state.empty() ? "-" : c.after_state);
  if (c.count_a == 0 || c.count_b == 0) {
    const double us = c.us_a + c.us_b;
    const std::uint64_t count = c.count_a + c.count_b;
    if (us > 0) out += fmt::format("\n         {:.1f} us in {} call{}", us, count, count == 1 ? "" : "s");
  } else if (c.us_a > 0 || c.us_b > 0) out += fmt::format("\n         {:.1f} us in {} calls -> {:.1f} us in {} calls", c.us_a, c.count_a, c.us_b, c.count_b);
  return out;
}

bool moved(const Shift& s) { return s.us_a != s.us_b || s.count_a != s.count_b; }

}  // namespace

std::string to_text(const Difference& d, bool verbose) {
  std::string out = fmt::format("A  {}\nB  {}\n", d.a, d.b);
  for (const std::string& each : d.verdicts) out += "verdict  " + each + "\n";
  for (const std::string& each : d.remarks) out += "note     " + each + "\n";
  if (d.us_a > 0 || d.us_b > 0) out += fmt::format("GPU time {:.1f} us -> {:.1f} us\n", d.us_a, d.us_b);
  const std::size_t most = verbose ? d.operators.size() : 20;
  out += fmt::format("\noperators that changed: {}\n", d.operators.size());
  for (std::size_t i = 0; i < d.operators.size() && i < most; ++i) out += fmt::format("  {} {}\n", d.operators[i].kind, change_line(d.operators[i]));
  if (d.operators.size() > most) out += fmt::format("  … {} more (-v shows them)\n", d.operators.size() - most);
  if (!d.conversions.empty()) out += "\ncopies, casts and waits that changed\n";
  for (const Shift& s : d.conversions) out += fmt::format("  {}: {} -> {} ({:.1f} us -> {:.1f} us)\n", s.what, s.count_a, s.count_b, s.us_a, s.us_b);
  if (!d.roles.empty()) out += "\nGPU time by kind of kernel\n";
  for (const Shift& s : d.roles)
    if (moved(s) || verbose) out += fmt::format("  {:<12} {:>10.1f} us -> {:>10.1f} us  ({} -> {} kernels)\n", s.what, s.us_a, s.us_b, s.count_a, s.count_b);
  return out;
}

std::string to_markdown(const Difference& d) {
  // A table cell must stay in its row.
  const auto cell = [](const std::string& text) {
    std::string out;
    for (const char c : text) out += c == '|' ? "\\|" : c == '\n' ? " " : std::string(1, c);
    return out;
  };
  std::string out = fmt::format("# {} against {}\n\n", d.a, d.b);
  for (const std::string& each : d.verdicts) out += "- " + each + "\n";
  for (const std::string& each : d.remarks) out += "- " + each + "\n";
  out += "\n| | operator | before | after | us before | us after |\n| --- | --- | --- | --- | --- | --- |\n";
  for (const OperatorChange& c : d.operators)
    out += fmt::format("| {} | {} {} | {} | {} | {:.1f} | {:.1f} |\n", c.worse ? "worse" : c.kind, cell(c.op), cell(c.inputs), cell(c.before), cell(c.after), c.us_a, c.us_b);
  out += "\n| copies, casts, waits | before | after |\n| --- | --- | --- |\n";
  for (const Shift& s : d.conversions) out += fmt::format("| {} | {} | {} |\n", cell(s.what), s.count_a, s.count_b);
  return out;
}

nlohmann::json to_json(const Difference& d) {
  nlohmann::json out = {{"a", d.a}, {"b", d.b}, {"worse", d.worse}, {"verdicts", d.verdicts}, {"remarks", d.remarks}, {"gpu_us_a", d.us_a}, {"gpu_us_b", d.us_b}};
  out["operators"] = nlohmann::json::array();
  for (const OperatorChange& c : d.operators)
    out["operators"].push_back({{"op", c.op}, {"inputs", c.inputs}, {"kind", c.kind}, {"before", c.before}, {"after", c.after}, {"before_state", c.before_state},
                                {"after_state", c.after_state}, {"count_a", c.count_a}, {"count_b", c.count_b}, {"us_a", c.us_a}, {"us_b", c.us_b}, {"worse", c.worse}});
  const auto shifts = [](const std::vector<Shift>& list) {
    nlohmann::json all = nlohmann::json::array();
    for (const Shift& s : list) all.push_back({{"what", s.what}, {"count_a", s.count_a}, {"count_b", s.count_b}, {"us_a", s.us_a}, {"us_b", s.us_b}});
    return all;
  };
  out["roles"] = shifts(d.roles);
  out["conversions"] = shifts(d.conversions);
  return out;
}

}  // namespace dd::evidence
