// cuDNN's log messages to reasons. Pure text work, built and tested without cuDNN.
#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

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
// Short name of an engine by its number, as far as known (cuDNN 9.19 on devices 7.5 to 12.0); empty otherwise.
std::string engine_name(bool attention, std::int64_t id);

}  // namespace dd::cudnn
