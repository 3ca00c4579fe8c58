#include "evidence/answer/report.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

#include "evidence/logs/logs.hpp"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace dd::evidence {
namespace {

std::string state_verdict(const OperatorGroup& g) {
  if (g.served_by == "unknown" || g.backend == "unproven") return "cannot-tell";  // looks like attention, but no shapes prove it
  switch (g.state) {
    case GemmState::fast: return "fast-path";
    case GemmState::degraded: return "mixed";
    case GemmState::slow: return "fallback";
    case GemmState::vector: return "fast-path";
    case GemmState::unknown: break;
  }
  return "cannot-tell";
}

report::TraceOperator operator_of(const OperatorGroup& g, std::string_view operation, double total_us) {
  report::TraceOperator out;
  out.name = g.path.size() > 1 ? fmt::format("{}", fmt::join(g.path, " > ")) : g.op;
  out.operation = operation;
  out.verdict = state_verdict(g);
  out.grade = "traced";
  out.calls = static_cast<std::int64_t>(g.count);
  out.seconds = g.gpu_us * 1e-6;
  out.share = total_us > 0 ? g.gpu_us / total_us : 0;
  for (const TensorInfo& t : g.inputs) {
    if (!t.recorded) continue;
    out.shapes.push_back(t.strides.empty() ? fmt::format("{}", fmt::join(t.dims, "x")) : fmt::format("{} strides {}", fmt::join(t.dims, "x"), fmt::join(t.strides, "x")));
    if (!t.dtype.empty()) out.dtypes.push_back(spec_dtype(t.dtype).empty() ? t.dtype : spec_dtype(t.dtype));
  }
  for (std::size_t i = 0; i < g.kernels.size(); ++i) {
    const KernelClass kind = classify_kernel(g.kernels[i]);
    report::Operation kernel;
    kernel.name = g.kernels[i].substr(0, 160);
    kernel.detail = kind.known() ? kind.label : std::string();
    kernel.origin = "trace";
    kernel.count = static_cast<std::int64_t>(g.count);
    out.kernels.push_back(std::move(kernel));
    if (kind.role == Role::cast || kind.role == Role::layout || kind.role == Role::copy_or_cast)
      out.conversions.push_back({std::string(role_name(kind.role)), kind.label, 0});
  }
  if (g.kernels.empty() && !g.backend.empty() && !g.path.empty()) out.kernels.push_back({"none recorded; the operator's name says " + g.backend, "", "trace", static_cast<std::int64_t>(g.count), {}});
  return out;
}

report::TraceOperator operator_of(const CallGroup& c) {
  report::TraceOperator out;
  out.name = c.implementation.empty() ? c.function : fmt::format("{} {}", c.function, c.implementation);
  out.operation = c.function == "reorder" ? "conversion" : c.function == "convolution" ? "other" : "gemm";
  out.verdict = c.library == "oneDNN" ? (is_reference(c.implementation) ? "fallback" : "fast-path") : "cannot-tell";
  out.grade = c.library == "oneDNN" ? "traced" : "modelled";  // only oneDNN names what ran
  out.calls = static_cast<std::int64_t>(c.count);
  out.seconds = c.ms * 1e-3;
  if (!c.problem.empty()) out.shapes.push_back(c.problem);
  if (!c.memory.empty()) out.dtypes.push_back(c.memory);
  std::vector<std::string> fields;
  for (const auto& [key, value] : c.fields) fields.push_back(key + "=" + value);
  if (!fields.empty()) out.shapes.push_back(fmt::format("{}", fmt::join(fields, " ")));
  return out;
}

report::TraceKernel kernel_of(const KernelSummary& k, double total_us) {
  report::TraceKernel out;
  out.name = k.name;
  if (k.kind.known()) {
    out.provider = k.kind.row->provider;
    out.family = k.kind.row->family;
    out.operation = k.kind.row->operation;
  }
  out.tensor_cores = tri_name(k.kind.tensor_cores);
  if (k.kind.alignment > 0) out.alignment = fmt::format("align{}", k.kind.alignment);
  out.dtype = k.kind.dtype;
  std::vector<std::string> linked;
  if (k.in_ops > k.replayed) linked.push_back(fmt::format("{} by operator", k.in_ops - std::min(k.in_ops, k.replayed)));
  if (k.replayed > 0) linked.push_back(fmt::format("{} replayed from a graph", k.replayed));
  if (k.unlinked > 0) linked.push_back(fmt::format("{} launched before the window", k.unlinked));
  out.linked_by = fmt::format("{}", fmt::join(linked, ", "));
  out.count = static_cast<std::int64_t>(k.count);
  out.seconds = k.us * 1e-6;
  out.share = total_us > 0 ? k.us / total_us : 0;
  return out;
}

void add_tallies(report::Trace& out, const TraceAnswer& a) {
  for (const auto& [what, tally] : a.copies_by_origin) {
    report::TraceOperator each;
    each.name = what;
    each.operation = "conversion";
    each.verdict = "none";
    each.grade = "traced";
    each.calls = static_cast<std::int64_t>(tally.count);
    each.seconds = tally.us * 1e-6;
    each.share = a.gpu_us > 0 ? tally.us / a.gpu_us : 0;
    out.operators.push_back(std::move(each));
  }
  for (const auto& [call, count] : a.sync_calls) {
    report::TraceOperator each;
    each.name = "host waits in " + call;
    each.operation = "other";
    each.verdict = "none";
    each.grade = "traced";
    each.calls = static_cast<std::int64_t>(count);
    out.operators.push_back(std::move(each));
  }
}

// What must be looked at first: off the fast path, then undecided, then the rest; the costly before the cheap.
void put_in_order(std::vector<report::TraceOperator>& operators) {
  const auto rank = [](const report::TraceOperator& o) {
    return o.verdict == "fallback" ? 0 : o.verdict == "mixed" ? 1 : o.verdict == "cannot-tell" ? 2 : o.verdict == "fast-path" ? 3 : 4;
  };
  std::stable_sort(operators.begin(), operators.end(), [&](const auto& x, const auto& y) { return rank(x) != rank(y) ? rank(x) < rank(y) : x.seconds > y.seconds; });
}

std::string_view attribution_text(std::string_view attribution) {
  static constexpr std::pair<std::string_view, std::string_view> texts[] = {
      {"op_level", "kernels by the operators that launched them"},
      {"op_level_partial", "kernels by the operators that launched them; some were launched before the recording began"},
      {"mixed_graph", "kernels by the operators that launched them, and names of kernels replayed from graphs"},
      {"graph_replay_only", "names of kernels replayed from graphs; no operators, no shapes"},
      {"kernel_names_only", "names of kernels alone; no operators, no shapes"},
      {"no_gpu_events", "operators alone; no GPU event in the file"},
      {"nvtx", "kernels by the NVTX ranges around their launches"},
      {"library_log", "lines of library logs"}};
  for (const auto& [id, text] : texts)
    if (id == attribution) return text;
  return attribution;
}

// What a weak grade means here, in words.
std::string_view grade_text(const TraceAnswer& a) {
  if (a.verdict.grade == "asked") return "asked: a library's own words, not a recording of what ran";
  if (a.verdict.grade != "modelled" || a.format == "unknown") return {};
  return a.kernels.empty() ? "modelled: the log tells what was asked for, not which kernel ran" : "modelled: read from names by this tool; nothing shows that these kernels ran";
}

std::string linking_text(const LinkSummary& s) {
  std::vector<std::string> parts;
  for (const auto& [count, what] : {std::pair{s.launch_call_inside_an_op, "launched inside an operator"}, {s.outside_any_op, "outside any"}, {s.graph_replay, "replayed from graphs"},
                                    {s.launched_before_window, "launched before the recording"}, {s.linked_by_external_id, "linked by external id"}})
    if (count > 0) parts.push_back(fmt::format("{} {}", count, what));
  return fmt::format("{} GPU events{}{}", s.gpu_events, parts.empty() ? "" : ": ", fmt::join(parts, ", "));
}

}  // namespace

