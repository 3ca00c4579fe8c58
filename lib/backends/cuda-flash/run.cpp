// cuda-flash: our own fused forward kernel on tensor cores; one launch, the scores never leave registers.
#include <fmt/format.h>

#include "attention/launch.hpp"
#include "backends/common/device_attention.hpp"
#include "backends/common/run.hpp"
#include "backends/tables.hpp"

namespace dd::backends::cuda_flash {
namespace {

// Why the kernel cannot take these arguments; empty when it can. Rules say the same before, but a forced or a blocked call
// goes past them, and copies of 16 bytes from elsewhere are an error that spoils the device's context for every later call.
std::string why_not(const kernels::AttentionArgs& a) {
  for (const auto& [name, dim] : {std::pair{"q.shape[3]", a.dim}, std::pair{"v.shape[3]", a.v_dim}})
    if (dim % 8 != 0) return fmt::format("{} is {}; the kernel takes multiples of 8", name, dim);
  struct {
    const char* name;
    const void* base;
    const std::int64_t (&stride)[4];
    std::int32_t dim;
  } const tensors[] = {{"q", a.q, a.q_stride, a.dim}, {"k", a.k, a.k_stride, a.dim}, {"v", a.v, a.v_stride, a.v_dim}};
  for (const auto& t : tensors) {
    if (const auto rest = reinterpret_cast<std::uintptr_t>(t.base) % 16; rest != 0)
      return fmt::format("{} starts {} bytes past a multiple of 16 bytes; the kernel copies 16 bytes at a time", t.name, rest);
    for (int axis = 0; axis < 3; ++axis)
      if (t.stride[axis] % 8 != 0) return fmt::format("{}.strides[{}] is {} elements; the kernel takes multiples of 8 (16 bytes)", t.name, axis, t.stride[axis]);
    if (t.dim > 1 && t.stride[3] != 1) return fmt::format("{}.strides[3] is {}; the kernel takes 1", t.name, t.stride[3]);
  }
  return {};
}

}  // namespace

RunResult run(const RunRequest& request) {
  RunResult problem;
  const auto call = DeviceCall::make(request, problem);
  kernels::AttentionArgs args;
  if (!call || !device_attention(request, *call, args, problem)) return problem;
  const kernels::FlashInstance* instance = kernels::flash_instance_for(args.dim, args.v_dim);
  if (!instance) return failure(report::Outcome::refused, "head-dim", "no instance of the kernel holds this head size", "own code");
  if (const std::string why = why_not(args); !why.empty()) return failure(report::Outcome::refused, "form", why, "own code");
  const bool plain = kernels::flash_is_plain(args);
  const std::string kernel = fmt::format("dd_flash_{}{}_{}", plain ? "plain_" : "", type_tag(request.spec.attention().q.dtype), instance->dim);
  RunResult result;
  result.evidence.notes.push_back("scores never materialised");
  return call->run({{kernels::Image::attention, kernel, kernels::flash_launch(*instance, args, plain), {&args}}}, std::move(result));
}

std::int64_t extra_bytes(const spec::OpSpec&) { return 0; }

}  // namespace dd::backends::cuda_flash
