// The one translation unit with cudnn-frontend (header-only, Apache-2.0 since 1.2x; MIT before), in its dynamic-loading
// mode: no link against cuDNN or CUDA. Engines are asked one by one through cuDNN's backend interface, because the
// frontend's own message is that of the first engine alone.
#include "backends/cudnn/ask.hpp"

#include <cudnn_frontend.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "backends/cuda_runtime/libraries.hpp"
#include "backends/cudnn/reasons.hpp"

namespace cudnn_frontend {
void* cudnn_dlhandle = nullptr;
}

namespace dd::cudnn {
namespace fe = cudnn_frontend;
namespace {

// Messages of the call that this thread is making; the callback runs on the calling thread.
thread_local std::vector<std::string> heard;
void listen(cudnnSeverity_t, void*, const cudnnDebug_t*, const char* message) {
  if (heard.size() > 256) return;
  while (*message) {  // several strings, the last followed by an empty one
    const std::string line = message;
    heard.push_back(line.substr(0, 2000));
    message += line.size() + 1;
  }
}

struct Backend {
  decltype(&cudnnBackendCreateDescriptor) create = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy = nullptr;
  decltype(&cudnnBackendSetAttribute) set = nullptr;
  decltype(&cudnnBackendGetAttribute) get = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnGetErrorString) error_string = nullptr;
  decltype(&cudnnSetCallback) set_callback = nullptr;
};

struct Ready {
  std::string problem, problem_id;
  Backend api;
};

// Opened once. Without a driver the toolkit's stand-in is loaded first: cuDNN only wants to find a libcuda.so.1. NVRTC is
// held open because cuDNN would open and close it for each engine it is asked about.
const Ready& ready() {
  static const Ready state = [] {
    Ready r;
    if (!cuda::library(cuda::Library::driver)) {
      for (const char* stub : {"/usr/local/cuda/lib64/stubs/libcuda.so", "/usr/local/cuda/targets/x86_64-linux/lib/stubs/libcuda.so"})
        if (dlopen(stub, RTLD_NOW | RTLD_GLOBAL)) break;
      if (!dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD)) {
        r.problem = "no libcuda.so.1 and no toolkit stub of it: cuDNN refuses every engine without one";
        r.problem_id = "ENV020";
        return r;
      }
    }
    cuda::library(cuda::Library::nvrtc);
    const cuda::LibraryRecord& library = cuda::library(cuda::Library::cudnn);
    if (!library || library.code < 90800) {
      r.problem = library ? fmt::format("cuDNN {} cannot be asked about a device, 9.8 can", library.version) : library.error;
      r.problem_id = "ENV025";
      return r;
    }
    fe::cudnn_dlhandle = library.handle;
    const bool complete = library.find(*reinterpret_cast<void (**)()>(&r.api.create), "cudnnBackendCreateDescriptor") &&
                          library.find(*reinterpret_cast<void (**)()>(&r.api.destroy), "cudnnBackendDestroyDescriptor") &&
                          library.find(*reinterpret_cast<void (**)()>(&r.api.set), "cudnnBackendSetAttribute") &&
                          library.find(*reinterpret_cast<void (**)()>(&r.api.get), "cudnnBackendGetAttribute") &&
                          library.find(*reinterpret_cast<void (**)()>(&r.api.finalize), "cudnnBackendFinalize") &&
                          library.find(*reinterpret_cast<void (**)()>(&r.api.error_string), "cudnnGetErrorString") &&
                          library.find(*reinterpret_cast<void (**)()>(&r.api.set_callback), "cudnnSetCallback");
    if (!complete) {
      r.problem = "this cuDNN lacks a function of its backend interface";
      r.problem_id = "ENV025";
    } else {
      r.api.set_callback(CUDNN_SEV_WARNING_EN | CUDNN_SEV_ERROR_EN, nullptr, &listen);
    }
    return r;
  }();
  return state;
}

