#include "backends/common/device_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backends/common/run.hpp"
#include "backends/cuda_runtime/libraries.hpp"

namespace dd::backends {
namespace {

constexpr std::int64_t guard = 4096;
constexpr unsigned char guard_value = 0xA5;

int ordinal_of(const spec::OpSpec& spec) {
  const std::string& target = spec.context.target;
  const std::size_t colon = target.find(':');
  return colon == std::string::npos ? 0 : std::atoi(target.c_str() + colon + 1);
}

// CUresult codes that mean something to the report.
report::Outcome outcome_of(const cuda::CallError& error) {
  constexpr int out_of_memory = 2, no_binary = 209, bad_ptx = 218, unsupported_ptx = 222;
  if (error.code == out_of_memory) return report::Outcome::out_of_memory;
  if (error.code == no_binary || error.code == bad_ptx || error.code == unsupported_ptx) return report::Outcome::unavailable;
  return report::Outcome::failed;
}
RunResult failed(const cuda::CallError& e) {
  return failure(outcome_of(e), e.name, fmt::format("{}: {}", e.call, e.text), "CUDA driver");
}

}  // namespace

std::string_view type_tag(core::DType dtype) { return core::to_text(dtype); }

Availability own_kernels_available() {
  if (kernels::image(kernels::Image::attention).empty()) return {false, "this build has no device code", {"ENV029"}};
  const cuda::LibraryRecord& driver = cuda::library(cuda::Library::driver);
  if (!driver || driver.stub) return {false, driver ? "only the toolkit's stand-in of the driver is here" : driver.error, {"ENV020"}};
  auto device = cuda::Device::get(0);
  if (!device) return {false, core::to_text(device.problems().front()), {"ENV022"}};
  const cuda::DeviceInfo& info = (*device)->info();
  return {true, fmt::format("{}, compute capability {}.{}, kernels for sm {}", info.name, info.compute_capability / 10, info.compute_capability % 10, kernels::image_architectures()), {}};
}

void add_device_facts(facts::FactSet& facts) {
  const cuda::LibraryRecord& driver = cuda::library(cuda::Library::driver);
  if (!driver || driver.stub) return;
  const auto device = cuda::Device::get(0);
  if (!device) return;
  const cuda::DeviceInfo& info = (*device)->info();
  facts.set(facts::Id::compute_capability, static_cast<std::int64_t>(info.compute_capability), facts::Provenance::library, "cuDeviceGetAttribute");
  facts.set(facts::Id::sm_count, static_cast<std::int64_t>(info.sm_count), facts::Provenance::library, "cuDeviceGetAttribute");
}

std::unique_ptr<DeviceCall> DeviceCall::make(const RunRequest& request, RunResult& problem) {
  if (request.mode == spec::Mode::compiled) {
    problem = failure(report::Outcome::refused, "mode", "the native dispatcher compiles no graphs", "worker");
    return nullptr;
  }
  if (const Availability a = own_kernels_available(); !a.available) {
    problem = failure(report::Outcome::unavailable, a.finding_ids.empty() ? "" : a.finding_ids.front(), a.detail, "CUDA driver");
    return nullptr;
  }
  auto device = cuda::Device::get(ordinal_of(request.spec));
  if (!device) {
    problem = failure(report::Outcome::unavailable, "ENV022", core::to_text(device.problems().front()), "CUDA driver");
    return nullptr;
  }
  std::unique_ptr<DeviceCall> call(new DeviceCall(**device, request));
  if (call->place_inputs() && call->place_output()) return call;
  problem = failed(*call->error_);
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

bool DeviceCall::place_output() {
  const std::int64_t bytes = request_.out.storage_bytes;
  std::vector<unsigned char> area(static_cast<std::size_t>(bytes + 2 * guard), guard_value);
  std::memcpy(area.data() + guard, request_.out.storage.get(), static_cast<std::size_t>(bytes));  // the parent's poison
  out_ = reinterpret_cast<std::uint64_t>(upload(area.data(), static_cast<std::int64_t>(area.size()))) + guard;
  return !error_;
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
  const bool captured = request_.mode == spec::Mode::captured;
  std::vector<void*> functions;
  for (const Launch& l : launches) {
    void* function = nullptr;
    if (!kernels::fits_grid(l.shape)) return failure(report::Outcome::refused, "grid", "the grid is beyond what a device takes", "own code");
    if (!note(device_.function(l.image, l.kernel, function))) break;
    functions.push_back(function);
  }
  if (error_) return failed(*error_);
  cuda::KernelRun run;
  note(device_.run(captured, [&]() -> std::optional<cuda::CallError> {
    for (std::size_t i = 0; i < launches.size(); ++i)
      if (auto e = device_.launch(functions[i], launches[i].shape, launches[i].arguments.data())) return e;
    return std::nullopt;
  }, run));
  if (error_) return failed(*error_);
  RunResult out = std::move(result);
  if (!take_output(out)) return failed(*error_);
  if (out.error) return out;
  report::Evidence& e = out.evidence;
  e.operators.push_back({request_.spec.is_attention() ? "sdpa" : "gemm", "native dispatcher", "worker", 1, {}});
  for (const std::string& node : run.graph_nodes) e.kernels.push_back({node, "node of the captured graph, replayed once", "graph", 1, {}});
  if (!captured)
    for (const Launch& l : launches)
      e.kernels.push_back({l.kernel, fmt::format("grid {}x{}x{}, block {}, {} bytes of shared memory", l.shape.grid[0], l.shape.grid[1], l.shape.grid[2], l.shape.threads, l.shape.shared_bytes), "worker", 1, {}});
  e.notes.push_back(fmt::format("{} launch{} in {:.6f} s between two events", launches.size(), launches.size() == 1 ? "" : "es", run.seconds));
  return out;
}

}  // namespace dd::backends
