#include <algorithm>
#include <map>

#include "case_check.hpp"
#include "facts/derive.hpp"
#include "frameworks/torch/attention/tables.hpp"
#include "frameworks/torch/torch.hpp"

namespace dd::cases {
namespace {

using facts::FactSet;
using facts::Id;
using facts::Version;
using frameworks::Diagnosis;
using frameworks::Standing;
using nlohmann::json;

// A member, or a default where it is absent or null.
template <class T>
T get(const json& object, const char* name, T otherwise) {
  const auto it = object.find(name);
  return it == object.end() || it->is_null() ? otherwise : it->template get<T>();
}

const json& part(const json& object, const char* name) {
  static const json empty = json::object();
  const auto it = object.find(name);
  return it == object.end() || !it->is_object() ? empty : *it;
}

spec::DType dtype_of(const std::string& name) {
  if (const auto dtype = core::from_text<spec::DType>(name)) return *dtype;
  if (name == "f8e5m2") return spec::DType::f8_e5m2;
  throw std::runtime_error("unknown element type " + name);
}

// "91002" stands for 9.10.2 and "8907" for 8.9.7.
std::string cudnn_text(std::int64_t code) {
  const std::int64_t base = code >= 90000 ? 10000 : 1000;
  return std::to_string(code / base) + "." + std::to_string(code % base / 100) + "." + std::to_string(code % 100);
}

std::string frontend_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  const auto code = value.get<std::int64_t>();  // 12400 stands for 1.24.0
  return std::to_string(code / 10000) + "." + std::to_string(code % 10000 / 100) + "." + std::to_string(code % 100);
}

// A tensor of the rank asked for; extents that the rank has no place for are dropped.
spec::TensorSpec tensor(const json& s, const char* key, std::int64_t rank, std::int64_t batch, std::int64_t heads,
                        std::int64_t length, std::int64_t size, spec::DType dtype) {
  spec::TensorSpec t;
  t.dtype = dtype;
  switch (rank) {
    case 0: break;
    case 1: t.shape = {size}; break;
    case 2: t.shape = {length, size}; break;
    case 3: t.shape = {batch * heads, length, size}; break;
    default:
      t.shape.assign(static_cast<std::size_t>(std::min<std::int64_t>(rank, 8) - 4), 1);
      for (std::int64_t extent : {batch, heads, length, size}) t.shape.push_back(extent);
  }
  const json& exact = part(s, "strides");
  const json& last = part(s, "strides_last");
  if (exact.contains(key) && exact[key].is_array()) {
    t.strides = exact[key].get<spec::Dims>();
  } else if (last.contains(key) && !t.shape.empty()) {
    t.strides = spec::contiguous_strides(t.shape);
    t.strides->back() = last[key].get<std::int64_t>();
  }
  t.offset = get<std::int64_t>(part(s, "storage_offset_elems"), key, 0);
  return t;
}

std::optional<spec::MaskSpec> mask_of(const json& s) {
  const auto it = s.find("mask");
  if (it == s.end() || it->is_null() || (it->is_boolean() && !it->get<bool>())) return std::nullopt;
  const json& m = *it;
  spec::MaskSpec mask;
  if (!m.is_object()) return mask;
  mask.dtype = dtype_of(get<std::string>(m, "dtype", "bool"));
  if (m.contains("shape") && m["shape"].is_array()) {
    mask.shape = m["shape"].get<spec::Dims>();
  } else {
    mask.shape = {get<std::int64_t>(s, "q_len", 1), get<std::int64_t>(s, "kv_len", 1)};
  }
  if (m.contains("strides") && m["strides"].is_array()) {
    mask.strides = m["strides"].get<spec::Dims>();
  } else if (m.contains("stride_last") && m["stride_last"].is_number() && !mask.shape.empty()) {
    mask.strides = spec::contiguous_strides(mask.shape);
    mask.strides->back() = m["stride_last"].get<std::int64_t>();
  }
  mask.requires_grad = get(m, "requires_grad", false);
  return mask;
}

void set_tensors(const json& s, spec::Attention& a) {
  const auto number = [&](const char* name, std::int64_t otherwise) { return get<std::int64_t>(s, name, otherwise); };
  const std::int64_t rank = number("ndim", 4), batch = number("batch", 1), heads = number("q_heads", 1);
  const std::int64_t kv_heads = number("kv_heads", heads), q_len = number("q_len", 1), kv_len = number("kv_len", q_len);
  const std::int64_t size = number("head_dim", 64);
  const spec::DType dtype = dtype_of(get<std::string>(s, "dtype", "f32"));
  const auto other = [&](const char* name) { return s.contains(name) && s[name].is_string() ? dtype_of(s[name]) : dtype; };
  a.q = tensor(s, "q", rank, batch, heads, q_len, size, dtype);
  a.k = tensor(s, "k", number("ndim_k", rank), number("batch_k", batch), kv_heads, kv_len, number("head_dim_k", size), other("dtype_k"));
  a.v = tensor(s, "v", number("ndim_v", rank), number("batch_v", batch), number("v_heads", kv_heads), kv_len,
               number("head_dim_v", size), other("dtype_v"));
}

// Ragged lengths that have the properties that the case states.
void set_nested(const json& s, spec::Attention& a) {
  if (!get(s, "nested", false)) return;
  const auto count = std::max<std::int64_t>(get<std::int64_t>(s, "batch", 1), 2);
  const std::int64_t longest = get<std::int64_t>(s, "nested_max_q_len", get<std::int64_t>(s, "q_len", 1));
  spec::Nested nested;
  nested.q_lengths.assign(static_cast<std::size_t>(count), std::max<std::int64_t>(longest, 2));
  nested.kv_lengths.assign(static_cast<std::size_t>(count), std::max<std::int64_t>(get<std::int64_t>(s, "kv_len", 2), 2));
  if (longest < 2) nested.q_lengths[0] = longest;
  if (get(s, "nested_has_len_le_1", false)) nested.q_lengths.back() = 1;
  // A zero among the keys leaves the statement about queries of length 1 or less as it is.
  if (get(s, "nested_has_zero_len", false)) nested.kv_lengths.back() = 0;
  a.nested = nested;
}

void set_flags(const json& s, spec::OpSpec& out) {
  const json& flags = part(s, "flags");
  out.flags.flash = get(flags, "flash", true);
  out.flags.efficient = get(flags, "mem_efficient", true);
  out.flags.cudnn = get(flags, "cudnn", true);
  out.flags.math = get(flags, "math", true);
  const std::string deterministic = get<std::string>(s, "deterministic", "off");
  out.flags.deterministic = deterministic == "strict"      ? spec::Deterministic::strict
                            : deterministic == "warn_only" ? spec::Deterministic::warn_only
                                                           : spec::Deterministic::off;
  if (s.contains("autocast") && s["autocast"].is_string()) out.flags.autocast = dtype_of(s["autocast"]);
  if (s.contains("user_priority") && s["user_priority"].is_array()) {
    std::vector<std::string> order;
    for (const json& name : s["user_priority"]) {
      const std::string n = name.get<std::string>();
      order.push_back("torch-" + (n == "mem_efficient" ? "efficient" : n));
    }
    out.policy.order = order;
  }
}

std::string device_of(const json& s) {
  std::string device = get<std::string>(s, "device", "cuda");
  if (device == "hip" || get<std::string>(s, "platform", "") == "rocm" || get(s, "rocm", false) || get(s, "is_rocm", false)) device = "rocm";
  return device;
}

// Absent versions mean "built without" in these files.
void set_context(const json& s, spec::OpSpec& out) {
  spec::Context& c = out.context;
  c.framework = "torch";
  c.torch = get<std::string>(s, "torch", "");
  const json& env = part(s, "env");
  for (auto it = env.begin(); it != env.end(); ++it)
    c.env[it.key()] = it.value().is_string() ? it.value().get<std::string>() : it.value().dump();
  if (s.contains("cudnn_version") && s["cudnn_version"].is_number()) {
    c.cudnn = cudnn_text(s["cudnn_version"].get<std::int64_t>());
  } else {
    c.build["cudnn"] = false;
  }
  c.versions["cudnn-frontend"] = s.contains("cudnn_frontend") && !s["cudnn_frontend"].is_null() ? frontend_text(s["cudnn_frontend"]) : "0.0.0";
  const std::map<std::string, std::string> built{{"built_with_flash", "flash"}, {"built_with_mem_eff", "efficient"}, {"built_with_cudnn", "cudnn"}};
  for (const auto& [field, name] : built)
    if (s.contains(field) && s[field].is_boolean()) c.build[name] = s[field].get<bool>();
  auto& extra = std::get<spec::Attention>(out.op).extra;
  for (const char* name : {"devices_equal", "fa3_active", "nested_contiguous", "nested_ragged_heads",
                           "nested_kv_broadcast_ragged", "rocm_arch_supported", "rocm_arch_experimental"})
    if (s.contains(name) && s[name].is_boolean()) extra[name] = s[name].get<bool>() ? "true" : "false";
  if (device_of(s) == "cpu") c.target = "cpu";
}

spec::OpSpec spec_of(const json& s) {
  spec::OpSpec out;
  spec::Attention a;
  set_tensors(s, a);
  a.mask = mask_of(s);
  a.is_causal = get(s, "is_causal", false);
  a.dropout_p = get(s, "dropout", 0.0);
  a.enable_gqa = get(s, "enable_gqa", false);
  a.requires_grad = get(s, "requires_grad", false);
  set_nested(s, a);
  out.op = a;
  set_flags(s, out);
  set_context(s, out);
  return out;
}

std::optional<std::int64_t> capability(const json& s) {
  const auto it = s.find("compute_capability");
  if (it == s.end() || it->is_null()) return std::nullopt;
  if (it->is_number_integer()) return it->get<std::int64_t>();
  const std::string text = it->is_string() ? it->get<std::string>() : it->dump();
  const auto dot = text.find('.');
  if (dot == std::string::npos) return std::stoll(text);
  return std::stoll(text.substr(0, dot)) * 10 + std::stoll(text.substr(dot + 1));
}

FactSet facts_of(const json& s, const spec::OpSpec& spec) {
  FactSet facts = facts::derive_facts(spec);
  facts.set(Id::device_type, device_of(s), facts::Provenance::spec, "device");
  if (const auto cc = capability(s)) {
    facts.set(Id::compute_capability, *cc, facts::Provenance::spec, "compute_capability");
  } else {
    facts.set(Id::compute_capability, facts::NotApplicable{}, facts::Provenance::spec, "compute_capability");
  }
  return facts;
}

std::string ours(const std::string& backend) {
  static const std::map<std::string, std::string> names{
      {"flash", "torch-flash"}, {"mem_efficient", "torch-efficient"}, {"cudnn", "torch-cudnn"}, {"math", "torch-math"},
      {"cpu_flash", "torch-cpu-flash"}, {"overrideable", "torch-overrideable"}, {"flash_rocm", "torch-flash"},
      {"mem_efficient_rocm", "torch-efficient"}};
  const auto it = names.find(backend);
  return it == names.end() ? backend : it->second;
}

std::string theirs(const std::string& backend) {
  static const std::map<std::string, std::string> names{
      {"torch-flash", "flash"}, {"torch-efficient", "mem_efficient"}, {"torch-cudnn", "cudnn"}, {"torch-math", "math"},
      {"torch-cpu-flash", "cpu_flash"}, {"torch-overrideable", "overrideable"}};
  const auto it = names.find(backend);
  return it == names.end() ? backend : it->second;
}

bool stands_for(const std::string& case_rule, std::string_view id) {
  for (const auto& name : frameworks::torch_attention::case_names())
    if (name.name == case_rule && name.rule == id) return true;
  return false;
}

Line check_backend(const std::string& backend, const json& expected, const Diagnosis& diagnosis) {
  Line line{backend, get<std::string>(expected, "status", ""), {}, get<std::string>(expected, "reason_rule_id", ""), {}, false};
  const rules::Rule* reason = nullptr;
  if (backend == "call") {
    reason = diagnosis.call_error;
    line.got = reason ? "error" : "eligible";
  } else if (const auto* result = diagnosis.find(ours(backend))) {
    reason = result->first_reason;
    line.got = std::string(core::to_text(result->standing));
  } else {
    line.got = "not a candidate";
  }
  if (reason) line.got_rule = std::string(reason->id);
  line.agrees = line.got == line.wanted && (line.wanted_rule.empty() || stands_for(line.wanted_rule, line.got_rule));
  return line;
}

struct Evaluated {
  spec::OpSpec spec;
  Diagnosis diagnosis;
};

Evaluated evaluate(const json& item, bool with_met) {
  const json& s = item.at("spec");
  Evaluated out{spec_of(s), {}};
  out.diagnosis = frameworks::diagnose(frameworks::torch_framework(), out.spec, facts_of(s, out.spec), with_met);
  return out;
}

std::string choice(const Diagnosis& diagnosis) {
  if (diagnosis.error) return "error";
  if (diagnosis.undetermined || !diagnosis.selected) return "undetermined";
  return theirs(*diagnosis.selected);
}

}  // namespace