// A descriptor that is destroyed at the end of its scope.
class Descriptor {
 public:
  Descriptor(const Backend& api, cudnnBackendDescriptorType_t type) : api_(api) {
    if (api.create(type, &raw_) != CUDNN_STATUS_SUCCESS) raw_ = nullptr;
  }
  ~Descriptor() {
    if (raw_) api_.destroy(raw_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const void* value) {
    if (raw_) api_.set(raw_, name, type, 1, value);
  }
  cudnnStatus_t finalize() { return raw_ ? api_.finalize(raw_) : CUDNN_STATUS_ALLOC_FAILED; }
  cudnnBackendDescriptor_t& raw() { return raw_; }

 private:
  const Backend& api_;
  cudnnBackendDescriptor_t raw_ = nullptr;
};

struct Graph : fe::graph::Graph {
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

std::shared_ptr<fe::graph::Tensor_attributes> tensor(Graph& graph, const AskTensor& t, const char* name) {
  return graph.tensor(fe::graph::Tensor_attributes().set_name(name).set_dim(t.dim).set_stride(t.stride).set_data_type(*data_type(t.dtype)));
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
  heard.clear();
  if (auto status = out.properties->deserialize(bytes); status.is_bad())
    out.problem = "cuDNN does not accept the device properties: " + std::string(status.get_message());
  return out;
}

// Before any node is added: nodes copy what they need. The frontend's own checks follow the version number, cuDNN's the
// properties, so both come from the same place.
void target(Graph& graph, const Device& device) {
  graph.set_device_properties(device.properties);
  graph.set_sm_version(static_cast<std::int32_t>(device.version / 10));
}

// Finalizes engine and default configuration; the words of what it said when it declined. Some engines decline their
// default knobs whatever the call, so the kernel configurations are tried as well, as the heuristics would.
void ask_engine(const Backend& api, Graph& graph, Device& device, EngineAnswer& answer) {
  heard.clear();
  Descriptor engine(api, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  cudnnBackendDescriptor_t operations = graph.raw(), properties = device.properties->get_ptr();
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, CUDNN_TYPE_BACKEND_DESCRIPTOR, &operations);
  engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, &answer.id);
  engine.set(CUDNN_ATTR_ENGINE_DEVICEPROP, CUDNN_TYPE_BACKEND_DESCRIPTOR, &properties);
  cudnnStatus_t status = engine.finalize();
  std::vector<Reason> reasons;
  const auto collect = [&] {
    for (Reason& r : reasons_in(heard)) reasons.push_back(std::move(r));
    heard.clear();
  };
  const auto try_config = [&](std::int64_t kernel) {
    Descriptor config(api, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR), knob(api, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    config.set(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_TYPE_BACKEND_DESCRIPTOR, &engine.raw());
    if (kernel >= 0) {
      const cudnnBackendKnobType_t type = CUDNN_KNOB_TYPE_KERNEL_CFG;
      knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, &type);
      knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, &kernel);
      if (knob.finalize() != CUDNN_STATUS_SUCCESS) return CUDNN_STATUS_NOT_SUPPORTED;
      config.set(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR, &knob.raw());
    }
    const cudnnStatus_t result = config.finalize();
    if (result == CUDNN_STATUS_SUCCESS) {
      std::int64_t bytes = -1, count = 0;
      if (api.get(config.raw(), CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64, 1, &count, &bytes) == CUDNN_STATUS_SUCCESS && count == 1)
        answer.workspace = bytes;
    }
    return result;
  };
  if (status == CUDNN_STATUS_SUCCESS) {
    status = try_config(-1);
    collect();
    for (std::int64_t kernel = 0; status != CUDNN_STATUS_SUCCESS && kernel <= 36 && only_generic(reasons); ++kernel) {
      status = try_config(kernel);
      collect();
    }
  } else {
    collect();
  }
  answer.accepted = status == CUDNN_STATUS_SUCCESS;
  if (answer.accepted) return;
  const Reason best = most_telling(reasons);
  answer.code = best.code.empty() ? api.error_string(status) : best.code;
  answer.reason = best.text;
}

