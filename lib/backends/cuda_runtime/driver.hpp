// The part of the CUDA driver interface that our own backends need, by run-time lookup: context, memory, modules, launch,
// capture. Declared here in plain C types, so no CUDA header is needed and the same code builds everywhere.
// Errors carry the driver's own name and text. A sticky error (illegal address) spoils the context for good: the worker
// process reports it and is replaced.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/cuda_runtime/capture.hpp"
#include "core/result.hpp"
#include "images.hpp"
#include "common/launch.hpp"

namespace dd::cuda {

struct DeviceInfo {
  int ordinal = 0, compute_capability = 0, sm_count = 0, shared_optin_bytes = 0;
  int l2_bytes = 0, sm_clock_khz = 0, memory_clock_khz = 0, bus_bits = 0;  // 0: the driver does not say
  int ecc = -1, compute_mode = -1;                                         // -1: the driver does not say
  std::string pci;  // bus address, by which NVML knows the device
  std::int64_t memory_bytes = 0, memory_free = 0;
  std::string name;
  int driver_version = 0;
};

// What the driver says about a device without a context on it (memory_free stays 0): cheap, and safe in any process.
core::Result<DeviceInfo> describe_device(int ordinal);

struct KernelRun {
  double seconds = 0;                  // between two events around it; of the replay when captured
  std::vector<GraphNode> graph_nodes;  // of the captured graph
  bool cannot_capture = false;         // the error came while the work was being captured
};

// One device with its primary context current on this thread. Made once per process and device.
class Device {
 public:
  static core::Result<Device*> get(int ordinal);

  const DeviceInfo& info() const { return info_; }
  std::optional<CallError> allocate(std::int64_t bytes, std::uint64_t& address);  // 256-byte aligned
  void release(std::uint64_t address);
  std::optional<CallError> upload(std::uint64_t to, const void* from, std::int64_t bytes);
  std::optional<CallError> download(void* to, std::uint64_t from, std::int64_t bytes);
  // A kernel of this build by its C name; loads its image on first use.
  std::optional<CallError> function(kernels::Image image, const std::string& name, void*& out);
  std::optional<CallError> launch(void* function, const kernels::LaunchShape& shape, void** arguments);
  // Runs `work` once on stream() and waits.
  std::optional<CallError> run(const Work& work, KernelRun& result);
  // Records `work` into a graph, lists its nodes, calls `spoil`, replays the graph once and waits.
  std::optional<CallError> replay(const Work& work, const Work& spoil, KernelRun& result);
  // Seconds that the device took for what `work` puts on stream().
  std::optional<CallError> between_events(const Work& work, double& seconds);
  std::optional<CallError> wait();
  std::optional<CallError> check(int code, const char* call) const;
  void* stream() const { return stream_; }  // CUstream; libraries are given it as well
  const DriverApi& api() const { return *api_; }

 private:
  Device() = default;
  std::optional<CallError> open(int ordinal);

  const DriverApi* api_ = nullptr;
  DeviceInfo info_;
  void* context_ = nullptr;
  void* stream_ = nullptr;
  std::map<kernels::Image, void*> modules_;
};

// Device memory that is released at the end of its scope.
class Memory {
 public:
  explicit Memory(Device& device) : device_(device) {}
  ~Memory() {
    if (address_) device_.release(address_);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  std::optional<CallError> allocate(std::int64_t bytes) { return device_.allocate(bytes, address_); }
  std::uint64_t address() const { return address_; }

 private:
  Device& device_;
  std::uint64_t address_ = 0;
};

}  // namespace dd::cuda
