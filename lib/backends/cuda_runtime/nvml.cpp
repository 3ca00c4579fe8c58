#include "backends/cuda_runtime/nvml.hpp"

#include <fmt/format.h>

#include "backends/cuda_runtime/libraries.hpp"

namespace dd::cuda {
namespace {

struct Api {
  int (*init)() = nullptr;
  int (*device)(const char*, void**) = nullptr;
  int (*clock)(void*, int, unsigned*) = nullptr;
  int (*max_clock)(void*, int, unsigned*) = nullptr;
  int (*reasons)(void*, unsigned long long*) = nullptr;
  int (*temperature)(void*, int, unsigned*) = nullptr;
  int (*power)(void*, unsigned*) = nullptr;
  int (*mig)(void*, unsigned*, unsigned*) = nullptr;
  int (*ecc)(void*, int*, int*) = nullptr;
  int (*compute_mode)(void*, int*) = nullptr;
  int (*memory)(void*, unsigned long long*) = nullptr;  // total, free, used
  int (*driver)(char*, unsigned) = nullptr;
  const char* (*error)(int) = nullptr;
  std::string problem;
};

constexpr int clock_sm = 1, clock_memory = 2;

Api open() {
  Api api;
  const LibraryRecord& library = cuda::library(Library::nvml);
  if (!library) {
    api.problem = library.error;
    return api;
  }
  if (!library.find(api.init, "nvmlInit_v2") || !library.find(api.device, "nvmlDeviceGetHandleByPciBusId_v2")) {
    api.problem = library.path + " lacks nvmlInit_v2 or nvmlDeviceGetHandleByPciBusId_v2";
    return api;
  }
  library.find(api.clock, "nvmlDeviceGetClockInfo");
  library.find(api.max_clock, "nvmlDeviceGetMaxClockInfo");
  // The older name first would be shadowed in new releases, which have both.
  if (!library.find(api.reasons, "nvmlDeviceGetCurrentClocksEventReasons")) library.find(api.reasons, "nvmlDeviceGetCurrentClocksThrottleReasons");
  library.find(api.temperature, "nvmlDeviceGetTemperature");
  library.find(api.power, "nvmlDeviceGetPowerUsage");
  library.find(api.mig, "nvmlDeviceGetMigMode");
  library.find(api.ecc, "nvmlDeviceGetEccMode");
  library.find(api.compute_mode, "nvmlDeviceGetComputeMode");
  library.find(api.memory, "nvmlDeviceGetMemoryInfo");
  library.find(api.driver, "nvmlSystemGetDriverVersion");
  library.find(api.error, "nvmlErrorString");
  if (const int code = api.init(); code != 0) {
    const char* text = api.error ? api.error(code) : nullptr;
    api.problem = fmt::format("nvmlInit_v2: {}", text ? text : std::to_string(code));
  }
  return api;
}

const Api& nvml() {
  static const Api api = open();
  return api;
}

void* handle_of(const std::string& pci) {
  void* device = nullptr;
  if (!nvml().problem.empty() || pci.empty() || nvml().device(pci.c_str(), &device) != 0) return nullptr;
  return device;
}

// The value that a query of one slot gives, where the function is there and answers.
template <class T, class F, class... More>
std::optional<T> ask(F* function, void* device, More... more) {
  T value{};
  if (!function || !device || function(device, more..., &value) != 0) return std::nullopt;
  return value;
}

struct Reason {
  std::uint64_t bit;
  const char* text;
};
constexpr Reason reasons[] = {{0x4, "power cap"},           {0x8, "hardware slowdown"},  {0x20, "thermal slowdown by the driver"},
                              {0x40, "thermal slowdown by the hardware"}, {0x80, "power brake"}};

}  // namespace

std::string ClockState::to_text() const {
  std::string out;
  const auto add = [&](const std::string& text) { out += (out.empty() ? "" : ", ") + text; };
  if (sm_mhz) add(fmt::format("SM {} MHz", *sm_mhz));
  if (memory_mhz) add(fmt::format("memory {} MHz", *memory_mhz));
  if (celsius) add(fmt::format("{} C", *celsius));
  if (watts) add(fmt::format("{} W", *watts));
  return out.empty() ? "unknown" : out;
}

ClockState clock_state(const std::string& pci) {
  ClockState out;
  void* device = handle_of(pci);
  if (!device) return out;
  const Api& api = nvml();
  out.sm_mhz = ask<unsigned>(api.clock, device, clock_sm);
  out.memory_mhz = ask<unsigned>(api.clock, device, clock_memory);
  out.celsius = ask<unsigned>(api.temperature, device, 0);
  if (const auto milliwatts = ask<unsigned>(api.power, device)) out.watts = *milliwatts / 1000;
  if (const auto bits = ask<unsigned long long>(api.reasons, device)) out.throttle_reasons = *bits;
  return out;
}

DeviceModes device_modes(const std::string& pci) {
  DeviceModes out;
  const Api& api = nvml();
  char driver[96] = {};
  if (api.problem.empty() && api.driver && api.driver(driver, sizeof driver - 1) == 0) out.driver = driver;
  void* device = handle_of(pci);
  if (!device) return out;
  unsigned mig = 0, mig_pending = 0;
  if (api.mig && api.mig(device, &mig, &mig_pending) == 0) out.mig = mig != 0;
  int ecc = 0, ecc_pending = 0;
  if (api.ecc && api.ecc(device, &ecc, &ecc_pending) == 0) out.ecc = ecc != 0;
  out.compute_mode = ask<int>(api.compute_mode, device);
  out.max_sm_mhz = ask<unsigned>(api.max_clock, device, clock_sm);
  out.max_memory_mhz = ask<unsigned>(api.max_clock, device, clock_memory);
  unsigned long long memory[3] = {};
  if (api.memory && api.memory(device, memory) == 0) out.memory_free = static_cast<std::int64_t>(memory[1]);
  return out;
}

std::string nvml_problem() { return nvml().problem; }

std::string throttle_text(std::uint64_t bits) {
  std::string out;
  for (const Reason& r : reasons)
    if (bits & r.bit) out += fmt::format("{}{}", out.empty() ? "" : ", ", r.text);
  return out.empty() ? "none" : out;
}

std::string joined_throttle(const ClockState& before, const ClockState& after) {
  if (!before.throttle_reasons && !after.throttle_reasons) return "unknown";
  return throttle_text(before.throttle_reasons.value_or(0) | after.throttle_reasons.value_or(0));
}

std::string compute_mode_text(int mode) {
  switch (mode) {
    case 0: return "default";
    case 1: return "exclusive thread";
    case 2: return "prohibited";
    case 3: return "exclusive process";
    default: return fmt::format("mode {}", mode);
  }
}

}  // namespace dd::cuda