report::Trace to_report(const TraceAnswer& a, bool verbose) {
  report::Trace out;
  out.file = a.file;
  out.format = a.format;
  out.partial = a.partial;
  out.grade = a.verdict.grade;
  out.verdict["sdpa"] = verdict_name(a.verdict.sdpa);
  out.verdict["gemm"] = verdict_name(a.verdict.gemm);
  out.warnings = a.warnings;
  const auto note = [&](const std::string& text) {
    if (!text.empty()) out.notes.push_back(text);
  };
  if (!a.verdict.sdpa_why.empty()) note("sdpa: " + a.verdict.sdpa_why);
  if (!a.verdict.gemm_why.empty()) note("gemm: " + a.verdict.gemm_why);
  note(a.verdict.other_why);
  note(std::string(grade_text(a)));
  note("evidence: " + std::string(attribution_text(a.verdict.attribution)));
  if (a.linking.gpu_events > 0) note(linking_text(a.linking));
  nlohmann::json details = to_json(a, verbose);
  for (const char* key : {"operators", "kernels", "findings", "file", "format", "partial", "warnings"}) details.erase(key);
  out.details_json = details.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  for (const OperatorGroup& g : a.attention) out.operators.push_back(operator_of(g, "sdpa", a.gpu_us));
  for (const OperatorGroup& g : a.written_out) out.operators.push_back(operator_of(g, "sdpa", a.gpu_us));
  for (const OperatorGroup& g : a.gemms) out.operators.push_back(operator_of(g, "gemm", a.gpu_us));
  for (const CallGroup& c : a.calls) out.operators.push_back(operator_of(c));
  put_in_order(out.operators);
  add_tallies(out, a);
  for (const KernelSummary& k : a.kernels) out.kernels.push_back(kernel_of(k, a.gpu_us));
  for (const EvidenceFinding& f : a.findings) {
    if (f.status == "met" && !verbose) continue;
    report::Finding each;
    each.id = f.id;
    each.name = f.name;
    each.title = f.title;
    each.level = f.level;
    each.seen = f.seen;
    each.required = f.required;
    each.effect = f.effect;
    each.fix = f.fix;
    each.keeps = f.keeps;
    each.blame = f.blame;
    each.source = f.source;
    each.status = f.status;
    out.findings.push_back(std::move(each));
  }
  // What blocks before what slows, what is known before what is not.
  const auto rank = [](const report::Finding& f) {
    return (f.status == "unknown" ? 8 : 0) + (f.level == "blocked" ? 0 : f.level == "slow" ? 1 : f.level == "changes" ? 2 : f.level == "warning" ? 3 : 4);
  };
  std::stable_sort(out.findings.begin(), out.findings.end(), [&](const auto& x, const auto& y) { return rank(x) < rank(y); });
  return out;
}