bool Checked::agrees() const {
  return problem.empty() && std::all_of(lines.begin(), lines.end(), [](const Line& line) { return line.agrees; });
}

bool is_sdpa_case(const json& item) {
  return item.is_object() && item.contains("spec") && item["spec"].contains("torch") && item["spec"].contains("q_heads");
}

Checked check_sdpa_case(const json& item) {
  Checked out;
  out.id = item.at("id").get<std::string>();
  const Evaluated e = evaluate(item, false);
  const json& expected = item.at("expected");
  for (auto it = expected.begin(); it != expected.end(); ++it)
    out.lines.push_back(check_backend(it.key(), it.value(), e.diagnosis));
  if (item.contains("default_choice") && !item["default_choice"].is_null()) {
    Line line{"default choice", item["default_choice"].get<std::string>(), choice(e.diagnosis), {}, {}, false};
    line.agrees = line.wanted == line.got;
    out.lines.push_back(line);
  }
  return out;
}

json dump_sdpa_case(const json& item) {
  const Evaluated e = evaluate(item, true);
  json out{{"id", item.value("id", "")}, {"choice", choice(e.diagnosis)}};
  const auto add = [&](const std::vector<rules::Finding>& findings) {
    for (const rules::Finding& f : findings) out["rules"][std::string(f.rule->id)] = core::to_text(f.status);
  };
  add(e.diagnosis.call_findings);
  for (const auto& c : e.diagnosis.candidates) {
    add(c.findings);
    json& backend = out["backends"][theirs(std::string(c.candidate.name))];
    backend["status"] = core::to_text(c.standing);
    backend["reason"] = c.first_reason ? json(c.first_reason->id) : json(nullptr);
  }
  return out;
}

}  // namespace dd::cases
