#include "backends/cuda_runtime/driver.hpp"

#include <fmt/format.h>

#include <mutex>

#include "backends/cuda_runtime/libraries.hpp"

namespace dd::cuda {

// Opaque handles are void*; a CUdeviceptr is 64 bits wide.
struct DriverApi {
  int (*init)(unsigned);
  int (*driver_version)(int*);
  int (*device_count)(int*);
  int (*device_get)(int*, int);
  int (*device_name)(char*, int, int);
  int (*device_attribute)(int*, int, int);
  int (*device_memory)(std::size_t*, int);
  int (*context_retain)(void**, int);
  int (*context_current)(void*);
  int (*memory_info)(std::size_t*, std::size_t*);
  int (*allocate)(std::uint64_t*, std::size_t);
  int (*release)(std::uint64_t);
  int (*upload)(std::uint64_t, const void*, std::size_t);
  int (*download)(void*, std::uint64_t, std::size_t);
  int (*module_load)(void**, const void*);
  int (*module_function)(void**, void*, const char*);
  int (*function_attribute)(void*, int, int);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
  int (*stream_create)(void**, unsigned);
  int (*stream_wait)(void*);
  int (*event_create)(void**, unsigned);
  int (*event_record)(void*, void*);
  int (*event_elapsed)(float*, void*, void*);
  int (*event_destroy)(void*);
  int (*capture_begin)(void*, int);
  int (*capture_end)(void*, void**);
  int (*graph_nodes)(void*, void**, std::size_t*);
  int (*graph_instantiate)(void**, void*, unsigned long long);
  int (*graph_launch)(void*, void*);
  int (*graph_destroy)(void*);
  int (*graph_exec_destroy)(void*);
  int (*error_name)(int, const char**);
  int (*error_text)(int, const char**);
  // Absent from older drivers.
  int (*graph_node_type)(void*, int*) = nullptr;
  int (*graph_kernel_parameters)(void*, void*) = nullptr;
  int (*function_name)(const char**, void*) = nullptr;
};

namespace {

constexpr int attribute_sm_count = 16, attribute_major = 75, attribute_minor = 76, attribute_shared_optin = 97;
constexpr int function_dynamic_shared = 8;
constexpr int capture_thread_local = 1;
constexpr int node_is_kernel = 0;
constexpr std::int32_t shared_without_asking = 48 * 1024;

// CUDA_KERNEL_NODE_PARAMS_v2.
struct KernelNode {
  void* function;
  unsigned grid[3], block[3], shared;
  void** parameters;
  void** extra;
  void* kernel;
  void* context;
};

std::string fill(const LibraryRecord& driver, DriverApi& api) {
  std::string missing;
  const auto need = [&](auto*& slot, const char* name) {
    if (!driver.find(slot, name) && missing.empty()) missing = name;
  };
  need(api.init, "cuInit");
  need(api.driver_version, "cuDriverGetVersion");
  need(api.device_count, "cuDeviceGetCount");
  need(api.device_get, "cuDeviceGet");
  need(api.device_name, "cuDeviceGetName");
  need(api.device_attribute, "cuDeviceGetAttribute");
  need(api.device_memory, "cuDeviceTotalMem_v2");
  need(api.context_retain, "cuDevicePrimaryCtxRetain");
  need(api.context_current, "cuCtxSetCurrent");
  need(api.memory_info, "cuMemGetInfo_v2");
  need(api.allocate, "cuMemAlloc_v2");
  need(api.release, "cuMemFree_v2");
  need(api.upload, "cuMemcpyHtoD_v2");
  need(api.download, "cuMemcpyDtoH_v2");
  need(api.module_load, "cuModuleLoadData");
  need(api.module_function, "cuModuleGetFunction");
  need(api.function_attribute, "cuFuncSetAttribute");
  need(api.launch, "cuLaunchKernel");
  need(api.stream_create, "cuStreamCreate");
  need(api.stream_wait, "cuStreamSynchronize");
  need(api.event_create, "cuEventCreate");
  need(api.event_record, "cuEventRecord");
  need(api.event_elapsed, "cuEventElapsedTime");
  need(api.event_destroy, "cuEventDestroy_v2");
  need(api.capture_begin, "cuStreamBeginCapture_v2");
  need(api.capture_end, "cuStreamEndCapture");
  need(api.graph_nodes, "cuGraphGetNodes");
  need(api.graph_instantiate, "cuGraphInstantiateWithFlags");
  need(api.graph_launch, "cuGraphLaunch");
  need(api.graph_destroy, "cuGraphDestroy");
  need(api.graph_exec_destroy, "cuGraphExecDestroy");
  need(api.error_name, "cuGetErrorName");
  need(api.error_text, "cuGetErrorString");
  driver.find(api.graph_node_type, "cuGraphNodeGetType");
  driver.find(api.graph_kernel_parameters, "cuGraphKernelNodeGetParams_v2");
  driver.find(api.function_name, "cuFuncGetName");
  return missing;
}

CallError::Fault fault_of(int code) {
  constexpr int out_of_memory = 2, no_binary = 209, bad_ptx = 218, unsupported_ptx = 222;
  if (code == out_of_memory) return CallError::Fault::out_of_memory;
  if (code == no_binary || code == bad_ptx || code == unsupported_ptx) return CallError::Fault::unavailable;
  return CallError::Fault::failed;
}

core::Problem problem(const std::string& text) { return {"context.target", "", "", text, "", 0}; }
std::string to_text(const CallError& e) { return fmt::format("{}: {} ({})", e.call, e.text, e.name); }

}  // namespace

std::optional<CallError> Device::check(int code, const char* call) const {
  if (code == 0) return std::nullopt;
  CallError error{code, fmt::format("CUDA error {}", code), "unknown error", call, "CUDA driver", fault_of(code)};
  const char* text = nullptr;
  if (api_->error_name(code, &text) == 0 && text) error.name = text;
  if (api_->error_text(code, &text) == 0 && text) error.text = text;
  return error;
}

std::optional<CallError> Device::open(int ordinal) {
  int device = 0, major = 0, minor = 0;
  char name[256] = {};
  std::size_t total = 0, free = 0;
  if (auto e = check(api_->device_get(&device, ordinal), "cuDeviceGet")) return e;
  api_->device_name(name, sizeof name - 1, device);
  api_->device_attribute(&info_.sm_count, attribute_sm_count, device);
  api_->device_attribute(&major, attribute_major, device);
  api_->device_attribute(&minor, attribute_minor, device);
  api_->device_attribute(&info_.shared_optin_bytes, attribute_shared_optin, device);
  api_->device_memory(&total, device);
  api_->driver_version(&info_.driver_version);
  info_.ordinal = ordinal;
  info_.compute_capability = 10 * major + minor;
  info_.name = name;
  if (auto e = check(api_->context_retain(&context_, device), "cuDevicePrimaryCtxRetain")) return e;
  if (auto e = check(api_->context_current(context_), "cuCtxSetCurrent")) return e;
  if (api_->memory_info(&free, &total) == 0) info_.memory_free = static_cast<std::int64_t>(free);
  info_.memory_bytes = static_cast<std::int64_t>(total);
  constexpr unsigned non_blocking = 1;
  return check(api_->stream_create(&stream_, non_blocking), "cuStreamCreate");
}

core::Result<Device*> Device::get(int ordinal) {
  static std::mutex lock;
  static DriverApi api;
  static std::string api_problem;
  static bool looked_up = false;
  static std::map<int, std::unique_ptr<Device>> devices;
  const std::lock_guard guard(lock);
  if (!looked_up) {
    looked_up = true;
    const LibraryRecord& driver = library(Library::driver);
    if (!driver) {
      api_problem = driver.error;
    } else if (const std::string missing = fill(driver, api); !missing.empty()) {
      api_problem = fmt::format("{} has no {}", driver.path, missing);
    } else if (const int code = api.init(0); code != 0) {
      const char* text = nullptr;
      api.error_text(code, &text);
      api_problem = fmt::format("cuInit: {}", text ? text : std::to_string(code));
    }
  }
  if (!api_problem.empty()) return problem(api_problem);
  if (devices.count(ordinal)) return devices[ordinal].get();
  int count = 0;
  if (api.device_count(&count) != 0 || ordinal < 0 || ordinal >= count)
    return problem(fmt::format("there is no device {}: the driver offers {}", ordinal, count));
  auto device = std::unique_ptr<Device>(new Device);
  device->api_ = &api;
  if (auto e = device->open(ordinal)) return problem(to_text(*e));
  return (devices[ordinal] = std::move(device)).get();
}

std::optional<CallError> Device::allocate(std::int64_t bytes, std::uint64_t& address) {
  return check(api_->allocate(&address, static_cast<std::size_t>(bytes < 1 ? 1 : bytes)), "cuMemAlloc");
}
void Device::release(std::uint64_t address) { api_->release(address); }
std::optional<CallError> Device::upload(std::uint64_t to, const void* from, std::int64_t bytes) {
  if (bytes <= 0) return std::nullopt;
  return check(api_->upload(to, from, static_cast<std::size_t>(bytes)), "cuMemcpyHtoD");
}
std::optional<CallError> Device::download(void* to, std::uint64_t from, std::int64_t bytes) {
  if (bytes <= 0) return std::nullopt;
  return check(api_->download(to, from, static_cast<std::size_t>(bytes)), "cuMemcpyDtoH");
}

std::optional<CallError> Device::function(kernels::Image image, const std::string& name, void*& out) {
  if (!modules_.count(image)) {
    void* module = nullptr;
    if (auto e = check(api_->module_load(&module, kernels::image(image).data()), "cuModuleLoadData")) return e;
    modules_[image] = module;
  }
  return check(api_->module_function(&out, modules_[image], name.c_str()), "cuModuleGetFunction");
}

std::optional<CallError> Device::launch(void* function, const kernels::LaunchShape& s, void** arguments) {
  if (s.shared_bytes > shared_without_asking)
    if (auto e = check(api_->function_attribute(function, function_dynamic_shared, s.shared_bytes), "cuFuncSetAttribute")) return e;
  const auto u = [](std::int64_t v) { return static_cast<unsigned>(v); };
  return check(api_->launch(function, u(s.grid[0]), u(s.grid[1]), u(s.grid[2]), u(s.threads), 1, 1, u(s.shared_bytes), stream_, arguments, nullptr),
               "cuLaunchKernel");
}

std::optional<CallError> Device::list_graph(void* graph, KernelRun& result) {
  std::size_t count = 0;
  if (auto e = check(api_->graph_nodes(graph, nullptr, &count), "cuGraphGetNodes")) return e;
  std::vector<void*> nodes(count);
  if (count > 0)
    if (auto e = check(api_->graph_nodes(graph, nodes.data(), &count), "cuGraphGetNodes")) return e;
  for (void* node : nodes) {
    int type = -1;
    if (!api_->graph_node_type || api_->graph_node_type(node, &type) != 0) continue;
    if (type != node_is_kernel) {
      result.graph_nodes.push_back(fmt::format("node of type {}", type));
      continue;
    }
    KernelNode parameters{};
    const char* name = nullptr;
    const bool named = api_->graph_kernel_parameters && api_->function_name &&
                       api_->graph_kernel_parameters(node, &parameters) == 0 && parameters.function &&
                       api_->function_name(&name, parameters.function) == 0 && name;
    result.graph_nodes.push_back(named ? name : "kernel whose name the driver does not tell");
  }
  return std::nullopt;
}

std::optional<CallError> Device::run(bool captured, const std::function<std::optional<CallError>()>& launches, KernelRun& result) {
  struct Handles {
    const DriverApi& api;
    void *begin = nullptr, *end = nullptr, *graph = nullptr, *exec = nullptr;
    ~Handles() {
      if (begin) api.event_destroy(begin);
      if (end) api.event_destroy(end);
      if (exec) api.graph_exec_destroy(exec);
      if (graph) api.graph_destroy(graph);
    }
  } h{*api_};
  if (auto e = check(api_->event_create(&h.begin, 0), "cuEventCreate")) return e;
  if (auto e = check(api_->event_create(&h.end, 0), "cuEventCreate")) return e;
  if (captured) {
    if (auto e = check(api_->capture_begin(stream_, capture_thread_local), "cuStreamBeginCapture")) return e;
    const auto failed = launches();
    const auto ended = check(api_->capture_end(stream_, &h.graph), "cuStreamEndCapture");
    if (failed) return failed;
    if (ended) return ended;
    if (auto e = list_graph(h.graph, result)) return e;
    if (auto e = check(api_->graph_instantiate(&h.exec, h.graph, 0), "cuGraphInstantiateWithFlags")) return e;
  }
  if (auto e = check(api_->event_record(h.begin, stream_), "cuEventRecord")) return e;
  if (captured) {
    if (auto e = check(api_->graph_launch(h.exec, stream_), "cuGraphLaunch")) return e;
  } else if (auto e = launches()) {
    return e;
  }
  if (auto e = check(api_->event_record(h.end, stream_), "cuEventRecord")) return e;
  if (auto e = check(api_->stream_wait(stream_), "cuStreamSynchronize")) return e;
  float milliseconds = 0;
  if (api_->event_elapsed(&milliseconds, h.begin, h.end) == 0) result.seconds = milliseconds / 1000.0;
  return std::nullopt;
}

}  // namespace dd::cuda
