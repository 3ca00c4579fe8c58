// A libcudnn.so.9 for tests without a GPU: descriptors as cuDNN's backend interface has them, three engines, and graphs that
// are computed on host memory on the stream of the stand-in driver (graph_host.hpp). Engine 0 declines everything, in the
// way of cuDNN through the message callback; engine 2 comes first in the heuristics and wants a workspace, then engine 1.
// DD_FAKE_CUDNN, several with commas: "old" (9.1, which takes no device properties), "ancient" (8.9), "no-handle",
// "graph-refused", "no-engine", "first-plan-fails", "no-plan", "huge-workspace", "execute=STATUS" (a number), "leaves" (the
// result is not written).
#include <cudnn.h>

#include <cstdlib>
#include <new>

#include "graph_host.hpp"

using namespace fake_cudnn;

namespace {

std::string modes() {
  const char* text = std::getenv("DD_FAKE_CUDNN");
  return "," + std::string(text ? text : "") + ",";
}
bool is(const std::string& what) { return modes().find("," + what + ",") != std::string::npos; }
int number_of(const std::string& name) {
  const std::string all = modes();
  const std::size_t at = all.find("," + name + "=");
  return at == std::string::npos ? 0 : std::atoi(all.c_str() + at + name.size() + 2);
}

struct Raw {
  Ref node;
};
Ref& of(cudnnBackendDescriptor_t d) { return static_cast<Raw*>(d)->node; }

cudnnCallback_t callback = nullptr;
unsigned callback_mask = 0;
std::string calls, last_error;

// Several strings, each ended by a zero, the last by two: the form in which cuDNN hands over its messages.
void say(const std::string& function, const std::string& status, const std::string& reason) {
  last_error = reason;
  if (!callback || !(callback_mask & CUDNN_SEV_WARNING_EN)) return;
  std::string text = "CuDNN (v91900 90) function " + function + "() called:";
  text += '\0';
  text += "    Warning: " + status + "; Reason: " + reason + " at: stand-in";
  text += '\0';
  text += '\0';
  cudnnDebug_t debug{};
  callback(CUDNN_SEV_WARNING, nullptr, &debug, text.c_str());
}

std::size_t size_of(cudnnBackendAttributeType_t type) {
  switch (type) {
    case CUDNN_TYPE_HANDLE: case CUDNN_TYPE_INT64: case CUDNN_TYPE_DOUBLE: case CUDNN_TYPE_VOID_PTR: return 8;
    case CUDNN_TYPE_BOOLEAN: return sizeof(bool);
    case CUDNN_TYPE_CHAR: return 1;
    case CUDNN_TYPE_FRACTION: return 16;
    default: return 4;
  }
}

template <class T>
void put(Node& n, int name, cudnnBackendAttributeType_t type, std::vector<T> values) {
  Value& v = n.values[name];
  v.type = type;
  v.count = static_cast<std::int64_t>(values.size());
  v.bytes.resize(values.size() * sizeof(T));
  std::memcpy(v.bytes.data(), values.data(), v.bytes.size());
}
void put(Node& n, int name, std::vector<Ref> nodes) {
  Value& v = n.values[name];
  v.type = CUDNN_TYPE_BACKEND_DESCRIPTOR;
  v.count = static_cast<std::int64_t>(nodes.size());
  v.nodes = std::move(nodes);
}

Ref make(cudnnBackendDescriptorType_t type) {
  auto n = std::make_shared<Node>();
  n->type = type;
  return n;
}

constexpr std::int64_t engines = 3;
std::int64_t engine_of(const Node& config) { return config.node(CUDNN_ATTR_ENGINECFG_ENGINE)->one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1); }
std::int64_t workspace_of(std::int64_t engine) { return engine != 2 ? 0 : is("huge-workspace") ? std::int64_t{1} << 42 : 4096; }

