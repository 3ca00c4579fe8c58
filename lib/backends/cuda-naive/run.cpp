// cuda-naive: straight loops on the device, any element type of the list; a check for the others, never first.
#include <fmt/format.h>

#include "attention/launch.hpp"
#include "backends/common/device_attention.hpp"
#include "backends/common/device_gemm.hpp"
#include "backends/common/run.hpp"
#include "backends/tables.hpp"

namespace dd::backends::cuda_naive {

RunResult run_attention(const RunRequest& request) {
  RunResult problem;
  const auto call = DeviceCall::make(request, problem);
  kernels::AttentionArgs args;
  if (!call || !device_attention(request, *call, args, problem)) return problem;
  const core::DType dtype = request.spec.attention().q.dtype;
  const std::string kernel = fmt::format("dd_attention_naive_{}", type_tag(dtype));
  const auto shape = kernels::naive_attention_launch(args, dtype == core::DType::f64 ? 8 : 4);
  return call->run({{kernels::Image::attention, kernel, shape, {&args}}});
}

RunResult run_gemm(const RunRequest& request) {
  RunResult problem, result;
  kernels::GemmArgs args;
  const auto call = open_product(request, args, result.evidence, problem);
  if (!call) return problem;
  const spec::Gemm& g = request.spec.gemm();
  const std::string kernel = fmt::format("dd_gemm_naive_{}_{}_{}", type_tag(g.x.dtype), type_tag(g.w.dtype), type_tag(spec::out_dtype(g)));
  return call->device->run({{kernels::Image::gemm, kernel, kernels::gemm_naive_launch(args), {&args}}}, std::move(result));
}

std::int64_t extra_bytes(const spec::OpSpec&) { return 0; }

}  // namespace dd::backends::cuda_naive
