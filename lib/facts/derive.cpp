#include "facts/derive.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <span>

#include "spec/values.hpp"

namespace dd::facts {
namespace {

using spec::Attention;
using spec::AttentionDims;
using spec::Dims;
using spec::DType;
using spec::Gemm;
using spec::OpSpec;
using spec::TensorSpec;
using Integer = std::int64_t;

constexpr Id attention_ids[] = {
    Id::dtype_k, Id::dtype_v, Id::q_rank, Id::k_rank, Id::v_rank, Id::batch, Id::batch_k, Id::batch_v, Id::q_heads, Id::kv_heads,
    Id::v_heads, Id::q_len, Id::kv_len, Id::head_dim, Id::head_dim_k, Id::head_dim_v, Id::is_causal, Id::causal_align, Id::mask_kind,
    Id::mask_dtype, Id::mask_rank, Id::mask_content, Id::mask_last_stride, Id::mask_requires_grad, Id::dropout_p, Id::enable_gqa,
    Id::nested, Id::qkv_stride_align_bytes, Id::q_last_stride, Id::k_last_stride, Id::v_last_stride, Id::q_align_bytes, Id::k_align_bytes, Id::v_align_bytes,
    Id::score_bytes};
constexpr Id mask_ids[] = {Id::mask_dtype, Id::mask_rank, Id::mask_content, Id::mask_last_stride, Id::mask_requires_grad};
constexpr Id gemm_ids[] = {
    Id::dtype_w, Id::dtype_out, Id::dtype_bias, Id::compute, Id::m, Id::n, Id::k, Id::x_rank, Id::w_rank, Id::gemm_batch, Id::x_layout,
    Id::w_layout, Id::x_line_bytes, Id::w_line_bytes, Id::x_align_bytes, Id::w_align_bytes, Id::has_bias, Id::epilogue, Id::workspace_bytes, Id::quantized, Id::quant_bits,
    Id::quant_act_bits, Id::quant_group, Id::quant_zero_point, Id::quant_act_order, Id::quant_packing, Id::quant_scale_dtype,
    Id::dequantized_bytes};
constexpr Id quant_ids[] = {Id::quant_bits, Id::quant_act_bits, Id::quant_group, Id::quant_zero_point, Id::quant_act_order,
                            Id::quant_packing, Id::quant_scale_dtype, Id::dequantized_bytes};

std::string name(DType type) { return std::string(core::to_text(type)); }

class Writer {
 public:
  explicit Writer(FactSet& facts) : facts_(facts) {}

  void said(Id id, Value value, std::string where) { facts_.set(id, std::move(value), Provenance::spec, std::move(where)); }
  void derived(Id id, Value value, std::string where) { facts_.set(id, std::move(value), Provenance::derived, std::move(where)); }
  void has_none(std::span<const Id> ids, const char* where) {
    for (Id id : ids) facts_.set(id, NotApplicable{}, Provenance::derived, where);
  }
  // An overflow leaves the fact unknown: no figure is better than a wrong one.
  void figure(Id id, std::optional<Integer> value, std::string where) {
    if (value) derived(id, Value(*value), std::move(where));
  }

 private:
  FactSet& facts_;
};

std::optional<Integer> times(std::optional<Integer> a, std::optional<Integer> b) {
  Integer out = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &out)) return std::nullopt;
  return out;
}
std::optional<Integer> plus(std::optional<Integer> a, std::optional<Integer> b) {
  Integer out = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &out)) return std::nullopt;
  return out;
}

// Bytes that a tensor touches: its elements, or fewer where axes are expanded.
std::optional<Integer> touched_bytes(const TensorSpec& t) {
  const auto count = spec::element_count(t.shape);
  const auto span = spec::storage_span(t.shape, spec::strides_of(t), 0);
  if (!count) return std::nullopt;
  const auto bits = times(span ? std::min(*count, *span) : *count, Integer{core::info(t.dtype).bits});
  return bits && *bits <= INT64_MAX - 7 ? std::optional((*bits + 7) / 8) : std::nullopt;
}

