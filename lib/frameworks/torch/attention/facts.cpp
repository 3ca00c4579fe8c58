#include "frameworks/torch/attention/facts.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace dd::frameworks::torch_attention {
namespace {

using facts::FactSet;
using facts::Id;
using facts::NotApplicable;
using facts::Provenance;
using facts::Version;
using spec::Attention;
using spec::DType;

std::string name_of(DType dtype) { return std::string(core::to_text(dtype)); }

void set_build_flag(const spec::Context& context, const char* name, Id id, FactSet& facts, bool otherwise) {
  const auto it = context.build.find(name);
  if (it != context.build.end()) {
    facts.set(id, it->second, Provenance::spec, std::string("context.build.") + name);
  } else {
    facts.set(id, otherwise, Provenance::assumed, "wheels contain it");
  }
}

// What the wheels of a release bring along (package index, the default build for Linux on x86-64), where nobody says
// otherwise. Compared on 2026-11-29 with the requirements of the wheels: 2.0.0, 2.1.0, 2.1.2, 2.8.0 and 2.15.0 read in the
// wheel itself; 2.4 to 2.6 in pytorch issue 193491; 2.2, 2.3, 2.7, 2.9 to 2.14 in lock files and install logs of public
// repositories. Later releases are left unknown.
void assume_cudnn(FactSet& facts) {
  const auto* torch = std::get_if<Version>(&facts.value(Id::torch_version));
  const auto* device = std::get_if<std::string>(&facts.value(Id::device_type));
  if (device && *device == "rocm") {
    facts.set(Id::built_cudnn, false, Provenance::derived, "builds for AMD GPUs have no cuDNN");
    facts.set(Id::cudnn_version, NotApplicable{}, Provenance::derived, "builds for AMD GPUs have no cuDNN");
  }
  if (!torch || !device || *device != "cuda") return;
  struct Bundled {
    Version first;
    Version cudnn;
  };
  static const Bundled table[] = {{Version::of(2, 16), {}}, {Version::of(2, 15), Version::of(9, 26, 0)}, {Version::of(2, 14), Version::of(9, 24, 0)},
                                  {Version::of(2, 12), Version::of(9, 20, 0)}, {Version::of(2, 11), Version::of(9, 19, 0)}, {Version::of(2, 8), Version::of(9, 10, 2)},
                                  {Version::of(2, 7), Version::of(9, 5, 1)}, {Version::of(2, 4), Version::of(9, 1, 0)},
                                  {Version::of(2, 1), Version::of(8, 9, 2)}, {Version::of(2, 0), Version::of(8, 5, 0)}};
  for (const Bundled& row : table) {
    if (*torch < row.first) continue;
    if (row.cudnn.code > 0) {
      facts.set(Id::cudnn_version, row.cudnn, Provenance::assumed, "bundled with the wheels of this release");
      facts.set(Id::built_cudnn, true, Provenance::assumed, "wheels contain it");
    }
    return;
  }
}

void set_build(const spec::Context& context, FactSet& facts) {
  const auto windows = context.build.find("windows");
  set_build_flag(context, "flash", Id::built_flash, facts, true);
  if (windows != context.build.end() && windows->second && !context.build.count("flash"))
    facts.set(Id::built_flash, false, Provenance::assumed, "Windows wheels contain no flash kernels");
  set_build_flag(context, "efficient", Id::built_efficient, facts, true);
  const auto it = context.build.find("cudnn");
  if (it != context.build.end()) {
    facts.set(Id::built_cudnn, it->second, Provenance::spec, "context.build.cudnn");
    // Without cuDNN its version has no meaning, which is not the same as not known.
    if (!it->second) facts.set(Id::cudnn_version, NotApplicable{}, Provenance::spec, "context.build.cudnn");
  } else if (facts.known(Id::cudnn_version)) {
    facts.set(Id::built_cudnn, true, Provenance::derived, "a cuDNN version is given");
  } else {
    assume_cudnn(facts);
  }
  const auto frontend = context.versions.find("cudnn-frontend");
  Version version;
  if (frontend != context.versions.end() && Version::parse(frontend->second, version))
    facts.set(Id::cudnn_frontend_version, version, Provenance::spec, "context.versions.cudnn-frontend");
}

void set_environment(const spec::Context& context, FactSet& facts) {
  static constexpr std::array<std::pair<const char*, Id>, 6> variables{{
      {"TORCH_CUDNN_SDPA_ENABLED", Id::env_cudnn_sdpa_enabled},
      {"TORCH_CUDNN_SDPA_PREFERRED", Id::env_cudnn_preferred},
      {"TORCH_CUDNN_SDPA_DEPRIORITIZED", Id::env_cudnn_deprioritized},
      {"TORCH_CUDNN_SDPA_NESTED_TENSOR_ENABLED", Id::env_cudnn_nested},
      {"TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL", Id::env_rocm_experimental},
      {"TORCH_ROCM_FA_PREFER_CK", Id::env_rocm_prefer_ck}}};
  for (const auto& [variable, id] : variables) {
    const auto it = context.env.find(variable);
    if (it == context.env.end()) {
      facts.set(id, std::string("unset"), Provenance::assumed, "not among context.env");
    } else {
      facts.set(id, it->second, Provenance::spec, std::string("context.env.") + variable);
    }
  }
}

// A further field of the spec, or what holds for an ordinary call.
void set_extra(const Attention& a, const char* field, Id id, bool otherwise, FactSet& facts) {
  const auto it = a.extra.find(field);
  if (it == a.extra.end()) {
    facts.set(id, otherwise, Provenance::assumed, "ordinary call");
  } else {
    facts.set(id, it->second == "true" || it->second == "1", Provenance::spec, std::string("extra.") + field);
  }
}

void set_ragged(const Attention& a, FactSet& facts) {
  facts.set(Id::nested, a.nested.has_value(), Provenance::spec, "nested");
  if (!a.nested) {
    for (Id id : {Id::nested_has_zero_length, Id::nested_has_length_le_1, Id::nested_max_q_len, Id::nested_contiguous,
                  Id::nested_ragged_heads, Id::nested_kv_broadcast_ragged, Id::nested_layout})
      facts.set(id, NotApplicable{}, Provenance::derived);
    return;
  }
  const spec::Dims &q = a.nested->q_lengths, &kv = a.nested->kv_lengths;
  const auto has = [](const spec::Dims& lengths, std::int64_t most) {
    return std::any_of(lengths.begin(), lengths.end(), [&](std::int64_t n) { return n <= most; });
  };
  facts.set(Id::nested_has_zero_length, has(q, 0) || has(kv, 0), Provenance::spec, "nested");
  facts.set(Id::nested_has_length_le_1, has(q, 1), Provenance::spec, "nested.q_lengths");
  if (!q.empty()) facts.set(Id::nested_max_q_len, *std::max_element(q.begin(), q.end()), Provenance::spec, "nested.q_lengths");
  set_extra(a, "nested_contiguous", Id::nested_contiguous, true, facts);
  set_extra(a, "nested_ragged_heads", Id::nested_ragged_heads, false, facts);
  set_extra(a, "nested_kv_broadcast_ragged", Id::nested_kv_broadcast_ragged, false, facts);
  const auto layout = a.extra.find("nested_layout");
  facts.set(Id::nested_layout, layout == a.extra.end() ? std::string("strided") : layout->second,
            layout == a.extra.end() ? Provenance::assumed : Provenance::spec, "extra.nested_layout");
}

// Under autocast the operator is on the lower-precision list: floating inputs other than f64 arrive in that type, as
// fresh tensors. The mask goes along from 2.1 on, when the operator joined the list.
void apply_autocast(const spec::OpSpec& spec, FactSet& facts) {
  if (!spec.flags.autocast) return;
  const std::string lowered = name_of(*spec.flags.autocast);
  const auto lower = [&](Id id, DType dtype, Id offset) {
    if (!core::is_float(dtype) || dtype == DType::f64 || dtype == *spec.flags.autocast) return;
    facts.set(id, lowered, Provenance::derived, "flags.autocast");
    facts.set(offset, std::int64_t{0}, Provenance::derived, "flags.autocast");
  };
  const Attention& a = spec.attention();
  lower(Id::dtype, a.q.dtype, Id::q_offset_bytes);
  lower(Id::dtype_k, a.k.dtype, Id::k_offset_bytes);
  lower(Id::dtype_v, a.v.dtype, Id::v_offset_bytes);
  const auto* version = std::get_if<Version>(&facts.value(Id::torch_version));
  if (a.mask && core::is_float(a.mask->dtype) && a.mask->dtype != DType::f64 && version && *version >= Version::of(2, 1))
    facts.set(Id::mask_dtype, lowered, Provenance::derived, "flags.autocast");
}

// Vector width along the head axis: tensor-core instructions fix it from sm_70 on for 16-bit types.
void set_alignment(FactSet& facts) {
  const auto* cc = std::get_if<std::int64_t>(&facts.value(Id::compute_capability));
  const auto* dtype = std::get_if<std::string>(&facts.value(Id::dtype));
  if (!cc || !dtype) return;
  const bool half = *dtype == "f16" || *dtype == "bf16";
  const std::int64_t elements = half && *cc >= 70 ? 8 : *cc >= 80 ? 4 : 1;
  const auto type = core::from_text<DType>(*dtype);
  if (type) facts.set(Id::mask_align_elements, std::int64_t{128} / core::info(*type).bits, Provenance::derived, "dtype");
  facts.set(Id::efficient_align_elements, elements, Provenance::derived, "type and GPU");
  facts.set(Id::efficient_align_bytes, elements * (type ? core::info(*type).bits / 8 : 1), Provenance::derived, "type and GPU");
}

bool broadcasts(const Attention& a) {
  const spec::AttentionDims q = spec::attention_dims(a.q.shape), k = spec::attention_dims(a.k.shape);
  // The scores of inputs with three axes have three axes as well.
  const bool three = a.q.shape.size() == 3;
  const std::int64_t full[4] = {three ? 1 : q.batch, three ? q.batch : q.heads, q.length, k.length};
  const spec::Dims& shape = a.mask->shape;
  if (shape.size() > 4) return false;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t want = full[4 - shape.size() + i];
    if (shape[i] != 1 && shape[i] != want) return false;
  }
  return true;
}

