// cpu-blas: one cblas_?gemm per matrix of the batch. f32 and f64 go in as they are; other float types are cast first.
#include <fmt/format.h>

#include "backends/common/operands.hpp"
#include "backends/common/result.hpp"
#include "backends/common/run.hpp"
#include "backends/libraries/blas_products.hpp"
#include "backends/tables.hpp"

namespace dd::backends::cpu_blas {
namespace {

using core::DType;

// The type that the product runs in: f64 where anything asks for it, else f32.
DType work_type(const spec::OpSpec& spec) {
  const spec::Gemm& g = spec.gemm();
  const bool wide = g.x.dtype == DType::f64 || g.w.dtype == DType::f64 || spec::compute_of(g, spec.flags) == spec::Compute::f64;
  return wide ? DType::f64 : DType::f32;
}

bool multiply(BlasCalls& calls, const Operand& x, const Operand& w, const ProductBuffer& y, std::int64_t batch) {
  const std::int64_t m = x.view.shape[1], k = x.view.shape[2], n = w.view.shape[2];
  const std::int64_t ldx = x.leading, ldw = w.leading;
  if (y.dtype == DType::f64)
    return blas_dgemm(&calls, x.transposed, w.transposed, m, n, k, 1.0, static_cast<const double*>(x.matrix(batch)), ldx,
                      static_cast<const double*>(w.matrix(batch)), ldw, 0.0, static_cast<double*>(y.matrix(batch)), y.leading);
  return blas_sgemm(&calls, x.transposed, w.transposed, m, n, k, 1.0f, static_cast<const float*>(x.matrix(batch)), ldx,
                    static_cast<const float*>(w.matrix(batch)), ldw, 0.0f, static_cast<float*>(y.matrix(batch)), y.leading);
}

RunResult run_checked(const RunRequest& request) {
  const OpenBlas& blas = openblas();
  if (!blas.ok()) return failure(report::Outcome::unavailable, "ENV001", blas.problem, "dlopen");
  const auto problem = ops::cases::gemm_problem(request.spec, request.inputs);
  if (!problem) return failure(report::Outcome::refused, "spec", core::to_text(problem.problems().front()), "own code");
  const ops::TensorView out = ops::cases::output_view(request.spec, request.out);
  const ops::RunOptions run = run_options(request);
  const DType work = work_type(request.spec);
  RunResult result;
  BlasCalls calls;
  describe_expanded(*problem, result.evidence);
  const Operand x = dense_operand(problem->x, work, "x", result.evidence, run);
  const Operand w = dense_operand(problem->w, work, "w", result.evidence, run);
  const ProductBuffer y = product_buffer(out, work, result.evidence);
  // What is left of the memory after the operands' copies is what counts.
  if (!open_blas(calls, blas, request.threads)) return failure(report::Outcome::unavailable, "memory", calls.lacking, "own code");
  for (std::int64_t b = 0; b < out.shape[0]; ++b)
    if (!multiply(calls, x, w, y, b))
      return failure(report::Outcome::refused, "size", "a size does not fit the 32-bit integers of the interface", "own code");
  finish_product(*problem, y, out, true, true, run);
  result.evidence.operators.push_back({"gemm", "native dispatcher", "worker", 1, {}});
  describe_blas_calls(calls, result.evidence);
  if (problem->bias || problem->epilogue != ops::Epilogue::none)
    result.evidence.notes.push_back("bias and activation ran as a separate pass over the result");
  return result;
}

}  // namespace

RunResult run(const RunRequest& request) {
  return run_guarded(request, [&] { return run_checked(request); });
}

Availability probe() {
  const OpenBlas& blas = openblas();
  if (!blas.ok()) return {false, blas.problem, {"ENV001"}};
  return {true, fmt::format("OpenBLAS {}, kernel set {}, {}", blas.version, blas.core.empty() ? "unknown" : blas.core, blas.library.path), {}};
}

std::int64_t extra_bytes(const spec::OpSpec& spec) {
  if (spec.gemm().quant) return 0;
  const DType work = work_type(spec);
  const DType out = spec::out_dtype(spec.gemm());
  const std::int64_t elements = spec::element_count(spec::out_shape(spec.gemm())).value_or(0);
  return copy_bytes(spec.gemm().x, work) + copy_bytes(spec.gemm().w, work) + (out == work ? 0 : core::bytes_of(work, elements));
}

}  // namespace dd::backends::cpu_blas
