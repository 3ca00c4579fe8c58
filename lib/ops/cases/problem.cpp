#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "ops/cases/cases.hpp"
#include "ops/tensor/convert.hpp"

namespace dd::ops::cases {
namespace {

using core::Tensor;
using core::TensorMap;

TensorView with_axes(const TensorView& in, int rank) {
  TensorView out = in;
  const int extra = rank - in.rank;
  out.rank = rank;
  for (int i = 0; i < rank; ++i) {
    out.shape[i] = i < extra ? 1 : in.shape[i - extra];
    out.stride[i] = i < extra ? 0 : in.stride[i - extra];
  }
  return out;
}

// (B, H, T, D) from rank 4, (B, T, D) or (T, D): a missing head axis sits before the last two.
TensorView as_heads(const TensorView& in) {
  if (in.rank != 3) return with_axes(in, 4);
  TensorView out = with_axes(in, 4);
  out.shape[0] = in.shape[0];
  out.stride[0] = in.stride[0];
  out.shape[1] = 1;
  out.stride[1] = 0;
  return out;
}

// Stretches the axes of size 1 in front of the matrix to `batch` (broadcast) and folds them into one axis.
std::optional<TensorView> as_batch(const TensorView& in, const std::vector<std::int64_t>& batch) {
  const int lead = in.rank - 2;
  const int wanted = static_cast<int>(batch.size());
  TensorView out = in;
  out.rank = 3;
  std::int64_t count = 1;
  std::int64_t step = 0;  // stride of the folded axis
  for (int axis = wanted; axis-- > 0;) {
    const int own = axis - (wanted - lead);
    const std::int64_t stride = own < 0 || in.shape[own] == 1 ? 0 : in.stride[own];
    const std::int64_t extent = batch[static_cast<std::size_t>(axis)];
    if (extent == 1) continue;
    if (count == 1) {
      step = stride;
    } else if (stride != step * count) {
      return std::nullopt;
    }
    count *= extent;
  }
  out.shape[0] = count;
  out.stride[0] = step;
  for (int i = 0; i < 2; ++i) {
    out.shape[1 + i] = in.shape[lead + i];
    out.stride[1 + i] = in.stride[lead + i];
  }
  return out;
}

// A dense copy of `in` over all batch axes, owned by the problem. Codes of 4 bits are never batched, see validation.
TensorView expand(const char* name, const TensorView& in, const std::vector<std::int64_t>& batch, GemmProblem& problem) {
  TensorView wide = with_axes(in, static_cast<int>(batch.size()) + 2);
  std::int64_t count = 1;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    if (wide.shape[i] == 1) wide.stride[i] = 0;
    wide.shape[i] = batch[i];
    count *= batch[i];
  }
  const std::int64_t rows = wide.shape[wide.rank - 2], columns = wide.shape[wide.rank - 1], total = count * rows * columns;
  const std::int64_t bytes = core::bytes_of(in.dtype, total);
  std::shared_ptr<std::byte> storage(new std::byte[static_cast<std::size_t>(bytes) + 1], std::default_delete<std::byte[]>());
  for (std::int64_t i = 0; i < total; ++i) store(storage.get(), in.dtype, i, load(in.data, in.dtype, element_index(wide, i)));
  problem.expanded.push_back({name, bytes, storage});
  return contiguous(storage.get(), in.dtype, {count, rows, columns});
}

std::vector<std::int64_t> batch_axes(const spec::Gemm& g) {
  const spec::Dims shape = spec::out_shape(g);
  return {shape.begin(), shape.end() - 2};
}

TensorView broadcast2(const Tensor& t, std::int64_t rows, std::int64_t columns) {
  TensorView out = with_axes(view(t), 2);
  const std::int64_t want[2] = {rows, columns};
  for (int i = 0; i < 2; ++i) {
    if (out.shape[i] == 1 && want[i] != 1) out.stride[i] = 0;
    out.shape[i] = want[i];
  }
  return out;
}

void add_weight_scales(const spec::Gemm& g, const TensorMap& tensors, GemmProblem& problem) {
  const std::int64_t n = g.w.shape.back(), k = g.w.shape[g.w.shape.size() - 2];
  QuantParams q;
  const Tensor& scales = tensors.at("scales");
  const std::int64_t groups = scales.shape[0];
  q.scale = broadcast2(scales, groups, n);
  if (const auto it = tensors.find("zeros"); it != tensors.end()) q.zero = broadcast2(it->second, groups, n);
  q.group_size = g.quant->group_size > 0 ? g.quant->group_size : 0;
  if (const auto it = tensors.find("group_index"); it != tensors.end()) {
    const auto* index = reinterpret_cast<const std::int32_t*>(it->second.data());
    q.group_of.assign(index, index + k);
  }
  problem.w_quant = std::move(q);
  if (const auto it = tensors.find("x_scales"); it != tensors.end()) {
    QuantParams a;
    a.scale = broadcast2(it->second, 1, g.x.shape[g.x.shape.size() - 2]);
    problem.x_quant = std::move(a);
  }
}

Epilogue activation(spec::Epilogue e) {
  switch (e) {
    case spec::Epilogue::relu:
    case spec::Epilogue::bias_relu: return Epilogue::relu;
    // The tanh form is what vendor libraries and fused epilogues compute.
    case spec::Epilogue::gelu:
    case spec::Epilogue::bias_gelu: return Epilogue::gelu_tanh;
    default: return Epilogue::none;
  }
}

}  // namespace

