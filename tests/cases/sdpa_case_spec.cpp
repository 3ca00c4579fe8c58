#include "sdpa_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "case_check.hpp"
#include "case_values.hpp"
#include "facts/derive.hpp"

namespace dd::cases {
namespace {

using facts::FactSet;
using facts::Id;
using nlohmann::json;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

// What the reader below looks at, and what no selector looks at (so that leaving it out is right).
const std::set<std::string> read_fields{
    "torch", "device", "platform", "rocm", "is_rocm", "compute_capability", "batch", "batch_k", "batch_v", "q_heads", "kv_heads", "v_heads",
    "q_len", "kv_len", "head_dim", "head_dim_k", "head_dim_v", "dtype", "dtype_k", "dtype_v", "ndim", "ndim_k", "ndim_v", "mask", "is_causal",
    "dropout", "enable_gqa", "requires_grad", "strides", "strides_last", "storage_offset_elems", "nested", "nested_max_q_len",
    "nested_has_len_le_1", "nested_has_zero_len", "nested_contiguous", "nested_ragged_heads", "nested_kv_broadcast_ragged", "flags",
    "deterministic", "autocast", "user_priority", "env", "cudnn_version", "cudnn_frontend", "cuda", "built_with_flash", "built_with_mem_eff",
    "built_with_cudnn", "devices_equal", "cudnn_mask_supported", "fa3_active", "rocm_arch_supported", "rocm_arch_experimental", "mode", "scale"};
const std::set<std::string> no_matter{"layout", "cuda_graph_capture", "note", "comment"};
const std::map<std::string, std::string> other_names{
    {"torch_version", "torch"}, {"version", "torch"}, {"cc", "compute_capability"}, {"sm", "compute_capability"}, {"b", "batch"},
    {"heads", "q_heads"}, {"num_heads", "q_heads"}, {"num_kv_heads", "kv_heads"}, {"k_heads", "kv_heads"}, {"seq_len", "q_len"},
    {"seqlen_q", "q_len"}, {"seq_len_q", "q_len"}, {"seqlen_k", "kv_len"}, {"seq_len_kv", "kv_len"}, {"k_len", "kv_len"},
    {"head_dim_qk", "head_dim"}, {"head_dim_q", "head_dim"}, {"rank", "ndim"}, {"attn_mask", "mask"}, {"causal", "is_causal"},
    {"dropout_p", "dropout"}, {"gqa", "enable_gqa"}, {"grad", "requires_grad"}, {"needs_grad", "requires_grad"}, {"train", "requires_grad"},
    {"stride_last", "strides_last"}, {"storage_offset", "storage_offset_elems"}, {"enabled", "flags"}, {"priority", "user_priority"},
    {"order", "user_priority"}, {"cudnn", "cudnn_version"}, {"cudnn_frontend_version", "cudnn_frontend"}, {"cuda_version", "cuda"},
    {"built_with_efficient", "built_with_mem_eff"}, {"built_with_mem_efficient", "built_with_mem_eff"},
    {"deterministic_algorithms", "deterministic"}, {"environment", "env"}};

// Members with their ordinary names, without the null ones; a note for each that nobody reads.
json tidy(const json& object, const std::string& where, const std::set<std::string>& known, const std::map<std::string, std::string>& names,
          std::vector<std::string>& notes) {
  json out = json::object();
  for (auto it = object.begin(); it != object.end(); ++it) {
    const auto other = names.find(it.key());
    const std::string name = other == names.end() || object.contains(other->second) ? it.key() : other->second;
    if (!known.count(name)) {
      if (!no_matter.count(name)) notes.push_back(fmt::format("field {}{} is not read (value {})", where, it.key(), it.value().dump()));
    } else if (!it.value().is_null()) {
      out[name] = it.value();
    }
  }
  return out;
}

bool stated(const json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && !it->is_null();
}

std::int64_t whole(const json& object, const char* name, std::int64_t otherwise) {
  return stated(object, name) ? figure(object[name], name) : otherwise;
}
std::string text_in(const json& object, const char* name, const std::string& otherwise) {
  return stated(object, name) ? text_of(object[name], name) : otherwise;
}

bool flag(const json& object, const char* name, bool otherwise) { return stated(object, name) ? truth(object[name], name) : otherwise; }

spec::DType dtype_of(std::string name) {
  name = lower(name);
  if (name.rfind("torch.", 0) == 0) name.erase(0, 6);
  if (const auto dtype = core::from_text<spec::DType>(name)) return *dtype;
  if (name == "f8e5m2" || name == "float8_e5m2") return spec::DType::f8_e5m2;
  if (name == "fp8" || name == "float8_e4m3") return spec::DType::f8_e4m3;
  if (name == "float") return spec::DType::f32;
  if (name == "double") return spec::DType::f64;
  throw std::runtime_error("unknown element type " + name);
}

// 91002 stands for 9.10.2 and 8907 for 8.9.7.
std::string cudnn_text(const json& value) {
  if (value.is_string() && value.get<std::string>().find('.') != std::string::npos) return value.get<std::string>();
  const std::int64_t code = figure(value, "cudnn_version");
  const std::int64_t base = code >= 90000 ? 10000 : 1000;
  return fmt::format("{}.{}.{}", code / base, code % base / 100, code % 100);
}

std::string frontend_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  const auto code = figure(value, "cudnn_frontend");  // 12400 stands for 1.24.0
  return fmt::format("{}.{}.{}", code / 10000, code % 10000 / 100, code % 100);
}

// What applies to one tensor: a number for all three, or an object with q, k and v.
std::optional<std::int64_t> of_tensor(const json& s, const char* field, const char* key) {
  const auto it = s.find(field);
  if (it == s.end()) return std::nullopt;
  if (!it->is_object()) return figure(*it, field);
  const auto entry = it->find(key);
  if (entry == it->end() || entry->is_null()) return std::nullopt;
  return figure(*entry, fmt::format("{}.{}", field, key));
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
      t.shape.assign(static_cast<std::size_t>(std::clamp<std::int64_t>(rank, 4, 8) - 4), 1);
      for (std::int64_t extent : {batch, heads, length, size}) t.shape.push_back(extent);
  }
  const json& exact = part(s, "strides");
  if (exact.contains(key) && exact[key].is_array()) {
    t.strides = extents(exact[key], "strides");
  } else if (const auto last = of_tensor(s, "strides_last", key); last && !t.shape.empty()) {
    t.strides = spec::contiguous_strides(t.shape);
    t.strides->back() = *last;
  }
  t.offset = of_tensor(s, "storage_offset_elems", key).value_or(0);
  return t;
}

