#include "evidence/answer/rules.hpp"
#include "evidence/answer/work.hpp"
#include "fmt/format.h"

namespace dd::evidence {
namespace {

using facts::Id;

// "1 product", "2 products"
std::string counted(std::uint64_t count, std::string_view unit) {
  return fmt::format("{} {}", count, count == 1 && unit.ends_with('s') ? unit.substr(0, unit.size() - 1) : unit);
}

// How often, and where first: enough to act on without listing everything.
struct Seen {
  std::uint64_t count = 0;
  double us = 0;
  std::string example;
  std::vector<std::size_t> groups;
  void add(const OperatorGroup& group, std::size_t index, const std::string& what) {
    if (count == 0) example = what;
    count += group.count;
    us += group.gpu_us;
    groups.push_back(index);
  }
  std::string text(std::string_view unit) const {
    if (count == 0) return fmt::format("0 {}", unit);
    return fmt::format("{}{}; {}", counted(count, unit), us > 0 ? fmt::format(", {:.1f} us of GPU time", us) : "", example);
  }
};

std::string shape_of(const OperatorGroup& g) {
  if (g.m <= 0) return g.op;
  return g.batch > 1 ? fmt::format("{} {} x [{}x{}] x [{}x{}]", g.op, g.batch, g.m, g.k, g.k, g.n) : fmt::format("{} [{}x{}] x [{}x{}]", g.op, g.m, g.k, g.k, g.n);
}

class Finder {
 public:
  Finder(TraceAnswer& answer, const Trace& trace) : a_(answer), trace_(trace) {}

  void run() {
    file_facts();
    products();
    attention();
    costs();
    for (const rules::Rule& row : evidence_rules()) {
      if (row.scope != "trace") continue;
      const rules::Finding result = evaluate(row, facts_, true);
      const auto seen = seen_.find(std::string(row.id));
      a_.findings.push_back(finding_of(row.id, seen != seen_.end() ? seen->second : "nothing of the kind",
                                       result.status == rules::Truth::met ? "met" : result.status == rules::Truth::unmet ? "unmet" : "unknown"));
    }
  }

 private:
  void set(Id id, std::uint64_t count) { facts_.set(id, static_cast<std::int64_t>(count), facts::Provenance::trace); }
  void say(std::string_view rule, std::string text) { seen_[std::string(rule)] = std::move(text); }
  void report(Id id, std::string_view rule, const Seen& seen, std::string_view unit, std::vector<OperatorGroup>& groups) {
    set(id, seen.count);
    say(rule, seen.text(unit));
    for (const std::size_t index : seen.groups) groups[index].reasons.emplace_back(rule);
  }

  void file_facts() {
    set(Id::ev_lost, a_.partial ? std::max<std::size_t>(1, a_.warnings.size()) : 0);
    if (!a_.warnings.empty()) say("EVD001", a_.warnings.front());
    set(Id::ev_before_window, a_.linking.launched_before_window);
    say("EVD002", fmt::format("{} of {} GPU events", a_.linking.launched_before_window, a_.linking.gpu_events));
    std::uint64_t replayed = 0;
    for (const KernelSummary& k : a_.kernels)
      if (k.kind.role == Role::gemm || k.kind.role == Role::attention) replayed += k.replayed;
    set(Id::ev_replayed, replayed);
    say("EVD003", fmt::format("{} product and attention kernels of {} replayed", replayed, a_.linking.graph_replay));
    set(Id::ev_wrong_ids, a_.linking.external_id_names_wrong_op);
    say("EVD004", fmt::format("{} of {} GPU events", a_.linking.external_id_names_wrong_op, a_.linking.gpu_events));
    std::uint64_t calls = 0, no_shapes = 0;
    for (const auto* groups : {&a_.gemms, &a_.attention})
      for (const OperatorGroup& g : *groups) {
        calls += g.count;
        if (g.inputs.empty()) no_shapes += g.count;
      }
    set(Id::ev_ops_without_gpu, a_.linking.gpu_events == 0 ? calls : 0);
    const bool no_sign = trace_.calls.empty() && trace_.devices.empty();
    say("EVD005", fmt::format("{} products and attention calls, {} GPU events{}", calls, a_.linking.gpu_events,
                              a_.linking.gpu_events == 0 && no_sign ? ", no call of a GPU runtime: this ran on the processor, or only the processor was recorded" : ""));
    set(Id::ev_no_shapes, no_shapes);
    say("EVD006", fmt::format("{} of {} products and attention calls", no_shapes, calls));
    set(Id::ev_unknown_kernels, a_.kernels_unclassified);
    for (const KernelSummary& k : a_.kernels)
      if (!k.kind.known()) {
        say("EVD007", fmt::format("{} of {} names, first {}", a_.kernels_unclassified, a_.kernels.size(), k.name.substr(0, 120)));
        break;
      }
  }

