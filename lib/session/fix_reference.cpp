// Original and changed spec on the CPU reference, with the same data.
#include <fmt/format.h>

#include <cmath>

#include "ops/cases/cases.hpp"
#include "session/interrupt.hpp"
#include "session/mask_file.hpp"
#include "ops/tensor/convert.hpp"
#include "session/fix.hpp"
#include "session/safetensors.hpp"

namespace dd::session {
namespace {

using core::Tensor;
using spec::Attention;
using spec::OpSpec;

constexpr double most_work = 2e10;  // products of the scores: a few seconds

double work(const Attention& a) {
  const spec::AttentionDims q = spec::attention_dims(a.q.shape), k = spec::attention_dims(a.k.shape);
  return static_cast<double>(q.batch) * static_cast<double>(q.heads) * static_cast<double>(q.length) * static_cast<double>(k.length) *
         static_cast<double>(q.size + a.v.shape.back());
}

struct Index {
  std::int64_t at[4] = {0, 0, 0, 0};
};

// Right-aligned extents of a tensor of rank 2 to 4: batch, heads, length, size.
void extents(const spec::Dims& shape, std::int64_t out[4]) {
  const spec::AttentionDims d = spec::attention_dims(shape);
  out[0] = d.batch, out[1] = d.heads, out[2] = d.length, out[3] = d.size;
}

std::int64_t element_of(const Tensor& t, const Index& i) {
  // Rank 3 has no head axis, rank 2 neither head nor batch.
  const std::size_t rank = t.shape.size();
  std::int64_t at = t.offset + i.at[3] * t.strides[rank - 1] + i.at[2] * t.strides[rank - 2];
  if (rank == 4) at += i.at[1] * t.strides[1];
  if (rank >= 3) at += i.at[0] * t.strides[0];
  return at;
}

// The value of the original tensor that the changed one has at `i`; padding is 0, repeated heads and batches repeat.
double source_value(const Tensor& original, const std::int64_t from[4], const std::int64_t to[4], Index i) {
  if (i.at[2] >= from[2] || i.at[3] >= from[3]) return 0;
  i.at[1] = to[1] > from[1] && from[1] > 0 ? i.at[1] / (to[1] / from[1]) : i.at[1];
  i.at[0] = from[0] == 1 ? 0 : i.at[0];
  return ops::load(original.storage.get(), original.dtype, element_of(original, i));
}

void fill_from(Tensor& changed, const Tensor& original) {
  std::int64_t from[4], to[4];
  extents(original.shape, from);
  extents(changed.shape, to);
  Index i;
  for (i.at[0] = 0; i.at[0] < to[0]; ++i.at[0])
    for (i.at[1] = 0; i.at[1] < to[1]; ++i.at[1])
      for (i.at[2] = 0; i.at[2] < to[2]; ++i.at[2])
        for (i.at[3] = 0; i.at[3] < to[3]; ++i.at[3])
          ops::store(changed.storage.get(), changed.dtype, element_of(changed, i), source_value(original, from, to, i));
}

core::Result<ops::cases::ReferenceValues> reference(const OpSpec& spec, const core::TensorMap& inputs) {
  return ops::cases::run_reference(spec, inputs, 1e9, {1, stop_flag()});
}

// Greatest difference over what both outputs have.
std::string compare(const ops::cases::ReferenceValues& a, const ops::cases::ReferenceValues& b) {
  std::int64_t from[4], to[4];
  extents(a.shape, from);
  extents(b.shape, to);
  double greatest = 0, scale = 0;
  for (std::int64_t n = 0; n < static_cast<std::int64_t>(a.values.size()); ++n) {
    std::int64_t rest = n, at[4];
    for (int axis = 3; axis >= 0; --axis) {
      at[axis] = rest % from[axis];
      rest /= from[axis];
    }
    if (at[0] >= to[0] || at[1] >= to[1] || at[2] >= to[2] || at[3] >= to[3]) continue;
    const double x = a.values[static_cast<std::size_t>(n)];
    const double y = b.values[static_cast<std::size_t>(((at[0] * to[1] + at[1]) * to[2] + at[2]) * to[3] + at[3])];
    if (std::isnan(x) != std::isnan(y)) return "the results differ: NaN on one side only";
    if (std::isnan(x) || (std::isinf(x) && x == y)) continue;
    greatest = std::max(greatest, std::fabs(x - y));
    scale = std::max(scale, std::fabs(x));
  }
  if (greatest == 0) return "the reference gives the same bits";
  if (greatest <= 1e-12 * std::max(scale, 1e-30)) return "the reference gives the same result to rounding";
  return fmt::format("greatest difference on the reference {:.3g}, where values reach {:.3g}", greatest, scale);
}

double work(const spec::Gemm& g) {
  double out = static_cast<double>(g.w.shape.back());
  for (std::int64_t extent : g.x.shape) out *= static_cast<double>(extent);
  return out;
}

// Only the form of the operands changes: padding is filled with zeros, casts round, a bias grows with the columns.
std::string try_product(const OpSpec& original, const OpSpec& changed) {
  const auto fits = [](const spec::Gemm& g) {
    return !g.quant && g.x.shape.size() >= 2 && g.x.shape.size() <= 4 && g.w.shape.size() >= 2 && g.w.shape.size() <= 4 && (!g.bias || g.bias->shape.size() == 1) && work(g) <= most_work;
  };
  if (original.op == changed.op) return "the call itself stays as it is";
  OpSpec before = original, after = changed;
  if (!fits(before.gemm()) || !fits(after.gemm())) return {};
  const auto inputs = ops::cases::make_inputs(before, std::nullopt, read_mask_file);
  if (!inputs) return {};
  spec::Gemm& g = std::get<spec::Gemm>(after.op);
  core::TensorMap moved;
  for (const auto& [role, tensor] : {std::pair{"x", &g.x}, std::pair{"w", &g.w}}) {
    Tensor t = make_tensor(tensor->dtype, tensor->shape);
    fill_from(t, inputs->at(role));
    moved[role] = t;
    tensor->strides.reset();
    tensor->offset = 0;
    tensor->storage.reset();
  }
  g.trans_x = g.trans_w = false;
  g.out = {};
  if (g.bias && before.gemm().bias) {
    const Tensor& old = inputs->at("bias");
    Tensor t = make_tensor(g.bias->dtype, g.bias->shape);
    for (std::int64_t i = 0; i < t.shape[0]; ++i)
      ops::store(t.storage.get(), t.dtype, i, i < old.shape[0] ? ops::load(old.storage.get(), old.dtype, old.offset + i * old.strides[0]) : 0);
    moved["bias"] = t;
    g.bias->strides.reset();
    g.bias->offset = 0;
    g.bias->storage.reset();
  }
  const auto x = reference(before, *inputs), y = reference(after, moved);
  if (!x || !y || x->values.empty() || !x->rows.empty() || !y->rows.empty()) return {};
  return compare(*x, *y);
}

}  // namespace

std::string try_on_reference(const OpSpec& original, const OpSpec& changed) {
  if (!original.is_attention()) return try_product(original, changed);
  if (original.attention().nested || original.attention().dropout_p > 0) return {};
  OpSpec before = original, after = changed;
  const Attention& a = before.attention();
  if (before.op == after.op) return "the call itself stays as it is";
  if (a.q.shape.size() < 2 || work(a) > most_work || work(after.attention()) > most_work) return {};
  if (a.q.shape[0] != after.attention().q.shape[0] && a.q.shape.size() == 4 && after.attention().q.shape.size() == 4) return {};  // pieces of the batch
  auto inputs = ops::cases::make_inputs(before, std::nullopt, read_mask_file);
  if (!inputs) return {};
  core::TensorMap moved;
  for (const auto& [role, tensor] : std::initializer_list<std::pair<const char*, const spec::TensorSpec*>>{
           {"q", &after.attention().q}, {"k", &after.attention().k}, {"v", &after.attention().v}}) {
    Tensor t = make_tensor(tensor->dtype, tensor->shape);
    fill_from(t, inputs->at(role));
    moved[role] = t;
  }
  // Contiguous copies: how the changed call lays its tensors out has no influence on the reference.
  for (spec::TensorSpec* t : {&std::get<Attention>(after.op).q, &std::get<Attention>(after.op).k, &std::get<Attention>(after.op).v}) {
    t->strides.reset();
    t->offset = 0;
    t->storage.reset();
  }
  if (after.attention().mask) {
    auto made = ops::cases::make_inputs(after, std::nullopt, read_mask_file);
    if (!made) return {};
    moved["mask"] = made->at("mask");
  }
  const auto x = reference(before, *inputs), y = reference(after, moved);
  if (!x || !y || x->values.size() == 0 || !x->rows.empty() || !y->rows.empty()) return {};
  return compare(*x, *y);
}

}  // namespace dd::session
