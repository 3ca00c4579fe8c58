#include "evidence/diff/diff.hpp"

#include <algorithm>
#include <cmath>

#include "evidence/answer/inputs.hpp"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace dd::evidence {
namespace {

// One operator with one set of inputs, over all the kernels that served it.
struct Served {
  std::uint64_t count = 0;
  double us = 0, slowest = 0;
  std::string by, state;  // of the part that took longest
  std::vector<std::string> all;
};

using Table = std::map<std::pair<std::string, std::string>, Served>;

std::string inputs_text(const OperatorGroup& g) {
  std::vector<std::string> parts;
  for (const TensorInfo& t : g.inputs)
    if (t.recorded) parts.push_back(fmt::format("{}{}", fmt::join(t.dims, "x"), t.dtype.empty() ? "" : " " + (spec_dtype(t.dtype).empty() ? t.dtype : spec_dtype(t.dtype))));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::string served_text(const OperatorGroup& g) {
  if (!g.main_class.empty() && !g.backend.empty()) return fmt::format("{} ({})", g.main_class, g.backend);
  return g.main_class.empty() ? g.served_by : g.main_class;
}

void add(Table& table, const OperatorGroup& g) {
  Served& s = table[{g.op, inputs_text(g)}];
  const std::string by = served_text(g);
  s.count += g.count;
  s.us += g.gpu_us;
  if (s.by.empty() || g.gpu_us > s.slowest) {
    s.slowest = g.gpu_us;
    s.by = by;
    s.state = gemm_state_name(g.state);
  }
  if (std::find(s.all.begin(), s.all.end(), by) == s.all.end()) s.all.push_back(by);
}

Table table_of(const TraceAnswer& answer) {
  Table out;
  for (const auto* groups : {&answer.attention, &answer.written_out, &answer.gemms})
    for (const OperatorGroup& g : *groups) add(out, g);
  for (const CallGroup& c : answer.calls) {
    Served& s = out[{c.function, c.problem.empty() ? std::string() : c.problem}];
    s.count += c.count;
    s.us += c.ms * 1000;
    s.by = c.implementation;
    s.state = c.implementation.starts_with("ref") || c.implementation.starts_with("simple") ? "slow" : "fast";
  }
  for (auto& [key, served] : out) std::sort(served.all.begin(), served.all.end());
  return out;
}

int rank_of(std::string_view state) { return state == "fast" || state == "vector" ? 0 : state == "degraded" ? 1 : state == "slow" ? 2 : -1; }

double per_call(std::uint64_t count, double us) { return count == 0 ? 0 : us / static_cast<double>(count); }

void compare_operators(const Table& a, const Table& b, Difference& out) {
  const auto note = [&](const std::pair<std::string, std::string>& key, const Served* x, const Served* y) {
    OperatorChange change;
    change.op = key.first;
    change.inputs = key.second;
    change.kind = x == nullptr ? "only-in-b" : y == nullptr ? "only-in-a" : "changed";
    if (x != nullptr) change.before = fmt::format("{}", fmt::join(x->all.empty() ? std::vector<std::string>{x->by} : x->all, " / ")), change.before_state = x->state, change.count_a = x->count, change.us_a = x->us;
    if (y != nullptr) change.after = fmt::format("{}", fmt::join(y->all.empty() ? std::vector<std::string>{y->by} : y->all, " / ")), change.after_state = y->state, change.count_b = y->count, change.us_b = y->us;
    if (x != nullptr && y != nullptr) {
      const double before = per_call(x->count, x->us), after = per_call(y->count, y->us);
      const bool slower = after > before * 1.2 && after - before > 1.0;
      const bool other = change.before != change.after;
      if (!other && !slower && !(before > after * 1.2 && before - after > 1.0)) return;
      if (!other) change.kind = slower ? "slower" : "faster";
      change.worse = rank_of(change.after_state) > rank_of(change.before_state) && rank_of(change.before_state) >= 0;
    }
    out.worse = out.worse || change.worse;
    out.operators.push_back(std::move(change));
  };
  for (const auto& [key, served] : a) {
    const auto found = b.find(key);
    note(key, &served, found == b.end() ? nullptr : &found->second);
  }
  for (const auto& [key, served] : b)
    if (a.find(key) == a.end()) note(key, nullptr, &served);
  std::stable_sort(out.operators.begin(), out.operators.end(), [](const OperatorChange& x, const OperatorChange& y) {
    if (x.worse != y.worse) return x.worse;
    return x.us_b - x.us_a > y.us_b - y.us_a;
  });
}

void shift(std::vector<Shift>& out, const Tallies& a, const Tallies& b, bool only_changes) {
  std::map<std::string, Shift> all;
  for (const auto& [what, tally] : a) {
    Shift& s = all[what];
    s.count_a = tally.count;
    s.us_a = tally.us;
  }
  for (const auto& [what, tally] : b) {
    Shift& s = all[what];
    s.count_b = tally.count;
    s.us_b = tally.us;
  }
  for (auto& [what, s] : all) {
    s.what = what;
    if (!only_changes || s.count_a != s.count_b) out.push_back(s);
  }
  std::stable_sort(out.begin(), out.end(), [](const Shift& x, const Shift& y) { return std::abs(x.us_b - x.us_a) > std::abs(y.us_b - y.us_a); });
}

Tallies waits_of(const TraceAnswer& answer) {
  Tallies out = answer.copies_by_origin;
  for (const auto& [call, count] : answer.sync_calls) out["host waits in " + call].count = count;
  if (answer.item_calls > 0) out["scalars read back by the host"].count = answer.item_calls;
  return out;
}

}  // namespace

Difference compare(const TraceAnswer& a, const TraceAnswer& b) {
  Difference out;
  out.a = a.file;
  out.b = b.file;
  out.us_a = a.gpu_us;
  out.us_b = b.gpu_us;
  if (a.partial || b.partial) out.remarks.push_back("a file could be read only in part: counts are lower bounds");
  if (a.linking.launched_before_window + b.linking.launched_before_window > 0) out.remarks.push_back("kernels launched before the window belong to no operator and are compared by role only");
  for (const auto& [name, x, y] : {std::tuple{"sdpa", a.verdict.sdpa, b.verdict.sdpa}, {"gemm", a.verdict.gemm, b.verdict.gemm}})
    if (x != y) {
      out.verdicts.push_back(fmt::format("{}: {} -> {}", name, verdict_name(x), verdict_name(y)));
      out.worse = out.worse || (x == PathVerdict::fast_path && (y == PathVerdict::fallback || y == PathVerdict::mixed)) || (x == PathVerdict::mixed && y == PathVerdict::fallback);
    }
  for (const auto& [key, value] : a.header) {
    const auto other = b.header.find(key);
    if (other != b.header.end() && other->second != value && (key.find("version") != std::string::npos || key == "torch" || key == "cudnn" || key == "cublas"))
      out.remarks.push_back(fmt::format("{}: {} -> {}", key, value, other->second));
  }
  compare_operators(table_of(a), table_of(b), out);
  shift(out.roles, a.by_role, b.by_role, false);
  shift(out.conversions, waits_of(a), waits_of(b), true);
  return out;
}

}  // namespace dd::evidence
