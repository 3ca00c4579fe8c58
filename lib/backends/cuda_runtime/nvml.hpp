// Clocks, throttle state and modes of a device from NVML, opened at run time. Without NVML everything is unknown; nothing
// here changes a setting of the device.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace dd::cuda {

struct ClockState {
  std::optional<unsigned> sm_mhz, memory_mhz, celsius, watts;
  std::optional<std::uint64_t> throttle_reasons;  // NVML's bits
  std::string to_text() const;                    // "SM 1980 MHz, memory 2619 MHz, 41 C, 120 W"; "unknown"
};

struct DeviceModes {
  std::string driver;                           // release of the driver, 580.65.06
  std::optional<bool> mig, ecc;
  std::optional<int> compute_mode;              // 0 default, 2 prohibited, 3 exclusive process
  std::optional<unsigned> max_sm_mhz, max_memory_mhz;
  std::optional<std::int64_t> memory_free;      // bytes
};

// `pci`: bus address as the driver gives it.
ClockState clock_state(const std::string& pci);
DeviceModes device_modes(const std::string& pci);
std::string nvml_problem();  // why NVML says nothing; empty when it works

// What lowers the clocks below what was asked for, in words; "none". Idling and clocks that somebody set are no throttle.
std::string throttle_text(std::uint64_t reasons);
// none | unknown | reasons of either state
std::string joined_throttle(const ClockState& before, const ClockState& after);
std::string compute_mode_text(int mode);

}  // namespace dd::cuda
