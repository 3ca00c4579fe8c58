// Named layouts of attention inputs and the strides that they stand for.
#include "spec/values.hpp"

namespace dd::spec {
namespace {

// a*b, saturating: sizes past 63 bits are refused by validation, which sees them here first.
std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_mul_overflow(a, b, &out) ? INT64_MAX : out;
}

std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? INT64_MAX : out;
}

void lay_out(TensorSpec& tensor, Dims strides, std::int64_t offset = 0) {
  tensor.offset = offset;
  if (strides == contiguous_strides(tensor.shape))
    tensor.strides.reset();
  else
    tensor.strides = std::move(strides);
}

void apply_one(Layout layout, TensorSpec& t) {
  const std::int64_t batch = t.shape[0], heads = t.shape[1], length = t.shape[2], size = t.shape[3];
  const std::int64_t token = times(heads, size);
  if (layout == Layout::bshd)
    lay_out(t, {times(length, token), size, token, 1});
  else if (layout == Layout::sbhd)
    lay_out(t, {token, size, times(batch, token), 1});
  else
    lay_out(t, contiguous_strides(t.shape));
}

bool apply_packed(TensorSpec& q, TensorSpec& k, TensorSpec& v) {
  const std::int64_t length = q.shape[2];
  for (const TensorSpec* t : {&k, &v})
    if (t->shape[0] != q.shape[0] || t->shape[2] != length || t->dtype != q.dtype) return false;
  const std::int64_t q_row = times(q.shape[1], q.shape[3]), k_row = times(k.shape[1], k.shape[3]);
  const std::int64_t row = plus(plus(q_row, k_row), times(v.shape[1], v.shape[3]));
  const auto place = [&](TensorSpec& t, std::int64_t offset) {
    lay_out(t, {times(length, row), t.shape[3], row, 1}, offset);
  };
  place(q, 0);
  place(k, q_row);
  place(v, plus(q_row, k_row));
  return true;
}

}  // namespace

bool apply_layout(Layout layout, TensorSpec& q, TensorSpec& k, TensorSpec& v) {
  for (const TensorSpec* t : {&q, &k, &v})
    if (t->shape.size() != 4) return false;
  if (layout == Layout::packed_qkv) return apply_packed(q, k, v);
  for (TensorSpec* t : {&q, &k, &v}) apply_one(layout, *t);
  return true;
}

std::optional<Layout> layout_of(const TensorSpec& q, const TensorSpec& k, const TensorSpec& v) {
  for (Layout layout : {Layout::bhsd, Layout::bshd, Layout::sbhd, Layout::packed_qkv}) {
    TensorSpec a = q, b = k, c = v;
    if (!apply_layout(layout, a, b, c)) continue;
    // An offset of its own does not change a layout, except where the offsets are what places three in one buffer.
    const auto same = [layout](const TensorSpec& x, const TensorSpec& y) {
      return x.strides == y.strides && (layout != Layout::packed_qkv || x.offset == y.offset);
    };
    if (same(a, q) && same(b, k) && same(c, v)) return layout;
  }
  return std::nullopt;
}

Dims transposed_strides(const Dims& shape) {
  Dims strides = contiguous_strides(shape);
  const std::size_t rank = shape.size();
  if (rank < 2) return strides;
  strides[rank - 2] = 1;
  strides[rank - 1] = shape[rank - 2] > 0 ? shape[rank - 2] : 1;
  return strides;
}

}  // namespace dd::spec