void set_mask_layout(const spec::MaskSpec& mask, std::int64_t q_len, FactSet& facts) {
  const spec::Dims dense = spec::contiguous_strides(mask.shape);
  const spec::Dims strides = mask.strides ? *mask.strides : dense;
  const std::size_t rank = strides.size();
  const bool rows = rank >= 2 && mask.shape.size() == rank && mask.shape[rank - 2] > 1;
  const std::int64_t row_stride = rows ? strides[rank - 2] : 0;
  facts.set(Id::mask_row_stride, row_stride, Provenance::derived, "mask.strides");
  facts.set(Id::mask_contiguous, strides == dense, Provenance::derived, "mask.strides");
  facts.set(Id::mask_offset_bytes, mask.offset * core::info(mask.dtype).bits / 8, Provenance::derived, "mask.offset");
  std::int64_t extent = 0;
  if (__builtin_mul_overflow(q_len, row_stride, &extent)) extent = INT64_MAX;
  facts.set(Id::mask_extent, extent, Provenance::derived, "q_len and mask.strides");
}

void set_mask(const Attention& a, FactSet& facts) {
  if (!a.mask) {
    for (Id id : {Id::mask_broadcasts, Id::mask_last_dim, Id::mask_empty_rows, Id::mask_offset_bytes, Id::mask_row_stride,
                  Id::mask_contiguous, Id::mask_extent})
      facts.set(id, NotApplicable{}, Provenance::derived);
    return;
  }
  set_mask_layout(*a.mask, spec::attention_dims(a.q.shape).length, facts);
  // The contents that the tool makes by itself leave every row a key; a file has to be looked at. A padding as long as
  // the keys closes all of them.
  const std::string& content = a.mask->content;
  if (content == "zeros") {
    // All elements 0: nothing for an additive mask, everything closed for a boolean one.
    facts.set(Id::mask_empty_rows, a.mask->dtype == DType::boolean, Provenance::derived, "mask.content");
  } else if (content == "causal" || content == "random" || content.rfind("window:", 0) == 0) {
    facts.set(Id::mask_empty_rows, false, Provenance::derived, "mask.content");
  } else if (content.rfind("padding:", 0) == 0) {
    const bool all_closed = std::strtoll(content.c_str() + 8, nullptr, 10) >= spec::attention_dims(a.k.shape).length;
    facts.set(Id::mask_empty_rows, all_closed, Provenance::derived, "mask.content");
  }
  facts.set(Id::mask_broadcasts, broadcasts(a), Provenance::derived, "mask.shape");
  if (a.mask->shape.empty()) {
    facts.set(Id::mask_last_dim, NotApplicable{}, Provenance::spec, "mask.shape");
  } else {
    facts.set(Id::mask_last_dim, a.mask->shape.back(), Provenance::spec, "mask.shape");
  }
}

