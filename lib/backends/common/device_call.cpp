#include "backends/common/device_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backends/common/run.hpp"
#include "backends/cuda_runtime/device_facts.hpp"
#include "backends/cuda_runtime/libraries.hpp"
#include "backends/cuda_runtime/record.hpp"
#include "backends/cuda_runtime/timing.hpp"
#include "spec/values.hpp"

namespace dd::backends {
namespace {

constexpr std::int64_t guard = 4096;
constexpr unsigned char guard_value = 0xA5;

int ordinal_of(std::string_view target) { return spec::gpu_ordinal(target).value_or(0); }

report::Outcome outcome_of(const cuda::CallError& error) {
  switch (error.fault) {
    case cuda::CallError::Fault::refused: return report::Outcome::refused;
    case cuda::CallError::Fault::out_of_memory: return report::Outcome::out_of_memory;
    case cuda::CallError::Fault::unavailable: return report::Outcome::unavailable;
    case cuda::CallError::Fault::failed: break;
  }
  return report::Outcome::failed;
}

// Errors that spoil the context have nothing to do with capture.
bool spoils_context(const cuda::CallError& e) { return e.source == "CUDA driver" && e.code >= 700 && e.code < 800; }

RunResult not_captured(const cuda::CallError& e) {
  return failure(report::Outcome::refused, "cannot-capture", fmt::format("runs, but cannot be recorded into a graph: {}: {} ({})", e.call, e.text, e.name), e.source);
}

}  // namespace

RunResult device_failure(const cuda::CallError& e) {
  return failure(outcome_of(e), e.name, fmt::format("{}: {}", e.call, e.text), e.source);
}

std::string_view type_tag(core::DType dtype) { return core::to_text(dtype); }

Availability device_available() {
  const cuda::LibraryRecord& driver = cuda::library(cuda::Library::driver);
  if (!driver || driver.stub) return {false, driver ? "only the toolkit's stand-in of the driver is here" : driver.error, {"ENV020"}};
  const auto device = cuda::describe_device(0);
  if (!device) return {false, device.problems().front().message, {"ENV022"}};
  const cuda::DeviceInfo& info = *device;
  return {true, fmt::format("{}, compute capability {}.{}", info.name, info.compute_capability / 10, info.compute_capability % 10), {}};
}

Availability own_kernels_available() {
  if (kernels::image(kernels::Image::attention).empty()) return {false, "this build has no device code", {"ENV029"}};
  Availability device = device_available();
  if (device.available) device.detail += fmt::format(", kernels for sm {}", kernels::image_architectures());
  return device;
}

Availability with_library(Availability base, const std::string& why, std::string_view finding, const std::string& detail) {
  if (!why.empty()) {
    base.detail = base.available ? why : base.detail + "; " + why;
    base.available = false;
    base.finding_ids.emplace_back(finding);
  } else if (base.available) {
    base.detail = detail + " on " + base.detail;
  }
  return base;
}

void add_device_facts(facts::FactSet& facts) {
  const auto* target = std::get_if<std::string>(&facts.value(facts::Id::target));
  cuda::add_device_facts(target ? ordinal_of(*target) : 0, facts);
}

std::unique_ptr<DeviceCall> DeviceCall::make(const RunRequest& request, RunResult& problem, Availability (*available)()) {
  if (request.mode == spec::Mode::compiled) {
    problem = failure(report::Outcome::refused, "mode", "the native dispatcher compiles no graphs", "worker");
    return nullptr;
  }
  if (const Availability a = available(); !a.available) {
    problem = failure(report::Outcome::unavailable, a.finding_ids.empty() ? "" : a.finding_ids.front(), a.detail, "worker");
    return nullptr;
  }
  auto device = cuda::Device::get(ordinal_of(request.spec.context.target));
  if (!device) {
    problem = failure(report::Outcome::unavailable, "ENV022", device.problems().front().message, "CUDA driver");
    return nullptr;
  }
  std::unique_ptr<DeviceCall> call(new DeviceCall(**device, request));
  if (call->place_inputs() && call->place_output()) return call;
  problem = device_failure(*call->error_);
  return nullptr;
}

bool DeviceCall::note(std::optional<cuda::CallError> error) {
  if (error && !error_) error_ = std::move(error);
  return !error_;
}

void* DeviceCall::upload(const void* data, std::int64_t bytes) {
  memory_.emplace_back(device_);
  if (!note(memory_.back().allocate(bytes)) || !note(device_.upload(memory_.back().address(), data, bytes))) return nullptr;
  return reinterpret_cast<void*>(memory_.back().address());
}

bool DeviceCall::place_inputs() {
  for (const auto& [role, tensor] : request_.inputs) {
    const std::byte* storage = tensor.storage.get();
    if (!storage || placed_.count(storage)) continue;
    void* address = upload(storage, tensor.storage_bytes);
    if (error_) return false;
    placed_[storage] = {tensor.storage_bytes, reinterpret_cast<std::uint64_t>(address)};
  }
  return true;
}

void* DeviceCall::scratch(std::int64_t bytes) {
  memory_.emplace_back(device_);
  return note(memory_.back().allocate(bytes)) ? reinterpret_cast<void*>(memory_.back().address()) : nullptr;
}

bool DeviceCall::place_output() {
  const void* area = scratch(request_.out.storage_bytes + 2 * guard);
  out_ = reinterpret_cast<std::uint64_t>(area) + guard;
  return !error_ && poison_output();
}

// The parent's poison between guard bands; once more after a warm-up has written the result.
bool DeviceCall::poison_output() {
  const std::int64_t bytes = request_.out.storage_bytes;
  std::vector<unsigned char> area(static_cast<std::size_t>(bytes + 2 * guard), guard_value);
  std::memcpy(area.data() + guard, request_.out.storage.get(), static_cast<std::size_t>(bytes));
  return note(device_.upload(out_ - guard, area.data(), static_cast<std::int64_t>(area.size())));
}

bool DeviceCall::take_output(RunResult& result) {
  const std::int64_t bytes = request_.out.storage_bytes;
  std::vector<unsigned char> area(static_cast<std::size_t>(bytes + 2 * guard));
  if (!note(device_.download(area.data(), out_ - guard, static_cast<std::int64_t>(area.size())))) return false;
  std::memcpy(request_.out.storage.get(), area.data() + guard, static_cast<std::size_t>(bytes));
  const auto damaged = [&](std::size_t from) { return std::count_if(area.begin() + static_cast<std::ptrdiff_t>(from), area.begin() + static_cast<std::ptrdiff_t>(from) + guard, [](unsigned char b) { return b != guard_value; }); };
  const auto hits = damaged(0) + damaged(static_cast<std::size_t>(guard + bytes));
  if (hits > 0) result = failure(report::Outcome::failed, "outside-write", fmt::format("{} bytes outside the result changed on the device", hits), "guard bands");
  return true;
}

void* DeviceCall::at(const ops::TensorView& view) {
  const auto* data = static_cast<const std::byte*>(view.data);
  const std::int64_t offset = core::bytes_of(view.dtype, view.offset);
  auto range = placed_.upper_bound(data);
  if (range != placed_.begin()) {
    --range;
    if (data < range->first + std::max<std::int64_t>(range->second.bytes, 1))
      return reinterpret_cast<void*>(range->second.address + static_cast<std::uint64_t>(data - range->first + offset));
  }
  std::int64_t last = view.offset;
  for (int i = 0; i < view.rank; ++i) last += (view.shape[i] - 1) * view.stride[i];
  const std::int64_t bytes = core::bytes_of(view.dtype, last + 1);
  const void* address = upload(data, bytes);
  placed_[data] = {bytes, reinterpret_cast<std::uint64_t>(address)};
  return reinterpret_cast<void*>(reinterpret_cast<std::uint64_t>(address) + static_cast<std::uint64_t>(offset));
}

void* DeviceCall::out_at(const ops::TensorView& view) {
  const auto inside = static_cast<const std::byte*>(view.data) - request_.out.storage.get();
  return reinterpret_cast<void*>(out_ + static_cast<std::uint64_t>(inside + core::bytes_of(view.dtype, view.offset)));
}

RunResult DeviceCall::run(std::vector<Launch> launches, RunResult result) {
  Part all{"", {}};
  for (Launch& l : launches) all.steps.emplace_back(std::move(l));
  return run_parts({std::move(all)}, std::move(result));
}

bool DeviceCall::find_functions(const std::vector<Part>& parts, std::vector<std::vector<void*>>& functions) {
  functions.resize(parts.size());
  for (std::size_t p = 0; p < parts.size(); ++p)
    for (const Step& step : parts[p].steps) {
      void* function = nullptr;
      if (const auto* l = std::get_if<Launch>(&step)) {
        constexpr int not_found = 500;
        auto error = device_.function(l->image, l->kernel, function);
        // No instance for this type or size: the kernel's way of saying no.
        if (error && error->code == not_found) error->fault = cuda::CallError::Fault::refused;
        if (!note(std::move(error))) return false;
      }
      functions[p].push_back(function);
    }
  return true;
}

// Once before the capture: on their first call libraries load kernels and allocate, which a capture does not allow. What
// that wrote is poisoned again by the replay, so the result can only come from the graph.
bool DeviceCall::replay(const cuda::Work& everything, cuda::KernelRun& run) {
  {
    const cuda::HarnessScope not_the_attempt;
    cuda::KernelRun warm_up;
    if (!note(device_.run(everything, warm_up))) return false;
  }
  return note(device_.replay(everything, [&]() -> std::optional<cuda::CallError> { return poison_output() ? std::nullopt : error_; }, run));
}

void DeviceCall::describe(const std::vector<Part>& parts, const std::vector<cuda::KernelRun>& runs, report::Evidence& e) const {
  e.operators.push_back({request_.spec.is_attention() ? "sdpa" : "gemm", "native dispatcher", "worker", 1, {}});
  const bool captured = request_.mode == spec::Mode::captured;
  std::size_t steps = 0;
  for (const Part& part : parts) {
    steps += part.steps.size();
    for (const Step& step : part.steps) {
      if (const auto* call = std::get_if<LibraryCall>(&step)) {
        e.library_calls.push_back({call->name, call->detail, "worker", 1, {}});
      } else if (!captured) {
        const auto& l = std::get<Launch>(step);
        e.kernels.push_back({l.kernel, fmt::format("grid {}x{}x{}, block {}, {} bytes of shared memory", l.shape.grid[0], l.shape.grid[1], l.shape.grid[2], l.shape.threads, l.shape.shared_bytes), "worker", 1, {}});
      }
    }
  }
  for (const cuda::KernelRun& run : runs)
    for (const cuda::GraphNode& node : run.graph_nodes) e.kernels.push_back({node.name, node.detail, "graph", 1, {}});
  double seconds = 0;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    seconds += runs[i].seconds;
    if (runs.size() > 1) e.notes.push_back(fmt::format("{}: {:.6f} s between two events", parts[i].name, runs[i].seconds));
  }
  if (captured && !runs.empty()) {
    const std::size_t nodes = runs.front().graph_nodes.size();
    e.notes.push_back(fmt::format("graph of {} node{}, replayed once in {:.6f} s over a result that was poisoned again", nodes, nodes == 1 ? "" : "s", seconds));
  } else {
    e.notes.push_back(fmt::format("{} launch{} in {:.6f} s between two events, the first run in this process", steps, steps == 1 ? "" : "es", seconds));
  }
}

