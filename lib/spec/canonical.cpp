#include "spec/canonical.hpp"

#include <nlohmann/json.hpp>

#include "spec/options.hpp"

namespace dd::spec {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  if (!value) return nullptr;
  if constexpr (std::is_enum_v<T>)
    return std::string(core::to_text(*value));
  else
    return *value;
}

template <class E>
Json name(E value) {
  return std::string(core::to_text(value));
}

Json tensor(const TensorSpec& t) {
  return {{"shape", t.shape},
          {"dtype", name(t.dtype)},
          {"strides", or_null(t.strides)},
          {"offset", t.offset},
          {"storage", or_null(t.storage)}};
}

Json output(const OutSpec& t) {
  return {{"strides", or_null(t.strides)}, {"offset", t.offset}, {"storage", or_null(t.storage)}};
}

Json mask(const std::optional<MaskSpec>& m) {
  if (!m) return nullptr;
  return {{"dtype", name(m->dtype)}, {"shape", m->shape},     {"strides", or_null(m->strides)},
          {"offset", m->offset},     {"content", m->content}, {"requires_grad", m->requires_grad}};
}

Json quant(const std::optional<Quant>& q) {
  if (!q) return nullptr;
  return {{"scheme", format_quant(*q)},   {"bits", q->bits},           {"act_bits", q->act_bits},
          {"group_size", q->group_size},  {"zero_point", q->zero_point}, {"act_order", q->act_order},
          {"packing", q->packing},        {"scale_dtype", name(q->scale_dtype)}};
}

Json extra_value(const ExtraField* field, const std::string& text) {
  if (!field) return text;
  switch (field->type) {
    case ExtraField::Type::integer:
      return *parse_int(text);
    case ExtraField::Type::real:
      return *parse_real(text);
    case ExtraField::Type::boolean:
      return *parse_switch(text);
    case ExtraField::Type::list:
      return *parse_names(text);
    case ExtraField::Type::name:
      break;
  }
  return text;
}

Json extra(const std::map<std::string, std::string>& fields, Op op) {
  Json out = Json::object();
  for (const auto& [key, text] : fields) {
    const ExtraField* field = find_extra(key, op);
    // A value set by a program instead of a reader may not be of the field's type: it is shown as it is.
    out[key] = field && canonical_extra(*field, text) == text ? extra_value(field, text) : Json(text);
  }
  return out;
}

void add_attention(Json& out, const Attention& a) {
  out["q"] = tensor(a.q);
  out["k"] = tensor(a.k);
  out["v"] = tensor(a.v);
  out["out"] = output(a.out);
  out["mask"] = mask(a.mask);
  out["is_causal"] = a.is_causal;
  out["causal_align"] = name(a.causal_align);
  out["scale"] = or_null(a.scale);
  out["dropout_p"] = a.dropout_p;
  out["enable_gqa"] = a.enable_gqa;
  out["requires_grad"] = a.requires_grad;
  out["nested"] = a.nested ? Json{{"q_lengths", a.nested->q_lengths}, {"kv_lengths", a.nested->kv_lengths}} : Json();
  out["extra"] = extra(a.extra, Op::sdpa);
}

void add_gemm(Json& out, const Gemm& g) {
  out["x"] = tensor(g.x);
  out["w"] = tensor(g.w);
  out["bias"] = g.bias ? tensor(*g.bias) : Json();
  out["out"] = output(g.out);
  out["trans_x"] = g.trans_x;
  out["trans_w"] = g.trans_w;
  out["out_dtype"] = or_null(g.out_dtype);
  out["compute"] = or_null(g.compute);
  out["epilogue"] = name(g.epilogue);
  out["workspace"] = or_null(g.workspace);
  out["quant"] = quant(g.quant);
  out["requires_grad"] = g.requires_grad;
  out["extra"] = extra(g.extra, Op::gemm);
}

Json flags(const Flags& f) {
  Json out;
  out["deterministic"] = f.deterministic == Deterministic::warn_only ? Json("warn_only")
                                                                     : Json(f.deterministic == Deterministic::strict);
  out["tf32"] = f.tf32;
  out["reduced_precision"] = f.reduced_precision;
  out["autocast"] = or_null(f.autocast);
  out["enabled"] = {{"flash", f.flash}, {"efficient", f.efficient}, {"cudnn", f.cudnn}, {"math", f.math}};
  return out;
}

Json modes(const OpSpec& spec) {
  if (spec.further_modes.empty()) return name(spec.mode);
  Json out = Json::array({name(spec.mode)});
  for (Mode mode : spec.further_modes) out.push_back(name(mode));
  return out;
}

Json context(const Context& c) {
  return {{"target", c.target.empty() ? Json() : Json(c.target)},
          {"framework", c.framework},
          {"torch", or_null(c.torch)},
          {"cuda", or_null(c.cuda)},
          {"cudnn", or_null(c.cudnn)},
          {"versions", Json(c.versions)},
          {"env", Json(c.env)},
          {"build", Json(c.build)}};
}

}  // namespace

Json to_json(const OpSpec& spec) {
  Json out;
  out["op"] = spec.is_attention() ? "sdpa" : "gemm";
  if (spec.is_attention())
    add_attention(out, spec.attention());
  else
    add_gemm(out, spec.gemm());
  out["flags"] = flags(spec.flags);
  out["mode"] = modes(spec);
  out["policy"] = {{"allow", or_null(spec.policy.allow)},
                   {"deny", spec.policy.deny},
                   {"force", or_null(spec.policy.force)},
                   {"order", or_null(spec.policy.order)}};
  out["context"] = context(spec.context);
  out["seed"] = spec.seed;
  out["data"] = name(spec.data);
  out["rtol"] = or_null(spec.rtol);
  out["atol"] = or_null(spec.atol);
  return out;
}

std::string canonical(const OpSpec& spec) { return to_json(spec).dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string shell_quote(std::string_view word) {
  constexpr std::string_view safe = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+:,./@%";
  if (!word.empty() && word.find_first_not_of(safe) == std::string_view::npos) return std::string(word);
  std::string out(1, '\'');
  for (char c : word) {
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  out += '\'';
  return out;
}

std::string repro_line(const OpSpec& spec) {
  const Op op = spec.is_attention() ? Op::sdpa : Op::gemm;
  std::string out = "dispatchdoctor ";
  out += core::to_text(op);
  for (const SpecOption& option : spec_options()) {
    if (!(option.ops & mask_of(op))) continue;
    for (const std::string& value : option.show(spec)) {
      const std::string name(option.text.name);
      if (!option.text.fallback.empty() && value == option.text.fallback) continue;
      // With '=' where the value could be taken for an option, and for flags that carry a value.
      const bool joined = option.text.kind == OptionKind::flag || value.starts_with('-');
      out += ' ';
      if (option.text.kind == OptionKind::flag && value == "true")
        out += name;
      else
        out += joined ? shell_quote(name + "=" + value) : name + " " + shell_quote(value);
    }
  }
  return out;
}

}  // namespace dd::spec
