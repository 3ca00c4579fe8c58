#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "backends/cudnn/frontend/ask.hpp"

namespace dd::cudnn {
namespace {

// Rank 2 and 3 get leading axes of extent 1.
AskTensor four_axes(const spec::TensorSpec& t) {
  AskTensor out{t.dtype, t.shape, spec::strides_of(t)};
  const std::int64_t whole = out.dim.empty() ? 1 : out.dim.front() * out.stride.front();
  while (out.dim.size() < 4) {
    out.dim.insert(out.dim.begin(), 1);
    out.stride.insert(out.stride.begin(), whole);
  }
  return out;
}

AskTensor contiguous(core::DType dtype, const spec::Dims& shape) {
  return {dtype, shape, spec::contiguous_strides(shape)};
}

// All leading axes folded into one; right where one stride walks them, which is what a dense batch has.
AskTensor three_axes(const spec::TensorSpec& t) {
  const spec::Dims strides = spec::strides_of(t);
  const std::size_t rank = t.shape.size();
  std::int64_t batch = 1;
  for (std::size_t i = 0; i + 2 < rank; ++i) batch *= t.shape[i];
  const std::int64_t step = rank > 2 ? strides[rank - 3] : t.shape[rank - 2] * t.shape[rank - 1];
  return {t.dtype, {batch, t.shape[rank - 2], t.shape[rank - 1]}, {step, strides[rank - 2], strides[rank - 1]}};
}

// Shared memory that a block may ask for, by architecture (CUDA programming guide, compute capabilities, 13.0).
std::int64_t shared_limit(int capability) {
  switch (capability) {
    case 75: return 65536;
    case 80: case 87: return 166912;
    case 86: case 89: case 120: case 121: return 101376;
    case 70: case 72: return 98304;
    default: return capability >= 90 && capability < 120 ? 232448 : 101376;
  }
}

// What cuDNN itself wrote down on that device, where the profile was recorded on one; but not of a device that is another
// than the profile's fields say. An answer is about device 0, whichever it was when it was recorded.
std::optional<std::string> recorded(const facts::DeviceProfile& profile, std::int64_t capability) {
  auto json = nlohmann::json::parse(profile.cudnn_device, nullptr, false);
  if (!json.is_object() || json.value("deviceVer", nlohmann::json()) != capability * 10) return std::nullopt;
  json["cudaDeviceId"] = 0;
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

BiasForm bias_form(AskTensor mask, core::DType type_of_q, std::int64_t start_bytes) {
  for (std::size_t i = 0; i < 4; ++i)
    if (mask.stride[i] == 0) mask.dim[i] = 1;
  const spec::Dims dense = spec::contiguous_strides(mask.dim);
  for (std::size_t i = 0; i < 4; ++i)
    if (mask.dim[i] == 1) mask.stride[i] = dense[i];
  const bool boolean = mask.dtype == core::DType::boolean;
  bool taken = !boolean && start_bytes % copy_bytes == 0;
  if (taken && mask.stride != dense) {
    taken = mask.stride[3] == 1;
    for (std::size_t i = 0; i < 3; ++i) taken = taken && core::bytes_of(mask.dtype, mask.stride[i]) % copy_bytes == 0;
  }
  if (taken) return {std::move(mask), false};
  return {{boolean ? type_of_q : mask.dtype, mask.dim, dense}, true};
}

AttentionQuestion attention_question(const spec::OpSpec& spec) {
  const spec::Attention& a = spec.attention();
  AttentionQuestion out;
  out.q = four_axes(a.q);
  out.k = four_axes(a.k);
  out.v = four_axes(a.v);
  out.out = contiguous(a.q.dtype, {out.q.dim[0], out.q.dim[1], out.q.dim[2], out.v.dim[3]});
  if (a.mask) {
    spec::TensorSpec mask;
    mask.shape = a.mask->shape;
    mask.dtype = a.mask->dtype;
    mask.strides = a.mask->strides;
    AskTensor bias = four_axes(mask);
    if (spec.context.framework == "native")
      bias = bias_form(std::move(bias), a.q.dtype, core::bytes_of(a.mask->dtype, a.mask->offset)).form;
    else if (bias.dtype == core::DType::boolean)
      bias.dtype = a.q.dtype;
    out.bias = std::move(bias);
  }
  out.causal = !a.is_causal ? 0 : a.causal_align == spec::CausalAlign::top_left ? 1 : 2;
  out.scale = a.scale.value_or(1.0 / std::sqrt(static_cast<double>(out.q.dim[3])));
  out.dropout_p = a.dropout_p;
  out.train = a.requires_grad;
  return out;
}

ProductQuestion product_question(const spec::OpSpec& spec) {
  const spec::Gemm& g = spec.gemm();
  ProductQuestion out;
  out.x = three_axes(g.x);
  out.w = three_axes(g.w);
  out.out = contiguous(spec::out_dtype(g), {std::max(out.x.dim[0], out.w.dim[0]), out.x.dim[1], out.w.dim[2]});
  const spec::Compute compute = spec::compute_of(g, spec.flags);
  out.compute = compute == spec::Compute::s32 ? core::DType::s32 : compute == spec::Compute::f64 ? core::DType::f64 : core::DType::f32;
  return out;
}

std::string device_properties(const AskDevice& d) {
  const nlohmann::json json = {
      {"maxGridSize", {2147483647, 65535, 65535}}, {"maxBlockSize", {1024, 1024, 64}}, {"regsPerBlock", 65536},
      {"multiProcessorCount", d.sm_count}, {"warpSize", 32}, {"maxSharedMemoryPerBlock", 49152},
      {"maxSharedMemoryPerBlockOptin", d.shared_optin_bytes > 0 ? d.shared_optin_bytes : shared_limit(d.compute_capability)},
      {"reservedSharedMemoryPerBlock", 1024}, {"maxRegistersPerSM", 65536}, {"maxCtasPerSM", 32}, {"maxThreadsPerBlock", 1024},
      {"maxThreadsPerSM", 2048}, {"pciDeviceId", 0}, {"isTccDriver", 0}, {"supportCoopLaunch", 1}, {"totalGlobalMem", d.memory_bytes},
      {"smClockRateKHz", d.sm_clock_khz}, {"memClockRateKHz", d.memory_clock_khz}, {"l2CacheSize", d.l2_bytes}, {"cudaDeviceId", 0},
      {"deviceVer", d.compute_capability * 10}, {"driverVer", 13000}, {"deviceName", d.name}};
  return json.dump();
}

std::optional<std::string> device_properties_of(const facts::DeviceProfile& profile) {
  const auto capability = profile.get("compute_capability");
  if (profile.device_type != "cuda" || !capability) return std::nullopt;
  if (auto own = recorded(profile, *capability)) return own;
  AskDevice d;
  d.compute_capability = static_cast<int>(*capability);
  d.name = profile.name;
  d.sm_count = static_cast<int>(profile.get("sm_count").value_or(d.sm_count));
  d.shared_optin_bytes = profile.get("shared_memory_per_block").value_or(0);
  d.memory_bytes = profile.get("memory_bytes").value_or(d.memory_bytes);
  d.l2_bytes = profile.get("l2_bytes").value_or(d.l2_bytes);
  return device_properties(d);
}

}  // namespace dd::cudnn