cudnnStatus_t finish_engine(Node& n) {
  const auto id = n.one<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, -1);
  if (id < 0 || id >= engines || !n.node(CUDNN_ATTR_ENGINE_OPERATION_GRAPH)) return CUDNN_STATUS_BAD_PARAM;
  put<std::int32_t>(n, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, CUDNN_TYPE_BEHAVIOR_NOTE, id == 2 ? std::vector<std::int32_t>{CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION} : std::vector<std::int32_t>{});
  put<std::int32_t>(n, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, {CUDNN_NUMERICAL_NOTE_TENSOR_CORE});
  put(n, CUDNN_ATTR_ENGINE_KNOB_INFO, std::vector<Ref>{});
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finish_config(Node& n) {
  const std::int64_t id = engine_of(n);
  if (id == 0 || is("no-engine")) {
    say("cudnnBackendFinalize", "CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE", "engine " + std::to_string(id) + " of the stand-in takes no such tensors");
    return CUDNN_STATUS_NOT_SUPPORTED;
  }
  put<std::int64_t>(n, CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE, CUDNN_TYPE_INT64, {workspace_of(id)});
  if (!n.has(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES)) put(n, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, std::vector<Ref>{});
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finish_heuristics(Node& n) {
  std::vector<Ref> found;
  const auto mode = n.one(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_HEUR_MODE_A);
  for (const std::int64_t id : mode == CUDNN_HEUR_MODE_A ? std::vector<std::int64_t>{2, 1} : std::vector<std::int64_t>{1}) {
    if (is("no-engine")) break;
    const Ref engine = make(CUDNN_BACKEND_ENGINE_DESCRIPTOR), config = make(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
    put<std::int64_t>(*engine, CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64, {id});
    put(*engine, CUDNN_ATTR_ENGINE_OPERATION_GRAPH, {n.node(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH)});
    finish_engine(*engine);
    put(*config, CUDNN_ATTR_ENGINECFG_ENGINE, {engine});
    const Ref knob = make(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    put<std::int32_t>(*knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE, {CUDNN_KNOB_TYPE_KERNEL_CFG});
    put<std::int64_t>(*knob, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64, {id + 4});
    put(*config, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, {knob});
    finish_config(*config);
    found.push_back(config);
  }
  if (found.empty()) say("cudnnBackendFinalize", "CUDNN_STATUS_NOT_SUPPORTED", "no engine of the stand-in is left");
  put(n, CUDNN_ATTR_ENGINEHEUR_RESULTS, std::move(found));
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finish_plan(Node& n) {
  const Ref config = n.node(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  if (!config) return CUDNN_STATUS_BAD_PARAM;
  const std::int64_t id = engine_of(*config);
  if (is("no-plan") || (id == 2 && is("first-plan-fails"))) {
    say("cudnnBackendFinalize", "CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING", "the stand-in cannot compile this plan");
    return CUDNN_STATUS_NOT_SUPPORTED;
  }
  put<std::int64_t>(n, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64, {workspace_of(id)});
  return CUDNN_STATUS_SUCCESS;
}

}  // namespace

extern "C" {
const char* dd_fake_cudnn_calls() {
  static std::string last;
  last.swap(calls);
  calls.clear();
  return last.c_str();
}
size_t cudnnGetVersion() { return is("ancient") ? 8907 : is("old") ? 90100 : 91900; }
size_t cudnnGetCudartVersion() { return 13000; }
const char* cudnnGetErrorString(cudnnStatus_t status) {
  switch (status) {
    case CUDNN_STATUS_SUCCESS: return "CUDNN_STATUS_SUCCESS";
    case CUDNN_STATUS_NOT_INITIALIZED: return "CUDNN_STATUS_NOT_INITIALIZED";
    case CUDNN_STATUS_BAD_PARAM: return "CUDNN_STATUS_BAD_PARAM";
    case CUDNN_STATUS_NOT_SUPPORTED: return "CUDNN_STATUS_NOT_SUPPORTED";
    case CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED: return "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED";
    case CUDNN_STATUS_EXECUTION_FAILED: return "CUDNN_STATUS_EXECUTION_FAILED";
    default: return "CUDNN_STATUS_INTERNAL_ERROR";
  }
}
void cudnnGetLastErrorString(char* text, size_t room) {
  if (room == 0) return;
  std::strncpy(text, last_error.c_str(), room - 1);
  text[room - 1] = 0;
}
cudnnStatus_t cudnnSetCallback(unsigned mask, void*, cudnnCallback_t function) { return callback_mask = mask, callback = function, CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnCreate(cudnnHandle_t* handle) {
  if (is("no-handle")) return *handle = nullptr, CUDNN_STATUS_NOT_INITIALIZED;
  return *handle = reinterpret_cast<cudnnHandle_t>(&calls), CUDNN_STATUS_SUCCESS;
}
cudnnStatus_t cudnnDestroy(cudnnHandle_t) { return CUDNN_STATUS_SUCCESS; }
cudaStream_t own_stream = nullptr;
cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t stream) { return own_stream = stream, CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnGetStream(cudnnHandle_t, cudaStream_t* stream) { return *stream = own_stream, CUDNN_STATUS_SUCCESS; }

cudnnStatus_t cudnnBackendCreateDescriptor(cudnnBackendDescriptorType_t type, cudnnBackendDescriptor_t* out) { return *out = new Raw{make(type)}, CUDNN_STATUS_SUCCESS; }
cudnnStatus_t cudnnBackendDestroyDescriptor(cudnnBackendDescriptor_t d) { return delete static_cast<Raw*>(d), CUDNN_STATUS_SUCCESS; }

cudnnStatus_t cudnnBackendSetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count, const void* values) {
  Node& n = *of(d);
  if (n.finalized || count < 0 || (count > 0 && !values)) return CUDNN_STATUS_BAD_PARAM;
  Value v{type, count, {}, {}};
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {
    for (std::int64_t i = 0; i < count; ++i) {
      const auto one = static_cast<const cudnnBackendDescriptor_t*>(values)[i];
      if (!one || !of(one)->finalized) return CUDNN_STATUS_BAD_PARAM;
      v.nodes.push_back(of(one));
    }
  } else {
    const auto* bytes = static_cast<const unsigned char*>(values);
    v.bytes.assign(bytes, bytes + static_cast<std::size_t>(count) * size_of(type));
  }
  n.values[name] = std::move(v);
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendGetAttribute(cudnnBackendDescriptor_t d, cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t room, int64_t* count, void* values) {
  Node& n = *of(d);
  if (!n.finalized) return CUDNN_STATUS_BAD_PARAM;
  if (!n.has(name)) return count ? *count = 0 : 0, CUDNN_STATUS_NOT_SUPPORTED;
  const Value& v = n.values.at(name);
  if (v.type != type) return CUDNN_STATUS_BAD_PARAM;
  if (count) *count = v.count;
  if (!values) return CUDNN_STATUS_SUCCESS;
  const std::int64_t some = std::min(room, v.count);
  if (type == CUDNN_TYPE_BACKEND_DESCRIPTOR) {  // into descriptors that the caller has made
    for (std::int64_t i = 0; i < some; ++i)
      if (auto* into = static_cast<Raw*>(static_cast<cudnnBackendDescriptor_t*>(values)[i])) {
        into->node = v.nodes[static_cast<std::size_t>(i)];
        into->node->finalized = true;
      }
  } else {
    std::memcpy(values, v.bytes.data(), static_cast<std::size_t>(some) * size_of(type));
  }
  if (count) *count = some;
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t cudnnBackendFinalize(cudnnBackendDescriptor_t d) {
  Node& n = *of(d);
  cudnnStatus_t status = CUDNN_STATUS_SUCCESS;
  switch (n.type) {
    case CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
      if (is("graph-refused")) {
        say("cudnnBackendFinalize", "CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH", "the stand-in was told to refuse the graph");
        return CUDNN_STATUS_BAD_PARAM;
      }
      put<std::int64_t>(n, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT, CUDNN_TYPE_INT64, {engines});
      break;
    case CUDNN_BACKEND_ENGINE_DESCRIPTOR: status = finish_engine(n); break;
    case CUDNN_BACKEND_ENGINECFG_DESCRIPTOR: status = finish_config(n); break;
    case CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR: status = finish_heuristics(n); break;
    case CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR: status = finish_plan(n); break;
    case CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR:
      if (cudnnGetVersion() < 90800) return CUDNN_STATUS_NOT_SUPPORTED;
      break;
    default: break;
  }
  n.finalized = status == CUDNN_STATUS_SUCCESS;
  return status;
}

cudnnStatus_t cudnnBackendExecute(cudnnHandle_t handle, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t pack) {
  if (const int status = number_of("execute")) return last_error = "the stand-in was told to fail", static_cast<cudnnStatus_t>(status);
  const Ref config = of(plan)->node(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  if (!handle || !own_stream || !config) return CUDNN_STATUS_BAD_PARAM;
  const std::int64_t id = engine_of(*config), bytes = workspace_of(id);
  const auto uids = of(pack)->list<std::int64_t>(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  const auto pointers = of(pack)->list<void*>(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  auto* workspace = static_cast<unsigned char*>(of(pack)->one<void*>(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, nullptr));
  if (uids.size() != pointers.size() || (bytes > 0 && !workspace)) return CUDNN_STATUS_BAD_PARAM;
  std::map<std::int64_t, void*> places;
  for (std::size_t i = 0; i < uids.size(); ++i) places[uids[i]] = pointers[i];
  const Ref graph = config->node(CUDNN_ATTR_ENGINECFG_ENGINE)->node(CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  const std::vector<Ref> operations = graph->values.at(CUDNN_ATTR_OPERATIONGRAPH_OPS).nodes;
  Run run(std::move(places));
  try {
    run.take_values(operations);
  } catch (const std::exception& e) {
    return last_error = e.what(), CUDNN_STATUS_BAD_PARAM;
  }
  calls += "cudnnBackendExecute engine " + std::to_string(id) + " operations " + std::to_string(operations.size()) + " workspace " + std::to_string(bytes) + "\n";
  const bool leaves = is("leaves");
  const int put_on_stream = fake::enqueue([run, operations, workspace, bytes, leaves]() mutable {
    for (std::int64_t i = 0; i < bytes; ++i) workspace[i] = 0x5A;
    if (!leaves) run(operations);
  });
  return put_on_stream == 0 ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_EXECUTION_FAILED;
}
}