std::optional<spec::MaskSpec> mask_of(const json& s, std::vector<std::string>& notes) {
  const auto it = s.find("mask");
  if (it == s.end() || it->is_null() || (it->is_boolean() && !it->get<bool>())) return std::nullopt;
  static const std::set<std::string> known{"dtype", "shape", "strides", "stride_last", "requires_grad", "content", "storage_offset_elems"};
  if (!it->is_string() && !it->is_object() && !it->is_boolean()) throw std::runtime_error("mask is no description of a mask: " + it->dump());
  json m = json::object();
  if (it->is_string()) m["dtype"] = *it == "float" ? json(text_in(s, "dtype", "f32")) : *it;
  if (it->is_object()) m = tidy(*it, "mask.", known, {{"last_stride", "stride_last"}, {"grad", "requires_grad"}}, notes);
  if (text_in(m, "dtype", "") == "none") return std::nullopt;
  spec::MaskSpec mask;
  mask.dtype = dtype_of(text_in(m, "dtype", "bool"));
  if (m.contains("shape") && m["shape"].is_array()) {
    mask.shape = extents(m["shape"], "mask.shape");
  } else {
    mask.shape = {whole(s, "q_len", 1), whole(s, "kv_len", whole(s, "q_len", 1))};
  }
  if (m.contains("strides") && m["strides"].is_array()) {
    mask.strides = extents(m["strides"], "mask.strides");
  } else if (m.contains("stride_last") && !mask.shape.empty()) {
    mask.strides = spec::contiguous_strides(mask.shape);
    mask.strides->back() = figure(m["stride_last"], "mask.stride_last");
  }
  mask.offset = whole(m, "storage_offset_elems", 0);
  mask.requires_grad = flag(m, "requires_grad", false);
  mask.content = text_in(m, "content", "not stated");
  return mask;
}

void set_tensors(const json& s, spec::Attention& a) {
  const std::int64_t rank = whole(s, "ndim", 4), batch = whole(s, "batch", 1), heads = whole(s, "q_heads", 1);
  const std::int64_t kv_heads = whole(s, "kv_heads", heads), q_len = whole(s, "q_len", 1), kv_len = whole(s, "kv_len", q_len);
  const std::int64_t size = whole(s, "head_dim", 64);
  const spec::DType dtype = dtype_of(text_in(s, "dtype", "f32"));
  const auto other = [&](const char* name) { return s.contains(name) && s[name].is_string() ? dtype_of(s[name]) : dtype; };
  a.q = tensor(s, "q", rank, batch, heads, q_len, size, dtype);
  a.k = tensor(s, "k", whole(s, "ndim_k", rank), whole(s, "batch_k", batch), kv_heads, kv_len, whole(s, "head_dim_k", size), other("dtype_k"));
  a.v = tensor(s, "v", whole(s, "ndim_v", rank), whole(s, "batch_v", batch), whole(s, "v_heads", kv_heads), kv_len,
               whole(s, "head_dim_v", size), other("dtype_v"));
}

