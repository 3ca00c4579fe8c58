#include "evidence/answer/by_name.hpp"
#include "evidence/answer/work.hpp"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace dd::evidence {

std::string_view verdict_name(PathVerdict verdict) {
  static constexpr std::string_view names[] = {"none", "fast-path", "fallback", "mixed", "cannot-tell", "cannot-tell"};
  return names[static_cast<std::size_t>(verdict)];
}

namespace {

struct Shares {
  Tally fast, degraded, slow, vector, unknown;
  Tally& of(GemmState state) {
    switch (state) {
      case GemmState::fast: return fast;
      case GemmState::degraded: return degraded;
      case GemmState::slow: return slow;
      case GemmState::vector: return vector;
      case GemmState::unknown: break;
    }
    return unknown;
  }
  void add(GemmState state, std::uint64_t count, double us) {
    Tally& tally = of(state);
    tally.count += count;
    tally.us += us;
  }
  std::uint64_t judged() const { return fast.count + degraded.count + slow.count; }
};

// A stray product that takes next to no time does not spoil (or save) a whole model.
bool negligible(const Tally& part, const Shares& all) {
  const double us = all.fast.us + all.degraded.us + all.slow.us;
  const auto count = static_cast<double>(all.judged());
  return part.count == 0 || (static_cast<double>(part.count) < 0.05 * count && part.us < 0.02 * us);
}

PathVerdict verdict_of(const Shares& s) {
  if (s.judged() == 0) return PathVerdict::cannot_tell;
  Tally bad = s.degraded;
  bad.count += s.slow.count;
  bad.us += s.slow.us;
  if (negligible(bad, s)) return PathVerdict::fast_path;
  Tally good = s.fast;
  good.count += s.degraded.count;
  good.us += s.degraded.us;
  if (negligible(good, s)) return PathVerdict::fallback;
  return PathVerdict::mixed;
}

// "1 operator", "2 operators"; the unit is the first word, in its plural.
std::string amount(std::uint64_t count, std::string_view unit) {
  if (count != 1) return fmt::format("{} {}", count, unit);
  const auto word = std::min(unit.find_first_of(" ,"), unit.size());
  return fmt::format("1 {}{}", unit.substr(0, word - (word > 0 && unit[word - 1] == 's' ? 1 : 0)), unit.substr(word));
}

std::string why(const Shares& s, std::string_view what) {
  std::string out = amount(s.judged() + s.vector.count + s.unknown.count, what) + ": ";
  const auto part = [&](const Tally& tally, std::string_view text) {
    if (tally.count > 0) out += fmt::format("{} {}{}, ", tally.count, text, tally.us > 0 ? fmt::format(" ({:.1f} us)", tally.us) : "");
  };
  part(s.fast, "on the fast path");
  part(s.degraded, "on a degraded tensor-core kernel");
  part(s.slow, "without reduced-precision tensor cores");
  part(s.vector, "with one row or column");
  part(s.unknown, "unknown");
  out.resize(out.size() - 2);
  return out;
}

// Kernels of one role by name: of graphs, or of the whole file when no operator was recorded.
Shares by_name(const TraceAnswer& answer, std::uint64_t KernelSummary::*which) {
  Shares out;
  for (const KernelSummary& each : answer.kernels) {
    const std::uint64_t count = each.*which;
    if (each.kind.role != Role::gemm || count == 0) continue;
    out.add(gemm_state(each.kind), count, each.us * static_cast<double>(count) / static_cast<double>(each.count));
  }
  return out;
}

std::uint64_t kernels_of(const TraceAnswer& answer, Role role, bool replayed_only) {
  std::uint64_t out = 0;
  for (const KernelSummary& each : answer.kernels)
    if (each.kind.role == role && (role != Role::attention || is_fused_attention(each.kind))) out += replayed_only ? each.replayed : each.count;
  return out;
}

// Products of engines: in operators of their own, or launched by extensions outside any operator.
Shares elsewhere(const TraceAnswer& answer) {
  if (!answer.has_operators) return {};
  Shares out = by_name(answer, &KernelSummary::by_other_ops), apart = by_name(answer, &KernelSummary::apart);
  for (const GemmState state : {GemmState::fast, GemmState::degraded, GemmState::slow, GemmState::vector, GemmState::unknown}) out.add(state, apart.of(state).count, apart.of(state).us);
  return out;
}

// On a processor the code of a compiled region leaves no mark: what it multiplies is not in the file.
bool hidden_in_regions(const TraceAnswer& answer) { return answer.compiled_regions > 0 && answer.linking.gpu_events == 0; }

std::string hidden_text(const TraceAnswer& answer) {
  return fmt::format("nothing of the kind outside {} compiled region{}, whose own code a recording of the processor does not show", answer.compiled_regions, answer.compiled_regions == 1 ? "" : "s");
}

// Fused kernels that belong to no attention operator of the file, but were launched in it.
std::uint64_t attention_elsewhere(const TraceAnswer& answer) {
  std::uint64_t out = 0;
  for (const KernelSummary& each : answer.kernels)
    if (is_fused_attention(each.kind) && each.kind.row->family != "attention-helper") out += each.by_other_ops + each.apart;
  return out;
}

void judge_gemm(TraceAnswer& answer) {
  Shares ops;
  for (const OperatorGroup& group : answer.gemms) ops.add(group.state, group.count, group.gpu_us);
  const Shares graph = by_name(answer, &KernelSummary::replayed), engine = elsewhere(answer);
  Shares all = ops;
  for (const Shares* part : {&graph, &engine})
    for (const GemmState state : {GemmState::fast, GemmState::degraded, GemmState::slow, GemmState::vector, GemmState::unknown}) {
      Shares copy = *part;
      all.add(state, copy.of(state).count, copy.of(state).us);
    }
  Verdict& v = answer.verdict;
  if (all.judged() > 0) {
    v.gemm = verdict_of(all);
    for (const auto& [part, what] : std::initializer_list<std::pair<const Shares*, std::string_view>>{{&ops, "operators"}, {&graph, "replayed kernels, judged by name"}, {&engine, "kernels launched by other code, judged by name"}})
      if (part->judged() > 0 || (part == &ops && !answer.gemms.empty())) v.gemm_why += (v.gemm_why.empty() ? "" : "; ") + why(*part, what);
    return;
  }
  if (all.vector.count > 0 && all.unknown.count == 0) {
    v.gemm = PathVerdict::fast_path;
    v.gemm_why = why(all, "operators") + ": bound by memory, a vector kernel is the right choice";
    return;
  }
  if (!answer.gemms.empty()) {
    v.gemm = PathVerdict::cannot_tell;
    v.gemm_why = amount(ops.unknown.count, "operators, none with a kernel that could be linked");
    return;
  }
  // No operator: names of the whole file, and only when they agree.
  const Shares names = by_name(answer, &KernelSummary::count);
  if (hidden_in_regions(answer)) {
    v.gemm = PathVerdict::cannot_tell;
    v.gemm_why = hidden_text(answer);
    return;
  }
  if (answer.has_operators || kernels_of(answer, Role::gemm, false) == 0) {
    v.gemm = PathVerdict::none;
    v.gemm_why = kernels_of(answer, Role::gemm, false) > 0 ? "no matrix-product operator in the file; its product kernels belong to other operators" : "no matrix product in the file";
    return;
  }
  const bool agree = names.degraded.count == 0 && names.unknown.count == 0 && (names.fast.count == 0) != (names.slow.count == 0);
  v.gemm = agree ? verdict_of(names) : PathVerdict::cannot_tell;
  v.gemm_why = why(names, "kernels, names only");
}

void judge_attention(TraceAnswer& answer) {
  Verdict& v = answer.verdict;
  std::uint64_t fused = 0, decomposed = 0, unknown = 0;
  for (const OperatorGroup& group : answer.attention) (group.served_by == "fused" ? fused : group.served_by == "decomposed" ? decomposed : unknown) += group.count;
  std::uint64_t proven = 0;
  for (const OperatorGroup& group : answer.written_out)
    if (group.backend == "proven") proven += group.count;
  const bool no_ops = answer.attention.empty() && proven == 0;
  const std::uint64_t replayed = kernels_of(answer, Role::attention, true);
  const std::uint64_t named = no_ops ? kernels_of(answer, Role::attention, false) : replayed + attention_elsewhere(answer);
  const std::uint64_t good = fused + named, bad = decomposed + proven;
  if (good + bad == 0) {
    const bool hidden = unknown == 0 && hidden_in_regions(answer);
    v.sdpa = unknown > 0 || hidden ? PathVerdict::cannot_tell : PathVerdict::none;
    v.sdpa_why = hidden ? hidden_text(answer) : unknown > 0 ? fmt::format("{} attention call{}, none with a kernel that could be linked", unknown, unknown == 1 ? "" : "s") : "no attention operator in the file";
    if (answer.written_out_attention > 0) v.sdpa_why += fmt::format("; {} chains of bmm, softmax, bmm look like attention written out (no shapes to prove it)", answer.written_out_attention);
    return;
  }
  v.sdpa = bad == 0 ? PathVerdict::fast_path : good == 0 ? PathVerdict::fallback : PathVerdict::mixed;
  std::vector<std::string> parts;
  for (const auto& [count, what] : {std::pair{fused, "calls fused"}, {decomposed, "decomposed"}, {proven, "written out as bmm, softmax, bmm"}, {unknown, "unknown"}})
    if (count > 0) parts.push_back(amount(count, what));
  if (named > 0) parts.push_back(fmt::format("{} fused kernel{} {}", named, named == 1 ? "" : "s", replayed == 0 ? "launched outside attention operators, judged by name" : replayed == named ? "replayed from graphs, judged by name" : "replayed from graphs or launched outside attention operators, judged by name"));
  v.sdpa_why = fmt::format("{}", fmt::join(parts, ", "));
}

std::string attribution_of(const TraceAnswer& answer, bool has_ops) {
  if (answer.format == "nsys-sqlite") return has_ops && answer.linking.launch_call_inside_an_op > 0 ? "nvtx" : "kernel_names_only";
  if (answer.linking.gpu_events == 0) return "no_gpu_events";
  if (!has_ops) return "kernel_names_only";
  bool missing = answer.linking.launched_before_window > 0;
  for (const OperatorGroup& group : answer.gemms) missing = missing || group.main_class.starts_with("main GEMM kernel missing");
  const std::uint64_t replayed = kernels_of(answer, Role::gemm, true) + kernels_of(answer, Role::attention, true);
  const bool at_ops = !answer.gemms.empty() || !answer.attention.empty();
  if (replayed > 0 && !at_ops) return "graph_replay_only";
  if (missing) return "op_level_partial";
  return replayed > 0 ? "mixed_graph" : "op_level";
}

}  // namespace

void judge(Work& work) {
  const bool has_ops = work.answer.has_operators;
  judge_gemm(work.answer);
  judge_attention(work.answer);
  work.answer.verdict.attribution = attribution_of(work.answer, has_ops);
}

}  // namespace dd::evidence
