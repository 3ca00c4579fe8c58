// What every run half shares: problems from the request, outcomes from errors, evidence of own kernels.
#pragma once
#include <functional>
#include <string>

#include "backends/backend.hpp"
#include "ops/attention/attention.hpp"
#include "ops/cases/cases.hpp"
#include "ops/gemm/gemm.hpp"

namespace dd::backends {

RunResult failure(report::Outcome outcome, std::string code, std::string text, std::string source);
// Runs `body`; memory that cannot be had becomes out-of-memory, a mode that is not offered becomes refused.
RunResult run_guarded(const RunRequest& request, const std::function<RunResult()>& body);
// Outcome, scratch and kernel entry of an own kernel. `name` is the function, `detail` what it worked with.
RunResult own_kernel(const RunRequest& request, const ops::BackendRun& run, const std::string& name, const std::string& detail);

inline ops::RunOptions run_options(const RunRequest& request) { return {request.threads, nullptr}; }
// "avx2 kernels, 2 threads"
std::string kernel_detail(const RunRequest& request);
// The attention problem over tensors without memory behind them: for extra_bytes.
ops::AttentionProblem shadow_problem(const spec::OpSpec& spec);
// Bytes of the dense copy that dense_operand would make of this tensor.
std::int64_t copy_bytes(const spec::TensorSpec& tensor, core::DType dtype);
// Copies that making the problem itself took (partly broadcast batches), as conversions.
void describe_expanded(const ops::GemmProblem& problem, report::Evidence& evidence);

}  // namespace dd::backends
