#include "session/roofline.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "frameworks/gemm/cost.hpp"

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

std::string line(const PathCost& cost, const facts::DeviceProfile* device) {
  std::string out = fmt::format("{}: {:.3g} GFLOP, {} moved at least, extra memory {}{}", cost.path, cost.flops / 1e9, bytes_text(cost.traffic),
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
  fused.path = "fused path";
  // A causal kernel skips the closed half of a square.
  fused.flops = a.is_causal && q.length == k.length ? full / 2 : full;
  fused.traffic = inputs + mask + output;
  fused.extra_text = "none of the size of the scores";
  set_bound(fused, device, a.q.dtype, spec.flags.tf32);

  PathCost math;
  math.path = "materialised path";
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

PathCost product_cost(const spec::OpSpec& spec, const frameworks::Diagnosis& diagnosis, const frameworks::CandidateResult& candidate, const facts::FactSet& facts,
                      const facts::DeviceProfile* device) {
  std::vector<std::string_view> unmet;
  for (const std::vector<rules::Finding>* list : {&diagnosis.call_findings, &candidate.findings})
    for (const rules::Finding& f : *list)
      if (f.status == rules::Truth::unmet) unmet.push_back(f.rule->id);
  const frameworks::gemm::Cost cost = frameworks::gemm::cost_of(candidate.candidate.name, unmet, facts);
  PathCost out;
  out.path = candidate.candidate.name;
  out.flops = cost.flops;
  out.traffic = static_cast<double>(cost.traffic());
  out.extra_memory = static_cast<double>(cost.hidden_bytes());
  for (const frameworks::gemm::Part& part : cost.hidden) out.extra_text += fmt::format("{}{} {}", out.extra_text.empty() ? "" : ", ", part.what, bytes_text(static_cast<double>(part.bytes)));
  if (!device) return out;
  const auto bandwidth = device->get("memory_bandwidth");
  const double rate = peak_rate(*device, spec.gemm().x.dtype, spec.flags.tf32).value_or(0);
  const double seconds = frameworks::gemm::roofline_seconds(cost, rate, static_cast<double>(bandwidth.value_or(0)));
  if (seconds > 0) out.bound = seconds;
  return out;
}

void add_cost(const spec::OpSpec& spec, const frameworks::Diagnosis& d, const facts::FactSet& facts, const facts::DeviceProfile* device, report::Case& c) {
  if (!d.selected) return;
  const auto say = [&](const PathCost& cost) { c.verdict.because.push_back(line(cost, device)); };
  if (spec.is_attention()) {
    const std::vector<PathCost> costs = attention_costs(spec, device);
    say(costs.front());
    if (d.selected->ends_with("-math")) say(costs[1]);
    return;
  }
  const frameworks::CandidateResult* chosen = d.find(*d.selected);
  if (!chosen) return;
  if (!chosen->candidate.fast)
    for (const frameworks::CandidateResult& other : d.candidates)
      if (other.candidate.fast) {
        say(product_cost(spec, d, other, facts, device));
        break;
      }
  say(product_cost(spec, d, *chosen, facts, device));
}

}  // namespace dd::session
