// cpu-dequant: writes the dequantized weights as a dense f32 matrix, then multiplies with a BLAS. The slow path.
#include <fmt/format.h>

#include "backends/common/run.hpp"
#include "backends/libraries/blas_products.hpp"
#include "backends/tables.hpp"
#include "ops/gemm/gemm.hpp"

namespace dd::backends::cpu_dequant {
namespace {

std::int64_t dense_weight_bytes(const spec::Gemm& g) { return core::bytes_of(core::DType::f32, spec::element_count(g.w.shape).value_or(0)); }

void describe_conversions(const spec::Gemm& g, report::Evidence& evidence) {
  evidence.conversions.push_back({"dequantize", fmt::format("w from {} to f32", core::to_text(g.w.dtype)), dense_weight_bytes(g)});
  if (g.x.dtype == core::DType::f32) return;
  const std::int64_t bytes = core::bytes_of(core::DType::f32, spec::element_count(g.x.shape).value_or(0));
  evidence.conversions.push_back({"cast", fmt::format("x from {} to f32", core::to_text(g.x.dtype)), bytes});
}

}  // namespace

RunResult run(const RunRequest& request) {
  return run_guarded(request, [&] {
    const auto problem = ops::cases::gemm_problem(request.spec, request.inputs);
    if (!problem) return failure(report::Outcome::refused, "spec", core::to_text(problem.problems().front()), "own code");
    const auto out = ops::cases::output_view(request.spec, request.out);
    BlasCalls calls;
    const ops::BlasTable table = blas_table(calls, request.threads);
    const ops::BackendRun run = ops::dequant_gemm_cpu(*problem, out, table, run_options(request));
    RunResult result = own_kernel(request, run, "dequantize", kernel_detail(request));
    if (!run.ok()) return result;
    describe_blas_calls(calls, result.evidence);
    describe_conversions(request.spec.gemm(), result.evidence);
    describe_expanded(*problem, result.evidence);
    return result;
  });
}

std::int64_t extra_bytes(const spec::OpSpec& spec) {
  const spec::Gemm& g = spec.gemm();
  const std::int64_t x = spec::element_count(g.x.shape).value_or(0), y = spec::element_count(spec::out_shape(g)).value_or(0);
  return dense_weight_bytes(g) + core::bytes_of(core::DType::f32, x) + core::bytes_of(core::DType::f32, y);
}

}  // namespace dd::backends::cpu_dequant
