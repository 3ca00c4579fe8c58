// Where the Python side lies: DD_DATA_DIR, else ../share/dispatchdoctor beside the program (an installed tree), else the
// source tree that this program was built from. And which interpreter runs it: --python, the active environment's, python3.
#pragma once
#include <optional>
#include <string>

#include "cli/options.hpp"
#include "session/supervisor.hpp"

namespace dd::cli {

// "worker" or "recorder"; empty when neither place has it.
std::string torch_folder(const std::string& part);
std::string python_of(const RunOptions& run);
// The row of the torch worker; absent when its files are nowhere to be found.
std::optional<session::WorkerKind> torch_worker(const RunOptions& run);

}  // namespace dd::cli