TensorView view(const Tensor& t) {
  TensorView v;
  v.data = t.storage.get();
  v.dtype = t.dtype;
  v.rank = static_cast<int>(t.shape.size());
  for (int i = 0; i < v.rank && i < max_rank; ++i) {
    v.shape[i] = t.shape[static_cast<std::size_t>(i)];
    v.stride[i] = t.strides[static_cast<std::size_t>(i)];
  }
  v.offset = t.offset;
  return v;
}

OutputLayout output_layout(const spec::OpSpec& spec) {
  const bool attention = spec.is_attention();
  OutputLayout out;
  out.dtype = attention ? spec.attention().q.dtype : spec::out_dtype(spec.gemm());
  out.shape = attention ? spec::out_shape(spec.attention()) : spec::out_shape(spec.gemm());
  const spec::OutSpec& given = attention ? spec.attention().out : spec.gemm().out;
  out.strides = given.strides ? *given.strides : spec::contiguous_strides(out.shape);
  out.offset = given.offset;
  out.storage_elements = given.storage ? *given.storage : spec::storage_span(out.shape, out.strides, out.offset).value_or(0);
  return out;
}

AttentionProblem attention_problem(const spec::OpSpec& spec, const TensorMap& tensors) {
  const spec::Attention& a = spec.attention();
  AttentionProblem p;
  p.q = as_heads(view(tensors.at("q")));
  p.k = as_heads(view(tensors.at("k")));
  p.v = as_heads(view(tensors.at("v")));
  p.scale = a.scale ? *a.scale : default_scale(p.q.shape[3]);
  p.causal = a.is_causal;
  p.align = a.causal_align == spec::CausalAlign::bottom_right ? Align::bottom_right : Align::top_left;
  if (const auto it = tensors.find("mask"); it != tensors.end()) {
    // The mask broadcasts from the right, so a mask of rank 3 lacks the batch axis, unlike q of rank 3.
    p.mask = a.q.shape.size() == 3 && it->second.shape.size() == 3 ? as_heads(view(it->second)) : with_axes(view(it->second), 4);
  }
  if (a.nested) {
    p.q_lengths = a.nested->q_lengths;
    p.kv_lengths = a.nested->kv_lengths;
  }
  p.dropout_p = a.dropout_p;
  p.dropout_seed = spec.seed;
  return p;
}

core::Result<GemmProblem> gemm_problem(const spec::OpSpec& spec, const TensorMap& tensors) {
  const spec::Gemm& g = spec.gemm();
  const std::vector<std::int64_t> batch = batch_axes(g);
  GemmProblem p;
  const auto operand = [&](const char* name, const TensorView& in) {
    const auto folded = as_batch(in, batch);
    return folded ? *folded : expand(name, in, batch, p);
  };
  p.x = operand("x", view(tensors.at("x")));
  p.w = operand("w", view(tensors.at("w")));
  if (const auto it = tensors.find("bias"); it != tensors.end()) {
    p.bias = operand("bias", with_axes(view(it->second), std::max<int>(2, static_cast<int>(it->second.shape.size()))));
    if (p.bias->stride[0] == 0) p.bias->shape[0] = 1;
  }
  const OutputLayout out = output_layout(spec);
  core::Tensor shape_only;
  shape_only.dtype = out.dtype;
  shape_only.shape = out.shape;
  shape_only.strides = out.strides;
  if (!as_batch(view(shape_only), batch)) {
    return core::Problem{"out.strides", fmt::format("{}", fmt::join(out.strides, "x")), "batch axes that one stride walks",
                         "the batch axes of the result cannot be folded into one", "", 0};
  }
  p.epilogue = activation(g.epilogue);
  if (g.quant) add_weight_scales(g, tensors, p);
  return p;
}

TensorView output_view(const spec::OpSpec& spec, const Tensor& out) {
  if (spec.is_attention()) return as_heads(view(out));
  return as_batch(view(out), batch_axes(spec.gemm())).value_or(TensorView{});
}

}  // namespace dd::ops::cases
