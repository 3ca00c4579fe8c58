// cudnn: the library's fused attention graph on the stream of the device. Every engine is asked as for a GPU that is not
// here, and the first plan of the heuristics that can be built runs.
#include <fmt/format.h>

#include <limits>

#include "backends/common/device_call.hpp"
#include "backends/common/run.hpp"
#include "backends/cuda_runtime/environment.hpp"
#include "backends/cuda_runtime/record.hpp"
#include "backends/cudnn/frontend/plan.hpp"
#include "backends/tables.hpp"
#include "ops/tensor/convert.hpp"

namespace dd::backends::cudnn_attention {
namespace {

Availability available() {
  const cuda::LibraryRecord& library = cuda::library(cuda::Library::cudnn);
  if (!cudnn::ask_built()) return with_library(device_available(), "this build was configured without the headers of cudnn-frontend and cuDNN", "RUL013", "");
  return with_library(device_available(), library ? "" : library.error, "ENV025", fmt::format("cuDNN {} ({})", library.version, library.path));
}

cudnn::AskTensor form_of(const ops::TensorView& v) { return {v.dtype, {v.shape, v.shape + 4}, {v.stride, v.stride + 4}}; }

// cuDNN adds its mask to the scores: a boolean one is 0 where a pair takes part, else minus infinity.
struct Bias {
  cudnn::AskTensor form;
  void* address = nullptr;
};
Bias place_mask(ops::TensorView mask, core::DType type, DeviceCall& call, report::Evidence& evidence) {
  void* const as_it_lies = call.at(mask);
  cudnn::BiasForm bias = cudnn::bias_form(form_of(mask), type, static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(as_it_lies) % 4096));
  if (!bias.written_out) return {std::move(bias.form), as_it_lies};
  for (std::size_t i = 0; i < 4; ++i) mask.shape[i] = bias.form.dim[i];
  const std::int64_t count = ops::element_count(mask);
  const bool boolean = mask.dtype == core::DType::boolean;
  const core::DType written = bias.form.dtype;
  std::vector<std::byte> bits(static_cast<std::size_t>(core::bytes_of(written, count)));
  for (std::int64_t i = 0; i < count; ++i) {
    const double value = ops::load(mask.data, mask.dtype, ops::element_index(mask, i));
    ops::store(bits.data(), written, i, !boolean ? value : value != 0 ? 0.0 : -std::numeric_limits<double>::infinity());
  }
  const auto bytes = static_cast<std::int64_t>(bits.size());
  evidence.conversions.push_back(boolean ? report::Conversion{"cast", fmt::format("boolean mask to additive {}", core::to_text(written)), bytes}
                                         : report::Conversion{"copy", "mask to dense storage", bytes});
  return {std::move(bias.form), call.upload(bits.data(), bytes)};
}

}  // namespace

Availability probe() { return available(); }

void add_facts(facts::FactSet& facts) {
  add_device_facts(facts);
  cuda::add_library_facts(cuda::Library::cudnn, facts);
}

// The additive form of a boolean mask; the engines' own workspace is not known before they are asked.
std::int64_t extra_bytes(const spec::OpSpec& spec) {
  const spec::Attention& a = spec.attention();
  if (!a.mask || a.mask->dtype != core::DType::boolean) return 0;
  std::int64_t elements = 1;
  for (std::int64_t extent : a.mask->shape)
    if (__builtin_mul_overflow(elements, extent, &elements)) return 0;
  return core::bytes_of(a.q.dtype, elements);
}

RunResult run(const RunRequest& request) {
  RunResult problem, result;
  const auto call = DeviceCall::make(request, problem, available);
  if (!call) return problem;
  const ops::AttentionProblem p = ops::cases::attention_problem(request.spec, request.inputs);
  const ops::TensorView out = ops::cases::output_view(request.spec, request.out);
  if (!p.q_lengths.empty() || p.window_left >= 0 || p.window_right >= 0)
    return failure(report::Outcome::refused, "form", "ragged lengths and windows have no form in this graph", "own code");
  if (p.dropout_p > 0) return failure(report::Outcome::unavailable, "dropout", "cuDNN draws its own random numbers: the result has no reference", "own code");

  cudnn::AttentionQuestion question;
  question.q = form_of(p.q);
  question.k = form_of(p.k);
  question.v = form_of(p.v);
  question.out = form_of(out);
  question.causal = !p.causal ? 0 : p.align == ops::Align::top_left ? 1 : 2;
  question.scale = p.scale;
  question.train = request.spec.attention().requires_grad;
  cudnn::AttentionPlan::Pointers at{call->at(p.q), call->at(p.k), call->at(p.v), nullptr, call->out_at(out), nullptr};
  if (p.mask) {
    Bias bias = place_mask(*p.mask, p.q.dtype, *call, result.evidence);
    question.bias = std::move(bias.form);
    at.bias = bias.address;
  }
  cuda::CallError error;
  cudnn::Answer answer;
  const cuda::DeviceInfo& device = call->device().info();
  std::optional<cuda::HarnessScope> not_the_call(std::in_place);  // asking and building are no part of the attempt
  const auto plan = cudnn::AttentionPlan::make(question, device.compute_capability, call->device().stream(), answer, error);
  not_the_call.reset();
  answer.device = device.name;
  if (!plan) {
    result = device_failure(error);
    result.asked = std::move(answer);
    return result;
  }
  result.asked = std::move(answer);
  if (question.train) at.stats = call->scratch(p.q.shape[0] * p.q.shape[1] * p.q.shape[2] * static_cast<std::int64_t>(sizeof(float)));
  void* workspace = plan->workspace_bytes() > 0 ? call->scratch(plan->workspace_bytes()) : nullptr;
  result.evidence.notes = plan->candidates();
  result.evidence.notes.push_back("scores never materialised");
  DeviceCall::LibraryCall step{"cudnnBackendExecute", fmt::format("plan {}, workspace {} bytes", plan->name(), plan->workspace_bytes()), [&](void*) { return plan->execute(at, workspace); }};
  return call->run_parts({{"attention", {std::move(step)}}}, std::move(result));
}

}  // namespace dd::backends::cudnn_attention
