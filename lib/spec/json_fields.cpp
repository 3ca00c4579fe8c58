#include "spec/json_fields.hpp"

namespace dd::spec {
namespace {

using Text = std::string_view;
using K = JsonKind;

template <TensorDraft Draft::* which>
std::string set_dtype(Draft& d, Text t) {
  return set((d.*which).dtype, core::from_text<DType>(t), core::choices<DType>());
}
std::string want_mask(Draft& d, Text) {
  d.mask.wanted = true;
  if (!d.mask.dtype) d.mask.dtype = DType::boolean;
  return {};
}
std::string set_mask_dtype(Draft& d, Text t) { return set(d.mask.dtype, core::from_text<DType>(t), "bool|f64|f32|f16|bf16"); }
std::string set_mask_shape(Draft& d, Text t) { return set(d.mask.shape, parse_dims(t), "1 to 4 extents"); }
std::string want_bias(Draft& d, Text) {
  d.bias_wanted = true;
  return {};
}
std::string set_bias_shape(Draft& d, Text t) { return set(d.bias.shape, parse_dims(t), "extents"); }
std::string set_q_lengths(Draft& d, Text t) { return set(d.nested.q_lengths, parse_ints(t, most_sequences), "at most 65536 lengths"); }
std::string set_kv_lengths(Draft& d, Text t) { return set(d.nested.kv_lengths, parse_ints(t, most_sequences), "at most 65536 lengths"); }

template <std::optional<std::int64_t> QuantDraft::* which>
std::string set_quant_int(Draft& d, Text t) {
  return set(d.quant.*which, parse_int(t), "a whole number of 63 bits");
}
template <std::optional<bool> QuantDraft::* which>
std::string set_quant_switch(Draft& d, Text t) {
  return set(d.quant.*which, parse_switch(t), "true or false");
}
std::string set_packing(Draft& d, Text t) {
  d.quant.packing = std::string(t);
  return {};
}
std::string set_scale_dtype(Draft& d, Text t) {
  return set(d.quant.scale_dtype, core::from_text<DType>(t), "f16|bf16|f32|f8_e8m0");
}
template <bool Flags::* which>
std::string set_enabled(Draft& d, Text t) {
  return set(d.spec.flags.*which, parse_switch(t), "true or false");
}
std::string nothing(Draft&, Text) { return {}; }

#define TENSOR(ops, name, member)                                                      \
  {ops, name, K::object, false, "", nothing},                                          \
      {ops, name ".shape", K::dims, false, "--" name, nullptr},                        \
      {ops, name ".dtype", K::text, false, "--dtype", set_dtype<&Draft::member>},      \
      {ops, name ".strides", K::dims, true, "--" name "-strides", nullptr},            \
      {ops, name ".offset", K::integer, false, "--" name "-offset", nullptr},          \
      {ops, name ".storage", K::integer, true, "--" name "-storage", nullptr}

constexpr JsonField fields[] = {
    {on_both, "op", K::text, false, "", nothing},
    TENSOR(on_sdpa, "q", q),
    TENSOR(on_sdpa, "k", k),
    TENSOR(on_sdpa, "v", v),
    {on_sdpa, "mask", K::object, true, "", want_mask},
    {on_sdpa, "mask.dtype", K::text, false, "--mask", set_mask_dtype},
    {on_sdpa, "mask.shape", K::dims, false, "--mask", set_mask_shape},
    {on_sdpa, "mask.strides", K::dims, true, "--mask-strides", nullptr},
    {on_sdpa, "mask.offset", K::integer, false, "--mask-offset", nullptr},
    {on_sdpa, "mask.content", K::text, false, "--mask-content", nullptr},
    {on_sdpa, "mask.requires_grad", K::boolean, false, "--mask-grad", nullptr},
    {on_sdpa, "is_causal", K::boolean, false, "--causal", nullptr},
    {on_sdpa, "causal_align", K::text, false, "--causal-align", nullptr},
    {on_sdpa, "scale", K::number, true, "--scale", nullptr},
    {on_sdpa, "dropout_p", K::number, false, "--dropout", nullptr},
    {on_sdpa, "enable_gqa", K::boolean, false, "--gqa", nullptr},
    {on_sdpa, "nested", K::object, true, "", nothing},
    {on_sdpa, "nested.q_lengths", K::ints, false, "--nested", set_q_lengths},
    {on_sdpa, "nested.kv_lengths", K::ints, false, "--nested", set_kv_lengths},
    TENSOR(on_gemm, "x", x),
    TENSOR(on_gemm, "w", w),
    {on_gemm, "bias", K::object, true, "", want_bias},
    {on_gemm, "bias.shape", K::dims, false, "--bias", set_bias_shape},
    {on_gemm, "bias.dtype", K::text, false, "--bias-dtype", nullptr},
    {on_gemm, "bias.strides", K::dims, true, "--bias-strides", nullptr},
    {on_gemm, "bias.offset", K::integer, false, "--bias-offset", nullptr},
    {on_gemm, "bias.storage", K::integer, true, "--bias-storage", nullptr},
    {on_gemm, "trans_x", K::boolean, false, "--trans-x", nullptr},
    {on_gemm, "trans_w", K::boolean, false, "--trans-w", nullptr},
    {on_gemm, "out_dtype", K::text, true, "--out-dtype", nullptr},
    {on_gemm, "compute", K::text, true, "--compute", nullptr},
    {on_gemm, "epilogue", K::text, false, "--epilogue", nullptr},
    {on_gemm, "workspace", K::integer, true, "--workspace", nullptr},
    {on_gemm, "quant", K::object, true, "", nothing},
    {on_gemm, "quant.scheme", K::text, false, "--quant", nullptr},
    {on_gemm, "quant.bits", K::integer, false, "--quant", set_quant_int<&QuantDraft::bits>},
    {on_gemm, "quant.act_bits", K::integer, false, "--quant", set_quant_int<&QuantDraft::act_bits>},
    {on_gemm, "quant.group_size", K::integer, false, "--quant", set_quant_int<&QuantDraft::group_size>},
    {on_gemm, "quant.zero_point", K::boolean, false, "--quant", set_quant_switch<&QuantDraft::zero_point>},
    {on_gemm, "quant.act_order", K::boolean, false, "--quant", set_quant_switch<&QuantDraft::act_order>},
    {on_gemm, "quant.packing", K::text, false, "--quant", set_packing},
    {on_gemm, "quant.scale_dtype", K::text, false, "--quant", set_scale_dtype},
    {on_both, "out", K::object, false, "", nothing},
    {on_both, "out.strides", K::dims, true, "--out-strides", nullptr},
    {on_both, "out.offset", K::integer, false, "--out-offset", nullptr},
    {on_both, "out.storage", K::integer, true, "--out-storage", nullptr},
    {on_both, "requires_grad", K::boolean, false, "--train", nullptr},
    {on_both, "extra", K::extra_map, false, "--extra", nullptr},
    {on_both, "flags", K::object, false, "", nothing},
    {on_both, "flags.deterministic", K::boolean_or_text, false, "--deterministic", nullptr},
    {on_both, "flags.tf32", K::boolean, false, "--tf32", nullptr},
    {on_both, "flags.reduced_precision", K::boolean, false, "--reduced-precision", nullptr},
    {on_both, "flags.autocast", K::text, true, "--autocast", nullptr},
    {on_both, "flags.enabled", K::object, false, "", nothing},
    {on_both, "flags.enabled.flash", K::boolean, false, "--disable", set_enabled<&Flags::flash>},
    {on_both, "flags.enabled.efficient", K::boolean, false, "--disable", set_enabled<&Flags::efficient>},
    {on_both, "flags.enabled.cudnn", K::boolean, false, "--disable", set_enabled<&Flags::cudnn>},
    {on_both, "flags.enabled.math", K::boolean, false, "--disable", set_enabled<&Flags::math>},
    {on_both, "mode", K::text_or_names, false, "--mode", nullptr},
    {on_both, "policy", K::object, false, "", nothing},
    {on_both, "policy.allow", K::names, true, "--allow", nullptr},
    {on_both, "policy.deny", K::names, false, "--deny", nullptr},
    {on_both, "policy.force", K::text, true, "--force", nullptr},
    {on_both, "policy.order", K::names, true, "--order", nullptr},
    {on_both, "context", K::object, false, "", nothing},
    {on_both, "context.target", K::text, true, "--target", nullptr},
    {on_both, "context.framework", K::text, false, "--framework", nullptr},
    {on_both, "context.torch", K::text, true, "--torch-version", nullptr},
    {on_both, "context.cuda", K::text, true, "--cuda-version", nullptr},
    {on_both, "context.cudnn", K::text, true, "--cudnn-version", nullptr},
    {on_both, "context.versions", K::text_map, false, "--package-version", nullptr},
    {on_both, "context.env", K::text_map, false, "--env", nullptr},
    {on_both, "context.build", K::boolean_map, false, "--built-with", nullptr},
    {on_both, "seed", K::integer, false, "--seed", nullptr},
    {on_both, "data", K::text, false, "--data", nullptr},
    {on_both, "rtol", K::number, true, "--rtol", nullptr},
    {on_both, "atol", K::number, true, "--atol", nullptr},
};

}  // namespace

std::string_view kind_text(JsonKind kind) {
  switch (kind) {
    case K::dims:
    case K::ints:
      return "an array of whole numbers";
    case K::names:
      return "an array of texts";
    case K::text:
      return "a text";
    case K::text_or_names:
      return "a text or an array of texts";
    case K::number:
      return "a number";
    case K::integer:
      return "a whole number";
    case K::boolean:
      return "true or false";
    case K::boolean_or_text:
      return "true, false or a text";
    case K::object:
    case K::extra_map:
      return "an object";
    case K::text_map:
      return "an object of texts";
    case K::boolean_map:
      return "an object of true and false";
  }
  return "?";
}

std::span<const JsonField> json_fields() { return fields; }

const JsonField* find_field(std::string_view path, Op op) {
  for (const JsonField& field : fields)
    if (field.path == path && (field.ops & mask_of(op))) return &field;
  return nullptr;
}

}  // namespace dd::spec