struct TensorIds {
  Id rank, batch, heads, length, size, last_stride, align;
};

void add_tensor(Writer& w, const TensorSpec& t, const char* tensor, const TensorIds& ids) {
  const std::size_t rank = t.shape.size();
  w.said(ids.rank, static_cast<Integer>(rank), fmt::format("{}.shape", tensor));
  const auto axis = [&](Id id, Integer value, std::size_t from_back, const char* absent) {
    if (rank < 2)
      w.derived(id, NotApplicable{}, fmt::format("{}.shape has {} axes", tensor, rank));
    else if (from_back <= rank)
      w.said(id, value, fmt::format("{}.shape[{}]", tensor, rank - from_back));
    else
      w.derived(id, value, fmt::format("{}.shape has no {} axis", tensor, absent));
  };
  const AttentionDims dims = spec::attention_dims(t.shape);
  axis(ids.size, dims.size, 1, "size");
  axis(ids.length, dims.length, 2, "length");
  axis(ids.heads, dims.heads, rank >= 4 ? 3 : 9, "head");
  axis(ids.batch, dims.batch, rank >= 3 ? rank : 9, "batch");
  const Dims strides = spec::strides_of(t);
  if (strides.empty())
    w.derived(ids.last_stride, NotApplicable{}, fmt::format("{}.shape has no axes", tensor));
  else if (t.strides)
    w.said(ids.last_stride, strides.back(), fmt::format("{}.strides[{}]", tensor, strides.size() - 1));
  else
    w.derived(ids.last_stride, strides.back(), fmt::format("{} is contiguous", tensor));
  w.derived(ids.align, Value(alignment_bytes(t)), fmt::format("{}.offset", tensor));
}

void add_mask(Writer& w, const Attention& a) {
  if (!a.mask) {
    w.said(Id::mask_kind, std::string("none"), "mask");
    w.has_none(mask_ids, "there is no mask");
    return;
  }
  const spec::MaskSpec& mask = *a.mask;
  w.said(Id::mask_kind, std::string(mask.dtype == DType::boolean ? "bool" : "float"), "mask.dtype");
  w.said(Id::mask_dtype, name(mask.dtype), "mask.dtype");
  w.said(Id::mask_rank, static_cast<Integer>(mask.shape.size()), "mask.shape");
  w.said(Id::mask_requires_grad, mask.requires_grad, "mask.requires_grad");
  const std::string kind = mask.content.substr(0, mask.content.find(':'));
  // What a file holds is not known before it is read.
  if (kind == "causal" || kind == "padding" || kind == "window" || kind == "zeros" || kind == "random")
    w.said(Id::mask_content, kind, "mask.content");
  const Dims strides = mask.strides ? *mask.strides : spec::contiguous_strides(mask.shape);
  if (strides.empty())
    w.derived(Id::mask_last_stride, NotApplicable{}, "mask.shape has no axes");
  else
    w.said(Id::mask_last_stride, strides.back(), mask.strides ? fmt::format("mask.strides[{}]", strides.size() - 1) : "mask is contiguous");
}

// Largest power of two, up to a page, that divides the strides (in bytes) of all axes but the last; axes of extent 1 do not count.
Integer stride_alignment(const Attention& a) {
  Integer bits = 4096;
  for (const TensorSpec* t : {&a.q, &a.k, &a.v}) {
    const Dims strides = spec::strides_of(*t);
    for (std::size_t i = 0; i + 1 < strides.size(); ++i)
      if (t->shape[i] > 1) bits |= core::bytes_of(t->dtype, strides[i]);
  }
  return bits & -bits;
}

