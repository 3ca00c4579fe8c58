// Runs attempts in worker processes. A worker serves many attempts; after a crash, a hang, too much memory or a broken
// protocol it is killed and the next attempt gets a fresh one. One Supervisor belongs to one thread.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "session/process.hpp"
#include "session/protocol.hpp"

namespace dd::session {

// One way to start a worker: a row. Further kinds (other languages, other machines' runtimes) are further rows.
struct WorkerKind {
  std::string name;                  // "native", "torch"
  std::vector<std::string> command;  // program and arguments; it speaks the line protocol on its standard streams
  std::vector<std::pair<std::string, std::string>> environment;  // added to ours
  double start_timeout = 20;         // seconds until its hello
};
WorkerKind native_worker();  // this very program behind its hidden verb

struct WorkerLimits {
  double timeout = 60;                       // seconds of one attempt
  std::optional<std::int64_t> memory_bytes;  // private memory of a worker; absent: not watched
};

enum class Ending {
  answered,       // the worker said done
  crashed,        // a signal ended it
  exited,         // it ended by itself before it answered
  timed_out,
  out_of_memory,  // killed for memory, by us or by the kernel
  no_start,       // no worker could be started
  broken,         // it answered, but not in the protocol
  interrupted     // Ctrl-C
};

struct Reply {
  Ending ending = Ending::answered;
  Done done;                    // when answered
  std::string text;             // what happened otherwise, one sentence
  std::string code;             // "SIGSEGV", "exit 3", "timeout", …
  std::string printed;          // standard output and error of the attempt, bounded
  std::int64_t peak_private = 0;  // greatest private memory seen from outside
  double seconds = 0;
};

// The attempt's outcome and error as the report has them.
report::Outcome outcome_of(const Reply& reply);
std::optional<report::Error> error_of(const Reply& reply);

class Supervisor {
 public:
  explicit Supervisor(WorkerLimits limits);
  ~Supervisor();
  Supervisor(Supervisor&&) noexcept;

  // Never throws, never lets a worker's end become ours. The job's id is set here.
  Reply run(const WorkerKind& kind, Job job);
  // What the worker of this kind said about itself; starts it when needed.
  core::Result<Hello> hello(const WorkerKind& kind);
  int workers_started() const { return started_; }

 private:
  class Worker;
  core::Result<Worker*> worker(const WorkerKind& kind);
  WorkerLimits limits_;
  std::map<std::string, std::unique_ptr<Worker>> workers_;
  std::int64_t next_id_ = 1;
  int started_ = 0;
};

}  // namespace dd::session
