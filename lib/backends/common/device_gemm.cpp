#include "backends/common/device_gemm.hpp"

#include "backends/common/run.hpp"

namespace dd::backends {
namespace {

kernels::Activation activation_of(ops::Epilogue epilogue) {
  switch (epilogue) {
    case ops::Epilogue::relu: return kernels::act_relu;
    case ops::Epilogue::gelu_erf: return kernels::act_gelu_erf;
    case ops::Epilogue::gelu_tanh: return kernels::act_gelu_tanh;
    default: return kernels::act_none;
  }
}

// The kernels read one dense row of bias for all rows and batches.
bool place_bias(const ops::GemmProblem& p, DeviceCall& call, kernels::GemmArgs& args) {
  if (!p.bias) return true;
  const ops::TensorView& b = *p.bias;
  if (b.shape[0] != 1 || b.shape[1] != 1 || b.shape[2] != p.w.shape[2] || (b.shape[2] != 1 && b.stride[2] != 1)) return false;
  if (b.dtype != core::DType::f32 && b.dtype != p.x.dtype) return false;
  args.bias = call.at(b);
  args.bias_kind = b.dtype == p.x.dtype ? kernels::bias_as_x : kernels::bias_f32;
  return true;
}

}  // namespace

ops::TensorView dense_like(const ops::TensorView& like, core::DType dtype, bool columns) {
  ops::TensorView v = like;
  v.dtype = dtype;
  v.data = nullptr;
  v.offset = 0;
  v.stride[1] = columns ? 1 : like.shape[2];
  v.stride[2] = columns ? like.shape[1] : 1;
  v.stride[0] = like.shape[0] > 1 && like.stride[0] == 0 ? 0 : like.shape[1] * like.shape[2];
  return v;
}

std::optional<ProductCall> open_product(const RunRequest& request, RunResult& problem, Availability (*available)()) {
  auto device = DeviceCall::make(request, problem, available);
  if (!device) return std::nullopt;
  auto p = ops::cases::gemm_problem(request.spec, request.inputs);
  if (!p) {
    problem = failure(report::Outcome::refused, "spec", core::to_text(p.problems().front()), "own code");
    return std::nullopt;
  }
  return ProductCall{std::move(device), std::move(*p), ops::cases::output_view(request.spec, request.out)};
}

std::optional<ProductCall> open_product(const RunRequest& request, kernels::GemmArgs& args, report::Evidence& evidence, RunResult& problem) {
  auto call = open_product(request, problem);
  if (!call) return std::nullopt;
  const ops::GemmProblem& p = call->p;
  describe_expanded(p, evidence);
  args = {};
  args.x = call->device->at(p.x);
  args.w = call->device->at(p.w);
  args.out = call->device->out_at(call->out);
  for (int i = 0; i < 3; ++i) {
    args.x_stride[i] = p.x.shape[i] == 1 && i == 0 ? 0 : p.x.stride[i];
    args.w_stride[i] = p.w.shape[i] == 1 && i == 0 ? 0 : p.w.stride[i];
    args.out_stride[i] = call->out.stride[i];
  }
  args.batch = static_cast<std::int32_t>(call->out.shape[0]);
  args.m = static_cast<std::int32_t>(call->out.shape[1]);
  args.n = static_cast<std::int32_t>(call->out.shape[2]);
  args.k = static_cast<std::int32_t>(p.x.shape[2]);
  args.activation = activation_of(p.epilogue);
  if (place_bias(p, *call->device, args)) return call;
  problem = failure(report::Outcome::refused, "bias", "the bias is not one dense row in f32 or in the type of x", "own code");
  return std::nullopt;
}

}  // namespace dd::backends
