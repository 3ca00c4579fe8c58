// What every run half on a device shares: inputs onto the device as they lie, a poisoned result between guard bands there
// too, own kernels and library calls (eager or captured), outcome from driver and library errors, and what ran as evidence.
#pragma once
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "backends/backend.hpp"
#include "backends/cuda_runtime/driver.hpp"
#include "ops/cases/cases.hpp"

namespace dd::backends {

// A driver and a device are there; else why not and the finding's id.
Availability device_available();
// Device code as well.
Availability own_kernels_available();
// The library's part of an answer: `base` when that says no, else no with `finding` where `why` is not empty.
Availability with_library(Availability base, const std::string& why, std::string_view finding, const std::string& detail);

// The result of an attempt that ended in this error of the driver or of a library.
RunResult device_failure(const cuda::CallError& error);

class DeviceCall {
 public:
  // Null and `problem` filled when there is no device, no room, or not what `available` asks for.
  static std::unique_ptr<DeviceCall> make(const RunRequest& request, RunResult& problem, Availability (*available)() = own_kernels_available);

  cuda::Device& device() { return device_; }
  // Device address of a view's first element; uploads what it points into when that is no input's storage.
  void* at(const ops::TensorView& view);
  void* out_at(const ops::TensorView& out_view);
  void* upload(const void* data, std::int64_t bytes);
  void* scratch(std::int64_t bytes);  // device memory of undefined content until the call ends

  struct Launch {
    kernels::Image image;
    std::string kernel;
    kernels::LaunchShape shape;
    std::vector<void*> arguments;  // pointers to the parameters; they must outlive run()
  };
  // Runs the launches in order, checks guards, brings the result home, and times them when that is asked for. Captured mode
  // runs everything once before, records it into a graph, poisons the result again and replays. Evidence is added to `result`.
  RunResult run(std::vector<Launch> launches, RunResult result = {});

  struct LibraryCall {
    std::string name, detail;  // as evidence
    std::function<std::optional<cuda::CallError>(void* stream)> enqueue;
  };
  using Step = std::variant<Launch, LibraryCall>;
  struct Part {  // a stretch of the work; with several each is timed by itself, except in a captured graph
    std::string name;
    std::vector<Step> steps;
  };
  RunResult run_parts(std::vector<Part> parts, RunResult result = {});

 private:
  DeviceCall(cuda::Device& device, const RunRequest& request) : device_(device), request_(request) {}
  bool place_inputs();
  bool place_output();
  bool poison_output();
  bool take_output(RunResult& result);
  bool note(std::optional<cuda::CallError> error);
  bool find_functions(const std::vector<Part>& parts, std::vector<std::vector<void*>>& functions);
  bool replay(const cuda::Work& everything, cuda::KernelRun& run);
  void describe(const std::vector<Part>& parts, const std::vector<cuda::KernelRun>& runs, report::Evidence& evidence) const;

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

// Architecture and size of device 0, where there is one.
void add_device_facts(facts::FactSet& facts);
std::string_view type_tag(core::DType dtype);  // as in the kernels' names

}  // namespace dd::backends
