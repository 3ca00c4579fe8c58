// cpu-onednn: one matmul primitive with bias and activation fused where the library can; its verbose lines are caught and
// name the implementation. Operands keep their type.
#include <fmt/format.h>

#include "backends/common/operands.hpp"
#include "backends/common/result.hpp"
#include "backends/common/run.hpp"
#include "backends/libraries/onednn.hpp"
#include "backends/tables.hpp"

namespace dd::backends::cpu_onednn {
namespace {

using core::DType;

// Rank 2 for a single matrix: the library has more implementations for it. Strides of axes of size 1 carry no meaning but
// are checked by the library, so they take the dense value.
MatmulTensor tensor_of(DType dtype, std::int64_t batch, std::int64_t step, std::int64_t rows, std::int64_t columns, std::int64_t leading,
                       bool transposed, void* data, bool with_batch) {
  MatmulTensor t{dtype, {rows, columns}, {leading, 1}, data};
  if (transposed) t.strides = {1, leading};
  if (rows == 1) t.strides[0] = transposed ? 1 : columns;
  if (columns == 1) t.strides[1] = transposed ? rows : 1;
  if (!with_batch) return t;
  t.shape.insert(t.shape.begin(), batch);
  t.strides.insert(t.strides.begin(), batch == 1 ? (transposed ? leading * columns : leading * rows) : step);
  return t;
}

MatmulTensor tensor_of(const Operand& o, bool with_batch) {
  const ops::TensorView& v = o.view;
  const std::int64_t batch = v.stride[0] == 0 ? 1 : v.shape[0];
  return tensor_of(v.dtype, batch, v.stride[0], v.shape[1], v.shape[2], o.leading, o.transposed, const_cast<void*>(o.matrix(0)), with_batch);
}

PostOp post_op_of(ops::Epilogue e) {
  return e == ops::Epilogue::relu ? PostOp::relu : e == ops::Epilogue::gelu_tanh ? PostOp::gelu_tanh : PostOp::none;
}

// A bias of one row goes into the primitive as f32 (or as the s32 of an integer product); any other is added afterwards.
bool row_bias(const ops::TensorView& b, std::int64_t n) { return b.shape[0] <= 1 && b.shape[1] <= 1 && b.shape[2] == n; }

void describe(const OneDnn& library, const MatmulAnswer& answer, const MatmulCall& call, report::Evidence& evidence) {
  evidence.operators.push_back({"gemm", "native dispatcher", "worker", 1, {}});
  evidence.library_calls.push_back({"dnnl_primitive_execute", "oneDNN " + library.version.to_text() + " matmul", "worker", 1, {}});
  evidence.kernels.push_back({answer.implementation.empty() ? "unknown implementation" : answer.implementation,
                              answer.from_verbose ? "" : "named by a query; the build prints no log",
                              answer.from_verbose ? "library log" : "library", 1, answer.seconds});
  if (call.post_op != PostOp::none || call.bias) evidence.notes.push_back("bias and activation were given to the primitive as one operation");
  if (answer.implementation.find("ref") != std::string::npos) evidence.notes.push_back("the implementation is the library's plain reference loop");
  for (const std::string& line : answer.verbose)
    if (line.find(",exec,") != std::string::npos) evidence.notes.push_back(line.substr(0, line.rfind(',')));  // its last field is the time
}

RunResult refused(const MatmulAnswer& answer, const OneDnn& library) {
  std::string text = fmt::format("{} gave {}", answer.failed_call, status_name(answer.status));
  // The last reason is the last implementation's; the first ones are the faster implementations'.
  for (const std::string& reason : answer.reasons) text += "; " + reason;
  if (answer.reasons.empty() && !library.dispatch_reasons()) text += "; this version tells no reasons (3.2 and newer do)";
  const bool memory = answer.status == 1;
  return failure(memory ? report::Outcome::out_of_memory : report::Outcome::refused, std::string(status_name(answer.status)),
                 std::move(text), "oneDNN " + library.version.to_text());
}

RunResult run_checked(const RunRequest& request) {
  const OneDnn& library = onednn();
  if (!library.ok()) return failure(report::Outcome::unavailable, "ENV002", library.problem, "dlopen");
  const auto problem = ops::cases::gemm_problem(request.spec, request.inputs);
  if (!problem) return failure(report::Outcome::refused, "spec", core::to_text(problem.problems().front()), "own code");
  const ops::TensorView out = ops::cases::output_view(request.spec, request.out);
  const ops::RunOptions run = run_options(request);
  RunResult result;
  if (out.shape[0] == 0 || out.shape[1] == 0 || out.shape[2] == 0) return result;
  describe_expanded(*problem, result.evidence);
  const Operand x = dense_operand(problem->x, problem->x.dtype, "x", result.evidence, run);
  const Operand w = dense_operand(problem->w, problem->w.dtype, "w", result.evidence, run);
  const ProductBuffer y = product_buffer(out, out.dtype, result.evidence);
  const bool with_batch = out.shape[0] > 1;
  MatmulCall call;
  call.threads = ops::thread_count(request.threads);
  call.x = tensor_of(x, with_batch);
  call.w = tensor_of(w, with_batch);
  call.y = tensor_of(out.dtype, out.shape[0], y.matrix_step, out.shape[1], out.shape[2], y.leading, false, y.matrix(0), with_batch);
  const bool fuse = !problem->bias || row_bias(*problem->bias, out.shape[2]);
  Operand bias;
  if (fuse && problem->bias) {
    bias = dense_operand(*problem->bias, DType::f32, "bias", result.evidence, run);
    call.bias = tensor_of(DType::f32, 1, 0, 1, out.shape[2], out.shape[2], false, const_cast<void*>(bias.matrix(0)), with_batch);
  }
  if (fuse) call.post_op = post_op_of(problem->epilogue);
  const MatmulAnswer answer = matmul(library, call);
  if (!answer.ok()) return refused(answer, library);
  finish_product(*problem, y, out, !fuse, !fuse, run);
  describe(library, answer, call, result.evidence);
  if (!fuse) result.evidence.notes.push_back("a bias of more than one row and the activation ran as a separate pass");
  return result;
}

}  // namespace

RunResult run(const RunRequest& request) {
  return run_guarded(request, [&] { return run_checked(request); });
}

Availability probe() {
  const OneDnn& library = onednn();
  if (!library.ok()) return {false, library.problem, {"ENV002"}};
  return {true, fmt::format("oneDNN {}, up to {}, {}", library.version.to_text(), library.isa.empty() ? "an unknown extension" : library.isa,
                            library.library.path), {}};
}

std::int64_t extra_bytes(const spec::OpSpec& spec) {
  if (spec.gemm().quant) return 0;
  return copy_bytes(spec.gemm().x, spec.gemm().x.dtype) + copy_bytes(spec.gemm().w, spec.gemm().w.dtype);
}

}  // namespace dd::backends::cpu_onednn