RunResult DeviceCall::run_parts(std::vector<Part> parts, RunResult result) {
  if (error_) return device_failure(*error_);
  for (const Part& part : parts)
    for (const Step& step : part.steps)
      if (const auto* l = std::get_if<Launch>(&step); l && !kernels::fits_grid(l->shape))
        return failure(report::Outcome::refused, "grid", "the grid is beyond what a device takes", "own code");
  std::vector<std::vector<void*>> functions;
  if (!find_functions(parts, functions)) return device_failure(*error_);
  const auto put = [&](std::size_t p) -> std::optional<cuda::CallError> {
    for (std::size_t i = 0; i < parts[p].steps.size(); ++i) {
      Step& step = parts[p].steps[i];
      auto* l = std::get_if<Launch>(&step);
      if (auto e = l ? device_.launch(functions[p][i], l->shape, l->arguments.data()) : std::get<LibraryCall>(step).enqueue(device_.stream())) return e;
    }
    return std::nullopt;
  };
  const auto everything = [&]() -> std::optional<cuda::CallError> {
    for (std::size_t p = 0; p < parts.size(); ++p)
      if (auto e = put(p)) return e;
    return std::nullopt;
  };
  const bool captured = request_.mode == spec::Mode::captured;
  std::vector<cuda::KernelRun> runs;
  if (captured) {
    if (!replay(everything, runs.emplace_back()))
      return runs.back().cannot_capture && !spoils_context(*error_) ? not_captured(*error_) : device_failure(*error_);
  } else {
    for (std::size_t p = 0; p < parts.size(); ++p)
      if (!note(device_.run([&] { return put(p); }, runs.emplace_back()))) return device_failure(*error_);
  }
  RunResult out = std::move(result);
  if (!take_output(out)) return device_failure(*error_);
  if (out.error) return out;
  describe(parts, runs, out.evidence);
  if (!request_.bench) return out;
  report::Timing timing;
  if (!note(cuda::time_on_device(device_, captured, everything, *request_.bench, timing))) return device_failure(*error_);
  out.timing = std::move(timing);
  return out;
}

}  // namespace dd::backends
