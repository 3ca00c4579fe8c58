// Concrete changes of an attention call, one function for each kind.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "session/fix_parts.hpp"

namespace dd::session {
namespace {

using core::DType;
using rules::Change;
using rules::Keeps;
using spec::Attention;
using spec::OpSpec;
using spec::TensorSpec;

double scale_of(const Attention& a) {
  const auto size = spec::attention_dims(a.q.shape).size;
  return a.scale ? *a.scale : 1.0 / std::sqrt(static_cast<double>(std::max<std::int64_t>(size, 1)));
}

// An edit that changes the attention of a copy of `spec`.
template <class Apply>
Edit edit(Change change, std::string text, const OpSpec& spec, Apply apply, Keeps keeps = Keeps::function) {
  Edit out{change, std::move(text), keeps, 0, 0, spec};
  apply(std::get<Attention>(out.spec.op), out);
  return out;
}

void pad_to(Attention& a, std::int64_t qk, std::int64_t v, Edit& e) {
  const double scale = scale_of(a);
  const double before = static_cast<double>(a.q.shape.back() + a.v.shape.back());
  const auto pad = [&](TensorSpec& t, std::int64_t size) {
    if (t.shape.back() == size) return;
    spec::Dims shape = t.shape;
    shape.back() = size;
    t = fresh(t, shape);
    e.bytes += bytes_of(t);
  };
  pad(a.q, qk);
  pad(a.k, qk);
  pad(a.v, v);
  a.scale = scale;
  a.out = {};
  e.flops_percent = (static_cast<double>(qk + v) / before - 1) * 100;
}

std::vector<Edit> pad_head_dim(const OpSpec& spec) {
  const Attention& a = spec.attention();
  if (a.q.shape.size() < 2 || a.q.shape.back() < 1 || a.v.shape.back() < 1) return {};
  const std::int64_t q = std::max(a.q.shape.back(), a.k.shape.back()), v = a.v.shape.back();
  std::vector<Edit> out;
  std::vector<std::pair<std::int64_t, std::int64_t>> done;
  const auto add = [&](std::int64_t qk, std::int64_t to_v) {
    const std::pair<std::int64_t, std::int64_t> size{qk, to_v};
    if (qk < q || to_v < v || (qk == a.q.shape.back() && qk == a.k.shape.back() && to_v == v)) return;
    if (std::find(done.begin(), done.end(), size) != done.end()) return;
    done.push_back(size);
    const std::string sizes = qk == to_v ? std::to_string(qk) : fmt::format("{} (v {})", qk, to_v);
    out.push_back(edit(Change::pad_head_dim, fmt::format("pad the head size to {} with zeros, keep scale {:.6g}, slice the output to {}", sizes, scale_of(a), v), spec,
                       [&](Attention& x, Edit& e) { pad_to(x, qk, to_v, e); }));
  };
  const auto up = [](std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; };
  for (std::int64_t step : {1, 4, 8}) {
    add(up(q, step), up(v, step));
    add(up(std::max(q, v), step), up(std::max(q, v), step));
  }
  if (q > 192 && q < 256) add(256, 256);
  return out;
}

std::vector<Edit> cast(const OpSpec& spec) {
  const Attention& a = spec.attention();
  std::vector<Edit> out;
  for (DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    if (a.q.dtype == dtype && a.k.dtype == dtype && a.v.dtype == dtype) continue;
    out.push_back(edit(Change::cast_dtype, fmt::format("cast q, k and v to {}", core::to_text(dtype)), spec, [&](Attention& x, Edit& e) {
      for (TensorSpec* t : {&x.q, &x.k, &x.v}) {
        if (t->dtype == dtype) continue;
        *t = fresh(*t, t->shape);
        t->dtype = dtype;
        e.bytes += bytes_of(*t);
      }
      if (x.mask && x.mask->dtype != DType::boolean) x.mask->dtype = dtype;
    }, core::info(dtype).bits >= core::info(a.q.dtype).bits && dtype != DType::f16 ? Keeps::function : Keeps::precision));
  }
  return out;
}

std::vector<Edit> contiguous(const OpSpec& spec) {
  const Attention& a = spec.attention();
  std::string names;
  for (const auto& [t, name] : {std::pair{&a.q, "q"}, std::pair{&a.k, "k"}, std::pair{&a.v, "v"}})
    if (!t->strides.value_or(spec::Dims{1}).empty() && t->strides && t->strides->back() != 1) names += (names.empty() ? "" : ", ") + std::string(name);
  const bool mask = a.mask && a.mask->strides && !a.mask->strides->empty() && *a.mask->strides != spec::contiguous_strides(a.mask->shape);
  if (mask) names += (names.empty() ? "" : ", ") + std::string("the mask");
  if (names.empty()) return {};
  return {edit(Change::make_contiguous, "call contiguous() on " + names, spec, [&](Attention& x, Edit& e) {
    for (TensorSpec* t : {&x.q, &x.k, &x.v}) {
      if (!t->strides || t->strides->back() == 1) continue;
      *t = fresh(*t, t->shape);
      e.bytes += bytes_of(*t);
    }
    if (mask) {
      x.mask->strides.reset();
      x.mask->offset = 0;
    }
  })};
}

std::vector<Edit> align(const OpSpec& spec) {
  const Attention& a = spec.attention();
  if (a.q.offset == 0 && a.k.offset == 0 && a.v.offset == 0) return {};
  return {edit(Change::align_offset, "clone the views that start at an unaligned offset", spec, [](Attention& x, Edit& e) {
    for (TensorSpec* t : {&x.q, &x.k, &x.v}) {
      if (t->offset == 0) continue;
      *t = fresh(*t, t->shape);
      e.bytes += bytes_of(*t);
    }
  })};
}

std::vector<Edit> drop_mask(const OpSpec& spec) {
  const Attention& a = spec.attention();
  if (!a.mask) return {};
  // A boolean mask of zeros is closed everywhere; only an additive one masks nothing.
  const bool zeros = a.mask->content == "zeros" && a.mask->dtype != DType::boolean, open = a.mask->content == "padding:0";
  if (!zeros && !open) return {};
  return {edit(Change::drop_mask, zeros ? "leave out the mask: it adds nothing but zeros" : "leave out the mask: it is open everywhere", spec, [](Attention& x, Edit&) { x.mask.reset(); })};
}

std::vector<Edit> mask_to_causal(const OpSpec& spec) {
  const Attention& a = spec.attention();
  if (!a.mask || a.mask->content != "causal" || a.is_causal) return {};
  const bool square = spec::attention_dims(a.q.shape).length == spec::attention_dims(a.k.shape).length;
  if (!square && a.causal_align != spec::CausalAlign::top_left) return {};
  return {edit(Change::mask_to_causal, "replace the mask, which is exactly causal, by is_causal=True", spec, [](Attention& x, Edit&) {
    x.mask.reset();
    x.is_causal = true;
  })};
}

std::vector<Edit> expand_heads(const OpSpec& spec) {
  const Attention& a = spec.attention();
  if (a.q.shape.size() != 4 || a.k.shape.size() != 4 || a.v.shape.size() != 4) return {};
  const std::int64_t heads = a.q.shape[1];
  const auto fits = [&](const TensorSpec& t) { return t.shape[1] > 0 && heads % t.shape[1] == 0; };
  if ((a.k.shape[1] == heads && a.v.shape[1] == heads) || !fits(a.k) || !fits(a.v)) return {};
  const bool view = a.k.shape[1] == 1 && a.v.shape[1] == 1;
  const std::string how = view ? "expand k and v to the heads of q (a view without a copy) and leave enable_gqa off"
                               : "repeat k and v to the heads of q (repeat_interleave) and leave enable_gqa off";
  return {edit(Change::expand_kv_heads, how, spec, [&](Attention& x, Edit& e) {
    for (TensorSpec* t : {&x.k, &x.v}) {
      if (t->shape[1] == heads) continue;
      spec::Dims shape = t->shape, strides = spec::strides_of(*t);
      shape[1] = heads;
      if (view) {
        strides[1] = 0;
        t->shape = shape;
        t->strides = strides;
      } else {
        *t = fresh(*t, shape);
        e.bytes += bytes_of(*t);
      }
    }
    x.enable_gqa = false;
  })};
}

std::vector<Edit> expand_batch(const OpSpec& spec) {
  const Attention& a = spec.attention();
  if (a.q.shape.size() != 4 || a.k.shape.size() != 4 || a.v.shape.size() != 4) return {};
  const std::int64_t batch = std::max({a.q.shape[0], a.k.shape[0], a.v.shape[0]});
  for (const TensorSpec* t : {&a.q, &a.k, &a.v})
    if (t->shape[0] != 1 && t->shape[0] != batch) return {};
  return {edit(Change::expand_batch, fmt::format("expand every tensor to batch {} (a view without a copy)", batch), spec, [&](Attention& x, Edit&) {
    for (TensorSpec* t : {&x.q, &x.k, &x.v}) {
      if (t->shape[0] == batch) continue;
      spec::Dims strides = spec::strides_of(*t);
      strides[0] = 0;
      t->strides = strides;
      t->shape[0] = batch;
    }
  })};
}

std::vector<Edit> add_axis(const OpSpec& spec) {
  const Attention& a = spec.attention();
  const std::size_t rank = a.q.shape.size();
  if (rank >= 4 || rank < 2 || a.k.shape.size() != rank || a.v.shape.size() != rank) return {};
  return {edit(Change::add_axis, "insert the missing axes with unsqueeze and squeeze the output", spec, [&](Attention& x, Edit&) {
    for (TensorSpec* t : {&x.q, &x.k, &x.v}) {
      const spec::Dims strides = spec::strides_of(*t);
      // (T, D) becomes (1, 1, T, D); (B, T, D) has one head and becomes (B, 1, T, D).
      const std::size_t at = rank == 3 ? 1 : 0;
      const std::int64_t step = rank == 3 ? strides[0] : strides[0] * t->shape[0];
      t->shape.insert(t->shape.begin() + static_cast<std::ptrdiff_t>(at), 4 - rank, 1);
      if (t->strides) t->strides->insert(t->strides->begin() + static_cast<std::ptrdiff_t>(at), 4 - rank, step);
    }
    x.out = {};
    if (x.mask && rank == 3 && x.mask->shape.size() == 3) {
      x.mask->shape.insert(x.mask->shape.begin() + 1, 1);
      if (x.mask->strides) x.mask->strides->insert(x.mask->strides->begin() + 1, 0);
    }
  })};
}

std::vector<Edit> masks(Change change, const OpSpec& spec) {
  const Attention& a = spec.attention();
  if (!a.mask) return {};
  const std::size_t rank = a.mask->shape.size();
  if (change == Change::cast_mask && a.mask->dtype != DType::boolean && a.mask->dtype != a.q.dtype)
    return {edit(change, fmt::format("cast the mask to {}", core::to_text(a.q.dtype)), spec, [](Attention& x, Edit&) { x.mask->dtype = x.q.dtype; })};
  if (change == Change::disable_mask_grad && a.mask->requires_grad)
    return {edit(change, "detach the mask", spec, [](Attention& x, Edit&) { x.mask->requires_grad = false; }, Keeps::meaning)};
  if (change == Change::reshape_mask && (rank == 1 || rank == 3))
    return {edit(change, rank == 3 ? "give the mask a batch axis of 1 (a view)" : "give the mask a query axis of 1 (a view)", spec, [](Attention& x, Edit&) {
      x.mask->shape.insert(x.mask->shape.begin(), 1);
      if (x.mask->strides) x.mask->strides->insert(x.mask->strides->begin(), 0);
    })};
  return {};
}

std::vector<Edit> versions(const OpSpec& spec) {
  std::vector<Edit> out;
  add_newer(spec, "PyTorch", &spec::Context::torch, {"2.1.0", "2.2.0", "2.3.0", "2.4.0", "2.5.1", "2.6.0", "2.7.0", "2.8.0", "2.9.0", "2.11.0", "2.14.1", "2.15.0"}, out);
  add_newer(spec, "cuDNN", &spec::Context::cudnn, {"9.1.0", "9.10.2", "9.14.0", "9.19.0", "9.23.0", "9.26.0"}, out);
  return out;
}

Edit simple(Change change, const char* text, const OpSpec& spec, Keeps keeps = Keeps::function) { return {change, text, keeps, 0, 0, spec}; }

std::vector<Edit> settings(const OpSpec& spec) {
  std::vector<Edit> out;
  if (spec.attention().extra.count("hand_written") > 0)
    out.push_back(edit(Change::change_setting, "call torch.nn.functional.scaled_dot_product_attention in place of products and a softmax", spec,
                       [](Attention& a, Edit&) { a.extra.erase("hand_written"); }));
  if (spec.flags.deterministic == spec::Deterministic::strict) {
    out.push_back(simple(Change::change_setting, "demand deterministic algorithms with warn_only=True", spec, Keeps::precision));
    out.back().spec.flags.deterministic = spec::Deterministic::warn_only;
  }
  for (const char* variable : {"TORCH_CUDNN_SDPA_ENABLED", "TORCH_CUDNN_SDPA_NESTED_TENSOR_ENABLED", "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL"}) {
    const auto it = spec.context.env.find(variable);
    if (it != spec.context.env.end() && it->second == "1") continue;
    Edit e{Change::change_setting, fmt::format("set {}=1 before the process starts", variable), Keeps::function, 0, 0, spec};
    e.spec.context.env[variable] = "1";
    out.push_back(std::move(e));
  }
  return out;
}

std::vector<Edit> flags(const OpSpec& spec, const std::string& candidate) {
  const std::pair<const char*, bool spec::Flags::*> all[] = {{"flash", &spec::Flags::flash}, {"efficient", &spec::Flags::efficient},
                                                             {"cudnn", &spec::Flags::cudnn}, {"math", &spec::Flags::math}};
  std::vector<Edit> out;
  for (const auto& [name, member] : all) {
    if (spec.flags.*member || candidate.find(name) == std::string::npos) continue;
    Edit e{Change::enable_flag, fmt::format("switch the {} backend on again", name), Keeps::function, 0, 0, spec};
    e.spec.flags.*member = true;
    out.push_back(std::move(e));
  }
  return out;
}

std::vector<Edit> policy(const OpSpec& spec, const std::string& candidate) {
  std::vector<Edit> out;
  if (spec.policy.allow || spec.policy.force || !spec.policy.deny.empty()) {
    out.push_back(simple(Change::change_policy, "drop the restriction of backends", spec));
    out.back().spec.policy.allow.reset();
    out.back().spec.policy.force.reset();
    out.back().spec.policy.deny.clear();
  }
  if (!spec.policy.order || spec.policy.order->empty() || spec.policy.order->front() != candidate) {
    out.push_back(simple(Change::change_policy, "", spec));
    out.back().text = fmt::format("put {} first in the order (set_priority=True)", candidate);
    out.back().spec.policy.order = std::vector<std::string>{candidate};
  }
  return out;
}

std::vector<Edit> split(const OpSpec& spec) {
  const Attention& a = spec.attention();
  if (a.q.shape.size() != 4 || a.q.shape[0] < 2 || a.nested) return {};
  std::vector<Edit> out;
  for (std::int64_t parts = 2; parts <= 64; parts *= 2) {
    const std::int64_t piece = (a.q.shape[0] + parts - 1) / parts;
    out.push_back(edit(Change::split_batch, fmt::format("split the batch into {} calls of at most {}", parts, piece), spec, [&](Attention& x, Edit&) {
      for (TensorSpec* t : {&x.q, &x.k, &x.v})
        if (t->shape.size() == 4 && t->shape[0] > piece) t->shape[0] = piece;
      if (x.mask && x.mask->shape.size() == 4 && x.mask->shape[0] > piece) x.mask->shape[0] = piece;
    }));
    if (piece == 1) break;
  }
  return out;
}

std::vector<Edit> meaning(Change change, const OpSpec& spec) {
  const Attention& a = spec.attention();
  if (change == Change::drop_dropout && a.dropout_p > 0)
    return {edit(change, "set dropout to 0 in the attention call", spec, [](Attention& x, Edit&) { x.dropout_p = 0; }, Keeps::meaning)};
  if (change == Change::disable_grad && a.requires_grad)
    return {edit(change, "call under no_grad, where no gradient is wanted", spec, [](Attention& x, Edit&) { x.requires_grad = false; }, Keeps::meaning)};
  if (change == Change::drop_causal && a.is_causal)
    return {edit(change, "leave the causal flag out", spec, [](Attention& x, Edit&) { x.is_causal = false; }, Keeps::meaning)};
  return {};
}

std::vector<Edit> set_gqa(const OpSpec& spec) {
  const Attention& a = spec.attention();
  if (a.enable_gqa || a.q.shape.size() != 4 || a.k.shape.size() != 4 || a.k.shape[1] < 1 || a.q.shape[1] % a.k.shape[1] != 0) return {};
  return {edit(Change::set_gqa, "pass enable_gqa=True", spec, [](Attention& x, Edit&) { x.enable_gqa = true; })};
}

}  // namespace

std::vector<Edit> edits_for(Change change, const OpSpec& spec, const std::string& candidate) {
  if (change == Change::change_policy) return policy(spec, candidate);
  if (!spec.is_attention()) return product_edits(change, spec);
  switch (change) {
    case Change::pad_head_dim: return pad_head_dim(spec);
    case Change::cast_dtype: return cast(spec);
    case Change::make_contiguous: return contiguous(spec);
    case Change::align_offset: return align(spec);
    case Change::drop_mask: return drop_mask(spec);
    case Change::mask_to_causal: return mask_to_causal(spec);
    case Change::expand_kv_heads: return expand_heads(spec);
    case Change::expand_batch: return expand_batch(spec);
    case Change::add_axis: return add_axis(spec);
    case Change::cast_mask:
    case Change::reshape_mask:
    case Change::disable_mask_grad: return masks(change, spec);
    case Change::change_version: return versions(spec);
    case Change::change_setting: return settings(spec);
    case Change::enable_flag: return flags(spec, candidate);
    case Change::split_batch: return split(spec);
    case Change::drop_dropout:
    case Change::disable_grad:
    case Change::drop_causal: return meaning(change, spec);
    case Change::set_gqa: return set_gqa(spec);
    default: return {};
  }
}

}  // namespace dd::session
