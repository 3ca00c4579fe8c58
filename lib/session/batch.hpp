// Many cases: each is diagnosed on its own, so that a bad line, a crash or Ctrl-C costs that case alone. Workers are reused
// from case to case; with several jobs each has workers of its own. Cases come back in the order given.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/report.hpp"
#include "session/settings.hpp"

namespace dd::session {

struct BatchItem {
  std::string id;                    // "1", or file:line
  std::optional<spec::OpSpec> spec;  // absent: it could not be read, see problems
  core::Problems problems;
};

struct BatchProgress {
  std::size_t done = 0, total = 0;
  const report::Case* finished = nullptr;  // in the order given; each once
};

struct BatchResult {
  std::vector<report::Case> cases;  // without those that Ctrl-C kept from starting
  bool interrupted = false;
};

// `progress` is called from one thread at a time.
BatchResult run_batch(const std::vector<BatchItem>& items, const Services& services, const Settings& settings, int jobs = 1,
                      const std::function<void(const BatchProgress&)>& progress = {});

// Cases, summary, exit code (128 + signal after Ctrl-C) and the interrupted mark.
void fill_report(report::Report& report, BatchResult result);

}  // namespace dd::session
