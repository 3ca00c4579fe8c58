#include "backends/common/device_quant.hpp"

#include "ops/tensor/convert.hpp"

namespace dd::backends {
namespace {

using core::DType;

int code_at(const ops::TensorView& w, std::int64_t b, std::int64_t k, std::int64_t n) {
  const std::int64_t at = w.offset + b * w.stride[0] + k * w.stride[1] + n * w.stride[2];
  const auto* bytes = static_cast<const std::uint8_t*>(w.data);
  if (core::info(w.dtype).bits == 8) return bytes[at];
  return at % 2 ? bytes[at / 2] >> 4 : bytes[at / 2] & 15;
}

// One batch of w as runs along k; 16-byte multiples, so that the fast kernel may be used.
struct Packed {
  std::vector<std::uint8_t> bytes;
  std::int64_t stride = 0;
};
Packed repack(const ops::TensorView& w, std::int64_t batch) {
  const std::int64_t k_len = w.shape[1], n_len = w.shape[2];
  const int bits = core::info(w.dtype).bits;
  Packed out;
  out.stride = (core::bytes_for(k_len, bits) + 15) / 16 * 16;
  out.bytes.assign(static_cast<std::size_t>(out.stride * n_len), 0);
  for (std::int64_t n = 0; n < n_len; ++n)
    for (std::int64_t k = 0; k < k_len; ++k) {
      std::uint8_t& byte = out.bytes[static_cast<std::size_t>(n * out.stride + (bits == 8 ? k : k / 2))];
      byte = static_cast<std::uint8_t>(byte | code_at(w, batch, k, n) << (bits == 4 && k % 2 ? 4 : 0));
    }
  return out;
}

double number_at(const ops::TensorView& v, std::int64_t g, std::int64_t n) {
  return ops::load(v.data, v.dtype, v.offset + g * v.stride[0] + n * v.stride[1]);
}

bool has_signed_codes(DType t) { return t == DType::s4 || t == DType::s8; }

}  // namespace

bool weights_only(const ops::GemmProblem& p) {
  return p.w_quant && !p.x_quant && p.w_quant->group_of.empty() && !p.bias && p.epilogue == ops::Epilogue::none && !(p.w_quant->zero && has_signed_codes(p.w.dtype));
}

void PackedWeights::place(std::int64_t batch, kernels::QuantArgs& args) {
  if (!placed_ || w_.stride[0] != 0) {
    const Packed packed = repack(w_, batch);
    stride_ = packed.stride;
    bytes_ += static_cast<std::int64_t>(packed.bytes.size());
    placed_ = static_cast<const std::uint8_t*>(call_.upload(packed.bytes.data(), static_cast<std::int64_t>(packed.bytes.size())));
  }
  args.packed = placed_;
  args.packed_stride = stride_;
}

bool place_weight_scales(const ops::GemmProblem& p, DeviceCall& call, kernels::QuantArgs& args) {
  const ops::QuantParams& q = *p.w_quant;
  const std::int64_t groups = q.scale.shape[0], n = p.w.shape[2];
  std::vector<float> scales(static_cast<std::size_t>(groups * n));
  std::vector<std::uint8_t> zeros(scales.size(), 0);
  for (std::int64_t g = 0; g < groups; ++g)
    for (std::int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(g * n + i);
      scales[at] = static_cast<float>(number_at(q.scale, g, i));
      if (!q.zero) continue;
      const double zero = number_at(*q.zero, g, i);
      if (zero < 0 || zero > 255 || zero != static_cast<double>(static_cast<int>(zero))) return false;
      zeros[at] = static_cast<std::uint8_t>(zero);
    }
  args.scales = call.upload(scales.data(), static_cast<std::int64_t>(scales.size()) * 4);
  args.scale_kind = kernels::scale_f32;
  args.scale_stride[0] = args.zero_stride[0] = n;
  args.scale_stride[1] = args.zero_stride[1] = 1;
  if (q.zero || !has_signed_codes(p.w.dtype)) args.zeros = static_cast<const std::uint8_t*>(call.upload(zeros.data(), static_cast<std::int64_t>(zeros.size())));
  args.group = static_cast<std::int32_t>(q.group_size > 0 ? q.group_size : p.w.shape[1]);
  return true;
}

}  // namespace dd::backends
