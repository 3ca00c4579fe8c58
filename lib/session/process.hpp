// A child process in a process group of its own, with pipes for its three standard streams. Killed with its whole group
// and waited for when the object goes: no zombie, no orphan.
#pragma once
#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/result.hpp"

namespace dd::session {

struct ExitState {
  int signal = 0;  // 0: it exited by itself
  int status = 0;
};

class Process {
 public:
  // command[0] is looked up in PATH. `environment` entries (name, value) are added to this process's own.
  static core::Result<std::unique_ptr<Process>> start(const std::vector<std::string>& command,
                                                      const std::vector<std::pair<std::string, std::string>>& environment);
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }
  int input() const { return input_; }    // write end of its standard input, non-blocking
  int output() const { return output_; }  // read ends, non-blocking
  int errors() const { return errors_; }
  void close_input();
  void kill_group();
  std::optional<ExitState> poll_exit();  // nullopt: still running
  ExitState wait_exit(double patience);  // waits that many seconds, then kills

 private:
  Process() = default;
  pid_t pid_ = -1;
  int input_ = -1, output_ = -1, errors_ = -1;
  std::optional<ExitState> exit_;
};

}  // namespace dd::session