std::vector<std::string> note_names(const std::vector<fe::BehaviorNote_t>& notes) {
  std::vector<std::string> out;
  for (fe::BehaviorNote_t note : notes) switch (note) {
      case fe::BehaviorNote_t::RUNTIME_COMPILATION: out.push_back("runtime-compilation"); break;
      case fe::BehaviorNote_t::REQUIRES_FILTER_INT8x32_REORDER: out.push_back("requires-filter-int8x32-reorder"); break;
      case fe::BehaviorNote_t::REQUIRES_BIAS_INT8x32_REORDER: out.push_back("requires-bias-int8x32-reorder"); break;
      case fe::BehaviorNote_t::SUPPORTS_CUDA_GRAPH_NATIVE_API: out.push_back("supports-cuda-graph-native-api"); break;
      default: out.push_back(fmt::format("note-{}", static_cast<int>(note)));
    }
  return out;
}

// "eng9_k24=3" -> 9; -1 when the tag has another form.
std::int64_t engine_in(const std::string& tag) {
  const std::size_t at = tag.rfind("eng");
  if (at == std::string::npos) return -1;
  std::size_t end = at + 3;
  while (end < tag.size() && isdigit(static_cast<unsigned char>(tag[end]))) ++end;
  return end == at + 3 ? -1 : std::stoll(tag.substr(at + 3, end - at - 3));
}

void ask_heuristics(Graph& graph, Answer& answer) {
  if (graph.create_execution_plans({fe::HeurMode_t::A, fe::HeurMode_t::FALLBACK}).is_bad()) return;
  for (std::int64_t plan = 0; plan < graph.get_execution_plan_count(); ++plan) {
    std::string tag;
    if (graph.get_plan_name_at_index(plan, tag).is_bad()) continue;
    const std::int64_t id = engine_in(tag);
    if (id < 0 || std::find(answer.order.begin(), answer.order.end(), id) != answer.order.end()) continue;
    std::vector<fe::BehaviorNote_t> notes;
    graph.get_behavior_notes_for_plan_at_index(plan, notes);
    for (EngineAnswer& e : answer.engines)
      if (e.id == id) {
        e.offered = e.accepted = true;  // the heuristics know configurations that were not tried above
        e.code.clear();
        e.reason.clear();
        e.notes = note_names(notes);
        answer.order.push_back(id);
      }
  }
}

Answer ask_graph(Graph& graph, Device& device, bool attention) {
  const Backend& api = ready().api;
  Answer answer;
  answer.cudnn_version = cuda::library(cuda::Library::cudnn).version;
  answer.frontend_version = frontend_version();
  answer.device = device.name;
  heard.clear();
  auto status = graph.validate();
  if (status.is_good()) status = graph.build_operation_graph();
  std::int64_t engines = 0;
  if (status.is_good()) status = graph.get_engine_count(engines);
  if (status.is_bad()) {
    const Reason best = most_telling(reasons_in(heard));
    answer.refusal = best.text.empty() ? std::string(status.get_message()) : std::string(status.get_message()) + " (" + best.text + ")";
    return answer;
  }
  for (std::int64_t id = 0; id < engines; ++id) {
    EngineAnswer engine;
    engine.id = id;
    engine.name = engine_name(attention, id);
    ask_engine(api, graph, device, engine);
    answer.engines.push_back(std::move(engine));
  }
  ask_heuristics(graph, answer);
  return answer;
}

Answer not_asked(std::string problem, std::string id = {}) {
  Answer answer;
  answer.problem = std::move(problem);
  answer.problem_id = std::move(id);
  return answer;
}

// The frontend throws where it has no node for a call.
template <class F>
Answer guarded(F&& body) {
  try {
    return body();
  } catch (const std::exception& e) {
    Answer answer;
    answer.cudnn_version = cuda::library(cuda::Library::cudnn).version;
    answer.frontend_version = frontend_version();
    answer.refusal = e.what();
    return answer;
  }
}