void add_attention(Writer& w, const Attention& a) {
  w.has_none(gemm_ids, "the operator is sdpa");
  w.said(Id::dtype, name(a.q.dtype), "q.dtype");
  w.said(Id::dtype_k, name(a.k.dtype), "k.dtype");
  w.said(Id::dtype_v, name(a.v.dtype), "v.dtype");
  add_tensor(w, a.q, "q", {Id::q_rank, Id::batch, Id::q_heads, Id::q_len, Id::head_dim, Id::q_last_stride, Id::q_align_bytes});
  // The length of v must be that of k; kv_len is taken from k, which comes last here.
  add_tensor(w, a.v, "v", {Id::v_rank, Id::batch_v, Id::v_heads, Id::kv_len, Id::head_dim_v, Id::v_last_stride, Id::v_align_bytes});
  add_tensor(w, a.k, "k", {Id::k_rank, Id::batch_k, Id::kv_heads, Id::kv_len, Id::head_dim_k, Id::k_last_stride, Id::k_align_bytes});
  w.derived(Id::qkv_stride_align_bytes, stride_alignment(a), "strides of q, k and v");
  add_mask(w, a);
  w.said(Id::is_causal, a.is_causal, "is_causal");
  w.said(Id::causal_align, std::string(core::to_text(a.causal_align)), "causal_align");
  w.said(Id::dropout_p, a.dropout_p, "dropout_p");
  w.said(Id::enable_gqa, a.enable_gqa, "enable_gqa");
  w.said(Id::nested, a.nested.has_value(), "nested");
  w.said(Id::requires_grad, a.requires_grad, "requires_grad");
  const AttentionDims q = spec::attention_dims(a.q.shape), k = spec::attention_dims(a.k.shape);
  const Integer accumulator = a.q.dtype == DType::f64 ? 8 : 4;
  w.figure(Id::score_bytes, times(times(times(q.batch, q.heads), times(q.length, k.length)), accumulator), "batch * heads * lengths");
  auto bytes = plus(plus(touched_bytes(a.q), touched_bytes(a.k)), touched_bytes(a.v));
  if (a.mask) {
    TensorSpec mask;
    mask.shape = a.mask->shape;
    mask.dtype = a.mask->dtype;
    mask.strides = a.mask->strides;
    bytes = plus(bytes, touched_bytes(mask));
  }
  w.figure(Id::input_bytes, bytes, a.mask ? "q, k, v and mask" : "q, k and v");
}

void add_quant(Writer& w, const Gemm& g) {
  w.said(Id::quantized, g.quant.has_value(), "quant");
  if (!g.quant) {
    w.has_none(quant_ids, "the weights are not quantized");
    return;
  }
  const spec::Quant& q = *g.quant;
  w.said(Id::quant_bits, Integer{q.bits}, "quant.bits");
  w.said(Id::quant_act_bits, Integer{q.act_bits}, "quant.act_bits");
  w.said(Id::quant_group, q.group_size, "quant.group_size");
  w.said(Id::quant_zero_point, q.zero_point, "quant.zero_point");
  w.said(Id::quant_act_order, q.act_order, "quant.act_order");
  if (q.packing.empty())
    w.derived(Id::quant_packing, NotApplicable{}, "no packing is named");
  else
    w.said(Id::quant_packing, q.packing, "quant.packing");
  w.said(Id::quant_scale_dtype, name(q.scale_dtype), "quant.scale_dtype");
  const DType wide = core::is_float(g.x.dtype) ? g.x.dtype : q.scale_dtype;
  w.figure(Id::dequantized_bytes, times(spec::element_count(g.w.shape), Integer{core::info(wide).bits / 8}), "w.shape in " + name(wide));
}

// Bytes from one line to the next along the axis that is not dense; that of the rows when neither or both are.
Integer line_bytes(const TensorSpec& t) {
  const Dims strides = spec::strides_of(t);
  const Integer row = strides[strides.size() - 2], column = strides.back();
  return core::bytes_of(t.dtype, row == 1 && column != 1 ? column : row);
}