// Ragged lengths that have the properties that the case states.
void set_nested(const json& s, spec::Attention& a) {
  if (!flag(s, "nested", false)) return;
  const auto count = std::clamp<std::int64_t>(whole(s, "batch", 1), 2, 4096);
  const std::int64_t longest = whole(s, "nested_max_q_len", whole(s, "q_len", 1));
  spec::Nested nested;
  nested.q_lengths.assign(static_cast<std::size_t>(count), std::max<std::int64_t>(longest, 2));
  nested.kv_lengths.assign(static_cast<std::size_t>(count), std::max<std::int64_t>(whole(s, "kv_len", 2), 2));
  if (longest < 2) nested.q_lengths[0] = longest;
  if (flag(s, "nested_has_len_le_1", false)) nested.q_lengths.back() = 1;
  // A zero among the keys leaves the statement about queries of length 1 or less as it is.
  if (flag(s, "nested_has_zero_len", false)) nested.kv_lengths.back() = 0;
  a.nested = nested;
}

void set_flags(const json& s, spec::OpSpec& out, std::vector<std::string>& notes) {
  const json flags = tidy(part(s, "flags"), "flags.", {"flash", "mem_efficient", "math", "cudnn", "overrideable"}, {{"efficient", "mem_efficient"}}, notes);
  out.flags.flash = flag(flags, "flash", true);
  out.flags.efficient = flag(flags, "mem_efficient", true);
  out.flags.cudnn = flag(flags, "cudnn", true);
  out.flags.math = flag(flags, "math", true);
  const json deterministic = s.value("deterministic", json("off"));
  out.flags.deterministic = deterministic == "warn_only" ? spec::Deterministic::warn_only
                            : truth(deterministic, "deterministic")       ? spec::Deterministic::strict
                                                         : spec::Deterministic::off;
  if (s.contains("autocast")) {
    const json& a = s["autocast"];
    if (a.is_string()) out.flags.autocast = dtype_of(a);
    else if (truth(a, "autocast")) out.flags.autocast = lower(text_in(s, "device", "cuda")) == "cpu" ? spec::DType::bf16 : spec::DType::f16;
  }
  if (!s.contains("user_priority") || !s["user_priority"].is_array()) return;
  std::vector<std::string> order;
  for (const json& name : s["user_priority"]) order.push_back(backend_name(text_of(name, "user_priority")));
  out.policy.order = order;
}

std::string device_of(const json& s) {
  const std::string device = lower(text_in(s, "device", "cuda")), platform = lower(text_in(s, "platform", ""));
  if (device == "hip" || device == "rocm" || platform == "rocm" || flag(s, "rocm", false) || flag(s, "is_rocm", false)) return "rocm";
  return device.substr(0, device.find(':'));
}

std::optional<std::string> version_text(const json& s, const char* field) {
  const auto it = s.find(field);
  if (it == s.end()) return std::nullopt;
  return it->is_string() ? it->get<std::string>() : it->dump();
}

// Absent versions mean "built without" in these files.
void set_context(const json& s, spec::OpSpec& out, std::vector<std::string>& notes) {
  spec::Context& c = out.context;
  c.framework = "torch";
  c.torch = version_text(s, "torch").value_or("");
  c.cuda = version_text(s, "cuda");
  facts::Version version;
  if (!facts::Version::parse(*c.torch, version)) notes.push_back("the PyTorch version \"" + *c.torch + "\" is not a version");
  const json& env = part(s, "env");
  for (auto it = env.begin(); it != env.end(); ++it)
    if (!it.value().is_null()) c.env[it.key()] = it.value().is_string() ? it.value().get<std::string>() : it.value().dump();
  if (s.contains("cudnn_version")) {
    c.cudnn = cudnn_text(s["cudnn_version"]);
  } else {
    c.build["cudnn"] = false;
  }
  c.versions["cudnn-frontend"] = s.contains("cudnn_frontend") ? frontend_text(s["cudnn_frontend"]) : "0.0.0";
  const std::map<std::string, std::string> built{{"built_with_flash", "flash"}, {"built_with_mem_eff", "efficient"}, {"built_with_cudnn", "cudnn"}};
  for (const auto& [field, name] : built)
    if (s.contains(field)) c.build[name] = truth(s[field], field);
  auto& extra = std::get<spec::Attention>(out.op).extra;
  for (const char* name : {"devices_equal", "cudnn_mask_supported", "fa3_active", "nested_contiguous", "nested_ragged_heads",
                           "nested_kv_broadcast_ragged", "rocm_arch_supported", "rocm_arch_experimental"})
    if (s.contains(name)) extra[name] = truth(s[name], name) ? "true" : "false";
  if (device_of(s) == "cpu") c.target = "cpu";
}