  void products() {
    Seen misaligned, plain, half, wmma, older, few, epilogue;
    const int gpu_sm = trace_.devices.empty() || trace_.devices.front().warp == 64 ? 0 : trace_.devices.front().major * 10 + trace_.devices.front().minor;
    for (std::size_t i = 0; i < a_.gemms.size(); ++i) {
      const OperatorGroup& g = a_.gemms[i];
      KernelClass kind;
      for (const std::string& name : g.kernels)
        if (KernelClass each = classify_kernel(name); each.role == Role::gemm && each.label == g.main_class) kind = std::move(each);
      const std::string what = fmt::format("{} on {}", shape_of(g), g.main_class);
      if (kind.known()) {
        if (g.state == GemmState::degraded && kind.alignment > 0 && !kind.wmma && g.backend.empty())
          misaligned.add(g, i, what + odd_sizes(g, kind));
        if (g.state == GemmState::slow) (kind.dtype == "fp16" || kind.dtype == "bf16" ? half : plain).add(g, i, what);
        if (kind.wmma) wmma.add(g, i, what);
        if (g.backend == "few-work-groups") few.add(g, i, what);
        if (gpu_sm >= 90 && kind.build_sm > 0 && kind.build_sm / 10 < gpu_sm / 10 && kind.tensor_cores == Tri::yes) older.add(g, i, fmt::format("{} on a GPU of compute capability {}", what, gpu_sm));
      }
      for (const std::string& label : g.kernel_classes)
        if (label == "separate cublasLt epilogue (bias)") {
          epilogue.add(g, i, what);
          break;
        }
    }
    report(Id::ev_misaligned, "EVD010", misaligned, "products", a_.gemms);
    report(Id::ev_float_plain, "EVD011", plain, "products", a_.gemms);
    report(Id::ev_wmma, "EVD012", wmma, "products", a_.gemms);
    report(Id::ev_older_family, "EVD013", older, "products", a_.gemms);
    report(Id::ev_few_groups, "EVD014", few, "products", a_.gemms);
    report(Id::ev_epilogues, "EVD015", epilogue, "products", a_.gemms);
    report(Id::ev_half_plain, "EVD016", half, "products", a_.gemms);
  }

  // Which size is the odd one, where shapes are known.
  static std::string odd_sizes(const OperatorGroup& g, const KernelClass& kind) {
    if (g.m <= 0) return {};
    const std::int64_t step = kind.dtype == "tf32" || kind.dtype == "fp32" ? 4 : 8;
    std::string out;
    for (const auto& [name, value] : {std::pair{"M", g.m}, {"N", g.n}, {"K", g.k}})
      if (value % step != 0) out += fmt::format("{}{} = {} is {} past a multiple of {}", out.empty() ? "; " : ", ", name, value, value % step, step);
    return out;
  }

  void attention() {
    Seen math, unaligned, unknown;
    for (std::size_t i = 0; i < a_.attention.size(); ++i) {
      const OperatorGroup& g = a_.attention[i];
      if (g.served_by == "decomposed") math.add(g, i, g.path.back());
      if (g.served_by == "unknown") unknown.add(g, i, g.path.back());
      for (const std::string& name : g.kernels)
        if (name.find("fmha_cutlass") != std::string::npos && name.find("_notaligned") != std::string::npos) {
          unaligned.add(g, i, g.path.back());
          break;
        }
    }
    report(Id::ev_attention_math, "EVD020", math, "calls", a_.attention);
    report(Id::ev_attention_unaligned, "EVD022", unaligned, "calls", a_.attention);
    report(Id::ev_attention_unknown, "EVD023", unknown, "calls", a_.attention);
    set(Id::ev_written_out, a_.written_out_attention);
    say("EVD021", fmt::format("{} of bmm, softmax, bmm on one thread", counted(a_.written_out_attention, "chains")));
  }

  void costs() {
    const auto percent = [&](const char* role) {
      const auto found = a_.by_role.find(role);
      return found == a_.by_role.end() || a_.gpu_us <= 0 ? 0.0 : 100.0 * found->second.us / a_.gpu_us;
    };
    for (const auto& [id, rule, role] : {std::tuple{Id::ev_cast_percent, "EVD030", "cast"}, {Id::ev_layout_percent, "EVD031", "layout"}}) {
      facts_.set(id, percent(role), facts::Provenance::trace);
      const auto found = a_.by_role.find(role);
      say(rule, found == a_.by_role.end() ? fmt::format("no {} kernels", role)
                                          : fmt::format("{} {} kernels, {:.1f} us of {:.1f} us ({:.1f} percent)", found->second.count, role, found->second.us, a_.gpu_us, percent(role)));
    }
    set(Id::ev_items, a_.linking.gpu_events == 0 ? 0 : a_.item_calls);  // on the processor nothing waits
    say("EVD032", fmt::format("{} read{} of a scalar", a_.item_calls, a_.item_calls == 1 ? "" : "s"));
    std::uint64_t pageable = 0;
    double us = 0;
    for (const auto& [name, tally] : a_.memcpy_by_name)
      if (name.find("Pageable") != std::string::npos) {
        pageable += tally.count;
        us += tally.us;
      }
    set(Id::ev_pageable, pageable);
    say("EVD033", fmt::format("{} copies, {:.1f} us", pageable, us));
    const auto dequantize = a_.by_role.find("dequantize");
    if (dequantize != a_.by_role.end()) say("EVD040", fmt::format("{}, {:.1f} us", counted(dequantize->second.count, "dequantize kernels"), dequantize->second.us));
    set(Id::ev_dequantize, dequantize == a_.by_role.end() ? 0 : dequantize->second.count);
  }

  TraceAnswer& a_;
  const Trace& trace_;
  facts::FactSet facts_;
  std::map<std::string, std::string> seen_;
};

}  // namespace

void add_findings(TraceAnswer& answer, const Trace& trace) { Finder(answer, trace).run(); }

}  // namespace dd::evidence
