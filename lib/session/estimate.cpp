#include "session/estimate.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dd::session {
namespace {

double product(const spec::Dims& shape) {
  double n = 1;
  for (std::int64_t extent : shape) n *= static_cast<double>(extent);
  return n;
}

double bytes(const spec::TensorSpec& t) {
  const auto span = spec::storage_span(t.shape, spec::strides_of(t), t.offset);
  const double elements = std::max(span ? static_cast<double>(*span) : product(t.shape), static_cast<double>(t.storage.value_or(0)));
  return elements * core::info(t.dtype).bits / 8;
}

}  // namespace

std::string Estimate::text() const {
  return fmt::format("inputs {:.0f} bytes, result {:.0f}, reference {:.0f}; with the copies that workers read {:.0f} in all", inputs, output, reference, common());
}

Estimate estimate(const spec::OpSpec& spec) {
  Estimate e;
  double elements = 0;
  core::DType type = core::DType::f32;
  if (spec.is_attention()) {
    const spec::Attention& a = spec.attention();
    e.inputs = bytes(a.q) + bytes(a.k) + bytes(a.v);
    if (a.mask) e.inputs += bytes({a.mask->shape, a.mask->dtype, a.mask->strides, a.mask->offset, std::nullopt});
    elements = product(spec::out_shape(a));
    type = a.q.dtype;
  } else {
    const spec::Gemm& g = spec.gemm();
    e.inputs = bytes(g.x) + bytes(g.w) + (g.bias ? bytes(*g.bias) : 0);
    elements = product(spec::out_shape(g));
    type = spec::out_dtype(g);
    if (g.quant && g.w.shape.size() >= 2) {
      const double k = static_cast<double>(g.w.shape[g.w.shape.size() - 2]), n = static_cast<double>(g.w.shape.back());
      const double groups = g.quant->group_size > 0 ? k / static_cast<double>(g.quant->group_size) + 1 : 1;
      e.inputs += groups * n * (core::info(g.quant->scale_dtype).bits / 8.0 + (g.quant->zero_point ? 1 : 0));
    }
  }
  e.output = elements * core::info(type).bits / 8;
  e.reference = 3 * 8 * elements;
  return e;
}

}  // namespace dd::session
