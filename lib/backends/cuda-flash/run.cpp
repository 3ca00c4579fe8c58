// cuda-flash: our own fused forward kernel on tensor cores; one launch, the scores never leave registers.
#include <fmt/format.h>

#include "attention/launch.hpp"
#include "backends/common/device_attention.hpp"
#include "backends/common/run.hpp"
#include "backends/tables.hpp"

namespace dd::backends::cuda_flash {

RunResult run(const RunRequest& request) {
  RunResult problem;
  const auto call = DeviceCall::make(request, problem);
  kernels::AttentionArgs args;
  if (!call || !device_attention(request, *call, args, problem)) return problem;
  const kernels::FlashInstance* instance = kernels::flash_instance_for(args.dim, args.v_dim);
  if (!instance) return failure(report::Outcome::refused, "head-dim", "no instance of the kernel holds this head size", "own code");
  const std::string kernel = fmt::format("dd_flash_{}_{}", type_tag(request.spec.attention().q.dtype), instance->dim);
  RunResult result;
  result.evidence.notes.push_back("scores never materialised");
  return call->run({{kernels::Image::attention, kernel, kernels::flash_launch(*instance, args), {&args}}}, std::move(result));
}

std::int64_t extra_bytes(const spec::OpSpec&) { return 0; }

}  // namespace dd::backends::cuda_flash