void add_gemm(Writer& w, const Gemm& g, const spec::Flags& flags) {
  w.has_none(attention_ids, "the operator is gemm");
  w.said(Id::dtype, name(g.x.dtype), "x.dtype");
  w.said(Id::dtype_w, name(g.w.dtype), "w.dtype");
  const DType out = spec::out_dtype(g);
  if (g.out_dtype)
    w.said(Id::dtype_out, name(out), "out_dtype");
  else
    w.derived(Id::dtype_out, name(out), "x.dtype");
  const std::string compute(core::to_text(spec::compute_of(g, flags)));
  if (g.compute)
    w.said(Id::compute, compute, "compute");
  else
    w.derived(Id::compute, compute, "x.dtype");
  w.said(Id::x_rank, static_cast<Integer>(g.x.shape.size()), "x.shape");
  w.said(Id::w_rank, static_cast<Integer>(g.w.shape.size()), "w.shape");
  const std::size_t x = g.x.shape.size(), y = g.w.shape.size();
  if (x >= 2) w.said(Id::m, g.x.shape[x - 2], fmt::format("x.shape[{}]", x - 2));
  if (x == 1) w.derived(Id::m, Value(Integer{1}), "x.shape has one axis");
  if (x >= 1) w.said(Id::k, g.x.shape[x - 1], fmt::format("x.shape[{}]", x - 1));
  if (y >= 2) w.said(Id::n, g.w.shape[y - 1], fmt::format("w.shape[{}]", y - 1));
  if (y == 1) w.derived(Id::n, Value(Integer{1}), "w.shape has one axis");
  Dims result = spec::out_shape(g);
  if (result.size() >= 2) {
    result.resize(result.size() - 2);
    w.figure(Id::gemm_batch, spec::element_count(result), "x.shape and w.shape");
  }
  if (x >= 2) w.derived(Id::x_layout, matrix_layout(g.x), g.x.strides ? "x.strides" : "x is contiguous");
  if (y >= 2) w.derived(Id::w_layout, matrix_layout(g.w), g.w.strides ? "w.strides" : "w is contiguous");
  if (x >= 2) w.derived(Id::x_line_bytes, line_bytes(g.x), g.x.strides ? "x.strides" : "x is contiguous");
  if (y >= 2) w.derived(Id::w_line_bytes, line_bytes(g.w), g.w.strides ? "w.strides" : "w is contiguous");
  w.derived(Id::x_align_bytes, Value(alignment_bytes(g.x)), "x.offset");
  w.derived(Id::w_align_bytes, Value(alignment_bytes(g.w)), "w.offset");
  w.said(Id::has_bias, g.bias.has_value(), "bias");
  if (g.bias)
    w.said(Id::dtype_bias, name(g.bias->dtype), "bias.dtype");
  else
    w.derived(Id::dtype_bias, NotApplicable{}, "there is no bias");
  w.said(Id::epilogue, std::string(core::to_text(g.epilogue)), "epilogue");
  if (g.workspace) w.said(Id::workspace_bytes, *g.workspace, "workspace");
  w.said(Id::requires_grad, g.requires_grad, "requires_grad");
  add_quant(w, g);
  auto weight_bytes = touched_bytes(g.w);
  if (g.quant) {  // widths below 4 bits are packed, whatever type holds them
    const auto bits = times(spec::element_count(g.w.shape), Integer{g.quant->bits});
    weight_bytes = bits && *bits <= INT64_MAX - 7 ? std::optional((*bits + 7) / 8) : std::nullopt;
  }
  auto bytes = plus(touched_bytes(g.x), weight_bytes);
  if (g.bias) bytes = plus(bytes, touched_bytes(*g.bias));
  w.figure(Id::input_bytes, bytes, g.bias ? "x, w and bias" : "x and w");
}

// "sm_90", "sm_90a" -> 90
std::optional<Integer> capability(std::string_view target) {
  if (!target.starts_with("sm_")) return std::nullopt;
  target.remove_prefix(3);
  Integer value = 0;
  const auto [end, error] = std::from_chars(target.data(), target.data() + target.size(), value);
  if (error != std::errc{} || value < 10 || value > 999) return std::nullopt;
  const std::string_view rest(end, static_cast<std::size_t>(target.data() + target.size() - end));
  return rest.empty() || rest == "a" || rest == "f" ? std::optional(value) : std::nullopt;
}

