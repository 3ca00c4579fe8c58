// Matrix product arguments for kernels of our own, from a request whose inputs lie on the device.
#pragma once
#include "backends/common/device_call.hpp"
#include "gemm/launch.hpp"

namespace dd::backends {

bool device_gemm(const RunRequest& request, DeviceCall& call, kernels::GemmArgs& args, report::Evidence& evidence, RunResult& problem);

}  // namespace dd::backends
