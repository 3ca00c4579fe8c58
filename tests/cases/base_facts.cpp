#include "base_facts.hpp"

namespace dd::cases {

using facts::Id;
using facts::NotApplicable;

facts::FactSet base_facts(const spec::OpSpec& spec) {
  facts::FactSet f;
  const spec::Attention& a = spec.attention();
  const auto name = [](auto value) { return std::string(core::to_text(value)); };
  const auto last = [](const spec::TensorSpec& t) {
    const spec::Dims strides = spec::strides_of(t);
    return strides.empty() ? std::int64_t{1} : strides.back();
  };
  const spec::AttentionDims q = spec::attention_dims(a.q.shape), k = spec::attention_dims(a.k.shape), v = spec::attention_dims(a.v.shape);
  f.set(Id::dtype, name(a.q.dtype));
  f.set(Id::dtype_k, name(a.k.dtype));
  f.set(Id::dtype_v, name(a.v.dtype));
  f.set(Id::q_rank, static_cast<std::int64_t>(a.q.shape.size()));
  f.set(Id::k_rank, static_cast<std::int64_t>(a.k.shape.size()));
  f.set(Id::v_rank, static_cast<std::int64_t>(a.v.shape.size()));
  f.set(Id::batch, q.batch);
  f.set(Id::batch_k, k.batch);
  f.set(Id::batch_v, v.batch);
  f.set(Id::q_heads, q.heads);
  f.set(Id::kv_heads, k.heads);
  f.set(Id::v_heads, v.heads);
  f.set(Id::q_len, q.length);
  f.set(Id::kv_len, k.length);
  f.set(Id::head_dim, q.size);
  f.set(Id::head_dim_k, k.size);
  f.set(Id::head_dim_v, v.size);
  f.set(Id::q_last_stride, last(a.q));
  f.set(Id::k_last_stride, last(a.k));
  f.set(Id::v_last_stride, last(a.v));
  f.set(Id::is_causal, a.is_causal);
  f.set(Id::dropout_p, a.dropout_p);
  f.set(Id::enable_gqa, a.enable_gqa);
  f.set(Id::requires_grad, a.requires_grad);
  f.set(Id::deterministic, name(spec.flags.deterministic));
  f.set(Id::mask_kind, std::string(!a.mask ? "none" : a.mask->dtype == spec::DType::boolean ? "bool" : "float"));
  if (a.mask) {
    const spec::Dims strides = a.mask->strides ? *a.mask->strides : spec::contiguous_strides(a.mask->shape);
    f.set(Id::mask_dtype, name(a.mask->dtype));
    f.set(Id::mask_rank, static_cast<std::int64_t>(a.mask->shape.size()));
    f.set(Id::mask_last_stride, strides.empty() ? std::int64_t{1} : strides.back());
    f.set(Id::mask_requires_grad, a.mask->requires_grad);
  } else {
    for (Id id : {Id::mask_dtype, Id::mask_rank, Id::mask_last_stride, Id::mask_requires_grad}) f.set(id, NotApplicable{});
  }
  f.set(Id::flag_flash, spec.flags.flash);
  f.set(Id::flag_efficient, spec.flags.efficient);
  f.set(Id::flag_cudnn, spec.flags.cudnn);
  f.set(Id::flag_math, spec.flags.math);
  const auto version = [&](const std::optional<std::string>& text, Id id) {
    facts::Version v;
    if (text && facts::Version::parse(*text, v)) f.set(id, v);
  };
  version(spec.context.torch, Id::torch_version);
  version(spec.context.cuda, Id::cuda_version);
  version(spec.context.cudnn, Id::cudnn_version);
  return f;
}

}  // namespace dd::cases
