// Runs a backend under watch: on a GPU its kernels and its library's calls are recorded and added to the evidence. This is
// what the worker calls, so no backend has code of its own for it.
#pragma once
#include "backends/backend.hpp"

namespace dd::backends {

RunResult run_recorded(const Backend& backend, const RunRequest& request);

}  // namespace dd::backends
