// Specs of the calls found, in the form that `run` reads, and the rules of the framework's own dispatcher evaluated on
// them: what most likely kept a call off the fused path.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "evidence/answer/rules.hpp"
#include "evidence/answer/work.hpp"
#include "evidence/link/families.hpp"
#include "facts/derive.hpp"
#include "fmt/format.h"
#include "frameworks/framework.hpp"
#include "spec/parse.hpp"

namespace dd::evidence {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t most_specs = 2000;

bool is_true(const std::string& text) { return text == "True" || text == "true" || text == "1"; }

std::string argument(const OperatorGroup& g, std::size_t i) { return i < g.concrete.size() ? g.concrete[i] : std::string(); }

// What the kernel multiplied, where the evidence records shapes but no types (NVTX ranges).
std::string dtype_by_kernel(const OperatorGroup& g) {
  for (const std::string& name : g.kernels) {
    const KernelClass kind = classify_kernel(name);
    if (kind.role != Role::gemm && kind.role != Role::attention) continue;
    if (kind.dtype == "fp16") return "f16";
    if (kind.dtype == "fp32" || kind.dtype == "tf32") return "f32";
    if (kind.dtype == "fp64") return "f64";
    if (kind.dtype == "bf16") return "bf16";
    if (kind.dtype == "int8") return "s8";
  }
  return {};
}

// Empty when the type is none that a spec can carry.
Json tensor(const TensorInfo& t, const std::string& otherwise = {}) {
  const std::string dtype = t.dtype.empty() ? otherwise : spec_dtype(t.dtype);
  if (!t.recorded || dtype.empty()) return {};
  Json out = {{"shape", t.dims}, {"dtype", dtype}};
  if (!t.strides.empty()) out["strides"] = t.strides;
  return out;
}

// No GPU in sight, and either the file says that there is none or an operator that only the processor has.
bool ran_on_processor(const TraceAnswer& a) {
  const auto here = [](const OperatorGroup& g) { return g.backend == "cpu-flash" || is_library_linear_op(g.op); };
  return a.on_processor && (a.header.count("no_devices") != 0 || std::any_of(a.attention.begin(), a.attention.end(), here) || std::any_of(a.gemms.begin(), a.gemms.end(), here));
}

Json context(const TraceAnswer& a) {
  Json out = {{"framework", "torch"}};
  if (a.devices.empty()) {
    if (ran_on_processor(a)) out["target"] = "cpu";
    return out;
  }
  const Device& d = a.devices.front();
  if (d.warp == 32 && d.major >= 5) out["target"] = fmt::format("sm_{}{}", d.major, d.minor);
  const auto torch = a.header.find("torch");
  if (torch != a.header.end()) out["torch"] = torch->second.substr(0, torch->second.find('+'));
  return out;
}

// Arguments by position in the operator's schema; only the operators whose schema is known here.
struct Schema {
  std::string_view op;
  int mask, dropout, causal, scale, gqa;  // -1: not there
};
constexpr Schema schemas[] = {
    {"aten::scaled_dot_product_attention", 3, 4, 5, 6, 7},
    {"aten::_scaled_dot_product_flash_attention", -1, 3, 4, 6, -1},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", 5, 3, 4, 6, -1},
    {"aten::_scaled_dot_product_efficient_attention", 3, 5, 6, 7, -1},
    {"aten::_scaled_dot_product_cudnn_attention", 3, 5, 6, 8, -1},
    {"aten::_scaled_dot_product_attention_math", 3, 4, 5, 7, 8},
};

bool attention_spec(const OperatorGroup& g, Json& out) {
  const Schema* schema = nullptr;
  for (const Schema& each : schemas)
    if (each.op == g.op) schema = &each;
  if (schema == nullptr || g.inputs.size() < 3) return false;
  out["op"] = "sdpa";
  for (const auto& [name, index] : {std::pair{"q", 0u}, {"k", 1u}, {"v", 2u}}) {
    Json t = tensor(g.inputs[index]);  // types recorded: then the scalars (causal, scale) are as well
    if (t.empty() || g.inputs[index].dims.size() != 4) return false;
    out[name] = std::move(t);
  }
  if (schema->mask >= 0 && static_cast<std::size_t>(schema->mask) < g.inputs.size()) {
    const TensorInfo& mask = g.inputs[static_cast<std::size_t>(schema->mask)];
    Json t = tensor(mask);
    if (!t.empty()) {
      t["content"] = "random";  // what the mask held is not recorded
      out["mask"] = std::move(t);
    } else if (!mask.dtype.empty() && mask.dtype != "Scalar") {
      return false;
    }
  }
  if (schema->causal >= 0 && is_true(argument(g, static_cast<std::size_t>(schema->causal)))) out["is_causal"] = true;
  const auto number = [&](int index, const char* name) {
    const std::string text = index >= 0 ? argument(g, static_cast<std::size_t>(index)) : std::string();
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (!text.empty() && end != nullptr && *end == 0 && value != 0) out[name] = value;
  };
  number(schema->dropout, "dropout_p");
  number(schema->scale, "scale");
  if (schema->gqa >= 0 && is_true(argument(g, static_cast<std::size_t>(schema->gqa)))) out["enable_gqa"] = true;
  return true;
}

bool product_spec(const OperatorGroup& g, Json& out) {
  OpInputs in;
  in.tensors = g.inputs;
  Product shape;
  if (!product_of(g.op, in, shape)) return false;
  const std::string dtype = dtype_by_kernel(g);
  Json x = tensor(g.inputs[static_cast<std::size_t>(shape.a)], dtype), w = tensor(g.inputs[static_cast<std::size_t>(shape.b)], dtype);
  if (x.empty() || w.empty()) return false;
  if (is_library_linear_op(g.op)) {  // the weight of a layer lies the other way round
    if (x["shape"].size() != 2) return false;
    for (const char* key : {"shape", "strides"})
      if (w.contains(key)) std::reverse(w[key].begin(), w[key].end());
    if (!w.contains("strides")) w["strides"] = {std::int64_t{1}, shape.k};
  }
  out["op"] = "gemm";
  out["x"] = std::move(x);
  out["w"] = std::move(w);
  if (shape.a == 1 && g.inputs[0].dims.size() == 1) {
    Json bias = tensor(g.inputs[0]);
    if (!bias.empty()) {
      out["bias"] = std::move(bias);
      out["epilogue"] = "bias";
    }
  }
  return true;
}

class Specs {
 public:
  explicit Specs(TraceAnswer& answer) : a_(answer), context_(context(answer)) {}