// 86, 8.6, "8.6", "sm_86", [8, 6]. A single digit is a major number ("9.0" may come as 9).
std::optional<std::int64_t> sm_of(const json& s) {
  const auto it = s.find("compute_capability");
  if (it == s.end()) return std::nullopt;
  if (it->is_array() && it->size() == 2) return figure((*it)[0], "compute_capability") * 10 + figure((*it)[1], "compute_capability");
  std::string text = lower(it->is_string() ? it->get<std::string>() : it->dump());
  for (const char* prefix : {"sm_", "sm"})
    if (text.rfind(prefix, 0) == 0) text.erase(0, std::string_view(prefix).size());
  const auto dot = text.find('.');
  const auto digits = [](const std::string& part) { return figure(json(part), "compute_capability"); };
  if (dot != std::string::npos) return digits(text.substr(0, dot)) * 10 + digits(text.substr(dot + 1));
  const std::int64_t value = digits(text);
  return value < 10 ? value * 10 : value;
}

}  // namespace

SdpaCase read_sdpa_case(const json& written) {
  SdpaCase out;
  const json s = tidy(written, "", read_fields, other_names, out.notes);
  spec::Attention a;
  set_tensors(s, a);
  a.mask = mask_of(s, out.notes);
  a.is_causal = flag(s, "is_causal", false);
  a.dropout_p = stated(s, "dropout") ? fraction(s["dropout"], "dropout") : 0.0;
  a.enable_gqa = flag(s, "enable_gqa", false);
  a.requires_grad = flag(s, "requires_grad", false);
  set_nested(s, a);
  out.spec.op = a;
  set_flags(s, out.spec, out.notes);
  set_context(s, out.spec, out.notes);
  if (const auto mode = core::from_text<spec::Mode>(text_in(s, "mode", "eager"))) out.spec.mode = *mode;
  else out.notes.push_back("mode " + s["mode"].dump() + " is not known; read as eager");
  out.device = device_of(s);
  if (out.device != "cuda" && out.device != "rocm" && out.device != "cpu")
    out.notes.push_back("device " + out.device + " has rules of its own that are not among ours");
  out.facts = facts::derive_facts(out.spec);
  out.facts.set(Id::device_type, out.device, facts::Provenance::spec, "device");
  const auto cc = sm_of(s);
  if (cc) out.facts.set(Id::compute_capability, *cc, facts::Provenance::spec, "compute_capability");
  else out.facts.set(Id::compute_capability, facts::NotApplicable{}, facts::Provenance::spec, "compute_capability");
  return out;
}

std::string backend_name(const std::string& written) {
  static const std::map<std::string, std::string> names{
      {"flash", "torch-flash"}, {"flash_attention", "torch-flash"}, {"flash_rocm", "torch-flash"}, {"torch-flash", "torch-flash"},
      {"mem_efficient", "torch-efficient"}, {"efficient", "torch-efficient"}, {"efficient_attention", "torch-efficient"},
      {"mem_efficient_attention", "torch-efficient"}, {"memory_efficient", "torch-efficient"}, {"mem_efficient_rocm", "torch-efficient"},
      {"torch-efficient", "torch-efficient"}, {"cudnn", "torch-cudnn"}, {"cudnn_attention", "torch-cudnn"}, {"torch-cudnn", "torch-cudnn"},
      {"math", "torch-math"}, {"torch-math", "torch-math"}, {"cpu_flash", "torch-cpu-flash"}, {"flash_cpu", "torch-cpu-flash"},
      {"torch-cpu-flash", "torch-cpu-flash"}, {"overrideable", "torch-overrideable"}, {"torch-overrideable", "torch-overrideable"}};
  const auto it = names.find(lower(written));
  return it == names.end() ? written : it->second;
}

std::string backend_name_in_cases(const std::string& ours) {
  static const std::map<std::string, std::string> names{
      {"torch-flash", "flash"}, {"torch-efficient", "mem_efficient"}, {"torch-cudnn", "cudnn"}, {"torch-math", "math"},
      {"torch-cpu-flash", "cpu_flash"}, {"torch-overrideable", "overrideable"}};
  const auto it = names.find(ours);
  return it == names.end() ? ours : it->second;
}

}  // namespace dd::cases
