// cpu-packed: multiplies the 8- and 4-bit codes as they lie; scales and zero points are applied on the way.
#include "backends/common/run.hpp"
#include "backends/tables.hpp"
#include "ops/gemm/gemm.hpp"

namespace dd::backends::cpu_packed {

RunResult run(const RunRequest& request) {
  return run_guarded(request, [&] {
    const auto problem = ops::cases::gemm_problem(request.spec, request.inputs);
    if (!problem) return failure(report::Outcome::refused, "spec", core::to_text(problem.problems().front()), "own code");
    const auto out = ops::cases::output_view(request.spec, request.out);
    RunResult result = own_kernel(request, ops::packed_gemm_cpu(*problem, out, run_options(request)), "packed_gemm_cpu",
                                  "f32 arithmetic, " + kernel_detail(request));
    if (!result.error) result.evidence.notes.push_back("dequantized weights never materialised");
    describe_expanded(*problem, result.evidence);
    return result;
  });
}

// Rows of x unpacked to f32, sums, and one tile of weights per thread.
std::int64_t extra_bytes(const spec::OpSpec& spec) {
  const spec::Gemm& g = spec.gemm();
  const std::int64_t x = spec::element_count(g.x.shape).value_or(0), y = spec::element_count(spec::out_shape(g)).value_or(0);
  constexpr std::int64_t tile = 2 * 256 * 384;
  return core::bytes_of(core::DType::f32, x + y + ops::thread_count(0) * tile);
}

}  // namespace dd::backends::cpu_packed