// 2.15 puts a batch axis of 1 in front of inputs with three axes, so their first axis is that of the heads.
void set_unbatched(const Attention& a, FactSet& facts) {
  const auto* torch = std::get_if<Version>(&facts.value(Id::torch_version));
  if (!torch || *torch < Version::of(2, 15) || a.q.shape.size() != 3 || a.k.shape.size() != 3 || a.v.shape.size() != 3) return;
  for (const Id id : {Id::batch, Id::batch_k, Id::batch_v}) facts.set(id, std::int64_t{1}, Provenance::derived, "the batch axis that 2.15 adds");
  facts.set(Id::q_heads, a.q.shape[0], Provenance::spec, "q.shape[0]");
  facts.set(Id::kv_heads, a.k.shape[0], Provenance::spec, "k.shape[0]");
  facts.set(Id::v_heads, a.v.shape[0], Provenance::spec, "v.shape[0]");
}

void set_sizes(const Attention& a, FactSet& facts) {
  const spec::AttentionDims q = spec::attention_dims(a.q.shape);
  std::int64_t elements = q.batch;
  bool fits = true;
  for (std::int64_t factor : {q.heads, (q.length + 127) / 128 * 128, std::max<std::int64_t>(q.size, 32)})
    fits = fits && !__builtin_mul_overflow(elements, factor, &elements);
  facts.set(Id::flash_backward_elements, fits ? elements : INT64_MAX, Provenance::derived, "q.shape");
  facts.set(Id::kv_len_mod_128, spec::attention_dims(a.k.shape).length % 128, Provenance::derived, "k.shape");
}

