// The one translation unit with cudnn-frontend (header-only, Apache-2.0 since 1.2x; MIT before), in its dynamic-loading
// mode: no link against cuDNN or CUDA. Builds the graphs, asks the heuristics, and runs a plan where there is a GPU.
#include <cudnn_frontend.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/cudnn/frontend/library.hpp"
#include "backends/cudnn/frontend/plan.hpp"
#include "backends/cudnn/frontend/reasons.hpp"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;
}

namespace dd::cudnn {
namespace fe = cudnn_frontend;
namespace {

using Attributes = std::shared_ptr<fe::graph::Tensor_attributes>;

struct FrontendGraph : fe::graph::Graph {
  cudnnBackendDescriptor_t raw() { return operation_graph ? operation_graph->get_raw_desc() : nullptr; }
};

std::optional<fe::DataType_t> data_type(core::DType dtype) {
  using core::DType;
  switch (dtype) {
    case DType::f64: return fe::DataType_t::DOUBLE;
    case DType::f32: return fe::DataType_t::FLOAT;
    case DType::f16: return fe::DataType_t::HALF;
    case DType::bf16: return fe::DataType_t::BFLOAT16;
    case DType::f8_e4m3: return fe::DataType_t::FP8_E4M3;
    case DType::f8_e5m2: return fe::DataType_t::FP8_E5M2;
    case DType::s32: return fe::DataType_t::INT32;
    case DType::s8: return fe::DataType_t::INT8;
    case DType::u8: return fe::DataType_t::UINT8;
    default: return std::nullopt;
  }
}

std::string check(const AskTensor& t, const char* name) {
  if (!data_type(t.dtype)) return fmt::format("cuDNN has no element type for {} of {}", core::to_text(t.dtype), name);
  // cuDNN divides by some extents before it looks at them.
  for (std::int64_t d : t.dim)
    if (d < 1) return fmt::format("an extent of {} is {}: cuDNN may crash on it, so it is not asked", name, d);
  return {};
}

std::string check(const AttentionQuestion& question) {
  for (const auto& [t, name] : {std::pair{&question.q, "q"}, {&question.k, "k"}, {&question.v, "v"}, {&question.out, "the result"}})
    if (std::string p = check(*t, name); !p.empty()) return p;
  return question.bias ? check(*question.bias, "the mask") : "";
}

Attributes tensor(FrontendGraph& graph, const AskTensor& t, const char* name) {
  return graph.tensor(fe::graph::Tensor_attributes().set_name(name).set_dim(t.dim).set_stride(t.stride).set_data_type(*data_type(t.dtype)));
}

struct AttentionTensors {
  Attributes q, k, v, bias, out, stats;
};

AttentionTensors add_attention(FrontendGraph& graph, const AttentionQuestion& question) {
  AttentionTensors t;
  graph.set_io_data_type(*data_type(question.q.dtype)).set_intermediate_data_type(fe::DataType_t::FLOAT).set_compute_data_type(fe::DataType_t::FLOAT);
  auto options = fe::graph::SDPA_attributes().set_name("sdpa").set_attn_scale(static_cast<float>(question.scale)).set_generate_stats(question.train);
  if (question.causal == 1) options.set_causal_mask(true);
  if (question.causal == 2) options.set_causal_mask_bottom_right(true);
  if (question.bias) options.set_bias(t.bias = tensor(graph, *question.bias, "bias"));
  if (question.dropout_p > 0) {
    // 64 bits, as PyTorch passes them: Blackwell's engine takes no other.
    const auto number = [&](const char* name) {
      return graph.tensor(fe::graph::Tensor_attributes().set_name(name).set_dim({1, 1, 1, 1}).set_stride({1, 1, 1, 1}).set_data_type(fe::DataType_t::INT64));
    };
    options.set_dropout(static_cast<float>(question.dropout_p), number("seed"), number("offset"));
  }
  t.q = tensor(graph, question.q, "q");
  t.k = tensor(graph, question.k, "k");
  t.v = tensor(graph, question.v, "v");
  const auto made = graph.sdpa(t.q, t.k, t.v, options);
  t.out = made[0];
  t.stats = made[1];
  if (!t.out) throw std::runtime_error("the frontend made no attention node");
  t.out->set_output(true).set_dim(question.out.dim).set_stride(question.out.stride).set_data_type(*data_type(question.out.dtype));
  if (question.train && t.stats) t.stats->set_output(true).set_data_type(fe::DataType_t::FLOAT);
  return t;
}

void add_product(FrontendGraph& graph, const ProductQuestion& question) {
  const auto compute = *data_type(question.compute);
  graph.set_io_data_type(*data_type(question.x.dtype)).set_intermediate_data_type(compute).set_compute_data_type(compute);
  auto out = graph.matmul(tensor(graph, question.x, "x"), tensor(graph, question.w, "w"),
                          fe::graph::Matmul_attributes().set_name("product").set_compute_data_type(compute));
  if (!out) throw std::runtime_error("the frontend made no product node");
  out->set_output(true).set_dim(question.out.dim).set_stride(question.out.stride).set_data_type(*data_type(question.out.dtype));
}

struct Device {
  std::shared_ptr<fe::DeviceProperties> properties;
  std::int64_t version = 0;  // 900 for compute capability 9.0
  std::string problem, name;
};

Device read_device(const std::string& text) {
  Device out;
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("deviceVer") || !json["deviceVer"].is_number_integer()) {
    out.problem = "the device properties are not cuDNN's JSON: deviceVer is missing";
    return out;
  }
  out.version = json["deviceVer"].get<std::int64_t>();
  if (json.contains("deviceName") && json["deviceName"].is_string()) out.name = json["deviceName"].get<std::string>();
  out.properties = std::make_shared<fe::DeviceProperties>();
  const std::vector<std::uint8_t> bytes(text.begin(), text.end());
  if (auto status = out.properties->deserialize(bytes); status.is_bad())
    out.problem = "cuDNN does not accept the device properties: " + std::string(status.get_message());
  return out;
}

// Before any node is added: nodes copy what they need. The frontend's own checks follow the version number, cuDNN's the
// properties, so both come from the same place.
void target(FrontendGraph& graph, const Device& device) {
  graph.set_device_properties(device.properties);
  graph.set_sm_version(static_cast<std::int32_t>(device.version / 10));
}

void ask_heuristics(FrontendGraph& graph, Answer& answer) {
  if (graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}).is_bad()) return;
  for (std::int64_t plan = 0; plan < graph.get_execution_plan_count(); ++plan) {
    std::string tag;
    if (graph.get_plan_name_at_index(plan, tag).is_bad()) continue;
    const std::int64_t id = engine_in(tag);
    if (id < 0 || std::find(answer.order.begin(), answer.order.end(), id) != answer.order.end()) continue;
    for (EngineAnswer& e : answer.engines)
      if (e.id == id) {
        e.offered = e.accepted = true;  // the heuristics know configurations that were not tried one by one
        e.code.clear();
        e.reason.clear();
        answer.order.push_back(id);
      }
  }
}

