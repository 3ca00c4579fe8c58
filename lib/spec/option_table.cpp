// The rows. A setter takes text or says what it would have taken; a shower gives the text that would set what is there.
#include <fmt/format.h>

#include <algorithm>

#include "core/nearest.hpp"
#include "spec/options.hpp"

namespace dd::spec {
namespace {

using Text = std::string_view;
using Values = std::vector<std::string>;

std::string taken() { return {}; }
Values one(std::string value) { return {std::move(value)}; }
Values flag(bool on) { return on ? Values{"true"} : Values{}; }
Values switched(bool on) { return one(on ? "on" : "off"); }

template <class T>
Values maybe(const std::optional<T>& value) {
  if (!value) return {};
  if constexpr (std::is_same_v<T, std::string>)
    return one(*value);
  else if constexpr (std::is_same_v<T, double>)
    return one(format_real(*value));
  else if constexpr (std::is_enum_v<T>)
    return one(std::string(core::to_text(*value)));
  else
    return one(fmt::format("{}", *value));
}

std::string set_int(std::optional<std::int64_t>& slot, Text text) { return set(slot, parse_int(text), "a whole number"); }
std::string set_switch(bool& slot, Text text) { return set(slot, parse_switch(text), "on or off"); }
std::string set_dims(std::optional<Dims>& slot, Text text, const char* wanted) {
  return set(slot, parse_dims(text), wanted);
}
template <class E>
std::string set_enum(E& slot, Text text) {
  return set(slot, core::from_text<E>(text), core::choices<E>());
}
template <class E>
std::string set_enum(std::optional<E>& slot, Text text) {
  return set(slot, core::from_text<E>(text), core::choices<E>());
}
std::string set_names(std::vector<std::string>& slot, Text text) {
  return set(slot, text.empty() ? std::nullopt : parse_names(text), "names separated by commas");
}

const TensorSpec* tensor_of(const OpSpec& spec, TensorDraft Draft::* which) {
  if (spec.is_attention()) {
    const Attention& a = spec.attention();
    return which == &Draft::q ? &a.q : which == &Draft::k ? &a.k : which == &Draft::v ? &a.v : nullptr;
  }
  const Gemm& g = spec.gemm();
  if (which == &Draft::bias) return g.bias ? &*g.bias : nullptr;
  return which == &Draft::x ? &g.x : which == &Draft::w ? &g.w : nullptr;
}

const OutSpec& out_of(const OpSpec& spec) { return spec.is_attention() ? spec.attention().out : spec.gemm().out; }

// Whether a shorter option already says the strides of this tensor: --layout or a transposition flag.
bool strides_implied(const OpSpec& spec, TensorDraft Draft::* which) {
  if (spec.is_attention()) {
    const Attention& a = spec.attention();
    return layout_of(a.q, a.k, a.v).has_value();
  }
  const Gemm& g = spec.gemm();
  return (which == &Draft::x && g.trans_x) || (which == &Draft::w && g.trans_w);
}

bool is_packed(const OpSpec& spec) {
  if (!spec.is_attention()) return false;
  const Attention& a = spec.attention();
  return layout_of(a.q, a.k, a.v) == Layout::packed_qkv;
}

// Rows of one tensor ------------------------------------------------------------------------------------------------

template <TensorDraft Draft::* which>
std::string set_shape(Draft& d, Text text) {
  return set_dims((d.*which).shape, text, "extents separated by x");
}
template <TensorDraft Draft::* which>
std::string set_strides(Draft& d, Text text) {
  return set_dims((d.*which).strides, text, "strides in elements separated by x");
}
template <TensorDraft Draft::* which>
std::string set_offset(Draft& d, Text text) {
  return set_int((d.*which).offset, text);
}
template <TensorDraft Draft::* which>
std::string set_storage(Draft& d, Text text) {
  return set_int((d.*which).storage, text);
}
template <TensorDraft Draft::* which>
Values show_strides(const OpSpec& spec) {
  const TensorSpec* t = tensor_of(spec, which);
  if (!t || !t->strides || strides_implied(spec, which)) return {};
  return one(format_dims(*t->strides));
}
template <TensorDraft Draft::* which>
Values show_offset(const OpSpec& spec) {
  const TensorSpec* t = tensor_of(spec, which);
  if (!t || t->offset == 0 || is_packed(spec)) return {};
  return one(fmt::format("{}", t->offset));
}
template <TensorDraft Draft::* which>
Values show_storage(const OpSpec& spec) {
  const TensorSpec* t = tensor_of(spec, which);
  return t ? maybe(t->storage) : Values{};
}
Values show_q(const OpSpec& s) { return one(format_dims(s.attention().q.shape)); }
Values show_k(const OpSpec& s) {
  const Attention& a = s.attention();
  return a.k.shape == a.q.shape ? Values{} : one(format_dims(a.k.shape));
}
Values show_v(const OpSpec& s) {
  const Attention& a = s.attention();
  return a.v.shape == a.k.shape ? Values{} : one(format_dims(a.v.shape));
}
Values show_x(const OpSpec& s) { return one(format_dims(s.gemm().x.shape)); }
Values show_w(const OpSpec& s) { return one(format_dims(s.gemm().w.shape)); }
Values show_nothing(const OpSpec&) { return {}; }  // another row says it
Values show_layout(const OpSpec& s) {
  const Attention& a = s.attention();
  const auto layout = layout_of(a.q, a.k, a.v);
  return layout ? one(std::string(core::to_text(*layout))) : Values{};
}
std::string set_out_strides(Draft& d, Text t) { return set_dims(d.out.strides, t, "strides in elements separated by x"); }
std::string set_out_offset(Draft& d, Text t) { return set_int(d.out.offset, t); }
std::string set_out_storage(Draft& d, Text t) { return set_int(d.out.storage, t); }
Values show_out_strides(const OpSpec& s) {
  return out_of(s).strides ? one(format_dims(*out_of(s).strides)) : Values{};
}
Values show_out_offset(const OpSpec& s) {
  return out_of(s).offset ? one(fmt::format("{}", out_of(s).offset)) : Values{};
}
Values show_out_storage(const OpSpec& s) { return maybe(out_of(s).storage); }

template <std::optional<std::int64_t> ExtentDraft::* which>
std::string set_extent(Draft& d, Text text) {
  return set_int(d.extents.*which, text);
}

// Types -------------------------------------------------------------------------------------------------------------

std::string set_dtype(Draft& d, Text text) {
  std::vector<DType> types;
  const std::string wanted = d.op == Op::sdpa ? "TYPE or Q:K:V" : "TYPE, X:W or X:W:OUT";
  while (true) {
    const std::size_t at = text.find(':');
    const auto type = core::from_text<DType>(text.substr(0, at));
    if (!type) return wanted + " of " + core::choices<DType>();
    types.push_back(*type);
    if (at == Text::npos) break;
    text.remove_prefix(at + 1);
  }
  if (types.size() == 1) {
    (d.in_defaults ? d.default_dtype : d.base_dtype) = types[0];
    return {};
  }
  if (types.size() > 3 || (d.op == Op::sdpa && types.size() != 3)) return wanted;
  TensorDraft* const slots[] = {d.op == Op::sdpa ? &d.q : &d.x, d.op == Op::sdpa ? &d.k : &d.w};
  for (std::size_t i = 0; i < 2; ++i) slots[i]->dtype = types[i];
  if (types.size() == 3 && d.op == Op::sdpa) d.v.dtype = types[2];
  if (types.size() == 3 && d.op == Op::gemm) d.gemm().out_dtype = types[2];
  return {};
}

Values show_dtype(const OpSpec& s) {
  const auto name = [](DType t) { return core::to_text(t); };
  if (s.is_attention()) {
    const Attention& a = s.attention();
    if (a.q.dtype == a.k.dtype && a.k.dtype == a.v.dtype) return one(std::string(name(a.q.dtype)));
    return one(fmt::format("{}:{}:{}", name(a.q.dtype), name(a.k.dtype), name(a.v.dtype)));
  }
  const Gemm& g = s.gemm();
  if (g.quant) {
    const bool usual = g.x.dtype == activation_dtype(*g.quant) && g.w.dtype == weight_dtype(*g.quant);
    return usual ? Values{} : one(fmt::format("{}:{}", name(g.x.dtype), name(g.w.dtype)));
  }
  if (g.x.dtype == g.w.dtype) return one(std::string(name(g.x.dtype)));
  return one(fmt::format("{}:{}", name(g.x.dtype), name(g.w.dtype)));
}

std::string set_bias_dtype(Draft& d, Text t) { return set_enum(d.bias.dtype, t); }
Values show_bias_dtype(const OpSpec& s) {
  const Gemm& g = s.gemm();
  if (!g.bias || g.bias->dtype == out_dtype(g)) return {};
  return one(std::string(core::to_text(g.bias->dtype)));
}
std::string set_out_dtype(Draft& d, Text t) { return set_enum(d.gemm().out_dtype, t); }
Values show_out_dtype(const OpSpec& s) { return maybe(s.gemm().out_dtype); }
std::string set_compute(Draft& d, Text t) { return set_enum(d.gemm().compute, t); }
Values show_compute(const OpSpec& s) { return maybe(s.gemm().compute); }
std::string set_autocast(Draft& d, Text t) { return set_enum(d.spec.flags.autocast, t); }
Values show_autocast(const OpSpec& s) { return maybe(s.flags.autocast); }

// Attention ---------------------------------------------------------------------------------------------------------

std::string set_layout(Draft& d, Text t) { return set_enum(d.layout, t); }
std::string set_causal(Draft& d, Text t) { return set_switch(d.attention().is_causal, t); }
Values show_causal(const OpSpec& s) { return flag(s.attention().is_causal); }
std::string set_align(Draft& d, Text t) { return set_enum(d.attention().causal_align, t); }
Values show_align(const OpSpec& s) { return one(std::string(core::to_text(s.attention().causal_align))); }

std::string set_mask(Draft& d, Text text) {
  const std::string wanted = "none, bool or float (or a float type), then :SHAPE if not query length x key length";
  const std::size_t at = text.find(':');
  const Text kind = text.substr(0, at);
  if (text == "none") return d.mask.wanted = false, taken();
  if (kind != "bool" && kind != "float") {
    const auto type = core::from_text<DType>(kind);
    if (!type || !core::is_float(*type)) return wanted;
    d.mask.dtype = type;
  } else if (kind == "bool") {
    d.mask.dtype = DType::boolean;
  } else {
    d.mask.dtype.reset();
  }
  d.mask.wanted = true;
  return at == Text::npos ? taken() : set_dims(d.mask.shape, text.substr(at + 1), wanted.c_str());
}

Values show_mask(const OpSpec& s) {
  const Attention& a = s.attention();
  if (!a.mask) return one("none");
  std::string out(a.mask->dtype == a.q.dtype ? "float" : core::to_text(a.mask->dtype));
  // "float" is also an alias of f32; as a mask kind it means the type of q, so f32 is written by its own name.
  const AttentionDims q = attention_dims(a.q.shape), k = attention_dims(a.k.shape);
  if (a.mask->shape != Dims{q.length, k.length}) out += ":" + format_dims(a.mask->shape);
  return one(out);
}

std::string set_mask_content(Draft& d, Text t) {
  if (t.empty()) return "causal, padding:N, window:N, zeros, random or a file";
  d.mask.content = t;
  return {};
}
Values show_mask_content(const OpSpec& s) {
  return s.attention().mask ? one(s.attention().mask->content) : Values{};
}
std::string set_mask_grad(Draft& d, Text t) { return set_switch(d.mask.requires_grad, t); }
Values show_mask_grad(const OpSpec& s) { return flag(s.attention().mask && s.attention().mask->requires_grad); }
std::string set_mask_strides(Draft& d, Text t) {
  return set_dims(d.mask.strides, t, "strides in elements separated by x");
}
Values show_mask_strides(const OpSpec& s) {
  const auto& mask = s.attention().mask;
  return mask && mask->strides ? one(format_dims(*mask->strides)) : Values{};
}
std::string set_mask_offset(Draft& d, Text t) { return set_int(d.mask.offset, t); }
Values show_mask_offset(const OpSpec& s) {
  const auto& mask = s.attention().mask;
  return mask && mask->offset ? one(fmt::format("{}", mask->offset)) : Values{};
}
std::string set_scale(Draft& d, Text t) { return set(d.attention().scale, parse_real(t), "a number"); }
Values show_scale(const OpSpec& s) { return maybe(s.attention().scale); }
std::string set_dropout(Draft& d, Text t) { return set(d.attention().dropout_p, parse_real(t), "a number"); }
Values show_dropout(const OpSpec& s) { return one(format_real(s.attention().dropout_p)); }
std::string set_gqa(Draft& d, Text t) { return set_switch(d.attention().enable_gqa, t); }
Values show_gqa(const OpSpec& s) { return flag(s.attention().enable_gqa); }
bool& requires_grad(OpSpec& s) {
  return s.is_attention() ? std::get<Attention>(s.op).requires_grad : std::get<Gemm>(s.op).requires_grad;
}
std::string set_train(Draft& d, Text t) { return set_switch(requires_grad(d.spec), t); }
Values show_train(const OpSpec& s) {
  return flag(s.is_attention() ? s.attention().requires_grad : s.gemm().requires_grad);
}
std::string set_nested(Draft& d, Text text) {
  const std::string wanted = "query lengths separated by commas, then / and key lengths if they differ";
  const std::size_t at = text.find('/');
  d.nested.q_lengths = parse_ints(text.substr(0, at), most_sequences);
  if (!d.nested.q_lengths) return wanted;
  return at == Text::npos ? taken() : set(d.nested.kv_lengths, parse_ints(text.substr(at + 1), most_sequences), wanted);
}
Values show_nested(const OpSpec& s) {
  const auto& nested = s.attention().nested;
  if (!nested) return {};
  std::string out = format_dims(nested->q_lengths, ',');
  if (nested->kv_lengths != nested->q_lengths) out += "/" + format_dims(nested->kv_lengths, ',');
  return one(out);
}

// Matrix product ----------------------------------------------------------------------------------------------------

std::string set_trans_x(Draft& d, Text t) { return set_switch(d.gemm().trans_x, t); }
Values show_trans_x(const OpSpec& s) { return flag(s.gemm().trans_x); }
std::string set_trans_w(Draft& d, Text t) { return set_switch(d.gemm().trans_w, t); }
Values show_trans_w(const OpSpec& s) { return flag(s.gemm().trans_w); }
std::string set_bias(Draft& d, Text text) {
  d.bias_wanted = true;
  if ((d.bias.shape = parse_dims(text))) return {};  // first: 1 is a shape here, not a switch
  return set(d.bias_wanted, parse_switch(text), "nothing, or a shape that broadcasts to the result");
}
Values show_bias(const OpSpec& s) {
  const Gemm& g = s.gemm();
  if (!g.bias) return {};
  return one(g.bias->shape == Dims{g.w.shape.back()} ? "true" : format_dims(g.bias->shape));
}
std::string set_epilogue(Draft& d, Text t) {
  d.epilogue_given = !d.in_defaults;
  return set_enum(d.gemm().epilogue, t);
}
Values show_epilogue(const OpSpec& s) {
  const Gemm& g = s.gemm();
  if (g.bias && g.epilogue == Epilogue::bias) return {};
  return one(std::string(core::to_text(g.epilogue)));
}
std::string set_workspace(Draft& d, Text t) {
  return set(d.gemm().workspace, parse_bytes(t), "bytes, or a number with KiB, MiB or GiB");
}
Values show_workspace(const OpSpec& s) { return maybe(s.gemm().workspace); }
std::string set_quant(Draft& d, Text t) {
  if (!parse_quant(t)) return std::string(quant_syntax);
  d.quant.scheme = t;
  return {};
}
Values show_quant(const OpSpec& s) { return s.gemm().quant ? one(format_quant(*s.gemm().quant)) : Values{}; }

// Flags, place, policy ----------------------------------------------------------------------------------------------

std::string set_deterministic(Draft& d, Text t) {
  if (const auto on = parse_switch(t)) {
    d.spec.flags.deterministic = *on ? Deterministic::strict : Deterministic::off;
    return {};
  }
  return set_enum(d.spec.flags.deterministic, t);
}
Values show_deterministic(const OpSpec& s) {
  if (s.flags.deterministic == Deterministic::off) return {};
  return one(s.flags.deterministic == Deterministic::strict ? "true" : "warn_only");
}
std::string set_tf32(Draft& d, Text t) { return set_switch(d.spec.flags.tf32, t); }
Values show_tf32(const OpSpec& s) { return switched(s.flags.tf32); }
std::string set_reduced(Draft& d, Text t) { return set_switch(d.spec.flags.reduced_precision, t); }
Values show_reduced(const OpSpec& s) { return switched(s.flags.reduced_precision); }

constexpr std::pair<Text, bool Flags::*> enabled_flags[] = {
    {"flash", &Flags::flash}, {"efficient", &Flags::efficient}, {"cudnn", &Flags::cudnn}, {"math", &Flags::math}};
std::string set_disable(Draft& d, Text text) {
  const auto names = parse_names(text);
  const std::string wanted = "a list of flash, efficient, cudnn, math";
  if (!names || names->empty()) return wanted;
  for (const std::string& name : *names) {
    const auto row = std::find_if(std::begin(enabled_flags), std::end(enabled_flags),
                                  [&](const auto& r) { return r.first == name; });
    if (row == std::end(enabled_flags)) return wanted;
    d.spec.flags.*(row->second) = false;
  }
  return {};
}
Values show_disable(const OpSpec& s) {
  Values names;
  for (const auto& [name, member] : enabled_flags)
    if (!(s.flags.*member)) names.emplace_back(name);
  return names.empty() ? Values{} : one(format_names(names));
}

std::string set_text(std::string& slot, Text t, const char* wanted) {
  if (t.empty()) return wanted;
  slot = t;
  return {};
}
std::string set_text(std::optional<std::string>& slot, Text t, const char* wanted) {
  if (t.empty()) return wanted;
  slot = t;
  return {};
}
std::string set_target(Draft& d, Text t) {
  return set_text(d.spec.context.target, t, "host, cuda:N, sm_NN, a profile name, a list of these, or all");
}
Values show_target(const OpSpec& s) { return s.context.target.empty() ? Values{} : one(s.context.target); }
std::string set_framework(Draft& d, Text t) { return set_text(d.spec.context.framework, t, "a framework name"); }
Values show_framework(const OpSpec& s) { return one(s.context.framework); }
template <std::optional<std::string> Context::* which>
std::string set_version(Draft& d, Text t) {
  return set_text(d.spec.context.*which, t, "a version X.Y.Z");
}
template <std::optional<std::string> Context::* which>
Values show_version(const OpSpec& s) {
  return maybe(s.context.*which);
}
template <std::map<std::string, std::string> Context::* which>
std::string set_pair(Draft& d, Text t) {
  const auto pair = parse_pair(t);
  if (!pair) return "NAME=VALUE";
  (d.spec.context.*which)[pair->first] = pair->second;
  return {};
}
template <std::map<std::string, std::string> Context::* which>
Values show_pairs(const OpSpec& s) {
  Values out;
  for (const auto& [name, value] : s.context.*which) out.push_back(name + "=" + value);
  return out;
}
std::string set_build(Draft& d, Text t) {
  const auto pair = parse_pair(t);
  const auto on = pair ? parse_switch(pair->second) : std::nullopt;
  if (!on) return "NAME=on or NAME=off";
  d.spec.context.build[pair->first] = *on;
  return {};
}
Values show_build(const OpSpec& s) {
  Values out;
  for (const auto& [name, on] : s.context.build) out.push_back(name + (on ? "=on" : "=off"));
  return out;
}
std::string set_extra(Draft& d, Text t) {
  const auto pair = parse_pair(t);
  if (!pair) return "NAME=VALUE";
  const ExtraField* field = find_extra(pair->first, d.op);
  const auto value = field ? canonical_extra(*field, pair->second) : std::nullopt;
  if (!value) {
    constexpr const char* types[] = {"a whole number", "a number", "on or off", "a name", "names separated by commas"};
    if (field) return fmt::format("{} as the value of {}", types[static_cast<int>(field->type)], field->name);
    std::vector<std::string_view> names;
    for (const ExtraField& other : extra_fields())
      if (other.ops & mask_of(d.op)) names.push_back(other.name);
    const auto near = core::nearest_names(pair->first, names, 1);
    return near.empty() ? "a field that the JSON schema lists under extra" : std::string(near[0]) + "=VALUE?";
  }
  (d.op == Op::sdpa ? d.attention().extra : d.gemm().extra)[pair->first] = *value;
  return {};
}
Values show_extra(const OpSpec& s) {
  Values out;
  for (const auto& [name, value] : s.is_attention() ? s.attention().extra : s.gemm().extra)
    out.push_back(name + "=" + value);
  return out;
}
std::string set_list(std::optional<std::vector<std::string>>& slot, Text t) {
  return set(slot, t.empty() ? std::nullopt : parse_names(t), "names separated by commas");
}
Values show_list(const std::optional<std::vector<std::string>>& list) {
  return list ? one(format_names(*list)) : Values{};
}
std::string set_allow(Draft& d, Text t) { return set_list(d.spec.policy.allow, t); }
Values show_allow(const OpSpec& s) { return show_list(s.policy.allow); }
std::string set_deny(Draft& d, Text t) { return set_names(d.spec.policy.deny, t); }
Values show_deny(const OpSpec& s) { return s.policy.deny.empty() ? Values{} : one(format_names(s.policy.deny)); }
std::string set_force(Draft& d, Text t) { return set_text(d.spec.policy.force, t, "a backend name"); }
Values show_force(const OpSpec& s) { return maybe(s.policy.force); }
std::string set_order(Draft& d, Text t) { return set_list(d.spec.policy.order, t); }
Values show_order(const OpSpec& s) { return show_list(s.policy.order); }
std::string set_mode(Draft& d, Text t) {
  const auto names = parse_names(t);
  const std::string wanted = "a list of " + core::choices<Mode>();
  if (!names || names->empty()) return wanted;
  std::vector<Mode> modes;
  for (const std::string& name : *names) {
    const auto mode = core::from_text<Mode>(name);
    if (!mode) return wanted;
    modes.push_back(*mode);
  }
  d.spec.mode = modes[0];
  d.spec.further_modes.assign(modes.begin() + 1, modes.end());
  return {};
}
Values show_mode(const OpSpec& s) {
  std::string out(core::to_text(s.mode));
  for (Mode mode : s.further_modes) out += "," + std::string(core::to_text(mode));
  return one(out);
}
std::string set_seed(Draft& d, Text t) { return set(d.spec.seed, parse_unsigned(t), "a whole number, at least 0"); }
Values show_seed(const OpSpec& s) { return one(fmt::format("{}", s.seed)); }
std::string set_data(Draft& d, Text t) { return set_enum(d.spec.data, t); }
Values show_data(const OpSpec& s) { return one(std::string(core::to_text(s.data))); }
std::string set_rtol(Draft& d, Text t) { return set(d.spec.rtol, parse_real(t), "a number, at least 0"); }
Values show_rtol(const OpSpec& s) { return maybe(s.rtol); }
std::string set_atol(Draft& d, Text t) { return set(d.spec.atol, parse_real(t), "a number, at least 0"); }
Values show_atol(const OpSpec& s) { return maybe(s.atol); }

constexpr auto F = OptionKind::flag;
constexpr auto V = OptionKind::value;
constexpr auto R = OptionKind::repeated;
constexpr Text dtypes = "f64|f32|f16|bf16|f8_e4m3|f8_e5m2|s8|u8|s4|u4";

#define TENSOR_VIEW(flag, member, who, ops)                                                                           \
  {{"Layout", "--" flag "-strides", "", V, "AxBx...", "", "strides of " who " in elements", ""}, ops,                   \
   set_strides<&Draft::member>, show_strides<&Draft::member>},                                                        \
      {{"Layout", "--" flag "-offset", "", V, "N", "", "storage offset of " who " in elements", "8"}, ops,            \
       set_offset<&Draft::member>, show_offset<&Draft::member>},                                                      \
      {{"Layout", "--" flag "-storage", "", V, "N", "", "elements of the storage that " who " is a view of", "100000000"},  \
       ops, set_storage<&Draft::member>, show_storage<&Draft::member>}

constexpr SpecOption table[] = {
    // group, name, aliases, kind, value, default, help, example
    {{"Shape", "--q", "--query", V, "BxHxTxD", "", "shape of q", "1x8x256x64"}, on_sdpa, set_shape<&Draft::q>, show_q},
    {{"Shape", "--k", "--key", V, "BxHxTxD", "", "shape of k (else that of q)", "1x8x128x64"}, on_sdpa, set_shape<&Draft::k>, show_k},
    {{"Shape", "--v", "--value", V, "BxHxTxD", "", "shape of v (else that of k)", "1x8x256x32"}, on_sdpa, set_shape<&Draft::v>, show_v},
    {{"Shape", "--b", "", V, "N", "1", "batch size", "2"}, on_sdpa, set_extent<&ExtentDraft::b>, show_nothing},
    {{"Shape", "--h", "--heads", V, "N", "1", "query heads", "8"}, on_sdpa, set_extent<&ExtentDraft::h>, show_nothing},
    {{"Shape", "--hkv", "--kv-heads", V, "N", "", "key and value heads (else as many as query heads)", "2"}, on_sdpa, set_extent<&ExtentDraft::hkv>, show_nothing},
    {{"Shape", "--sq", "--q-len", V, "N", "", "query length", "256"}, on_sdpa, set_extent<&ExtentDraft::sq>, show_nothing},
    {{"Shape", "--skv", "--kv-len", V, "N", "", "key length (else the query length)", "512"}, on_sdpa, set_extent<&ExtentDraft::skv>, show_nothing},
    {{"Shape", "--d", "--head-dim", V, "N", "", "head size", "64"}, on_sdpa, set_extent<&ExtentDraft::d>, show_nothing},
    {{"Shape", "--dv", "--head-dim-v", V, "N", "", "head size of v (else that of q)", "32"}, on_sdpa, set_extent<&ExtentDraft::dv>, show_nothing},
    {{"Shape", "--nested", "", V, "LENGTHS[/LENGTHS]", "", "ragged batch: the length of every sequence (queries / keys)", "128"}, on_sdpa, set_nested, show_nested},
    {{"Shape", "--x", "", V, "[...x]MxK", "", "shape of x", "16x64"}, on_gemm, set_shape<&Draft::x>, show_x},
    {{"Shape", "--w", "", V, "[...x]KxN", "", "shape of w", "64x32"}, on_gemm, set_shape<&Draft::w>, show_w},
    {{"Shape", "--m", "", V, "N", "", "rows of x", "16"}, on_gemm, set_extent<&ExtentDraft::m>, show_nothing},
    {{"Shape", "--n", "", V, "N", "", "columns of w", "32"}, on_gemm, set_extent<&ExtentDraft::n>, show_nothing},
    {{"Shape", "--k", "", V, "N", "", "reduction length", "64"}, on_gemm, set_extent<&ExtentDraft::k>, show_nothing},
    {{"Shape", "--batch", "", V, "N", "", "batch axis in front of both x and w", "4"}, on_gemm, set_extent<&ExtentDraft::batch>, show_nothing},
    {{"Layout", "--layout", "", V, "bhsd|bshd|sbhd|packed-qkv", "bhsd", "storage order of q, k and v (not together with strides)", "bshd"}, on_sdpa, set_layout, show_layout},
    TENSOR_VIEW("q", q, "q", on_sdpa),
    TENSOR_VIEW("k", k, "k", on_sdpa),
    TENSOR_VIEW("v", v, "v", on_sdpa),
    {{"Layout", "--mask-strides", "", V, "AxBx...", "", "strides of the mask in elements", ""}, on_sdpa, set_mask_strides, show_mask_strides},
    {{"Layout", "--mask-offset", "", V, "N", "", "storage offset of the mask in elements", "8"}, on_sdpa, set_mask_offset, show_mask_offset},
    {{"Layout", "--trans-x", "", F, "", "", "x is stored transposed (the shape stays MxK)", ""}, on_gemm, set_trans_x, show_trans_x},
    {{"Layout", "--trans-w", "", F, "", "", "w is stored transposed (the shape stays KxN)", ""}, on_gemm, set_trans_w, show_trans_w},
    TENSOR_VIEW("x", x, "x", on_gemm),
    TENSOR_VIEW("w", w, "w", on_gemm),
    TENSOR_VIEW("bias", bias, "the bias", on_gemm),
    {{"Layout", "--out-strides", "", V, "AxBx...", "", "strides of the result in elements", ""}, on_both, set_out_strides, show_out_strides},
    {{"Layout", "--out-offset", "", V, "N", "", "storage offset of the result in elements", "8"}, on_both, set_out_offset, show_out_offset},
    {{"Layout", "--out-storage", "", V, "N", "", "elements of the storage that the result is a view of", "100000000"}, on_both, set_out_storage, show_out_storage},
    {{"Types", "--dtype", "", V, dtypes, "f32", "element type, or one per tensor: q:k:v, x:w or x:w:out", "f16"}, on_both, set_dtype, show_dtype},
    {{"Types", "--out-dtype", "", V, "TYPE", "", "element type of the result (else that of x, s32 for 8-bit integers)", "f64"}, on_gemm, set_out_dtype, show_out_dtype},
    {{"Types", "--bias-dtype", "", V, "TYPE", "", "element type of the bias (else that of the result)", "f64"}, on_gemm, set_bias_dtype, show_bias_dtype},
    {{"Types", "--compute", "", V, "f32|tf32|f16|s32|f64", "", "arithmetic asked for (else by type)", "tf32"}, on_gemm, set_compute, show_compute},
    {{"Types", "--autocast", "", V, "f16|bf16", "", "automatic mixed precision is on, to this type", "bf16"}, on_all, set_autocast, show_autocast},
    {{"Attention", "--causal", "--is-causal", F, "", "", "each query attends to keys up to its own position", ""}, on_sdpa, set_causal, show_causal},
    {{"Attention", "--causal-align", "", V, "top-left|bottom-right", "top-left", "which corner the causal diagonal starts from", "bottom-right"}, on_sdpa, set_align, show_align},
    {{"Attention", "--mask", "", V, "none|bool|float[:SHAPE]", "none", "mask: bool (true attends) or float (added); SHAPE broadcasts to scores", "bool"}, on_sdpa, set_mask, show_mask},
    {{"Attention", "--mask-content", "", V, "causal|padding:N|window:N|zeros|random|FILE", "random", "what the mask says; FILE is .npy or .safetensors", "causal"}, on_sdpa, set_mask_content, show_mask_content},
    {{"Attention", "--mask-grad", "", F, "", "", "the mask needs a gradient", ""}, on_sdpa, set_mask_grad, show_mask_grad},
    {{"Attention", "--scale", "", V, "X", "", "factor of the scores (else 1/sqrt(head size))", "0.5"}, on_sdpa, set_scale, show_scale},
    {{"Attention", "--dropout", "", V, "P", "0", "dropout probability, at least 0 and below 1", "0.25"}, on_sdpa, set_dropout, show_dropout},
    {{"Attention", "--gqa", "--enable-gqa", F, "", "", "grouped queries: several query heads share a key head", ""}, on_sdpa, set_gqa, show_gqa},
    {{"Matrix product", "--bias", "", F, "[=SHAPE]", "", "add a bias (shape N, or any that broadcasts to the result)", ""}, on_gemm, set_bias, show_bias},
    {{"Matrix product", "--epilogue", "", V, "none|bias|relu|gelu|bias+relu|bias+gelu", "none", "fused after the product (--bias alone means bias; gelu in its tanh form)", "relu"}, on_gemm, set_epilogue, show_epilogue},
    {{"Matrix product", "--workspace", "", V, "BYTES", "", "workspace that the library may use, e.g. 32MiB", "33554432"}, on_gemm, set_workspace, show_workspace},
    {{"Matrix product", "--quant", "", V, "SCHEME", "", "quantized weights: w<bits>a<bits>[:group=N|channel|tensor][:zero][:act-order][:packing=NAME][:scale=f16|bf16|f32|f8_e8m0]", "w4a16:group=32:zero"}, on_gemm, set_quant, show_quant},
    {{"Flags", "--train", "--requires-grad", F, "", "", "gradients are needed: limits of the backward path count", ""}, on_all, set_train, show_train},
    {{"Flags", "--deterministic", "", F, "[=warn_only]", "", "only deterministic algorithms (or warn only)", ""}, on_all, set_deterministic, show_deterministic},
    {{"Flags", "--tf32", "", V, "on|off", "off", "TF32 is allowed for f32 products", "on"}, on_all, set_tf32, show_tf32},
    {{"Flags", "--reduced-precision", "", V, "on|off", "off", "reduced-precision reductions are allowed", "on"}, on_all, set_reduced, show_reduced},
    {{"Flags", "--disable", "", V, "LIST", "", "framework switches to turn off: flash, efficient, cudnn, math", "flash,math"}, on_all, set_disable, show_disable},
    {{"Where", "--target", "--device", V, "host|cuda:N|PROFILE[,...]|all", "", "where the call would run (else cuda:0 if it works, else host)", "sm_90"}, on_all, set_target, show_target},
    {{"Where", "--framework", "", V, "native|torch|vllm|bitsandbytes|torchao|ggml|autoawq|gptqmodel|onnxruntime|marlin|tensorrt-llm|transformer-engine|cublas", "native", "whose dispatcher is diagnosed", "torch"}, on_all, set_framework, show_framework},
    {{"Where", "--torch-version", "", V, "X.Y.Z[,...]", "", "PyTorch version to assume; several give one table", "2.6.0"}, on_all, set_version<&Context::torch>, show_version<&Context::torch>},
    {{"Where", "--cuda-version", "", V, "X.Y.Z", "", "CUDA version to assume", "12.4"}, on_all, set_version<&Context::cuda>, show_version<&Context::cuda>},
    {{"Where", "--cudnn-version", "", V, "X.Y.Z", "", "cuDNN version to assume", "9.1.0"}, on_all, set_version<&Context::cudnn>, show_version<&Context::cudnn>},
    {{"Where", "--package-version", "", R, "NAME=VERSION", "", "version of a further package to assume", "vllm=0.9.1"}, on_all, set_pair<&Context::versions>, show_pairs<&Context::versions>},
    {{"Where", "--env", "", R, "NAME=VALUE", "", "environment variable of the program that makes the call", "TORCH_CUDNN_SDPA_ENABLED=1"}, on_all, set_pair<&Context::env>, show_pairs<&Context::env>},
    {{"Where", "--built-with", "", R, "NAME=on|off", "", "what the framework was built with", "flash=off"}, on_all, set_build, show_build},
    {{"Where", "--extra", "", R, "NAME=VALUE", "", "what a single framework or library also looks at", "capturing=true"}, on_both, set_extra, show_extra},
    {{"Policy", "--allow", "", V, "LIST", "", "only these backends", "cpu-flash,cpu-math"}, on_all, set_allow, show_allow},
    {{"Policy", "--deny", "", V, "LIST", "", "not these backends", "cpu-naive"}, on_all, set_deny, show_deny},
    {{"Policy", "--force", "", V, "NAME", "", "this backend or an error", "cpu-math"}, on_all, set_force, show_force},
    {{"Policy", "--order", "", V, "LIST", "", "order in which the dispatcher tries backends", "cpu-math,cpu-flash"}, on_all, set_order, show_order},
    {{"Policy", "--mode", "", V, "LIST", "eager", "eager, compiled, captured", "eager,compiled"}, on_all, set_mode, show_mode},
    {{"Numbers", "--seed", "", V, "N", "1", "seed of data and dropout", "7"}, on_all, set_seed, show_seed},
    {{"Numbers", "--data", "", V, "normal|uniform|integers|outliers", "normal", "what the inputs hold", "uniform"}, on_all, set_data, show_data},
    {{"Numbers", "--rtol", "", V, "X", "", "relative tolerance (else by error model)", "0.01"}, on_all, set_rtol, show_rtol},
    {{"Numbers", "--atol", "", V, "X", "", "absolute tolerance (else by error model)", "0.001"}, on_all, set_atol, show_atol},
};

}  // namespace

std::span<const SpecOption> spec_options() { return table; }

const SpecOption* find_option(std::string_view name, unsigned ops) {
  for (const SpecOption& option : table) {
    if (!(option.ops & ops)) continue;
    if (option.text.name == name) return &option;
    for (std::string_view rest = option.text.aliases; !rest.empty();) {
      const std::size_t at = rest.find(' ');
      if (rest.substr(0, at) == name) return &option;
      rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
    }
  }
  return nullptr;
}

}  // namespace dd::spec
