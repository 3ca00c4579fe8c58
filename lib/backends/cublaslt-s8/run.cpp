// cublaslt-s8: 8-bit integer weights and activations as they are. cuBLASLt sums them in 32-bit integers, then a kernel of our
// own multiplies each sum with the scales of its row and column and rounds to the result's type.
#include <fmt/format.h>

#include "backends/common/device_gemm.hpp"
#include "backends/cublaslt/matmul.hpp"
#include "backends/common/run.hpp"
#include "backends/tables.hpp"
#include "ops/tensor/convert.hpp"
#include "quant/launch.hpp"

namespace dd::backends::cublaslt_s8 {
namespace {

using core::DType;

bool has_form(const ops::GemmProblem& p) {
  const auto plain = [](const ops::QuantParams& q) { return q.scale.shape[0] == 1 && !q.zero && q.group_of.empty(); };
  return p.w_quant && p.x_quant && plain(*p.w_quant) && plain(*p.x_quant) && !p.bias && p.epilogue == ops::Epilogue::none;
}

// One f32 scale for each of `count` lines.
const float* place_scales(const ops::TensorView& scale, std::int64_t count, DeviceCall& call) {
  std::vector<float> values(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = static_cast<float>(ops::load(scale.data, scale.dtype, scale.offset + i * scale.stride[1]));
  return static_cast<const float*>(call.upload(values.data(), count * static_cast<std::int64_t>(sizeof(float))));
}

}  // namespace

RunResult run(const RunRequest& request) {
  RunResult problem, result;
  const auto opened = open_product(request, problem, own_kernels_and_cublaslt);
  if (!opened) return problem;
  const auto& [device, p, out] = *opened;
  if (!has_form(p)) return failure(report::Outcome::refused, "form", "8-bit codes with one scale a row and column, no zero points, no epilogue are what this path takes", "own code");
  const ops::TensorView sums = dense_like(out, DType::s32, false);
  const std::int64_t elements = sums.shape[0] * sums.shape[1] * sums.shape[2];
  void* place = device->scratch(core::bytes_of(DType::s32, elements));
  cublaslt::Call call;
  std::string why;
  if (!describe_product({p.x, device->at(p.x)}, {p.w, device->at(p.w)}, {sums, place}, call.product, why)) return failure(report::Outcome::refused, "form", why, "own code");
  call.compute = cuda::blas::compute_32i;
  call.scale_type = cuda::blas::r_32i;
  call.workspace = request.spec.gemm().workspace.value_or(advised_workspace(device->device().info().compute_capability));
  const auto matmul = cublaslt::Matmul::make(*device, call, problem);
  if (!matmul) return problem;

  kernels::RescaleArgs args{};
  args.sums = static_cast<const std::int32_t*>(place);
  args.row_scales = place_scales(p.x_quant->scale, out.shape[1], *device);
  args.column_scales = place_scales(p.w_quant->scale, out.shape[2], *device);
  args.out = device->out_at(out);
  for (int i = 0; i < 3; ++i) args.out_stride[i] = out.stride[i];
  args.batch = static_cast<std::int32_t>(out.shape[0]);
  args.m = static_cast<std::int32_t>(out.shape[1]);
  args.n = static_cast<std::int32_t>(out.shape[2]);
  describe_expanded(p, result.evidence);
  result.evidence.notes = matmul->candidates();
  result.evidence.notes.push_back(fmt::format("integer sums written and read again: {} bytes", core::bytes_of(DType::s32, elements)));
  const std::string kernel = fmt::format("dd_rescale_{}", type_tag(out.dtype));
  DeviceCall::Launch rescale{kernels::Image::quant, kernel, kernels::rescale_launch(args), {&args}};
  return device->run_parts({{"integer product", {matmul->step(matmul)}}, {"rescale", {std::move(rescale)}}}, std::move(result));
}

std::int64_t extra_bytes(const spec::OpSpec&) { return 0; }

}  // namespace dd::backends::cublaslt_s8
