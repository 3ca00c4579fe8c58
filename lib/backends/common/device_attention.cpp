#include "backends/common/device_attention.hpp"

#include <fmt/format.h>

#include <utility>

#include "backends/common/run.hpp"

namespace dd::backends {
namespace {

void copy_strides(const ops::TensorView& view, std::int64_t (&to)[4]) {
  for (int i = 0; i < 4; ++i) to[i] = view.shape[i] == 1 ? 0 : view.stride[i];
}

}  // namespace

bool device_attention(const RunRequest& request, DeviceCall& call, kernels::AttentionArgs& args, RunResult& problem) {
  const ops::AttentionProblem p = ops::cases::attention_problem(request.spec, request.inputs);
  const ops::TensorView out = ops::cases::output_view(request.spec, request.out);
  if (!p.q_lengths.empty() || p.window_left >= 0 || p.window_right >= 0) {
    problem = failure(report::Outcome::refused, "form", "ragged lengths and windows have no form in this kernel", "own code");
    return false;
  }
  // The kernels read k and v as elements of q's type; narrower ones would be read past their end.
  for (const auto& [name, t] : {std::pair{"k", &p.k}, std::pair{"v", &p.v}})
    if (t->dtype != p.q.dtype) {
      problem = failure(report::Outcome::refused, "form", fmt::format("{}.dtype is {}; the kernel takes q's type, {}", name, core::to_text(t->dtype), core::to_text(p.q.dtype)), "own code");
      return false;
    }
  args = {};
  args.q = call.at(p.q);
  args.k = call.at(p.k);
  args.v = call.at(p.v);
  args.out = call.out_at(out);
  copy_strides(p.q, args.q_stride);
  copy_strides(p.k, args.k_stride);
  copy_strides(p.v, args.v_stride);
  copy_strides(out, args.out_stride);
  args.batch = static_cast<std::int32_t>(p.q.shape[0]);
  args.heads = static_cast<std::int32_t>(p.q.shape[1]);
  args.kv_heads = static_cast<std::int32_t>(p.k.shape[1]);
  args.q_len = static_cast<std::int32_t>(p.q.shape[2]);
  args.kv_len = static_cast<std::int32_t>(p.k.shape[2]);
  args.dim = static_cast<std::int32_t>(p.q.shape[3]);
  args.v_dim = static_cast<std::int32_t>(p.v.shape[3]);
  args.causal = p.causal;
  args.causal_offset = p.align == ops::Align::bottom_right ? args.kv_len - args.q_len : 0;
  args.scale = p.scale;
  if (p.mask) {
    args.mask = call.at(*p.mask);
    copy_strides(*p.mask, args.mask_stride);
    if (p.mask->dtype == core::DType::boolean) {
      args.mask_kind = kernels::mask_bool;
    } else if (p.mask->dtype == core::DType::f32) {
      args.mask_kind = kernels::mask_float_f32;
    } else if (p.mask->dtype == p.q.dtype) {
      args.mask_kind = kernels::mask_float_as_q;
    } else {
      problem = failure(report::Outcome::refused, "form", "a float mask is read in f32 or in the type of q", "own code");
      return false;
    }
  }
  if (p.dropout_p > 0) {
    const core::Tensor keep = ops::cases::dropout_keep_tensor(request.spec);
    args.keep = static_cast<const std::uint8_t*>(call.upload(keep.data(), keep.storage_bytes));
    args.keep_scale = 1.0 / (1.0 - p.dropout_p);
    for (int i = 0; i < 4; ++i) args.keep_stride[i] = keep.strides[static_cast<std::size_t>(i)];
  }
  return true;
}

}  // namespace dd::backends