  void run() {
    for (OperatorGroup& g : a_.attention)
      if (!g.backward) add(g, true);
    for (OperatorGroup& g : a_.gemms) add(g, false);
    if (unexplained_ == 0) return;
    for (EvidenceFinding& f : a_.findings)
      if (f.id == "EVD020") f.seen += fmt::format("; the shapes, types and strides recorded do not explain {} of them: a backend switched off (sdpa_kernel, enable_flash_sdp), a mask that needs gradients, or the release of torch", unexplained_);
  }

 private:
  void add(OperatorGroup& group, bool attention) {
    Json spec;
    if (a_.specs.size() >= most_specs || !(attention ? attention_spec(group, spec) : product_spec(group, spec))) return;
    spec["context"] = context_;
    const std::string text = spec.dump(-1, ' ', false, Json::error_handler_t::replace);
    // Only what the reader of specs takes is written: it is meant to be run as it stands.
    const auto parsed = spec::parse_json(text);
    if (!parsed) return;
    group.spec_index = static_cast<int>(a_.specs.size());
    a_.specs.push_back(text);
    if (attention ? group.served_by != "fused" : group.state == GemmState::slow || group.state == GemmState::degraded) ask_rules(group, *parsed);
  }

  facts::FactSet facts_of(const spec::OpSpec& spec) const {
    facts::FactSet out = facts::derive_facts(spec);
    if (!a_.devices.empty() && a_.devices.front().warp == 32) {
      const Device& d = a_.devices.front();
      out.set(facts::Id::device_type, std::string("cuda"), facts::Provenance::trace, "deviceProperties");
      out.set(facts::Id::compute_capability, static_cast<std::int64_t>(d.major * 10 + d.minor), facts::Provenance::trace, "deviceProperties");
      if (d.processors > 0) out.set(facts::Id::sm_count, static_cast<std::int64_t>(d.processors), facts::Provenance::trace, "deviceProperties");
    }
    if (ran_on_processor(a_)) out.set(facts::Id::device_type, std::string("cpu"), facts::Provenance::trace, "no device in the file");
    facts::Version version;
    const auto torch = a_.header.find("torch");
    if (torch != a_.header.end() && facts::Version::parse(torch->second, version)) out.set(facts::Id::torch_version, version, facts::Provenance::trace, "metadata");
    return out;
  }

  // The dispatcher's own first reason for each fused candidate that it passed over.
  void ask_rules(OperatorGroup& group, const spec::OpSpec& spec) {
    const frameworks::Framework* torch = frameworks::find_framework("torch", spec);
    if (torch == nullptr) return;
    const frameworks::Diagnosis result = frameworks::diagnose(*torch, spec, facts_of(spec));
    const std::size_t before = group.reasons.size();
    for (const frameworks::CandidateResult& each : result.candidates) {
      if (!each.candidate.fast || each.first_reason == nullptr) continue;
      for (const rules::Finding& f : each.findings)
        if (f.rule == each.first_reason) add_reason(group, f, each.candidate.name);
    }
    if (group.reasons.size() == before) ask_releases(group, spec, *torch, result);
    if (group.reasons.size() == before && !group.path.empty()) unexplained_ += group.count;
  }

  // The release of torch is seldom in a trace: a rule whose demand this call breaks, whenever it applies, may be the reason.
  void ask_releases(OperatorGroup& group, const spec::OpSpec& spec, const frameworks::Framework& torch, const frameworks::Diagnosis& result) {
    facts::FactSet facts = facts_of(spec);
    torch.add_facts(spec, facts);
    for (const frameworks::CandidateResult& each : result.candidates) {
      if (!each.candidate.fast) continue;
      for (const rules::Finding& f : each.findings)
        if (f.status == rules::Truth::unknown && f.rule->requires_that.kind != rules::Kind::never && rules::evaluate(f.rule->requires_that, facts) == rules::Truth::unmet) {
          add_reason(group, f, each.candidate.name);
          break;
        }
    }
  }

  void add_reason(OperatorGroup& group, const rules::Finding& f, std::string_view candidate) {
    group.reasons.emplace_back(f.rule->id);
    for (const EvidenceFinding& known : a_.findings)
      if (known.id == f.rule->id) return;
    EvidenceFinding out = finding_of(*f.rule, fmt::format("{} ({}, {} call{}; the {} reason of {}, by this tool's rules)", f.seen, group.op, group.count, group.count == 1 ? "" : "s",
                                                          f.status == rules::Truth::unmet ? "likely" : "possible", candidate),
                                     f.status == rules::Truth::unmet ? "unmet" : "unknown");
    out.required = f.required;
    a_.findings.push_back(std::move(out));
  }

  TraceAnswer& a_;
  Json context_;
  std::uint64_t unexplained_ = 0;  // attention calls off the fast path for which no rule is unmet
};

}  // namespace

void add_specs(TraceAnswer& answer) { Specs(answer).run(); }

}  // namespace dd::evidence
