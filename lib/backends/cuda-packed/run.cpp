// cuda-packed: packed 4- and 8-bit weights times 16-bit activations on the device; the dequantized matrix is never written.
// The kernels read each column of w as one run along k. Weights that lie otherwise are repacked on the host before they
// are uploaded (once per call here; a real program would do it once per checkpoint), and that is said with bytes.
#include <fmt/format.h>

#include "backends/common/device_gemm.hpp"
#include "backends/common/device_quant.hpp"
#include "backends/common/run.hpp"
#include "backends/tables.hpp"
#include "quant/launch.hpp"

namespace dd::backends::cuda_packed {
namespace {

using core::DType;

// What outlives the launches: arguments are read when the kernels start.
struct Call {
  kernels::QuantArgs args{};
  DeviceCall::Launch launch;
};

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
  const auto opened = open_product(request, problem);
  if (!opened) return problem;
  const auto& [call, p, out] = *opened;
  if (!weights_only(p) || (p.x.stride[2] != 1 && p.x.shape[2] != 1))
    return failure(report::Outcome::refused, "form", "the kernel takes 16-bit activations with dense rows, codes with scales in order, no epilogue", "own code");
  if (out.dtype != p.x.dtype)
    return failure(report::Outcome::refused, "form", fmt::format("out.dtype is {}; the kernel writes x's type, {}", core::to_text(out.dtype), core::to_text(p.x.dtype)), "own code");
  kernels::QuantArgs base{};
  if (!place_weight_scales(p, *call, base)) return failure(report::Outcome::refused, "zero-point", "a zero point is no whole number from 0 to 255", "own code");
  const int bits = core::info(p.w.dtype).bits;
  const std::int64_t size = core::info(p.x.dtype).bits / 8;
  std::list<Call> calls;
  PackedWeights weights(p.w, *call);
  for (std::int64_t b = 0; b < out.shape[0]; ++b) {
    Call& c = calls.emplace_back();
    c.args = base;
    weights.place(b, c.args);
    c.args.x = static_cast<const std::byte*>(call->at(p.x)) + b * p.x.stride[0] * size;
    c.args.out = static_cast<std::byte*>(call->out_at(out)) + b * out.stride[0] * size;
    c.args.x_stride = p.x.stride[1];
    c.args.out_stride[0] = out.stride[1];
    c.args.out_stride[1] = out.stride[2];
    c.args.m = static_cast<std::int32_t>(out.shape[1]);
    c.args.n = static_cast<std::int32_t>(out.shape[2]);
    c.args.k = static_cast<std::int32_t>(p.x.shape[2]);
    choose(c, p.x.dtype, bits);
  }
  result.evidence.conversions.push_back(weights.conversion());
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
