#include "backends/common/device_profile.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <nlohmann/json.hpp>
#include <vector>

#include "backends/cuda_runtime/driver.hpp"
#include "backends/cuda_runtime/libraries.hpp"
#include "backends/cuda_runtime/nvml.hpp"
#include "backends/libraries/trial.hpp"
#include "facts/profiles.hpp"

namespace dd::backends {
namespace {

using cuda::ClockState;
using cuda::DeviceInfo;
using cuda::DeviceModes;
using cuda::Library;
using cuda::LibraryRecord;
using Json = nlohmann::ordered_json;

// "NVIDIA H200" -> "nvidia-h200": what a profile may be called.
std::string slug(const std::string& name) {
  std::string out;
  for (const char c : name) {
    const auto u = static_cast<unsigned char>(c);
    if (std::isalnum(u) != 0) out += static_cast<char>(std::tolower(u));
    else if (!out.empty() && out.back() != '-') out += '-';
  }
  while (!out.empty() && out.back() == '-') out.pop_back();
  return out.empty() ? "gpu" : out;
}

Json field(std::int64_t value, const std::string& source) { return {{"value", value}, {"source", source}}; }

// Peaks cannot be asked for; those of the same GPU's own profile are taken, and say so.
void add_peaks(const DeviceInfo& info, Json& fields) {
  const facts::DeviceProfile* known = facts::profile_of_gpu(info.name, info.compute_capability, info.sm_count, info.memory_bytes);
  if (!known) return;
  for (const auto& [name, value] : known->fields)
    if (name.rfind("flops_", 0) == 0 || name.rfind("ops_", 0) == 0 || (name == "memory_bandwidth" && !fields.contains(name)))
      fields[name] = field(value.value, fmt::format("profile {}: {}", known->name, value.source));
}

Json record_of(const DeviceInfo& info, const std::string& date, const std::string& tool) {
  const DeviceModes modes = cuda::device_modes(info.pci);
  const ClockState clocks = cuda::clock_state(info.pci);
  Json out = {{"date", date}, {"tool", tool}, {"device", info.name}};
  const auto text = [&](const char* name, const std::string& value) { out[name] = value.empty() ? "unknown" : value; };
  text("driver", modes.driver);
  text("driver_cuda", cuda::version_text(Library::driver, info.driver_version));
  text("cudnn", cuda::library(Library::cudnn).version);
  text("cublaslt", cuda::library(Library::cublaslt).version);
  text("clocks", clocks.to_text());
  text("throttle", clocks.throttle_reasons ? cuda::throttle_text(*clocks.throttle_reasons) : "");
  text("mig", modes.mig ? (*modes.mig ? "on" : "off") : "");
  text("ecc", modes.ecc ? (*modes.ecc ? "on" : "off") : info.ecc >= 0 ? (info.ecc != 0 ? "on" : "off") : "");
  text("compute_mode", info.compute_mode >= 0 ? cuda::compute_mode_text(info.compute_mode) : "");
  return out;
}

// What cuDNN writes about a device, through the one descriptor that needs neither handle nor graph.
std::string ask_cudnn(const LibraryRecord& cudnn, int ordinal) {
  constexpr int device_descriptor = 38, device_id = 2700, json_text = 2702, type_int32 = 23, type_char = 24;
  int (*create)(int, void**) = nullptr;
  int (*set)(void*, int, int, std::int64_t, const void*) = nullptr;
  int (*finalize)(void*) = nullptr;
  int (*get)(void*, int, int, std::int64_t, std::int64_t*, void*) = nullptr;
  if (!cudnn.find(create, "cudnnBackendCreateDescriptor") || !cudnn.find(set, "cudnnBackendSetAttribute") || !cudnn.find(finalize, "cudnnBackendFinalize") ||
      !cudnn.find(get, "cudnnBackendGetAttribute"))
    return {};
  void* descriptor = nullptr;
  std::int64_t length = 0;
  const auto id = static_cast<std::int32_t>(ordinal);
  if (create(device_descriptor, &descriptor) != 0 || set(descriptor, device_id, type_int32, 1, &id) != 0 || finalize(descriptor) != 0) return {};
  if (get(descriptor, json_text, type_char, 0, &length, nullptr) != 0 || length <= 0 || length > 60000) return {};
  std::string out(static_cast<std::size_t>(length), ' ');
  if (get(descriptor, json_text, type_char, length, &length, out.data()) != 0) return {};
  out.resize(std::min(out.find('\0'), out.size()));
  return out;
}

}  // namespace

std::string cudnn_device_json(int ordinal, std::string& problem) {
  const LibraryRecord& cudnn = cuda::library(Library::cudnn);
  if (!cudnn) {
    problem = cudnn.error;
    return {};
  }
  int ends[2];
  if (::pipe(ends) != 0) {
    problem = "no pipe could be made";
    return {};
  }
  problem = trial_problem([&] {
    const std::string text = ask_cudnn(cudnn, ordinal);
    // A pipe holds 64 KiB, so this does not wait for a reader.
    if (!text.empty() && ::write(ends[1], text.data(), text.size()) < 0) ::_exit(1);
  });
  ::close(ends[1]);
  std::string out;
  char buffer[4096];
  for (ssize_t n = 0; (n = ::read(ends[0], buffer, sizeof buffer)) > 0;) out.append(buffer, static_cast<std::size_t>(n));
  ::close(ends[0]);
  if (out.empty() && problem.empty()) problem = fmt::format("cuDNN {} does not describe the device (9.8 and newer do)", cudnn.version);
  return out;
}

core::Result<Json> device_profile(int ordinal, const std::string& date, const std::string& tool) {
  const LibraryRecord& driver = cuda::library(Library::driver);
  if (!driver || driver.stub) {
    return core::Problem{"--record", {}, {}, driver ? "only the toolkit's stand-in of the driver is here" : driver.error, {}, 0};
  }
  std::string problem;
  const std::string cudnn = cudnn_device_json(ordinal, problem);  // first: see there
  const auto device = cuda::describe_device(ordinal);
  if (!device) return device.problems();
  const DeviceInfo& info = *device;
  const std::string by_driver = fmt::format("driver, asked on {}", date);
  Json fields = Json::object();
  const auto add = [&](const char* name, std::int64_t value, const std::string& source) {
    if (value > 0) fields[name] = field(value, source);
  };
  add("compute_capability", info.compute_capability, by_driver);
  add("sm_count", info.sm_count, by_driver);
  add("memory_bytes", info.memory_bytes, by_driver);
  add("l2_bytes", info.l2_bytes, by_driver);
  add("shared_memory_per_block", info.shared_optin_bytes, by_driver);
  // Data moves at both edges of the memory clock.
  add("memory_bandwidth", std::int64_t{2} * info.memory_clock_khz * 1000 * (info.bus_bits / 8), "memory clock x 2 x bus width, " + by_driver);
  add_peaks(info, fields);
  Json out = {{"name", slug(info.name)}, {"title", info.name + ", recorded " + date}};
  if (const facts::DeviceProfile* known = facts::profile_of_gpu(info.name, info.compute_capability, info.sm_count, info.memory_bytes)) out["architecture"] = known->architecture;
  out["fields"] = fields;
  out["recorded"] = record_of(info, date, tool);
  const Json parsed = Json::parse(cudnn, nullptr, false);
  if (parsed.is_object()) out["cudnn_device"] = parsed;
  else out["recorded"]["cudnn_device"] = problem.empty() ? "cuDNN gave no JSON object" : problem;
  return out;
}

}  // namespace dd::backends
