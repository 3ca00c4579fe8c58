#include "backends/libraries/trial.hpp"

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <thread>

namespace dd::backends {
namespace {

[[noreturn]] void child(const std::function<void()>& open) {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  // Sanitizers and library handlers would print; the parent puts it into words instead.
  for (int signal_number : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) signal(signal_number, SIG_DFL);
  if (const int null = ::open("/dev/null", O_WRONLY); null >= 0) {
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
  }
  open();
  _exit(77);  // a number of our own, so that a library that calls exit() is told from one that returns
}

}  // namespace

std::string trial_problem(const std::function<void()>& open, double seconds) {
  const pid_t pid = fork();
  if (pid < 0) return {};  // no process to try in: the library is opened here, as it would be without a trial
  if (pid == 0) child(open);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  int status = 0;
  auto pause = std::chrono::microseconds(200);
  for (;;) {
    const pid_t ended = waitpid(pid, &status, WNOHANG);
    if (ended == pid) break;
    if (ended < 0 && errno != EINTR) return {};  // somebody else collected the child; nothing can be said
    if (std::chrono::steady_clock::now() > deadline) {
      kill(pid, SIGKILL);
      waitpid(pid, &status, 0);
      return "opening it did not end within " + std::to_string(static_cast<int>(seconds)) + " s";
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(5000));
  }
  if (WIFSIGNALED(status)) {
    const char* name = strsignal(WTERMSIG(status));
    return "opening it crashed a child process: " + std::string(name ? name : "signal");
  }
  if (WEXITSTATUS(status) != 77) return "opening it ended a child process with exit status " + std::to_string(WEXITSTATUS(status));
  return {};
}

}  // namespace dd::backends
