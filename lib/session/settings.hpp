// What a run of the session is given: the rows that exist (backends, worker kinds, how facts come about) and what the
// user asked for. Plain data; the program fills it once, tests fill it with fakes.
#pragma once
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "facts/facts.hpp"
#include "session/protocol.hpp"
#include "session/supervisor.hpp"

namespace dd::session {

struct Services {
  std::span<const backends::Backend> backends;             // in default order
  std::vector<WorkerKind> workers;                         // the first one serves `backends`
  std::function<void(const spec::OpSpec&, facts::FactSet&)> add_facts;  // of the spec and of the target
  std::vector<rules::Finding> (*gpu_findings)() = nullptr;  // what is wrong with driver and libraries, for a GPU of this machine
  std::string (*canonical)(const spec::OpSpec&) = nullptr;
  std::string (*repro)(const spec::OpSpec&) = nullptr;     // "dispatchdoctor sdpa …"
};

struct Requirement {
  enum class Kind { fast, close, backend, slowdown } kind = Kind::fast;
  std::vector<std::string> backends;
  double ratio = 1;  // of slowdown
  std::string text;  // as given
};
// "fast", "close", "backend=NAME[,NAME]" or "slowdown=RATIO".
core::Result<Requirement> parse_requirement(std::string_view text);

struct Settings {
  double timeout = 60;                        // seconds of one attempt
  std::optional<std::int64_t> memory_limit;   // bytes a worker may hold; absent: nine tenths of what the machine can give
  double reference_budget = 10;               // seconds
  int threads = 0;                            // of one attempt; 0: all
  std::optional<BenchPlan> bench;
  std::optional<std::string> save_folder;     // --save-tensors
  std::string save_prefix = "case";           // of the files of one case; a batch gives each its own
  std::vector<Requirement> requirements;
  bool unknown_passes = false;                // --unknown pass
  bool with_met = false;                      // findings that are met as well
  bool run_blocked = false;                   // also run what a rule blocks, to hold rule against library
};

}  // namespace dd::session
