// Compares two answers: operators whose kernels or backend changed, GPU time that moved, conversions that are new.
// Made for "after the upgrade it got slow". Operators are matched by name and inputs; counts may differ between files,
// so times are compared per call as well.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/result.hpp"
#include "evidence/answer/answer.hpp"
namespace dd::evidence {

struct OperatorChange {
  std::string op, inputs;                 // inputs as text, "" when not recorded
  std::string kind;                       // changed, only-in-a, only-in-b
  std::string before, after;              // served by, with kernel classes
  std::string before_state, after_state;  // fast, degraded, slow, …
  std::uint64_t count_a = 0, count_b = 0;
  double us_a = 0, us_b = 0;              // all calls
  bool worse = false;
};

struct Shift {
  std::string what;
  std::uint64_t count_a = 0, count_b = 0;
  double us_a = 0, us_b = 0;
};

struct Difference {
  std::string a, b;
  std::vector<OperatorChange> operators;  // greatest loss of time first
  std::vector<Shift> roles;               // GPU time by what kernels do
  std::vector<Shift> conversions;         // new or gone copies, casts, layout changes, waits
  std::vector<std::string> verdicts;      // "gemm: fast-path -> fallback"
  std::vector<std::string> remarks;
  double us_a = 0, us_b = 0;
  bool worse = false;                     // an operator left the fast path
};

Difference compare(const TraceAnswer& a, const TraceAnswer& b);
// Two reports in JSON, as this tool writes them: cases matched by spec, or traces by position.
struct ReportText {
  std::string name, text;
};
core::Result<Difference> compare_reports(const ReportText& a, const ReportText& b);

std::string to_text(const Difference& difference, bool verbose = false);
std::string to_markdown(const Difference& difference);
nlohmann::json to_json(const Difference& difference);

}  // namespace dd::evidence
