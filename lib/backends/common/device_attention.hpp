// Attention arguments for kernels of our own, from a request whose inputs lie on the device.
#pragma once
#include "attention/args.hpp"
#include "backends/common/device_call.hpp"

namespace dd::backends {

// False with `problem` filled where the kernels have no form for the call (the rules name these cases first).
bool device_attention(const RunRequest& request, DeviceCall& call, kernels::AttentionArgs& args, RunResult& problem);

}  // namespace dd::backends
