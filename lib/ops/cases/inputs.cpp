#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <new>

#include "ops/cases/cases.hpp"
#include "ops/cases/mask_content.hpp"
#include "ops/tensor/convert.hpp"
#include "ops/tensor/fill.hpp"
#include "ops/tensor/parallel.hpp"

namespace dd::ops::cases {
namespace {

using core::DType;
using core::Tensor;
using core::TensorMap;
using spec::Dims;

// One stream per role, so that no two tensors of a case hold the same numbers.
enum Stream : std::uint32_t { stream_q, stream_k, stream_v, stream_mask, stream_x, stream_w, stream_bias, stream_scales, stream_zeros,
                              stream_order, stream_x_scales };

std::shared_ptr<std::byte> allocate(std::int64_t bytes) {
  const std::size_t rounded = static_cast<std::size_t>((std::max<std::int64_t>(bytes, 1) + 63) / 64 * 64);
  auto* raw = static_cast<std::byte*>(::operator new(rounded, std::align_val_t{64}));
  return {raw, [](std::byte* p) { ::operator delete(p, std::align_val_t{64}); }};
}

// Fills the whole storage with NaN (0x7F.. is one in every float type here but f8_e4m3's neighbours) or a loud integer.
void mark_gaps(Tensor& t) { std::memset(t.storage.get(), core::is_float(t.dtype) ? 0xFF : 0x55, static_cast<std::size_t>(t.storage_bytes)); }

Tensor make(DType dtype, const Dims& shape, const Dims& strides, std::int64_t offset, std::int64_t elements) {
  Tensor t;
  t.dtype = dtype;
  t.shape = shape;
  t.strides = strides;
  t.offset = offset;
  t.storage_bytes = core::bytes_of(dtype, elements);
  t.storage = allocate(t.storage_bytes);
  return t;
}

Tensor make_contiguous(DType dtype, const Dims& shape) {
  return make(dtype, shape, spec::contiguous_strides(shape), 0, spec::element_count(shape).value_or(0));
}

Tensor make(const spec::TensorSpec& s, const Dims& strides) {
  const std::int64_t span = spec::storage_span(s.shape, strides, s.offset).value_or(0);
  Tensor t = make(s.dtype, s.shape, strides, s.offset, std::max(span, s.storage.value_or(0)));
  if (t.storage_bytes != core::bytes_of(s.dtype, spec::element_count(s.shape).value_or(0))) mark_gaps(t);
  return t;
}

FillKind kind_of(spec::Data data) {
  switch (data) {
    case spec::Data::uniform: return FillKind::uniform;
    case spec::Data::integers: return FillKind::integers;
    case spec::Data::outliers: return FillKind::outliers;
    default: return FillKind::normal;
  }
}

void fill_as(const Tensor& t, const spec::OpSpec& spec, spec::Data data, std::uint32_t stream, double scale = 1.0) {
  Fill f;
  f.kind = kind_of(data);
  f.seed = spec.seed;
  f.stream = stream;
  f.scale = scale;
  fill(view(t), f);
}

core::Result<TensorMap> attention_inputs(const spec::OpSpec& spec, spec::Data data, MaskReader reader) {
  const spec::Attention& a = spec.attention();
  TensorMap out;
  out["q"] = make(a.q, spec::strides_of(a.q));
  out["k"] = make(a.k, spec::strides_of(a.k));
  out["v"] = make(a.v, spec::strides_of(a.v));
  fill_as(out["q"], spec, data, stream_q);
  fill_as(out["k"], spec, data, stream_k);
  fill_as(out["v"], spec, data, stream_v);
  if (!a.mask) return out;
  const Dims strides = a.mask->strides ? *a.mask->strides : spec::contiguous_strides(a.mask->shape);
  Tensor mask = make(a.mask->dtype, a.mask->shape, strides, a.mask->offset,
                     spec::storage_span(a.mask->shape, strides, a.mask->offset).value_or(0));
  // Boolean gaps hold 0: a byte other than 0 and 1 is undefined for many readers.
  std::memset(mask.storage.get(), 0, static_cast<std::size_t>(mask.storage_bytes));
  if (auto problem = fill_mask(mask, a, spec.seed, stream_mask, reader)) return *problem;
  out["mask"] = std::move(mask);
  return out;
}

// Scales near 1 / (half the code range), so that dequantized weights are about as large as the activations.
void fill_scales(const Tensor& scales, const spec::OpSpec& spec, spec::Data data, int bits) {
  const TensorView v = view(scales);
  const std::int64_t n = element_count(v);
  for (std::int64_t i = 0; i < n; ++i) {
    double value = 1.0;  // exact pass: whole numbers stay whole
    if (data != spec::Data::integers) {
      Fill f;
      f.kind = FillKind::uniform;
      f.seed = spec.seed;
      f.stream = stream_scales;
      const double u = fill_value(DType::f32, f, static_cast<std::uint64_t>(i));  // [-1, 1)
      value = (1.0 + 0.5 * u) / std::exp2(bits - 2);
      if (scales.dtype == DType::f8_e8m0) value = std::exp2(std::floor(u * 2) - (bits - 2));
    }
    store(v.data, v.dtype, element_index(v, i), value, Overflow::saturate);
  }
}

// Input channels in an order fixed by the seed, cut into groups of equal size: what act-order checkpoints store as g_idx.
void fill_group_index(const Tensor& index, std::int64_t group, std::uint64_t seed) {
  auto* out = reinterpret_cast<std::int32_t*>(index.data());
  const std::int64_t k = index.shape[0];
  for (std::int64_t i = 0; i < k; ++i) out[i] = static_cast<std::int32_t>(i / group);
  Fill f;
  f.kind = FillKind::uniform;
  f.seed = seed;
  f.stream = stream_order;
  for (std::int64_t i = k - 1; i > 0; --i) {
    const double u = (fill_value(DType::f64, f, static_cast<std::uint64_t>(i)) + 1) / 2;
    std::swap(out[i], out[std::min(i, static_cast<std::int64_t>(u * static_cast<double>(i + 1)))]);
  }
}

void add_quantization(const spec::OpSpec& spec, spec::Data data, TensorMap& out) {
  const spec::Gemm& g = spec.gemm();
  const spec::Quant& q = *g.quant;
  const std::int64_t n = g.w.shape.back(), k = g.w.shape[g.w.shape.size() - 2];
  const std::int64_t groups = q.group_size > 0 ? (k + q.group_size - 1) / q.group_size : 1;
  out["scales"] = make_contiguous(q.scale_dtype, {groups, q.group_size == 0 ? 1 : n});
  fill_scales(out["scales"], spec, data, q.bits);
  if (q.zero_point) {
    out["zeros"] = make_contiguous(DType::u8, out["scales"].shape);
    const TensorView zeros = view(out["zeros"]);
    for (std::int64_t i = 0; i < element_count(zeros); ++i) {
      Fill f;
      f.kind = FillKind::uniform;
      f.seed = spec.seed;
      f.stream = stream_zeros;
      const double u = (fill_value(DType::f32, f, static_cast<std::uint64_t>(i)) + 1) / 2;
      // Around the middle of the code range, as calibrated zero points are.
      store(zeros.data, zeros.dtype, i, std::floor(std::exp2(q.bits - 1) * (0.75 + 0.5 * u)));
    }
  }
  if (q.act_order && q.group_size > 0) {
    out["group_index"] = make_contiguous(DType::s32, {k});
    fill_group_index(out["group_index"], q.group_size, spec.seed);
  }
  const bool coded_x = core::info(g.x.dtype).bits == 8;
  if (coded_x && q.act_bits == 8) {
    out["x_scales"] = make_contiguous(DType::f32, {1, g.x.shape[g.x.shape.size() - 2]});
    fill_scales(out["x_scales"], spec, data, core::is_float(g.x.dtype) ? 2 : 7);
  }
}

core::Result<TensorMap> gemm_inputs(const spec::OpSpec& spec, spec::Data data) {
  const spec::Gemm& g = spec.gemm();
  const auto strides = [](const spec::TensorSpec& t, bool transposed) {
    if (t.strides || !transposed) return spec::strides_of(t);
    Dims stored = t.shape;
    std::swap(stored[stored.size() - 1], stored[stored.size() - 2]);
    Dims strides = spec::contiguous_strides(stored);
    std::swap(strides[strides.size() - 1], strides[strides.size() - 2]);
    return strides;
  };
  TensorMap out;
  out["x"] = make(g.x, strides(g.x, g.trans_x));
  out["w"] = make(g.w, strides(g.w, g.trans_w));
  fill_as(out["x"], spec, data, stream_x);
  // Codes use their whole range; the exact pass keeps them small so that every partial sum is exact.
  fill_as(out["w"], spec, g.quant && data != spec::Data::integers ? spec::Data::uniform : data, stream_w);
  if (g.bias) {
    out["bias"] = make(*g.bias, spec::strides_of(*g.bias));
    fill_as(out["bias"], spec, data, stream_bias);
  }
  if (g.quant) add_quantization(spec, data, out);
  return out;
}

}  // namespace

core::Result<TensorMap> make_inputs(const spec::OpSpec& spec, std::optional<spec::Data> data, MaskReader reader) {
  const spec::Data kind = data.value_or(spec.data);
  try {
    return spec.is_attention() ? attention_inputs(spec, kind, reader) : gemm_inputs(spec, kind);
  } catch (const std::bad_alloc&) {
    return core::Problem{"spec", "", "", "not enough memory for the inputs", "", 0};
  }
}

core::Tensor dropout_keep_tensor(const spec::OpSpec& spec) {
  const spec::Attention& a = spec.attention();
  const auto q = spec::attention_dims(a.q.shape), k = spec::attention_dims(a.k.shape);
  Tensor keep = make_contiguous(DType::u8, {q.batch, q.heads, q.length, k.length});
  auto* out = reinterpret_cast<std::uint8_t*>(keep.data());
  const std::int64_t rows = q.batch * q.heads * q.length;
  parallel_for(rows, RunOptions{}, [&](std::int64_t row, int) {
    dropout_keep(spec.seed, row / (q.heads * q.length), row / q.length % q.heads, row % q.length, 0, k.length, a.dropout_p, out + row * k.length);
  });
  return keep;
}

}  // namespace dd::ops::cases
