// cuda-wmma: our own tensor-core product. Both operands in either orientation as they lie; 16-byte copies where bases and
// strides allow them, element-wise copies otherwise.
#include <fmt/format.h>

#include "backends/common/device_gemm.hpp"
#include "backends/common/run.hpp"
#include "backends/tables.hpp"

namespace dd::backends::cuda_wmma {
namespace {

// Whether the rows are the dense axis (transposed) or the columns; nothing when neither is.
std::optional<bool> is_transposed(const std::int64_t (&stride)[3], std::int64_t rows, std::int64_t columns) {
  if (stride[2] == 1 || columns == 1) return false;
  if (stride[1] == 1 || rows == 1) return true;
  return std::nullopt;
}

}  // namespace

RunResult run(const RunRequest& request) {
  RunResult problem, result;
  kernels::GemmArgs args;
  const auto call = open_product(request, args, result.evidence, problem);
  if (!call) return problem;
  // The kernel reads w as elements of x's type: narrower ones, and codes, would be read past their end.
  if (call->p.w.dtype != call->p.x.dtype)
    return failure(report::Outcome::refused, "form", fmt::format("w.dtype is {}; the kernel takes x's type, {}", core::to_text(call->p.w.dtype), core::to_text(call->p.x.dtype)), "own code");
  const auto xt = is_transposed(args.x_stride, args.m, args.k), wt = is_transposed(args.w_stride, args.k, args.n);
  if (!xt || !wt)
    return failure(report::Outcome::refused, "layout", "an operand has no dense axis", "own code");
  // A single line may carry any stride: the kernel's dense axis is the one that it walks.
  args.x_stride[*xt ? 1 : 2] = 1;
  args.w_stride[*wt ? 1 : 2] = 1;
  const bool aligned = kernels::aligned16(args.x, args.x_stride[*xt ? 2 : 1], args.x_stride[0]) &&
                       kernels::aligned16(args.w, args.w_stride[*wt ? 2 : 1], args.w_stride[0]);
  const kernels::GemmInstance& instance = kernels::gemm_instances[kernels::gemm_instance_for(args, call->device->device().info().sm_count)];
  const spec::Gemm& g = request.spec.gemm();
  const std::string kernel = fmt::format("dd_gemm_wmma_{}_{}_{}_{}{}_{}", type_tag(g.x.dtype), type_tag(spec::out_dtype(g)), instance.rows,
                                         *xt ? 't' : 'n', *wt ? 't' : 'n', aligned ? 1 : 0);
  result.evidence.notes.push_back(aligned ? "16-byte copies" : "element-wise copies: a base or a stride is not a multiple of 16 bytes");
  return call->device->run({{kernels::Image::gemm, kernel, kernels::gemm_launch(instance, args, *xt, *wt), {&args}}}, std::move(result));
}

std::int64_t extra_bytes(const spec::OpSpec&) { return 0; }

}  // namespace dd::backends::cuda_wmma
