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

#include "core/result.hpp"
#include "images.hpp"
#include "common/launch.hpp"

namespace dd::cuda {

struct DriverApi;  // the functions, in driver.cpp

struct CallError {
  // What it means for an attempt: the library said no to the call, or something went wrong.
  enum class Fault { failed, refused, out_of_memory, unavailable };
  int code = 0;            // CUresult, or the status of the library
  std::string name, text;  // CUDA_ERROR_..., in words
  std::string call;        // the function that returned it
  std::string source = "CUDA driver";
  Fault fault = Fault::failed;
};

struct DeviceInfo {
  int ordinal = 0, compute_capability = 0, sm_count = 0, shared_optin_bytes = 0;
  std::int64_t memory_bytes = 0, memory_free = 0;
  std::string name;
  int driver_version = 0;
};

struct KernelRun {
  double seconds = 0;                    // between two events around it; of the replay when captured
  std::vector<std::string> graph_nodes;  // kernels of the captured graph, by the name that the driver gives
};

// One device with its primary context current on this thread. Made once per process and device.
class Device {
 public:
  static core::Result<Device*> get(int ordinal);

  const DeviceInfo& info() const { return info_; }
  void* stream() const { return stream_; }  // of all work; a CUstream, which is a cudaStream_t as well
  std::optional<CallError> allocate(std::int64_t bytes, std::uint64_t& address);  // 256-byte aligned
  void release(std::uint64_t address);
  std::optional<CallError> upload(std::uint64_t to, const void* from, std::int64_t bytes);
  std::optional<CallError> download(void* to, std::uint64_t from, std::int64_t bytes);
  // A kernel of this build by its C name; loads its image on first use.
  std::optional<CallError> function(kernels::Image image, const std::string& name, void*& out);
  std::optional<CallError> launch(void* function, const kernels::LaunchShape& shape, void** arguments);
  // Runs `launches` once and waits; captured: records it into a graph first, lists its nodes and replays it.
  std::optional<CallError> run(bool captured, const std::function<std::optional<CallError>()>& launches, KernelRun& result);

 private:
  Device() = default;
  std::optional<CallError> check(int code, const char* call) const;
  std::optional<CallError> list_graph(void* graph, KernelRun& result);
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
