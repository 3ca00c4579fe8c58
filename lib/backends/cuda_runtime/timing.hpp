// Time of work on the device by the device's own events: warm-up until stable, the second-level cache emptied before every
// run, the same boundary for all (first command of the work to its last), clocks and throttle state before and after.
#pragma once
#include <optional>

#include "backends/cuda_runtime/driver.hpp"
#include "report/timing.hpp"

namespace dd::cuda {

// Captured: the replay of one graph is timed, not its making. `timing` is filled when nullopt is returned.
std::optional<CallError> time_on_device(Device& device, bool captured, const Work& work, const report::BenchPlan& plan, report::Timing& timing);

}  // namespace dd::cuda