// A null `device` stands for the one that is here, and `handle` then belongs to it.
void ask_graph(FrontendGraph& graph, const Device* device, cudnnHandle_t handle, bool attention, Answer& answer) {
  take_messages();
  auto status = graph.validate();
  if (status.is_good()) status = handle ? graph.build_operation_graph(handle) : graph.build_operation_graph();
  std::int64_t engines = 0;
  if (status.is_good()) status = graph.get_engine_count(engines);
  if (status.is_bad()) {
    const Reason best = most_telling(reasons_in(take_messages()));
    answer.refusal = best.text.empty() ? std::string(status.get_message()) : std::string(status.get_message()) + " (" + best.text + ")";
    return;
  }
  for (std::int64_t id = 0; id < engines; ++id) {
    EngineAnswer engine;
    engine.id = id;
    engine.name = engine_name(attention, id);
    ask_engine(ready().api, graph.raw(), device ? device->properties->get_ptr() : nullptr, engine);
    answer.engines.push_back(std::move(engine));
  }
  ask_heuristics(graph, answer);
}

// Releases before 9.8 know no device properties: they can run, and cannot be asked about another device.
Answer opened(bool about_other_device) {
  const auto& problem = ready().problem ? ready().problem : about_other_device ? ready().no_properties : ready().problem;
  if (problem) return not_asked(problem->code, problem->text);
  fe::cudnn_dlhandle = ready().library->handle;
  Answer answer;
  answer.library = "cuDNN";
  answer.version = ready().library->version;
  answer.frontend = frontend_version();
  return answer;
}

