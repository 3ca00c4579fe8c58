// What this program hands to a session: its backends, workers and sources of facts, and the settings from the options.
#pragma once
#include "cli/options.hpp"
#include "core/result.hpp"
#include "session/ask.hpp"
#include "session/settings.hpp"

namespace dd::cli {

session::Services services(const RunOptions& run);
// How cuDNN is asked about GPUs that are not here.
session::AskService ask_service(const RunOptions& run);
core::Result<session::Settings> settings(const RunOptions& run);

}  // namespace dd::cli
