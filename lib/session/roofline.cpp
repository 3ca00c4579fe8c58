#include "session/roofline.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dd::session {

using core::DType;

std::optional<double> peak_rate(const facts::DeviceProfile& device, DType dtype, bool tf32) {
  const char* field = nullptr;
  switch (dtype) {
    case DType::f64: field = "flops_f64"; break;
    case DType::f32: field = tf32 ? "flops_tf32" : "flops_f32"; break;
    case DType::f16: field = "flops_f16"; break;
    case DType::bf16: field = "flops_bf16"; break;
    case DType::f8_e4m3:
    case DType::f8_e5m2: field = "flops_f8"; break;
    case DType::s8:
    case DType::u8: field = "ops_s8"; break;
    default: return std::nullopt;
  }
  const auto value = device.get(field);
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

namespace {

double size_of(DType dtype) { return core::info(dtype).bits / 8.0; }

double elements(const spec::Dims& shape) {
  double n = 1;
  for (std::int64_t extent : shape) n *= static_cast<double>(extent);
  return n;
}

void set_bound(PathCost& cost, const facts::DeviceProfile* device, DType dtype, bool tf32) {
  if (!device) return;
  const auto rate = peak_rate(*device, dtype, tf32);
  const auto bandwidth = device->get("memory_bandwidth");
  if (rate && bandwidth) cost.bound = std::max(cost.flops / *rate, cost.traffic / static_cast<double>(*bandwidth));
}

std::vector<PathCost> attention_costs(const spec::OpSpec& spec, const facts::DeviceProfile* device) {
  const spec::Attention& a = spec.attention();
  const spec::AttentionDims q = spec::attention_dims(a.q.shape), k = spec::attention_dims(a.k.shape), v = spec::attention_dims(a.v.shape);
  const double rows = static_cast<double>(q.batch) * static_cast<double>(q.heads) * static_cast<double>(q.length);
  const double scores = rows * static_cast<double>(k.length);
  const double full = 2 * scores * static_cast<double>(q.size + v.size);
  const double inputs = elements(a.q.shape) * size_of(a.q.dtype) + elements(a.k.shape) * size_of(a.k.dtype) + elements(a.v.shape) * size_of(a.v.dtype);
  const double mask = a.mask ? elements(a.mask->shape) * size_of(a.mask->dtype) : 0;
  const double output = rows * static_cast<double>(v.size) * size_of(a.q.dtype);
  const bool half = a.q.dtype == DType::f16 || a.q.dtype == DType::bf16;

  PathCost fused;
  fused.path = "fused";
  // A causal kernel skips the closed half of a square.
  fused.flops = a.is_causal && q.length == k.length ? full / 2 : full;
  fused.traffic = inputs + mask + output;
  fused.extra_text = "none of the size of the scores";
  set_bound(fused, device, a.q.dtype, spec.flags.tf32);

  PathCost math;
  math.path = "materialised";
  math.flops = full;
  const double score_size = half ? 4 : size_of(a.q.dtype);
  const double matrix = scores * score_size;
  const double casts = half ? inputs * 2 : 0;
  const double repeated = a.enable_gqa && k.heads > 0 && q.heads > k.heads
                              ? (elements(a.k.shape) + elements(a.v.shape)) * score_size * static_cast<double>(q.heads) / static_cast<double>(k.heads) : 0;
  math.extra_memory = 2 * matrix + casts + repeated;
  math.extra_text = fmt::format("scores {}, twice while the softmax runs{}{}", bytes_text(matrix), casts > 0 ? fmt::format(", f32 copies of q, k, v {}", bytes_text(casts)) : "",
                                repeated > 0 ? fmt::format(", repeated k and v {}", bytes_text(repeated)) : "");
  // Written by the first product, read and written by the softmax, read by the second product.
  math.traffic = inputs + mask + output + 4 * matrix + 2 * (casts + repeated);
  set_bound(math, device, half ? DType::f32 : a.q.dtype, spec.flags.tf32);
  return {fused, math};
}

std::vector<PathCost> gemm_costs(const spec::OpSpec& spec, const facts::DeviceProfile* device) {
  const spec::Gemm& g = spec.gemm();
  if (g.x.shape.size() < 2 || g.w.shape.size() < 2) return {};
  const double n = static_cast<double>(g.w.shape.back()), k = static_cast<double>(g.x.shape.back());
  const double rows = k > 0 ? elements(g.x.shape) / k : 0;
  const double inputs = elements(g.x.shape) * size_of(g.x.dtype), output = rows * n * size_of(spec::out_dtype(g));
  const double weights = elements(g.w.shape);
  PathCost dense;
  dense.path = g.quant ? "packed" : "dense";
  dense.flops = 2 * rows * n * k;
  const double stored = g.quant ? weights * g.quant->bits / 8 : weights * size_of(g.w.dtype);
  dense.traffic = inputs + output + stored;
  dense.extra_text = "none";
  set_bound(dense, device, g.x.dtype, spec.flags.tf32);
  if (!g.quant) return {dense};
  PathCost expanded = dense;
  expanded.path = "dequantized";
  const double full = weights * std::max(2.0, size_of(g.x.dtype));
  expanded.extra_memory = full;
  expanded.extra_text = fmt::format("dequantized weights {}", bytes_text(full));
  expanded.traffic = inputs + output + stored + 2 * full;
  set_bound(expanded, device, g.x.dtype, spec.flags.tf32);
  return {dense, expanded};
}

std::string line(const PathCost& cost, const facts::DeviceProfile* device) {
  std::string out = fmt::format("{} path: {:.3g} GFLOP, {} moved at least, extra memory {}{}", cost.path, cost.flops / 1e9, bytes_text(cost.traffic),
                                cost.extra_memory > 0 ? bytes_text(cost.extra_memory) : std::string("none"),
                                cost.extra_memory > 0 ? " (" + cost.extra_text + ")" : "");
  if (cost.bound) out += fmt::format("; not below {:.3g} ms on {} (bound from its peaks)", *cost.bound * 1e3, device->name);
  return out;
}

}  // namespace

std::string bytes_text(double bytes) {
  static constexpr const char* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} bytes", bytes) : fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::vector<PathCost> path_costs(const spec::OpSpec& spec, const facts::DeviceProfile* device) {
  return spec.is_attention() ? attention_costs(spec, device) : gemm_costs(spec, device);
}

void add_cost(const spec::OpSpec& spec, const facts::DeviceProfile* device, const std::optional<std::string>& selected, report::Case& c) {
  const std::vector<PathCost> costs = path_costs(spec, device);
  if (costs.empty() || !selected) return;
  const bool materialised = selected->ends_with("-math") || selected->ends_with("-dequant");
  c.verdict.because.push_back(line(costs.front(), device));
  if (materialised && costs.size() > 1) c.verdict.because.push_back(line(costs[1], device));
}

}  // namespace dd::session
