// The native worker: takes job lines, runs backends of this program, answers with message lines. It is the same binary
// behind a hidden verb. A backend may do anything here (crash, hang, print, exhaust memory): the supervisor copes.
#pragma once
#include <span>
#include <string_view>

#include "backends/backend.hpp"
#include "core/result.hpp"

namespace dd::session {

struct WorkerSetup {
  std::span<const backends::Backend> backends;
  core::Result<spec::OpSpec> (*parse_spec)(std::string_view canonical_json) = nullptr;
  // Asks the library of a backend about a device that need not be here (policy ask).
  report::Asked (*ask)(const spec::OpSpec& spec, const std::string& backend, const std::string& device) = nullptr;
  // Runs one attempt, with whatever watches it (backends::run_recorded); absent: the backend alone.
  backends::RunResult (*run)(const backends::Backend&, const backends::RunRequest&) = nullptr;
};

// Serves until the input ends; returns the exit status. Standard output is pointed at standard error, so that what
// libraries print cannot mix with the answers on `out_fd`.
int run_worker(int in_fd, int out_fd, const WorkerSetup& setup);

}  // namespace dd::session
