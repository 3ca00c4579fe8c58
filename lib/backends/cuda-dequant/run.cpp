// cuda-dequant: the slow path of quantized weights: a kernel writes them out in the type of x, then cuBLAS multiplies.
// The dense matrix is written with k as its dense axis, as the codes lie, so cuBLAS reads it transposed.
#include <fmt/format.h>

#include <list>

#include "backends/common/device_blas.hpp"
#include "backends/common/device_gemm.hpp"
#include "backends/common/device_quant.hpp"
#include "backends/common/run.hpp"
#include "backends/tables.hpp"
#include "quant/launch.hpp"

namespace dd::backends::cuda_dequant {
namespace {

std::int64_t dense_bytes(const spec::Gemm& g) { return core::bytes_of(g.x.dtype, spec::element_count(g.w.shape).value_or(0)); }

}  // namespace

RunResult run(const RunRequest& request) {
  RunResult problem, result;
  const auto opened = open_product(request, problem, own_kernels_and_cublas);
  if (!opened) return problem;
  const auto& [call, p, out] = *opened;
  const spec::Gemm& g = request.spec.gemm();
  if (!weights_only(p))
    return failure(report::Outcome::refused, "form", "16-bit activations, codes with scales in order and no epilogue are what the two halves take", "own code");
  kernels::QuantArgs base{};
  if (!place_weight_scales(p, *call, base)) return failure(report::Outcome::refused, "zero-point", "a zero point is no whole number from 0 to 255", "own code");
  const ops::TensorView w = dense_like(p.w, p.x.dtype, true);
  base.m = static_cast<std::int32_t>(out.shape[1]);
  base.k = static_cast<std::int32_t>(w.shape[1]);
  base.n = static_cast<std::int32_t>(w.shape[2]);
  base.out_stride[0] = w.stride[1];
  base.out_stride[1] = w.stride[2];
  const std::int64_t matrices = w.stride[0] == 0 ? 1 : w.shape[0], bytes = core::bytes_of(w.dtype, matrices * w.shape[1] * w.shape[2]);
  void* dense = call->scratch(bytes);
  BlasProduct product;
  std::string why;
  if (!describe_product({p.x, call->at(p.x)}, {w, dense}, {out, call->out_at(out)}, product, why)) return failure(report::Outcome::refused, "form", why, "own code");
  const auto cublas = open_cublas(*call, g.workspace, request.spec.flags.reduced_precision, problem);
  if (!cublas) return problem;

  PackedWeights weights(p.w, *call);
  std::list<kernels::QuantArgs> arguments;  // read when the kernels start
  DeviceCall::Part dequantize{"dequantize", {}};
  const std::string kernel = fmt::format("dd_dequantize_{}_{}", type_tag(w.dtype), core::info(p.w.dtype).bits);
  for (std::int64_t b = 0; b < matrices; ++b) {
    kernels::QuantArgs& args = arguments.emplace_back(base);
    weights.place(b, args);
    args.out = static_cast<std::byte*>(dense) + core::bytes_of(w.dtype, b * w.stride[0]);
    dequantize.steps.emplace_back(DeviceCall::Launch{kernels::Image::quant, kernel, kernels::dequantize_launch(args), {&args}});
  }
  describe_expanded(p, result.evidence);
  result.evidence.conversions.push_back(weights.conversion());
  result.evidence.conversions.push_back({"dequantize", fmt::format("w from {} to {}, written and read again", core::to_text(g.w.dtype), core::to_text(w.dtype)), bytes});
  return call->run_parts({std::move(dequantize), {"product", {gemm_step(*cublas, product, cuda::blas::compute_32f)}}}, std::move(result));
}

std::int64_t extra_bytes(const spec::OpSpec& spec) {
  const spec::Gemm& g = spec.gemm();
  return dense_bytes(g) + core::bytes_of(g.w.dtype, spec::element_count(g.w.shape).value_or(0));
}

}  // namespace dd::backends::cuda_dequant
