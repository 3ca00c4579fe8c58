// cpu-naive: straight loops over the tensors as they lie, any dtype. Where f64 arithmetic is asked for on narrower
// operands, they are widened first, since the loops take their accumulator from the operands.
#include "backends/common/operands.hpp"
#include "backends/common/run.hpp"
#include "backends/tables.hpp"
#include "ops/gemm/gemm.hpp"

namespace dd::backends::cpu_naive {
namespace {

using core::DType;

bool widens(const spec::OpSpec& spec) {
  const spec::Gemm& g = spec.gemm();
  return !g.quant && spec::compute_of(g, spec.flags) == spec::Compute::f64 && g.x.dtype != DType::f64 && g.w.dtype != DType::f64;
}

RunResult run_gemm(const RunRequest& request) {
  const auto made = ops::cases::gemm_problem(request.spec, request.inputs);
  if (!made) return failure(report::Outcome::refused, "spec", core::to_text(made.problems().front()), "own code");
  ops::GemmProblem problem = *made;
  report::Evidence conversions;
  describe_expanded(problem, conversions);
  Operand x;
  if (widens(request.spec)) {
    x = dense_operand(problem.x, DType::f64, "x", conversions, run_options(request));
    problem.x = x.view;
  }
  const auto out = ops::cases::output_view(request.spec, request.out);
  RunResult result = own_kernel(request, ops::gemm_naive_cpu(problem, out, run_options(request)), "gemm_naive_cpu", "plain loops");
  result.evidence.conversions = std::move(conversions.conversions);
  return result;
}

}  // namespace

RunResult run(const RunRequest& request) {
  return run_guarded(request, [&] {
    if (!request.spec.is_attention()) return run_gemm(request);
    const auto problem = ops::cases::attention_problem(request.spec, request.inputs);
    const auto out = ops::cases::output_view(request.spec, request.out);
    return own_kernel(request, ops::attention_naive_cpu(problem, out, run_options(request)), "attention_naive_cpu", "plain loops");
  });
}

std::int64_t extra_bytes(const spec::OpSpec& spec) {
  if (spec.is_attention()) return ops::thread_count(0) * spec::attention_dims(spec.attention().k.shape).length * 8;
  if (!widens(spec)) return 0;
  return core::bytes_of(DType::f64, spec::element_count(spec.gemm().x.shape).value_or(0));
}

}  // namespace dd::backends::cpu_naive