// What ask() of either operator shares. The frontend throws where it has no node for a call.
template <class AddNodes>
Answer ask_about(const std::string& problem, const std::string& device_json, bool attention, AddNodes&& add_nodes) {
  Answer answer = opened(true);
  if (!answer.answered()) return answer;
  if (!problem.empty()) return not_asked("no-question", problem);
  const Device device = read_device(device_json);
  if (!device.problem.empty()) return not_asked("device", device.problem);
  answer.device = device.name;
  try {
    FrontendGraph graph;
    target(graph, device);
    add_nodes(graph);
    ask_graph(graph, &device, nullptr, attention, answer);
  } catch (const std::exception& e) {
    answer.refusal = e.what();
  }
  return answer;
}

}  // namespace

bool ask_built() { return true; }
std::string frontend_version() {
  return fmt::format("{}.{}.{}", CUDNN_FRONTEND_MAJOR_VERSION, CUDNN_FRONTEND_MINOR_VERSION, CUDNN_FRONTEND_PATCH_VERSION);
}

Answer ask(const AttentionQuestion& question, const std::string& device_json) {
  return ask_about(check(question), device_json, true, [&](FrontendGraph& graph) { add_attention(graph, question); });
}

Answer ask(const ProductQuestion& question, const std::string& device_json) {
  std::string problem;
  for (const auto& [t, name] : {std::pair{&question.x, "x"}, {&question.w, "w"}, {&question.out, "the result"}})
    if (problem.empty()) problem = check(*t, name);
  return ask_about(problem, device_json, false, [&](FrontendGraph& graph) { add_product(graph, question); });
}

struct AttentionPlan::Graph {
  FrontendGraph graph;
  AttentionTensors tensors;
  cudnnHandle_t handle = nullptr;
  ~Graph() {
    if (handle) ready().api.destroy_handle(handle);
  }
};

AttentionPlan::AttentionPlan() = default;
AttentionPlan::~AttentionPlan() = default;

namespace {

// What of cuDNN's messages since the last call says most, behind the frontend's own words.
std::string with_reason(const std::string& words) {
  const Reason best = most_telling(reasons_in(take_messages()));
  return best.text.empty() ? words : fmt::format("{} ({}: {})", words, best.code, best.text);
}

std::string first_reason(const Answer& answer) {
  std::vector<Reason> reasons;
  for (const EngineAnswer& e : answer.engines)
    if (!e.accepted) reasons.push_back({e.code, fmt::format("engine {}: {}", e.id, e.reason)});
  const Reason best = most_telling(reasons);
  return best.text.empty() ? "none of its engines gives a reason" : fmt::format("{} ({})", best.text, best.code);
}

}  // namespace

