// Watches one attempt on a GPU: kernels, copies, fills and synchronisations by CUPTI activity, calls by the libraries' own
// logging callbacks. Everything is opened at run time; what is missing or not permitted becomes a status, never a failure.
// One recording at a time and process (a worker runs one attempt at a time).
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "backends/cuda_runtime/libraries.hpp"
#include "report/report.hpp"

namespace dd::cuda {

// What this tool itself does on the device between (moving inputs and results) does not belong to the backend.
class HarnessScope {
 public:
  HarnessScope();
  ~HarnessScope();
  HarnessScope(const HarnessScope&) = delete;
  HarnessScope& operator=(const HarnessScope&) = delete;

 private:
  bool pushed_ = false;
};

bool in_harness();  // on this thread

class Recording {
 public:
  // `libraries`: those whose log callbacks are wanted; each is opened by this.
  explicit Recording(const std::vector<Library>& libraries);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Ends the recording and adds what was seen to `evidence`; sets evidence.recording and says in a note what is amiss.
  void finish(report::Evidence& evidence);

 private:
  void stop();
  bool running_ = false;
  std::vector<Library> logged_;
};

}  // namespace dd::cuda
