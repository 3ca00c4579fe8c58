// What follows from the rest: shapes and types that default to other tensors', layouts, mask shape, epilogue.
#include "spec/draft.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "spec/options.hpp"
#include "spec/validate.hpp"
#include "spec/validate_parts.hpp"

namespace dd::spec {
namespace {

using core::Problem;
using core::Problems;
using Extent = std::optional<std::int64_t>;

struct NamedExtent {
  const char* option;
  const Extent* value;
};

// Reports extents given beside the shape that they would make.
void refuse_beside(const Draft& d, const char* shape, std::initializer_list<NamedExtent> extents, Problems& problems) {
  for (const NamedExtent& extent : extents)
    if (d.given.count(extent.option))
      problems.push_back({extent.option, fmt::format("{} and {}", shape, extent.option), "one of the two",
                          fmt::format("{} already says this extent", shape), {}, 0});
}

void require_extents(const Draft& d, const char* shape, std::initializer_list<NamedExtent> extents, Problems& problems) {
  for (const NamedExtent& extent : extents)
    if (!*extent.value && !d.failed(extent.option))
      problems.push_back({extent.option, "nothing", fmt::format("{} or {}", shape, extent.option),
                          "the shape is not complete", {}, 0});
}

void fill_view(TensorSpec& to, const TensorDraft& from) {
  to.strides = from.strides;
  to.offset = from.offset.value_or(0);
  to.storage = from.storage;
}

// Strides that say what absent ones mean are dropped, so that equal specs are equal values.
template <class T>
void drop_contiguous(T& view, const Dims& shape) {
  if (view.strides && *view.strides == contiguous_strides(shape)) view.strides.reset();
}

bool fill_attention_shapes(Draft& d, Problems& problems) {
  const ExtentDraft& e = d.extents;
  Attention& a = d.attention();
  if (d.q.shape) {
    refuse_beside(d, "--q", {{"--b", &e.b}, {"--h", &e.h}, {"--sq", &e.sq}, {"--d", &e.d}}, problems);
    a.q.shape = *d.q.shape;
  } else if (d.failed("--q")) {
    return false;
  } else {
    require_extents(d, "--q", {{"--sq", &e.sq}, {"--d", &e.d}}, problems);
    if (!e.b || !e.h || !e.sq || !e.d) return false;
    a.q.shape = {*e.b, *e.h, *e.sq, *e.d};
  }
  if (d.failed("--k") || d.failed("--v")) return false;
  a.k.shape = a.q.shape;
  const std::size_t rank = a.q.shape.size();
  if (d.k.shape) {
    refuse_beside(d, "--k", {{"--hkv", &e.hkv}, {"--skv", &e.skv}}, problems);
    a.k.shape = *d.k.shape;
  } else {
    if (e.hkv && rank != 4) problems.push_back({"--hkv", "--hkv", "q with 4 axes", "only four axes have heads", {}, 0});
    if (e.hkv && rank == 4) a.k.shape[1] = *e.hkv;
    if (e.skv && rank >= 2) a.k.shape[rank - 2] = *e.skv;
  }
  a.v.shape = a.k.shape;
  if (d.v.shape) {
    refuse_beside(d, "--v", {{"--dv", &e.dv}}, problems);
    a.v.shape = *d.v.shape;
  } else if (e.dv && !a.v.shape.empty()) {
    a.v.shape.back() = *e.dv;
  }
  return true;
}

void fill_layout(Draft& d, Problems& problems) {
  Attention& a = d.attention();
  fill_view(a.q, d.q);
  fill_view(a.k, d.k);
  fill_view(a.v, d.v);
  const bool strides = d.q.strides || d.k.strides || d.v.strides;
  if (d.given.count("--layout") && strides) {
    problems.push_back({"--layout", "a layout and strides", "one of the two", "layout and strides exclude each other", {}, 0});
    return;
  }
  if (strides || !d.layout) return;
  const bool packed = *d.layout == Layout::packed_qkv;
  if (packed && (d.q.offset || d.k.offset || d.v.offset))
    problems.push_back({"--layout", "packed-qkv and an offset", "strides and offsets", "packed-qkv places q, k and v itself", {}, 0});
  TensorSpec q = a.q, k = a.k, v = a.v;
  if (!apply_layout(*d.layout, q, k, v)) {
    if (d.given.count("--layout"))
      problems.push_back({"--layout", std::string(core::to_text(*d.layout)),
                          packed ? "4 axes, one batch size, length and type for q, k and v" : "q, k and v with 4 axes",
                          "these shapes do not fit the layout", {}, 0});
    return;
  }
  a.q.strides = q.strides;
  a.k.strides = k.strides;
  a.v.strides = v.strides;
  if (!packed) return;
  a.q.offset = q.offset;
  a.k.offset = k.offset;
  a.v.offset = v.offset;
}

void fill_mask(Draft& d, bool shapes, Problems& problems) {
  Attention& a = d.attention();
  if (!d.mask.wanted) {
    for (const char* option : {"--mask-content", "--mask-strides", "--mask-offset", "--mask-grad"})
      if (d.given.count(option) && !d.failed("--mask"))
        problems.push_back({option, "no mask", "--mask bool or --mask float", "there is no mask that this could describe", {}, 0});
    return;
  }
  MaskSpec mask;
  mask.dtype = d.mask.dtype.value_or(a.q.dtype);
  mask.content = d.mask.content;
  mask.requires_grad = d.mask.requires_grad;
  mask.strides = d.mask.strides;
  mask.offset = d.mask.offset.value_or(0);
  if (d.mask.shape) {
    mask.shape = *d.mask.shape;
  } else if (shapes) {
    mask.shape = {attention_dims(a.q.shape).length, attention_dims(a.k.shape).length};
  }
  drop_contiguous(mask, mask.shape);
  a.mask = std::move(mask);
}

bool fill_attention(Draft& d, Problems& problems) {
  Attention& a = d.attention();
  const bool shapes = fill_attention_shapes(d, problems);
  const DType base = d.base_dtype.value_or(d.default_dtype.value_or(DType::f32));
  if (d.base_dtype && (d.q.dtype || d.k.dtype || d.v.dtype))
    problems.push_back({"--dtype", "one type and one per tensor", "one of the two", "the element type is given twice", {}, 0});
  a.q.dtype = d.q.dtype.value_or(base);
  a.k.dtype = d.k.dtype.value_or(a.q.dtype);
  a.v.dtype = d.v.dtype.value_or(a.k.dtype);
  if (shapes) fill_layout(d, problems);
  a.out.strides = d.out.strides;
  a.out.offset = d.out.offset.value_or(0);
  a.out.storage = d.out.storage;
  drop_contiguous(a.q, a.q.shape);
  drop_contiguous(a.k, a.k.shape);
  drop_contiguous(a.v, a.v.shape);
  drop_contiguous(a.out, out_shape(a));
  fill_mask(d, shapes, problems);
  if (d.nested.q_lengths) {
    a.nested = Nested{*d.nested.q_lengths, d.nested.kv_lengths.value_or(*d.nested.q_lengths)};
  } else if (d.nested.kv_lengths) {
    problems.push_back({"nested.q_lengths", "only key lengths", "query lengths too", "the query lengths are missing", {}, 0});
  }
  return shapes;
}

bool fill_gemm_shapes(Draft& d, Problems& problems) {
  const ExtentDraft& e = d.extents;
  Gemm& g = d.gemm();
  if (d.failed("--x") || d.failed("--w")) return false;
  Extent reduction = e.k;  // said once is enough
  if (!reduction && d.x.shape) reduction = d.x.shape->back();
  if (!reduction && d.w.shape && d.w.shape->size() >= 2) reduction = (*d.w.shape)[d.w.shape->size() - 2];
  const auto make = [&](Dims& shape, const Extent& rows, const Extent& columns) {
    if (!rows || !columns) return;
    shape = e.batch ? Dims{*e.batch, *rows, *columns} : Dims{*rows, *columns};
  };
  if (d.x.shape) {
    refuse_beside(d, "--x", {{"--m", &e.m}, {"--k", &e.k}, {"--batch", &e.batch}}, problems);
    g.x.shape = *d.x.shape;
  } else {
    require_extents(d, "--x", {{"--m", &e.m}, {"--k", &reduction}}, problems);
    make(g.x.shape, e.m, reduction);
  }
  if (d.w.shape) {
    refuse_beside(d, "--w", {{"--n", &e.n}, {"--k", &e.k}, {"--batch", &e.batch}}, problems);
    g.w.shape = *d.w.shape;
  } else {
    require_extents(d, "--w", {{"--n", &e.n}}, problems);
    make(g.w.shape, reduction, e.n);
  }
  return !g.x.shape.empty() && !g.w.shape.empty();
}

void fill_quant(Draft& d, Problems& problems) {
  const QuantDraft& q = d.quant;
  if (!q.given()) return;
  Quant quant = q.scheme ? parse_quant(*q.scheme).value_or(Quant{}) : Quant{};
  const auto take = [&](auto& slot, const auto& given, const char* field) {
    if (!given) return;
    const bool differs = q.scheme && slot != static_cast<std::decay_t<decltype(slot)>>(*given);
    if (differs)
      problems.push_back({fmt::format("quant.{}", field), "another value than in quant.scheme " + excerpt(*q.scheme),
                          "the same value, or only one of the two", "scheme and field disagree", {}, 0});
    slot = static_cast<std::decay_t<decltype(slot)>>(*given);
  };
  const auto narrow = [](const Extent& value) {
    return value ? std::optional<int>(static_cast<int>(std::clamp<std::int64_t>(*value, -1, 1000))) : std::nullopt;
  };
  take(quant.bits, narrow(q.bits), "bits");
  take(quant.act_bits, narrow(q.act_bits), "act_bits");
  take(quant.group_size, q.group_size, "group_size");
  take(quant.zero_point, q.zero_point, "zero_point");
  take(quant.act_order, q.act_order, "act_order");
  take(quant.packing, q.packing, "packing");
  take(quant.scale_dtype, q.scale_dtype, "scale_dtype");
  quant.scheme = format_quant(quant);
  d.gemm().quant = quant;
}

void fill_transposition(TensorSpec& tensor, const TensorDraft& draft, bool trans, const char* option, Problems& problems) {
  fill_view(tensor, draft);
  if (trans) {
    const Dims wanted = transposed_strides(tensor.shape);
    if (tensor.strides && *tensor.strides != wanted)
      problems.push_back({option, format_dims(*tensor.strides), format_dims(wanted) + ", or strides alone",
                          "transposition and these strides exclude each other", {}, 0});
    tensor.strides = wanted;
  } else {
    drop_contiguous(tensor, tensor.shape);
  }
}

void fill_bias(Draft& d, bool shapes, Problems& problems) {
  Gemm& g = d.gemm();
  if (!d.bias_wanted) {
    for (const char* option : {"--bias-dtype", "--bias-strides", "--bias-offset", "--bias-storage"})
      if (d.given.count(option) && !d.failed("--bias"))
        problems.push_back({option, "no bias", "--bias", "there is no bias that this could describe", {}, 0});
    return;
  }
  TensorSpec bias;
  fill_view(bias, d.bias);
  bias.dtype = d.bias.dtype.value_or(out_dtype(g));
  if (d.bias.shape)
    bias.shape = *d.bias.shape;
  else if (shapes && !g.w.shape.empty())
    bias.shape = {g.w.shape.back()};
  drop_contiguous(bias, bias.shape);
  g.bias = std::move(bias);
  if (!d.epilogue_given && g.epilogue == Epilogue::none) g.epilogue = Epilogue::bias;
}

bool fill_gemm(Draft& d, Problems& problems) {
  Gemm& g = d.gemm();
  const bool shapes = fill_gemm_shapes(d, problems);
  fill_quant(d, problems);
  if (d.base_dtype && d.x.dtype)
    problems.push_back({"--dtype", "one type and one per tensor", "one of the two", "the element type is given twice", {}, 0});
  const DType fallback = g.quant ? activation_dtype(*g.quant) : d.default_dtype.value_or(DType::f32);
  g.x.dtype = d.x.dtype.value_or(d.base_dtype.value_or(fallback));
  g.w.dtype = d.w.dtype.value_or(g.quant ? weight_dtype(*g.quant) : g.x.dtype);
  fill_transposition(g.x, d.x, g.trans_x, "--trans-x", problems);
  fill_transposition(g.w, d.w, g.trans_w, "--trans-w", problems);
  g.out.strides = d.out.strides;
  g.out.offset = d.out.offset.value_or(0);
  g.out.storage = d.out.storage;
  drop_contiguous(g.out, out_shape(g));
  fill_bias(d, shapes, problems);
  return shapes;
}

// k and v that nobody described are as q is, and so are its mistakes: said once.
void drop_echoes(const Draft& d, Problems& problems) {
  const auto echoes = [&](const Problem& p) {
    const bool shape = p.field.find(".shape") == 1, type = p.field.find(".dtype") == 1;
    const bool k_given = shape ? d.k.shape.has_value() : d.k.dtype.has_value(), v_given = shape ? d.v.shape.has_value() : d.v.dtype.has_value();
    const bool copied = p.field[0] == 'k' ? !k_given : p.field[0] == 'v' && !v_given;
    if ((!shape && !type) || !copied) return false;
    const char source = p.field[0] == 'v' && k_given ? 'k' : 'q';
    return std::any_of(problems.begin(), problems.end(), [&](const Problem& q) {
      return q.field[0] == source && q.field.substr(1) == p.field.substr(1) && q.message == p.message && q.seen == p.seen;
    });
  };
  Problems kept;
  for (const Problem& p : problems)
    if (!echoes(p)) kept.push_back(p);
  problems = std::move(kept);
}

}  // namespace

Draft::Draft(Op which) : op(which) {
  if (which == Op::gemm) spec.op = Gemm{};
}

core::Result<OpSpec> finish(Draft&& d, Problems problems) {
  const bool shapes = d.op == Op::sdpa ? fill_attention(d, problems) : fill_gemm(d, problems);
  for (Problem& problem : shapes ? validate(d.spec) : validate_without_shapes(d.spec))
    problems.push_back(std::move(problem));
  if (d.op == Op::sdpa) drop_echoes(d, problems);
  if (problems.empty()) return std::move(d.spec);
  add_unknown_names(d.spec, problems);
  return problems;
}

}  // namespace dd::spec
