// Seconds of the steady clock, for durations only.
#pragma once
#include <chrono>

namespace dd::core {

inline double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace dd::core