// Builds the plans in the order of the heuristics until one can be built.
bool AttentionPlan::build() {
  FrontendGraph& graph = graph_->graph;
  std::set<std::string> seen;  // the fallback list repeats what the first list has
  for (std::int64_t i = 0; i < graph.get_execution_plan_count(); ++i) {
    std::string plan;
    graph.get_plan_name_at_index(i, plan);
    if (!seen.insert(plan).second) continue;
    std::string line = fmt::format("candidate {}: {}", candidates_.size() + 1, plan);
    if (const std::string engine = engine_name(true, engine_in(plan)); !engine.empty()) line += ", " + engine;
    if (name_.empty()) {
      take_messages();
      auto status = graph.build_plan_at_index(i);
      if (status.is_good()) {
        name_ = plan;
        graph.get_workspace_size(workspace_);
        line += fmt::format(", built, workspace {} bytes", workspace_);
      } else {
        last_words_ = with_reason(std::string(status.get_message()));
        line += ", could not be built: " + last_words_;
      }
    }
    candidates_.push_back(std::move(line));
  }
  return !name_.empty();
}

std::unique_ptr<AttentionPlan> AttentionPlan::make(const AttentionQuestion& question, int compute_capability, void* stream, Answer& answer, cuda::CallError& error) {
  using Fault = cuda::CallError::Fault;
  answer = opened(false);
  const auto no = [&](cuda::CallError why) {
    error = std::move(why);
    return nullptr;
  };
  if (!answer.answered()) return no({0, answer.error->code, answer.error->text, "open", answer.error->source, Fault::unavailable});
  if (const std::string problem = check(question); !problem.empty()) return no({0, "no-question", problem, "sdpa", "own code", Fault::refused});
  std::unique_ptr<AttentionPlan> plan(new AttentionPlan);
  plan->graph_ = std::make_unique<Graph>();
  Graph& g = *plan->graph_;
  const BackendApi& api = ready().api;
  try {
    if (const auto status = api.create_handle(&g.handle); status != CUDNN_STATUS_SUCCESS) return no(call_error("cudnnCreate", api.error_string(status), ""));
    if (const auto status = api.set_stream(g.handle, static_cast<cudaStream_t>(stream)); status != CUDNN_STATUS_SUCCESS)
      return no(call_error("cudnnSetStream", api.error_string(status), ""));
    g.graph.set_sm_version(compute_capability);
#if CUDNN_FRONTEND_VERSION >= 13200
    // The plan outlives every graph that is captured from it here; otherwise the frontend would need libcudart to say so.
    g.graph.set_cuda_graph_retention(fe::CudaGraphRetention_t::NONE);
#endif
    g.tensors = add_attention(g.graph, question);
    ask_graph(g.graph, nullptr, g.handle, true, answer);
    if (!answer.refusal.empty()) return no(call_error("graph", answer.refusal, "cudnn-frontend"));
    if (!answer.serves()) return no({0, "no-engine", "no engine of cuDNN serves the call; " + first_reason(answer), "heuristics", "cuDNN", Fault::refused});
    if (plan->build()) return plan;
    answer.doubts.push_back("accepted, but no plan could be built: " + plan->last_words_);
    return no(call_error("plan", plan->last_words_, "no-plan"));
  } catch (const std::exception& e) {
    return no(call_error("graph", e.what(), "exception"));
  }
}

std::optional<cuda::CallError> AttentionPlan::execute(const Pointers& p, void* workspace) {
  const AttentionTensors& t = graph_->tensors;
  std::unordered_map<Attributes, void*> pointers = {{t.q, p.q}, {t.k, p.k}, {t.v, p.v}, {t.out, p.out}};
  if (t.bias) pointers[t.bias] = p.bias;
  if (t.stats && p.stats) pointers[t.stats] = p.stats;
  constexpr const char* call = "cudnnBackendExecute";
  try {
    take_messages();
    auto status = graph_->graph.execute(graph_->handle, pointers, workspace);
    if (status.is_bad()) return call_error(call, std::string(status.get_message()), "cudnn-frontend");
  } catch (const std::exception& e) {
    return call_error(call, e.what(), "exception");
  }
  return std::nullopt;
}

}  // namespace dd::cudnn
