// cpu-math: attention decomposed into two BLAS products and a softmax over a score matrix that is written out in full.
#include <fmt/format.h>

#include "backends/common/run.hpp"
#include "backends/libraries/blas_products.hpp"
#include "backends/tables.hpp"

namespace dd::backends::cpu_math {
namespace {

using core::DType;

void describe_copies(const ops::AttentionProblem& p, report::Evidence& evidence) {
  const DType work = p.q.dtype == DType::f64 ? DType::f64 : DType::f32;
  const auto add = [&](const char* role, const ops::TensorView& t) {
    const std::int64_t bytes = core::bytes_of(work, ops::element_count(t));
    if (bytes == 0) return;
    if (t.dtype == work) {
      evidence.conversions.push_back({"copy", std::string(role) + " to a dense tensor", bytes});
    } else {
      evidence.conversions.push_back({"cast", fmt::format("{} from {} to {}", role, core::to_text(t.dtype), core::to_text(work)), bytes});
    }
  };
  add("q", p.q);
  add("k", p.k);
  add("v", p.v);
}

}  // namespace

RunResult run(const RunRequest& request) {
  return run_guarded(request, [&] {
    const auto problem = ops::cases::attention_problem(request.spec, request.inputs);
    const auto out = ops::cases::output_view(request.spec, request.out);
    BlasCalls calls;
    const ops::BlasTable table = blas_table(calls, request.threads);
    const ops::BackendRun run = ops::attention_math_cpu(problem, out, table, run_options(request));
    RunResult result = own_kernel(request, run, "softmax over stored scores", kernel_detail(request));
    if (!run.ok()) return result;
    describe_blas_calls(calls, result.evidence);
    describe_copies(problem, result.evidence);
    result.evidence.notes.push_back(fmt::format("scores materialised: {} bytes", run.scores_bytes));
    return result;
  });
}

std::int64_t extra_bytes(const spec::OpSpec& spec) {
  const double bytes = ops::attention_math_bytes(shadow_problem(spec));
  return bytes < 9e18 ? static_cast<std::int64_t>(bytes) : INT64_MAX;
}

}  // namespace dd::backends::cpu_math