// Which AMD GPUs the bundled kernels cover, and which of them only on request.
void set_rocm(const spec::OpSpec& spec, FactSet& facts) {
  const Attention& a = spec.attention();
  if (a.extra.count("rocm_arch_supported") || a.extra.count("rocm_arch_experimental")) {
    set_extra(a, "rocm_arch_supported", Id::rocm_arch_supported, true, facts);
    set_extra(a, "rocm_arch_experimental", Id::rocm_arch_experimental, false, facts);
    return;
  }
  const std::string& target = spec.context.target;
  if (target.rfind("gfx", 0) != 0) return;
  static constexpr std::array<std::string_view, 3> released{"gfx90a", "gfx942", "gfx950"};
  static constexpr std::array<std::string_view, 6> experimental{"gfx1100", "gfx1101", "gfx1150", "gfx1151", "gfx1200", "gfx1201"};
  const bool is_released = std::find(released.begin(), released.end(), target) != released.end();
  const bool is_experimental = std::find(experimental.begin(), experimental.end(), target) != experimental.end();
  facts.set(Id::rocm_arch_supported, is_released || is_experimental, Provenance::derived, "list of AMD kernels");
  facts.set(Id::rocm_arch_experimental, is_experimental, Provenance::derived, "list of AMD kernels");
}

}  // namespace

void add_facts(const spec::OpSpec& spec, FactSet& facts) {
  const Attention& a = spec.attention();
  set_build(spec.context, facts);
  set_environment(spec.context, facts);
  set_extra(a, "devices_equal", Id::devices_equal, true, facts);
  set_extra(a, "fa3_active", Id::fa3_active, false, facts);
  set_ragged(a, facts);
  const auto offset = [&](const spec::TensorSpec& t, Id id, const char* where) {
    facts.set(id, t.offset * core::info(t.dtype).bits / 8, Provenance::derived, where);
  };
  offset(a.q, Id::q_offset_bytes, "q.offset");
  offset(a.k, Id::k_offset_bytes, "k.offset");
  offset(a.v, Id::v_offset_bytes, "v.offset");
  set_mask(a, facts);
  set_sizes(a, facts);
  set_unbatched(a, facts);
  set_extra(a, "double_backward", Id::double_backward, false, facts);
  set_extra(a, "attention_weights", Id::attention_weights, false, facts);
  const auto vllm = spec.context.versions.find("vllm");
  facts::Version vllm_version;
  if (vllm != spec.context.versions.end() && facts::Version::parse(vllm->second, vllm_version))
    facts.set(Id::vllm_attention_version, vllm_version, Provenance::spec, "context.versions.vllm");
  set_extra(a, "saved_tensor_hooks", Id::saved_tensor_hooks, false, facts);
  set_extra(a, "hand_written", Id::hand_written, false, facts);
  set_extra(a, "probe_in_graph", Id::probe_in_graph, false, facts);
  set_extra(a, "switch_in_graph", Id::switch_in_graph, false, facts);
  set_extra(a, "vmap", Id::vmap, false, facts);
  set_extra(a, "dynamic_shapes", Id::dynamic_shapes, false, facts);
  const auto change = a.extra.find("score_change");
  facts.set(Id::score_change, change == a.extra.end() ? std::string("none") : change->second,
            change == a.extra.end() ? Provenance::assumed : Provenance::spec, "extra.score_change");
  facts.set(Id::user_order_given, spec.policy.order.has_value(), Provenance::spec, "policy.order");
  const double sixteenths = a.dropout_p * 16;
  facts.set(Id::dropout_is_sixteenth, sixteenths == std::floor(sixteenths), Provenance::derived, "dropout_p");
  set_rocm(spec, facts);
  apply_autocast(spec, facts);
  set_alignment(facts);
}

}  // namespace dd::frameworks::torch_attention
