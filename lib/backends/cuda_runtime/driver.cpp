#include "backends/cuda_runtime/driver.hpp"

#include <fmt/format.h>

#include <mutex>

#include "backends/cuda_runtime/libraries.hpp"
#include "backends/cuda_runtime/record.hpp"

namespace dd::cuda {
namespace {

constexpr int attribute_sm_count = 16, attribute_major = 75, attribute_minor = 76, attribute_shared_optin = 97, attribute_l2 = 38, attribute_sm_clock = 13,
              attribute_memory_clock = 36, attribute_bus_width = 37, attribute_ecc = 32, attribute_compute_mode = 20;
constexpr int function_dynamic_shared = 8;
constexpr std::int32_t shared_without_asking = 48 * 1024;

core::Problem problem(const std::string& text) { return {"context.target", "", "", text, "", 0}; }
std::string to_text(const CallError& e) { return fmt::format("{}: {} ({})", e.call, e.text, e.name); }

struct LoadedDriver {
  DriverApi api{};
  std::string problem;
};

LoadedDriver load() {
  LoadedDriver out;
  const LibraryRecord& driver = library(Library::driver);
  if (!driver) {
    out.problem = driver.error;
  } else if (const std::string missing = out.api.fill_from(driver); !missing.empty()) {
    out.problem = fmt::format("{} has no {}", driver.path, missing);
  } else if (const int code = out.api.init(0); code != 0) {
    const char* text = nullptr;
    out.api.error_text(code, &text);
    out.problem = text ? fmt::format("cuInit: {}", text) : fmt::format("cuInit answers {}", code);
  }
  return out;
}

const LoadedDriver& driver() {
  static const LoadedDriver loaded = load();
  return loaded;
}

std::optional<CallError> read_info(const DriverApi& api, int ordinal, int& device, DeviceInfo& info) {
  int major = 0, minor = 0;
  char name[256] = {}, pci[32] = {};
  std::size_t total = 0;
  if (auto e = api.check(api.device_get(&device, ordinal), "cuDeviceGet")) return e;
  const auto ask = [&](int attribute, int& value) {
    int answer = 0;
    if (api.device_attribute(&answer, attribute, device) == 0) value = answer;
  };
  api.device_name(name, sizeof name - 1, device);
  ask(attribute_sm_count, info.sm_count);
  ask(attribute_major, major);
  ask(attribute_minor, minor);
  ask(attribute_shared_optin, info.shared_optin_bytes);
  ask(attribute_l2, info.l2_bytes);
  ask(attribute_sm_clock, info.sm_clock_khz);
  ask(attribute_memory_clock, info.memory_clock_khz);
  ask(attribute_bus_width, info.bus_bits);
  ask(attribute_ecc, info.ecc);
  ask(attribute_compute_mode, info.compute_mode);
  if (api.device_pci && api.device_pci(pci, sizeof pci - 1, device) == 0) info.pci = pci;
  api.device_memory(&total, device);
  api.driver_version(&info.driver_version);
  info.ordinal = ordinal;
  info.compute_capability = 10 * major + minor;
  info.name = name;
  info.memory_bytes = static_cast<std::int64_t>(total);
  return std::nullopt;
}

std::optional<core::Problem> no_such_device(int ordinal) {
  if (!driver().problem.empty()) return problem(driver().problem);
  int count = 0;
  if (driver().api.device_count(&count) != 0 || ordinal < 0 || ordinal >= count)
    return problem(fmt::format("there is no device {}: the driver offers {}", ordinal, count));
  return std::nullopt;
}

}  // namespace

core::Result<DeviceInfo> describe_device(int ordinal) {
  if (auto none = no_such_device(ordinal)) return *none;
  DeviceInfo info;
  int device = 0;
  if (auto e = read_info(driver().api, ordinal, device, info)) return problem(to_text(*e));
  return info;
}

std::optional<CallError> Device::check(int code, const char* call) const { return api_->check(code, call); }

std::optional<CallError> Device::open(int ordinal) {
  int device = 0;
  std::size_t total = 0, free = 0;
  if (auto e = read_info(*api_, ordinal, device, info_)) return e;
  if (auto e = check(api_->context_retain(&context_, device), "cuDevicePrimaryCtxRetain")) return e;
  if (auto e = check(api_->context_current(context_), "cuCtxSetCurrent")) return e;
  if (api_->memory_info(&free, &total) == 0) info_.memory_free = static_cast<std::int64_t>(free);
  constexpr unsigned non_blocking = 1;
  return check(api_->stream_create(&stream_, non_blocking), "cuStreamCreate");
}

core::Result<Device*> Device::get(int ordinal) {
  static std::mutex lock;
  static std::map<int, std::unique_ptr<Device>> devices;
  const std::lock_guard guard(lock);
  if (auto none = no_such_device(ordinal)) return *none;
  if (devices.count(ordinal)) {
    // Another device may have been used since.
    const Device& made = *devices[ordinal];
    if (auto e = made.check(made.api_->context_current(made.context_), "cuCtxSetCurrent")) return problem(to_text(*e));
    return devices[ordinal].get();
  }
  auto device = std::unique_ptr<Device>(new Device);
  device->api_ = &driver().api;
  if (auto e = device->open(ordinal)) return problem(to_text(*e));
  return (devices[ordinal] = std::move(device)).get();
}

std::optional<CallError> Device::allocate(std::int64_t bytes, std::uint64_t& address) {
  return check(api_->allocate(&address, static_cast<std::size_t>(bytes < 1 ? 1 : bytes)), "cuMemAlloc");
}
void Device::release(std::uint64_t address) { api_->release(address); }
std::optional<CallError> Device::upload(std::uint64_t to, const void* from, std::int64_t bytes) {
  if (bytes <= 0) return std::nullopt;
  const HarnessScope not_the_backends;
  if (auto e = check(api_->upload(to, from, static_cast<std::size_t>(bytes)), "cuMemcpyHtoD")) return e;
  // The call may return while the last piece is still on its way, and stream() does not wait for the default stream.
  return check(api_->stream_wait(nullptr), "cuStreamSynchronize");
}
std::optional<CallError> Device::download(void* to, std::uint64_t from, std::int64_t bytes) {
  if (bytes <= 0) return std::nullopt;
  const HarnessScope not_the_backends;
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

std::optional<CallError> Device::between_events(const Work& work, double& seconds) {
  struct Events {
    const DriverApi& api;
    void *begin = nullptr, *end = nullptr;
    ~Events() {
      if (begin) api.event_destroy(begin);
      if (end) api.event_destroy(end);
    }
  } h{*api_};
  if (auto e = check(api_->event_create(&h.begin, 0), "cuEventCreate")) return e;
  if (auto e = check(api_->event_create(&h.end, 0), "cuEventCreate")) return e;
  if (auto e = check(api_->event_record(h.begin, stream_), "cuEventRecord")) return e;
  if (auto e = work()) return e;
  if (auto e = check(api_->event_record(h.end, stream_), "cuEventRecord")) return e;
  if (auto e = wait()) return e;
  float milliseconds = 0;
  if (auto e = check(api_->event_elapsed(&milliseconds, h.begin, h.end), "cuEventElapsedTime")) return e;
  seconds = milliseconds / 1000.0;
  return std::nullopt;
}

std::optional<CallError> Device::wait() {
  const HarnessScope not_the_backends;
  return check(api_->stream_wait(stream_), "cuStreamSynchronize");
}

std::optional<CallError> Device::run(const Work& work, KernelRun& result) { return between_events(work, result.seconds); }

std::optional<CallError> Device::replay(const Work& work, const Work& spoil, KernelRun& result) {
  Graph graph(*api_);
  if (auto e = graph.capture(stream_, work)) {
    result.cannot_capture = true;
    return e;
  }
  if (auto e = graph.nodes(result.graph_nodes)) return e;
  if (auto e = graph.instantiate()) return e;
  if (auto e = spoil()) return e;
  return between_events([&] { return graph.launch(stream_); }, result.seconds);
}

}  // namespace dd::cuda
