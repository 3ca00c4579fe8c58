#include "backends/cuda_runtime/device_facts.hpp"

#include "backends/cuda_runtime/driver.hpp"
#include "backends/cuda_runtime/libraries.hpp"
#include "backends/cuda_runtime/nvml.hpp"

namespace dd::cuda {
namespace {

using facts::Id;
using facts::Provenance;

bool driver_is_here() {
  const LibraryRecord& driver = library(Library::driver);
  return driver && !driver.stub;
}

}  // namespace

void add_device_facts(int ordinal, facts::FactSet& facts) {
  if (!driver_is_here()) return;
  const auto device = describe_device(ordinal);
  if (!device) return;
  const auto number = [&](Id id, std::int64_t value, const char* from, Provenance how = Provenance::library) {
    if (value > 0) facts.set(id, value, how, from);
  };
  number(Id::compute_capability, device->compute_capability, "cuDeviceGetAttribute");
  number(Id::sm_count, device->sm_count, "cuDeviceGetAttribute");
  facts.set(Id::gpu_name, device->name, Provenance::library, "cuDeviceGetName");
  number(Id::gpu_memory, device->memory_bytes, "cuDeviceTotalMem");
  number(Id::gpu_shared_memory, device->shared_optin_bytes, "cuDeviceGetAttribute");
  number(Id::gpu_l2, device->l2_bytes, "cuDeviceGetAttribute");
  if (device->compute_mode >= 0) facts.set(Id::gpu_compute_mode, compute_mode_text(device->compute_mode), Provenance::library, "cuDeviceGetAttribute");
  if (device->ecc >= 0) facts.set(Id::gpu_ecc, device->ecc != 0, Provenance::library, "cuDeviceGetAttribute");
  const ClockState clocks = clock_state(device->pci);
  if (clocks.sm_mhz) number(Id::gpu_sm_clock, *clocks.sm_mhz, "NVML", Provenance::measured);
  if (clocks.memory_mhz) number(Id::gpu_memory_clock, *clocks.memory_mhz, "NVML", Provenance::measured);
  if (clocks.throttle_reasons) facts.set(Id::gpu_throttle, throttle_text(*clocks.throttle_reasons), Provenance::measured, "NVML");
  const DeviceModes modes = device_modes(device->pci);
  if (modes.mig) facts.set(Id::gpu_mig, *modes.mig, Provenance::library, "NVML");
  if (modes.memory_free) number(Id::gpu_memory_free, *modes.memory_free, "NVML", Provenance::measured);
}

}  // namespace dd::cuda
