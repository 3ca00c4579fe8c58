#include "backends/common/run.hpp"

#include <fmt/format.h>

#include <new>

#include "backends/common/operands.hpp"
#include "ops/simd/kernels.hpp"

namespace dd::backends {

RunResult failure(report::Outcome outcome, std::string code, std::string text, std::string source) {
  RunResult result;
  result.outcome = outcome;
  result.error = report::Error{std::move(code), std::move(text), std::move(source)};
  return result;
}

RunResult run_guarded(const RunRequest& request, const std::function<RunResult()>& body) {
  if (request.mode != spec::Mode::eager)
    return failure(report::Outcome::refused, "mode", fmt::format("no {} mode on the processor", core::to_text(request.mode)), "worker");
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return failure(report::Outcome::out_of_memory, "bad_alloc", "memory beside inputs and output could not be had", "worker");
  }
}

std::string kernel_detail(const RunRequest& request) {
  const int threads = ops::thread_count(request.threads);
  return fmt::format("{} kernels, {} thread{}", ops::simd::kernels().name, threads, threads == 1 ? "" : "s");
}

RunResult own_kernel(const RunRequest& request, const ops::BackendRun& run, const std::string& name, const std::string& detail) {
  if (!run.ok()) return failure(report::Outcome::refused, "kernel", run.error, "own code");
  RunResult result;
  result.evidence.operators.push_back({request.spec.is_attention() ? "sdpa" : "gemm", "native dispatcher", "worker", 1, {}});
  result.evidence.kernels.push_back({name, detail, "worker", 1, {}});
  if (run.scratch_bytes > 0) result.evidence.notes.push_back(fmt::format("scratch memory: {} bytes", run.scratch_bytes));
  return result;
}

namespace {

core::Tensor shadow(const spec::TensorSpec& t) {
  core::Tensor out;
  out.dtype = t.dtype;
  out.shape = t.shape;
  out.strides = spec::strides_of(t);
  out.offset = t.offset;
  return out;
}

}  // namespace

ops::AttentionProblem shadow_problem(const spec::OpSpec& spec) {
  const spec::Attention& a = spec.attention();
  return ops::cases::attention_problem(spec, {{"q", shadow(a.q)}, {"k", shadow(a.k)}, {"v", shadow(a.v)}});
}

std::int64_t copy_bytes(const spec::TensorSpec& tensor, core::DType dtype) {
  const std::size_t rank = tensor.shape.size();
  const spec::Dims strides = spec::strides_of(tensor);
  if (rank < 2) return 0;
  ops::TensorView matrix;
  matrix.rank = 3;
  matrix.shape[0] = 1;
  for (int i = 0; i < 2; ++i) {
    matrix.shape[1 + i] = tensor.shape[rank - 2 + static_cast<std::size_t>(i)];
    matrix.stride[1 + i] = strides[rank - 2 + static_cast<std::size_t>(i)];
  }
  if (tensor.dtype == dtype && is_dense_matrix(matrix)) return 0;
  return core::bytes_of(dtype, spec::element_count(tensor.shape).value_or(0));
}

void describe_expanded(const ops::GemmProblem& problem, report::Evidence& evidence) {
  for (const auto& expanded : problem.expanded)
    evidence.conversions.push_back({"copy", expanded.name + " expanded over broadcast batch axes", expanded.bytes});
}

}  // namespace dd::backends