Answer ask_attention(const AttentionQuestion& question, const std::string& device_json);
Answer ask_product(const ProductQuestion& question, const std::string& device_json);

}  // namespace

bool ask_built() { return true; }
std::string frontend_version() {
  return fmt::format("{}.{}.{}", CUDNN_FRONTEND_MAJOR_VERSION, CUDNN_FRONTEND_MINOR_VERSION, CUDNN_FRONTEND_PATCH_VERSION);
}

Answer ask(const AttentionQuestion& question, const std::string& device_json) {
  return guarded([&] { return ask_attention(question, device_json); });
}
Answer ask(const ProductQuestion& question, const std::string& device_json) {
  return guarded([&] { return ask_product(question, device_json); });
}

namespace {

Answer ask_attention(const AttentionQuestion& question, const std::string& device_json) {
  if (!ready().problem.empty()) return not_asked(ready().problem, ready().problem_id);
  for (const auto& [t, name] : {std::pair{&question.q, "q"}, {&question.k, "k"}, {&question.v, "v"}, {&question.out, "the result"}})
    if (std::string p = check(*t, name); !p.empty()) return not_asked(p);
  if (question.bias)
    if (std::string p = check(*question.bias, "the mask"); !p.empty()) return not_asked(p);
  Device device = read_device(device_json);
  if (!device.problem.empty()) return not_asked(device.problem);

  Graph graph;
  target(graph, device);
  graph.set_io_data_type(*data_type(question.q.dtype)).set_intermediate_data_type(fe::DataType_t::FLOAT).set_compute_data_type(fe::DataType_t::FLOAT);
  auto options = fe::graph::SDPA_attributes().set_name("sdpa").set_attn_scale(static_cast<float>(question.scale)).set_generate_stats(question.train);
  if (question.causal == 1) options.set_causal_mask(true);
  if (question.causal == 2) options.set_causal_mask_bottom_right(true);
  if (question.bias) options.set_bias(tensor(graph, *question.bias, "bias"));
  if (question.dropout_p > 0) {
    const AskTensor one{core::DType::s32, {1, 1, 1, 1}, {1, 1, 1, 1}};
    options.set_dropout(static_cast<float>(question.dropout_p), tensor(graph, one, "seed"), tensor(graph, one, "offset"));
  }
  auto [out, stats] = graph.sdpa(tensor(graph, question.q, "q"), tensor(graph, question.k, "k"), tensor(graph, question.v, "v"), options);
  if (!out) return not_asked("the frontend made no attention node");
  out->set_output(true).set_dim(question.out.dim).set_stride(question.out.stride).set_data_type(*data_type(question.out.dtype));
  if (question.train && stats) stats->set_output(true).set_data_type(fe::DataType_t::FLOAT);
  return ask_graph(graph, device, true);
}

Answer ask_product(const ProductQuestion& question, const std::string& device_json) {
  if (!ready().problem.empty()) return not_asked(ready().problem, ready().problem_id);
  for (const auto& [t, name] : {std::pair{&question.x, "x"}, {&question.w, "w"}, {&question.out, "the result"}})
    if (std::string p = check(*t, name); !p.empty()) return not_asked(p);
  Device device = read_device(device_json);
  if (!device.problem.empty()) return not_asked(device.problem);
  Graph graph;
  target(graph, device);
  graph.set_io_data_type(*data_type(question.x.dtype)).set_intermediate_data_type(*data_type(question.compute)).set_compute_data_type(*data_type(question.compute));
  auto out = graph.matmul(tensor(graph, question.x, "x"), tensor(graph, question.w, "w"),
                          fe::graph::Matmul_attributes().set_name("product").set_compute_data_type(*data_type(question.compute)));
  if (!out) return not_asked("the frontend made no product node");
  out->set_output(true).set_dim(question.out.dim).set_stride(question.out.stride).set_data_type(*data_type(question.out.dtype));
  return ask_graph(graph, device, false);
}

}  // namespace

}  // namespace dd::cudnn
