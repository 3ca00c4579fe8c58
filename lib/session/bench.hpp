// Timing of one call by the host's clock: everything that the call does counts. Calls on a device are timed by the device
// (backends/cuda_runtime/timing); both use the statistics of report/timing.
#pragma once
#include <functional>

#include "report/timing.hpp"

namespace dd::session {

// Calls until the plan is fulfilled; stops early (with what it has) when `call` returns false.
report::Timing measure(const std::function<bool()>& call, const report::BenchPlan& plan);

}  // namespace dd::session