void add_context(Writer& w, const spec::Context& c) {
  if (!c.target.empty()) {
    w.said(Id::target, c.target, "context.target");
    if (c.target == "cpu" || c.target == "host") w.derived(Id::device_type, std::string("cpu"), "context.target");
    if (spec::gpu_ordinal(c.target)) w.derived(Id::device_type, std::string("cuda"), "context.target");
    if (const auto value = capability(c.target)) {
      w.derived(Id::device_type, std::string("cuda"), "context.target");
      w.derived(Id::compute_capability, Value(*value), "context.target");
    }
  }
  const auto version = [&](Id id, const std::optional<std::string>& text, const char* field) {
    Version value;
    if (text && Version::parse(*text, value)) w.said(id, value, field);
  };
  version(Id::torch_version, c.torch, "context.torch");
  version(Id::cuda_version, c.cuda, "context.cuda");
  version(Id::cudnn_version, c.cudnn, "context.cudnn");
}

void add_flags(Writer& w, const spec::Flags& f) {
  w.said(Id::deterministic, std::string(core::to_text(f.deterministic)), "flags.deterministic");
  w.said(Id::tf32, f.tf32, "flags.tf32");
  w.said(Id::reduced_precision, f.reduced_precision, "flags.reduced_precision");
  w.said(Id::flag_flash, f.flash, "flags.enabled.flash");
  w.said(Id::flag_efficient, f.efficient, "flags.enabled.efficient");
  w.said(Id::flag_cudnn, f.cudnn, "flags.enabled.cudnn");
  w.said(Id::flag_math, f.math, "flags.enabled.math");
}

// A field of spec/extra_fields.def is the fact of the same name, where there is one.
void add_extra(Writer& w, const std::map<std::string, std::string>& extra) {
  for (const auto& [field, text] : extra) {
    const Id* id = find(field);
    if (!id) continue;
    const std::string where = "extra." + field;
    const char* const end = text.data() + text.size();
    switch (info(*id).type) {
      case Type::boolean:
        if (text == "true" || text == "false") w.said(*id, text == "true", where);
        break;
      case Type::integer: {
        Integer value = 0;
        const auto parsed = std::from_chars(text.data(), end, value);
        if (parsed.ec == std::errc{} && parsed.ptr == end) w.said(*id, value, where);
        break;
      }
      case Type::real: {
        double value = 0;
        const auto parsed = std::from_chars(text.data(), end, value);
        if (parsed.ec == std::errc{} && parsed.ptr == end) w.said(*id, value, where);
        break;
      }
      case Type::version: {
        Version value;
        if (Version::parse(text, value)) w.said(*id, value, where);
        break;
      }
      case Type::name:
        w.said(*id, text, where);
        break;
    }
  }
}

}  // namespace

std::string matrix_layout(const TensorSpec& tensor) {
  const Dims strides = spec::strides_of(tensor);
  const std::size_t rank = strides.size();
  if (rank >= 1 && strides[rank - 1] == 1) return "row";
  if (rank >= 2 && strides[rank - 2] == 1) return "column";
  return "strided";
}

std::int64_t alignment_bytes(const TensorSpec& tensor) {
  // In bits, so that two elements in a byte count right; negative or overflowing offsets are aligned to nothing.
  const auto bits = times(tensor.offset, Integer{core::info(tensor.dtype).bits});
  if (!bits || *bits < 0 || *bits % 8 != 0) return 1;
  const Integer bytes = *bits / 8;
  return bytes == 0 ? most_alignment : std::min<Integer>(bytes & -bytes, most_alignment);
}

void add_spec_facts(const OpSpec& spec, FactSet& facts) {
  Writer w(facts);
  w.said(Id::op, std::string(spec.is_attention() ? "sdpa" : "gemm"), "op");
  w.said(Id::mode, std::string(core::to_text(spec.mode)), "mode");
  if (spec.is_attention())
    add_attention(w, spec.attention());
  else
    add_gemm(w, spec.gemm(), spec.flags);
  add_flags(w, spec.flags);
  add_context(w, spec.context);
  add_extra(w, spec.is_attention() ? spec.attention().extra : spec.gemm().extra);
}

FactSet derive_facts(const OpSpec& spec) {
  FactSet facts;
  add_spec_facts(spec, facts);
  return facts;
}

}  // namespace dd::facts
