// cuda-packed: packed 4- and 8-bit weights times 16-bit activations on the device; the dequantized matrix is never written.
// The kernels read each column of w as one run along k. Weights that lie otherwise are repacked on the host before they
// are uploaded (once per call here; a real program would do it once per checkpoint), and that is said with bytes.
#include <fmt/format.h>

#include "backends/common/device_call.hpp"
#include "backends/common/run.hpp"
#include "backends/tables.hpp"
#include "ops/tensor/convert.hpp"
#include "quant/launch.hpp"

namespace dd::backends::cuda_packed {
namespace {

using core::DType;

bool is_signed(DType t) { return t == DType::s4 || t == DType::s8; }

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

// What outlives the launches: arguments are read when the kernels start.
struct Call {
  kernels::QuantArgs args{};
  DeviceCall::Launch launch;
};

bool place_scales(const ops::GemmProblem& p, DeviceCall& call, kernels::QuantArgs& args) {
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
  if (q.zero || !is_signed(p.w.dtype)) args.zeros = static_cast<const std::uint8_t*>(call.upload(zeros.data(), static_cast<std::int64_t>(zeros.size())));
  args.group = static_cast<std::int32_t>(q.group_size > 0 ? q.group_size : p.w.shape[1]);
  return true;
}

void choose(Call& c, DType x_dtype, int bits) {
  const std::string_view type = type_tag(x_dtype);
  c.launch.image = kernels::Image::quant;
  if (c.args.m <= kernels::few_rows_limit) {
    c.launch.kernel = fmt::format("dd_packed_few_{}_{}_{}_{}", type, bits, kernels::few_rows_at_once(c.args.m), kernels::few_rows_fast(c.args, bits) ? 1 : 0);
    c.launch.shape = kernels::few_rows_launch(c.args);
  } else {
    c.launch.kernel = fmt::format("dd_packed_tiles_{}_{}_{}", type, bits, kernels::packed_x_aligned(c.args) ? 1 : 0);
    c.launch.shape = kernels::packed_tiles_launch(c.args);
  }
  c.launch.arguments = {&c.args};
}

}  // namespace

RunResult run(const RunRequest& request) {
  RunResult problem, result;
  const auto call = DeviceCall::make(request, problem);
  if (!call) return problem;
  const auto p = ops::cases::gemm_problem(request.spec, request.inputs);
  if (!p) return failure(report::Outcome::refused, "spec", core::to_text(p.problems().front()), "own code");
  const ops::TensorView out = ops::cases::output_view(request.spec, request.out);
  if (!p->w_quant || p->x_quant || !p->w_quant->group_of.empty() || p->bias || p->epilogue != ops::Epilogue::none ||
      (p->x.stride[2] != 1 && p->x.shape[2] != 1) || (out.stride[2] != 1 && out.shape[2] != 1) || (p->w_quant->zero && is_signed(p->w.dtype)))
    return failure(report::Outcome::refused, "form", "the kernel takes 16-bit activations with dense rows, codes with scales in order, no epilogue", "own code");
  kernels::QuantArgs base{};
  if (!place_scales(*p, *call, base)) return failure(report::Outcome::refused, "zero-point", "a zero point is no whole number from 0 to 255", "own code");
  const int bits = core::info(p->w.dtype).bits;
  const std::int64_t size = core::info(p->x.dtype).bits / 8;
  std::list<Call> calls;
  std::int64_t repacked = 0;
  void* shared_packed = nullptr;
  for (std::int64_t b = 0; b < out.shape[0]; ++b) {
    Call& c = calls.emplace_back();
    c.args = base;
    const Packed packed = repack(p->w, b);
    if (!shared_packed || p->w.stride[0] != 0) {
      shared_packed = call->upload(packed.bytes.data(), static_cast<std::int64_t>(packed.bytes.size()));
      repacked += static_cast<std::int64_t>(packed.bytes.size());
    }
    c.args.packed = static_cast<const std::uint8_t*>(shared_packed);
    c.args.packed_stride = packed.stride;
    c.args.x = static_cast<const std::byte*>(call->at(p->x)) + b * p->x.stride[0] * size;
    c.args.out = static_cast<std::byte*>(call->out_at(out)) + b * out.stride[0] * size;
    c.args.x_stride = p->x.stride[1];
    c.args.out_stride[0] = out.stride[1];
    c.args.out_stride[1] = 1;
    c.args.m = static_cast<std::int32_t>(out.shape[1]);
    c.args.n = static_cast<std::int32_t>(out.shape[2]);
    c.args.k = static_cast<std::int32_t>(p->x.shape[2]);
    choose(c, p->x.dtype, bits);
  }
  result.evidence.conversions.push_back({"repack", "w to runs along k, on the host before upload", repacked});
  result.evidence.notes.push_back("dequantized matrix never written");
  std::vector<DeviceCall::Launch> launches;
  for (Call& c : calls) launches.push_back(c.launch);
  return call->run(std::move(launches), std::move(result));
}

std::int64_t extra_bytes(const spec::OpSpec& spec) {
  const spec::Gemm& g = spec.gemm();
  return core::bytes_of(g.w.dtype, spec::element_count(g.w.shape).value_or(0));
}

}  // namespace dd::backends::cuda_packed
