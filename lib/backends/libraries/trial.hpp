// Opens a library in a child process first: one that crashes, exits or hangs while it is loaded must not take the caller
// along. Empty when the trial ended well, else what happened, in words.
#pragma once
#include <functional>
#include <string>

namespace dd::backends {

std::string trial_problem(const std::function<void()>& open, double seconds = 20.0);

}  // namespace dd::backends
