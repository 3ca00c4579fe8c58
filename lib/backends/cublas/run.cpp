// cublas: one product through the handle API, cublasGemmEx or its strided batched form.
#include "backends/common/device_blas.hpp"
#include "backends/common/run.hpp"
#include "backends/tables.hpp"
#include "frameworks/gemm/set.hpp"

namespace dd::backends::cublas {

// The compute type follows from the same facts that the rules look at.
RunResult run(const RunRequest& request) {
  RunResult problem, result;
  const auto call = DeviceCall::make(request, problem, cublas_available);
  if (!call) return problem;
  const auto p = ops::cases::gemm_problem(request.spec, request.inputs);
  if (!p) return failure(report::Outcome::refused, "spec", core::to_text(p.problems().front()), "own code");
  if (p->w_quant || p->bias || p->epilogue != ops::Epilogue::none)
    return failure(report::Outcome::refused, "form", "the handle API multiplies plain matrices: no scales, no epilogue", "own code");
  facts::FactSet facts;
  add_blas_facts(request.spec, facts);
  const auto compute = blas_compute(frameworks::gemm::text(facts, facts::Id::compute_type));
  const ops::TensorView out = ops::cases::output_view(request.spec, request.out);
  BlasProduct product;
  std::string why = "the library has no such compute type";
  if (!compute || !describe_product({p->x, call->at(p->x)}, {p->w, call->at(p->w)}, {out, call->out_at(out)}, product, why))
    return failure(report::Outcome::refused, "form", why, "own code");
  const auto cublas = open_cublas(*call, request.spec.gemm().workspace, problem);
  if (!cublas) return problem;
  describe_expanded(*p, result.evidence);
  return call->run_parts({{"product", {gemm_step(*cublas, product, *compute)}}}, std::move(result));
}

std::int64_t extra_bytes(const spec::OpSpec&) { return 0; }

}  // namespace dd::backends::cublas
