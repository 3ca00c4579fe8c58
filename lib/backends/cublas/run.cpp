// cublas: one product through the handle API, cublasGemmEx or its strided batched form.
#include "backends/common/device_blas.hpp"
#include "backends/common/device_gemm.hpp"
#include "backends/common/run.hpp"
#include "backends/tables.hpp"
#include "frameworks/gemm/set.hpp"

namespace dd::backends::cublas {

// The compute type follows from the same facts that the rules look at.
RunResult run(const RunRequest& request) {
  RunResult problem, result;
  const auto call = open_product(request, problem, cublas_available);
  if (!call) return problem;
  const auto& [device, p, out] = *call;
  if (p.w_quant || p.bias || p.epilogue != ops::Epilogue::none)
    return failure(report::Outcome::refused, "form", "the handle API multiplies plain matrices: no scales, no epilogue", "own code");
  facts::FactSet facts;
  add_blas_facts(request.spec, facts);
  const auto compute = blas_compute(frameworks::gemm::text(facts, facts::Id::compute_type));
  BlasProduct product;
  std::string why = "the library has no such compute type";
  if (!compute || !describe_product({p.x, device->at(p.x)}, {p.w, device->at(p.w)}, {out, device->out_at(out)}, product, why))
    return failure(report::Outcome::refused, "form", why, "own code");
  const auto cublas = open_cublas(*device, request.spec.gemm().workspace, request.spec.flags.reduced_precision, problem);
  if (!cublas) return problem;
  describe_expanded(p, result.evidence);
  return device->run_parts({{"product", {gemm_step(*cublas, product, *compute)}}}, std::move(result));
}

std::int64_t extra_bytes(const spec::OpSpec&) { return 0; }

}  // namespace dd::backends::cublas
