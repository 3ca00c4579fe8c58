// Two reports of this tool: cases matched by their spec (or id), traces by position.
#include <nlohmann/json.hpp>

#include "evidence/diff/diff.hpp"
#include "fmt/format.h"

namespace dd::evidence {
namespace {

using PlainJson = nlohmann::json;

core::Result<PlainJson> load(const ReportText& report) {
  const auto fail = [&](const char* why) { return core::Problem{.field = "FILE", .seen = report.name, .wanted = "a report in JSON", .message = why, .file = report.name}; };
  PlainJson out = PlainJson::parse(report.text, nullptr, false);
  if (!out.is_object()) return fail("is no JSON object");
  if (!out.contains("cases") && !out.contains("trace") && !out.contains("traces")) return fail("holds neither cases nor a trace");
  return out;
}

std::string text_at(const PlainJson& object, const char* key) {
  if (!object.is_object()) return {};
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const PlainJson& at(const PlainJson& object, const char* key) {
  static const PlainJson none;
  if (!object.is_object()) return none;
  const auto found = object.find(key);
  return found == object.end() ? none : *found;
}

double number_at(const PlainJson& object, const char* key) {
  const PlainJson& value = at(object, key);
  return value.is_number() ? value.get<double>() : 0;
}

// Best measured time of the selected backend, in microseconds; 0 when nothing was measured.
double measured_us(const PlainJson& one_case, const std::string& selected) {
  for (const PlainJson& candidate : at(one_case, "candidates")) {
    if (text_at(candidate, "backend") != selected) continue;
    for (const PlainJson& attempt : at(candidate, "attempts"))
      if (const double median = number_at(at(attempt, "timing"), "median"); median > 0) return median * 1e6;
  }
  return 0;
}

int rank_of(const std::string& status) { return status == "fast-path" ? 0 : status == "mixed" ? 1 : status == "fallback" ? 2 : status == "no-path" || status == "wrong-result" ? 3 : -1; }

std::map<std::string, const PlainJson*> cases_by_spec(const PlainJson& report) {
  std::map<std::string, const PlainJson*> out;
  const PlainJson& cases = at(report, "cases");
  if (!cases.is_array()) return out;
  for (const PlainJson& each : cases) {
    std::string key = text_at(each, "repro");
    if (key.empty()) key = at(each, "spec").dump();
    out.emplace(std::move(key), &each);
  }
  return out;
}

void compare_cases(const PlainJson& a, const PlainJson& b, Difference& out) {
  const auto left = cases_by_spec(a), right = cases_by_spec(b);
  for (const auto& [key, x] : left) {
    const auto found = right.find(key);
    OperatorChange change;
    change.op = key;
    change.count_a = 1;
    change.before = text_at(at(*x, "decision"), "selected");
    change.before_state = text_at(at(*x, "verdict"), "status");
    change.us_a = measured_us(*x, change.before);
    change.kind = "only-in-a";
    if (found != right.end()) {
      const PlainJson& y = *found->second;
      change.kind = "changed";
      change.count_b = 1;
      change.after = text_at(at(y, "decision"), "selected");
      change.after_state = text_at(at(y, "verdict"), "status");
      change.us_b = measured_us(y, change.after);
      const bool slower = change.us_a > 0 && change.us_b > change.us_a * 1.2;
      if (change.before == change.after && change.before_state == change.after_state && !slower) continue;
      change.worse = slower || (rank_of(change.before_state) >= 0 && rank_of(change.after_state) > rank_of(change.before_state));
    }
    out.worse = out.worse || change.worse;
    out.operators.push_back(std::move(change));
  }
  for (const auto& [key, y] : right) {
    if (left.count(key) != 0) continue;
    OperatorChange change;
    change.op = key;
    change.kind = "only-in-b";
    change.count_b = 1;
    change.after = text_at(at(*y, "decision"), "selected");
    change.after_state = text_at(at(*y, "verdict"), "status");
    out.operators.push_back(std::move(change));
  }
}

std::vector<const PlainJson*> traces_of(const PlainJson& report) {
  std::vector<const PlainJson*> out;
  if (at(report, "traces").is_array())
    for (const PlainJson& each : at(report, "traces")) out.push_back(&each);
  else if (at(report, "trace").is_object()) out.push_back(&at(report, "trace"));
  return out;
}

struct Row {
  std::uint64_t count = 0;
  double us = 0;
  std::string by, state;
};

std::map<std::pair<std::string, std::string>, Row> rows_of(const PlainJson& trace) {
  std::map<std::pair<std::string, std::string>, Row> out;
  const PlainJson& operators = at(trace, "operators");
  if (!operators.is_array()) return out;
  for (const PlainJson& each : operators) {
    Row& row = out[{text_at(each, "name"), at(each, "shapes").dump() + at(each, "dtypes").dump()}];
    row.count += static_cast<std::uint64_t>(std::max(0.0, number_at(each, "calls")));
    row.us += number_at(each, "seconds") * 1e6;
    row.state = text_at(each, "verdict");
    if (at(each, "kernels").is_array())
      for (const PlainJson& kernel : at(each, "kernels")) row.by += (row.by.empty() ? "" : ", ") + (text_at(kernel, "detail").empty() ? text_at(kernel, "name") : text_at(kernel, "detail"));
  }
  return out;
}

void compare_traces(const PlainJson& a, const PlainJson& b, Difference& out) {
  for (const char* operation : {"sdpa", "gemm"}) {
    const std::string x = text_at(at(a, "verdict"), operation), y = text_at(at(b, "verdict"), operation);
    if (x == y) continue;
    out.verdicts.push_back(fmt::format("{}: {} -> {}", operation, x, y));
    out.worse = out.worse || (rank_of(x) >= 0 && rank_of(y) > rank_of(x));
  }
  const auto left = rows_of(a), right = rows_of(b);
  for (const auto& [key, x] : left) {
    const auto found = right.find(key);
    OperatorChange change{key.first, key.second, "only-in-a", x.by, {}, x.state, {}, x.count, 0, x.us, 0, false};
    if (found != right.end()) {
      const Row& y = found->second;
      change.kind = "changed";
      change.after = y.by;
      change.after_state = y.state;
      change.count_b = y.count;
      change.us_b = y.us;
      if (x.by == y.by && x.state == y.state) continue;
      change.worse = rank_of(x.state) >= 0 && rank_of(y.state) > rank_of(x.state);
    }
    out.us_a += x.us;
    out.worse = out.worse || change.worse;
    out.operators.push_back(std::move(change));
  }
  for (const auto& [key, y] : right)
    if (left.count(key) == 0) out.operators.push_back({key.first, key.second, "only-in-b", {}, y.by, {}, y.state, 0, y.count, 0, y.us, false});
}

}  // namespace

core::Result<Difference> compare_reports(const ReportText& report_a, const ReportText& report_b) {
  auto a = load(report_a), b = load(report_b);
  core::Problems problems;
  if (!a) problems.insert(problems.end(), a.problems().begin(), a.problems().end());
  if (!b) problems.insert(problems.end(), b.problems().begin(), b.problems().end());
  if (!problems.empty()) return problems;
  Difference out;
  out.a = report_a.name;
  out.b = report_b.name;
  compare_cases(*a, *b, out);
  const auto left = traces_of(*a), right = traces_of(*b);
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) compare_traces(*left[i], *right[i], out);
  if (left.size() != right.size()) out.remarks.push_back(fmt::format("{} traces against {}: the rest is not compared", left.size(), right.size()));
  std::stable_sort(out.operators.begin(), out.operators.end(), [](const OperatorChange& x, const OperatorChange& y) { return x.worse && !y.worse; });
  return out;
}

}  // namespace dd::evidence
