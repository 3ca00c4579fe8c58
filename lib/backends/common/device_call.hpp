// What the run halves with kernels of our own share: inputs onto the device as they lie, a poisoned result between guard
// bands there too, launch (eager or captured), outcome from the driver's errors, and the kernel as evidence.
#pragma once
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "backends/backend.hpp"
#include "backends/cuda_runtime/driver.hpp"
#include "ops/cases/cases.hpp"

namespace dd::backends {

class DeviceCall {
 public:
  // Null and `problem` filled when there is no device, no device code, or no room.
  static std::unique_ptr<DeviceCall> make(const RunRequest& request, RunResult& problem);

  cuda::Device& device() { return device_; }
  // Device address of a view's first element; uploads what it points into when that is no input's storage.
  void* at(const ops::TensorView& view);
  void* out_at(const ops::TensorView& out_view);
  void* upload(const void* data, std::int64_t bytes);

  struct Launch {
    kernels::Image image;
    std::string kernel;
    kernels::LaunchShape shape;
    std::vector<void*> arguments;  // pointers to the parameters; they must outlive run()
  };
  // Runs the launches in order, checks guards, brings the result home. Evidence is added to `result`.
  RunResult run(std::vector<Launch> launches, RunResult result = {});

 private:
  DeviceCall(cuda::Device& device, const RunRequest& request) : device_(device), request_(request) {}
  bool place_inputs();
  bool place_output();
  bool take_output(RunResult& result);
  bool note(std::optional<cuda::CallError> error);

  cuda::Device& device_;
  const RunRequest& request_;
  std::list<cuda::Memory> memory_;
  struct Range {
    std::int64_t bytes;
    std::uint64_t address;
  };
  std::map<const std::byte*, Range> placed_;
  std::uint64_t out_ = 0;
  std::optional<cuda::CallError> error_;  // the first one
};

// Device, driver and device code are there; else why not and the finding's id.
Availability own_kernels_available();
// Architecture and size of device 0, where there is one.
void add_device_facts(facts::FactSet& facts);
std::string_view type_tag(core::DType dtype);  // as in the kernels' names

}  // namespace dd::backends
