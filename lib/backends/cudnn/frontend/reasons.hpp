// cuDNN's log messages to reasons. Pure text work, built and tested without cuDNN.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "backends/cuda_runtime/driver_api.hpp"

namespace dd::cudnn {

struct Reason {
  std::string code;  // CUDNN_STATUS_... as far as given
  std::string text;  // cuDNN's own words
};

// The root cause of each failed call among the messages.
std::vector<Reason> reasons_in(std::span<const std::string> messages);
// One that says something about the call beats one that only says "not this pattern".
Reason most_telling(const std::vector<Reason>& reasons);
// Nothing but pattern texts and knob complaints so far.
bool only_generic(const std::vector<Reason>& reasons);
// An error of a call from what the frontend or cuDNN says of it; the code is the last status named, and with it goes what
// that means for an attempt. `fallback` is the code where none is named.
cuda::CallError call_error(const char* call, const std::string& words, const char* fallback);
// "eng9_k24=3" -> 9; -1 when the name has another form.
std::int64_t engine_in(const std::string& plan);
// Short name of an engine by its number, as far as known (cuDNN 9.19 on devices 7.5 to 12.0); empty otherwise.
std::string engine_name(bool attention, std::int64_t id);

}  // namespace dd::cudnn
