// cublaslt: one product through cublasLtMatmul, with fused epilogue and the scales that narrow floats need.
// A spec holds no scales for FP8 operands, so each side gets a constant one: 2 for w, 1/2 for x. Their product is one, and a
// library that forgot either of them would be off by a factor of two. The scales go with the operands: w is the library's A,
// as in PyTorch's scaled product (2.6 to 2.9), which swaps both where it computes the transpose.
#include <algorithm>

#include "backends/common/device_gemm.hpp"
#include "backends/common/run.hpp"
#include "backends/cublaslt/matmul.hpp"
#include "backends/tables.hpp"
#include "frameworks/gemm/facts.hpp"
#include "frameworks/gemm/set.hpp"

namespace dd::backends::cublaslt {
namespace {

namespace lt = cuda::lt;
using frameworks::gemm::text;
using facts::Id;

std::int64_t blocks(std::int64_t extent, std::int64_t of) { return (extent + of - 1) / of; }
std::int64_t rounded(std::int64_t value, std::int64_t to) { return blocks(value, to) * to; }

struct ModePair {
  std::string_view name;
  int a, b;
};
// Both sides in square blocks are not offered, so x is scaled by vectors there.
constexpr ModePair modes[] = {{"SCALAR_32F", lt::scale_scalar_32f, lt::scale_scalar_32f},
                              {"OUTER_VEC_32F", lt::scale_outer_vec_32f, lt::scale_outer_vec_32f},
                              {"VEC128_32F", lt::scale_vec128_32f, lt::scale_vec128_32f},
                              {"BLK128x128_32F", lt::scale_blk128x128_32f, lt::scale_vec128_32f},
                              {"VEC128xBLK128", lt::scale_blk128x128_32f, lt::scale_vec128_32f},
                              {"VEC32_UE8M0", lt::scale_vec32_ue8m0, lt::scale_vec32_ue8m0}};

// Number of scales of an operand with `outer` rows or columns beside K. Exponent-only scales lie in tiles of 128 by 4.
std::int64_t scale_count(int mode, std::int64_t outer, std::int64_t k) {
  switch (mode) {
    case lt::scale_outer_vec_32f: return outer;
    case lt::scale_vec128_32f: return outer * blocks(k, 128);
    case lt::scale_blk128x128_32f: return blocks(outer, 128) * rounded(blocks(k, 128), 4);
    case lt::scale_vec32_ue8m0: return rounded(outer, 128) * rounded(blocks(k, 32), 4);
    default: return 1;
  }
}

ScaleSet constant_scales(DeviceCall& call, int mode, std::int64_t outer, std::int64_t k, bool doubling) {
  const auto count = static_cast<std::size_t>(scale_count(mode, outer, k));
  if (mode == lt::scale_vec32_ue8m0) {  // 2^(code - 127)
    const std::vector<std::uint8_t> codes(count, doubling ? 128 : 126);
    return {call.upload(codes.data(), static_cast<std::int64_t>(count)), mode};
  }
  const std::vector<float> values(count, doubling ? 2.0f : 0.5f);
  return {call.upload(values.data(), static_cast<std::int64_t>(count * sizeof(float))), mode};
}

bool is_fp8(core::DType t) { return t == core::DType::f8_e4m3 || t == core::DType::f8_e5m2; }

// The library reads one dense bias for all rows and matrices.
bool place_bias(const ops::GemmProblem& p, DeviceCall& device, Call& call) {
  if (!p.bias) return true;
  const ops::TensorView& b = *p.bias;
  const auto type = blas_type(b.dtype);
  if (!type || b.shape[0] != 1 || b.shape[1] != 1 || b.shape[2] != p.w.shape[2] || (b.shape[2] != 1 && b.stride[2] != 1)) return false;
  call.bias = device.at(b);
  call.bias_type = *type;
  return true;
}

// Empty when the call can be described; else why not.
std::string describe(const RunRequest& request, const ops::GemmProblem& p, const ops::TensorView& out, const facts::FactSet& facts, DeviceCall& device, Call& call) {
  if (p.w_quant) return "codes with scales along k are no operands of this library";
  const auto compute = blas_compute(text(facts, Id::compute_type));
  const auto epilogue = epilogue_code(text(facts, Id::lt_epilogue));
  if (!compute || !epilogue) return "this tool does not call the library with such a compute type or epilogue";
  std::string why;
  if (!describe_product({p.x, device.at(p.x)}, {p.w, device.at(p.w)}, {out, device.out_at(out)}, call.product, why)) return why;
  call.compute = *compute;
  call.scale_type = blas_scale_type(*compute);
  call.epilogue = *epilogue;
  if (!place_bias(p, device, call)) return "the bias is not one dense row";
  call.fast_accumulation = frameworks::gemm::flag(facts, Id::fast_accum).value_or(false);
  call.reduced_precision = request.spec.flags.reduced_precision;
  call.wanted = static_cast<int>(std::clamp<std::int64_t>(frameworks::gemm::integer_or(facts, Id::requested_algo_count, 8), 0, 64));
  call.workspace = request.spec.gemm().workspace.value_or(advised_workspace(device.device().info().compute_capability));
  if (!is_fp8(p.x.dtype) && !is_fp8(p.w.dtype)) return {};
  for (const ModePair& mode : modes) {
    if (mode.name != text(facts, Id::scale_mode)) continue;
    call.scale_a = constant_scales(device, mode.a, call.product.m, call.product.k, true);
    call.scale_b = constant_scales(device, mode.b, call.product.n, call.product.k, false);
    return {};
  }
  return "this tool has no scales of that mode";
}

}  // namespace

RunResult run(const RunRequest& request) {
  RunResult problem, result;
  const auto opened = open_product(request, problem, cublaslt_available);
  if (!opened) return problem;
  const auto& [device, p, out] = *opened;
  facts::FactSet facts;
  add_blas_facts(request.spec, facts);
  Call call;
  if (const std::string why = describe(request, p, out, facts, *device, call); !why.empty()) return failure(report::Outcome::refused, "form", why, "own code");
  const auto matmul = Matmul::make(*device, call, problem);
  if (!matmul) return problem;
  describe_expanded(p, result.evidence);
  result.evidence.notes = matmul->candidates();
  if (call.scale_a.address) result.evidence.notes.push_back("scales " + text(facts, Id::scale_mode) + ": 2 for w, 1/2 for x, since the spec holds none");
  return device->run_parts({{"product", {matmul->step(matmul)}}}, std::move(result));
}

std::int64_t extra_bytes(const spec::OpSpec&) { return 0; }

}  // namespace dd::backends::cublaslt