namespace {

Held fast(const TraceAnswer& a, std::string& why) {
  Held out = Held::yes;
  for (const auto& [name, verdict, because] : {std::tuple{"sdpa", a.verdict.sdpa, a.verdict.sdpa_why}, {"gemm", a.verdict.gemm, a.verdict.gemm_why}}) {
    if (verdict == PathVerdict::fast_path || verdict == PathVerdict::none) continue;
    why += fmt::format("{}{} is {}: {}", why.empty() ? "" : "; ", name, verdict_name(verdict), because);
    if (verdict != PathVerdict::cannot_tell) out = Held::no;
    else if (out == Held::yes) out = Held::undecided;
  }
  return out;
}

Held served_by(const TraceAnswer& a, std::string_view list, std::string& why) {
  Held out = a.attention.empty() ? Held::undecided : Held::yes;
  if (a.attention.empty()) why = "no attention call with an operator in the file";
  for (const OperatorGroup& g : a.attention) {
    const std::string name = g.backend == "cpu-flash" ? "torch-cpu-flash" : "torch-" + g.backend;
    bool listed = false;
    for (std::string_view rest = list; !rest.empty();) {
      const auto comma = rest.find(',');
      const std::string_view one = rest.substr(0, comma);
      listed = listed || one == g.backend || one == name;
      rest = comma == std::string_view::npos ? std::string_view{} : rest.substr(comma + 1);
    }
    if (listed) continue;
    why += fmt::format("{}{} calls of {} went to {}", why.empty() ? "" : "; ", g.count, g.op, g.backend);
    if (g.served_by != "unknown") out = Held::no;
    else if (out == Held::yes) out = Held::undecided;
  }
  return out;
}

}  // namespace

Held holds(const TraceAnswer& answer, const std::string& requirement, std::string& why) {
  if (requirement == "fast") return fast(answer, why);
  if (requirement.starts_with("backend=")) return served_by(answer, std::string_view(requirement).substr(8), why);
  why = "recorded evidence holds no numbers to compare";
  return Held::undecided;
}

namespace {

// Was there anything to judge? A trace always has findings about itself; a log only where a line said something.
bool has_something(const TraceAnswer& a) {
  const bool log = a.verdict.attribution == "library_log";
  return a.verdict.sdpa != PathVerdict::none || a.verdict.gemm != PathVerdict::none || a.kernels_seen > 0 || !a.calls.empty() || (log && !a.findings.empty());
}

}  // namespace

int exit_code(const std::vector<TraceAnswer>& answers, const std::vector<std::string>& requirements, bool unknown_passes, std::vector<std::string>& messages) {
  bool refused = false, anything = false;
  for (const TraceAnswer& a : answers) {
    anything = anything || has_something(a);
    for (const std::string& requirement : requirements) {
      std::string why;
      const Held held = holds(a, requirement, why);
      if (held == Held::yes || (held == Held::undecided && unknown_passes)) continue;
      messages.push_back(fmt::format("{}: --require {} {}: {}", a.file, requirement, held == Held::no ? "does not hold" : "cannot be decided", why));
      refused = true;
    }
  }
  if (refused) return 3;
  return anything ? 0 : 5;
}

}  // namespace dd::evidence
