#include "session/process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

extern char** environ;

namespace dd::session {
namespace {

struct Pipe {
  int read = -1, write = -1;
  bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    read = ends[0];
    write = ends[1];
    return true;
  }
  ~Pipe() {
    if (read >= 0) ::close(read);
    if (write >= 0) ::close(write);
  }
  int take(int& end) { return std::exchange(end, -1); }
};

std::vector<std::string> merged_environment(const std::vector<std::pair<std::string, std::string>>& more) {
  std::vector<std::string> out;
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view text(*entry);
    const bool replaced = std::any_of(more.begin(), more.end(), [&](const auto& m) { return text.starts_with(m.first + "="); });
    if (!replaced) out.emplace_back(text);
  }
  for (const auto& [name, value] : more) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

core::Result<std::unique_ptr<Process>> Process::start(const std::vector<std::string>& command,
                                                      const std::vector<std::pair<std::string, std::string>>& environment) {
  const auto problem = [&](const char* what, int error) {
    return core::Problem{"worker", command.empty() ? "" : command[0], {}, fmt::format("{}: {}", what, std::strerror(error)), {}, 0};
  };
  if (command.empty()) return problem("no command", EINVAL);
  Pipe in, out, err;
  if (!in.open() || !out.open() || !err.open()) return problem("cannot make pipes", errno);

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in.read, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out.write, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.write, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  // A group of its own: Ctrl-C reaches us alone, and killing the group reaches what the worker started.
  posix_spawnattr_setpgroup(&attributes, 0);
  sigset_t none, defaults;
  sigemptyset(&none);
  sigemptyset(&defaults);
  for (int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP}) sigaddset(&defaults, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);

  std::vector<std::string> arguments = command, variables = merged_environment(environment);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, arguments[0].c_str(), &actions, &attributes, pointers(arguments).data(), pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) return problem("cannot start", error);

  std::unique_ptr<Process> process(new Process);
  process->pid_ = pid;
  process->input_ = in.take(in.write);
  process->output_ = out.take(out.read);
  process->errors_ = err.take(err.read);
  for (int fd : {process->input_, process->output_, process->errors_}) ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK);
  return process;
}

void Process::close_input() {
  if (input_ >= 0) ::close(std::exchange(input_, -1));
}

void Process::kill_group() {
  // Only while the leader has not been waited for: until then its number cannot belong to anybody else.
  if (pid_ > 0 && !exit_) ::kill(-pid_, SIGKILL);
}

std::optional<ExitState> Process::poll_exit() {
  if (exit_) return exit_;
  siginfo_t info{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0) {
    if (info.si_pid == 0) return std::nullopt;
    kill_group();  // whatever it has started
  }
  int status = 0;
  pid_t got;
  do {
    got = ::waitpid(pid_, &status, 0);
  } while (got < 0 && errno == EINTR);
  if (got < 0) exit_ = ExitState{0, 255};  // somebody else waited for it
  else if (WIFSIGNALED(status)) exit_ = ExitState{WTERMSIG(status), 0};
  else exit_ = ExitState{0, WEXITSTATUS(status)};
  return exit_;
}

ExitState Process::wait_exit(double patience) {
  using clock = std::chrono::steady_clock;
  const auto until = clock::now() + std::chrono::duration<double>(patience);
  for (int nap = 1; !poll_exit(); nap = std::min(nap * 2, 20)) {
    if (clock::now() >= until) kill_group();
    ::poll(nullptr, 0, nap);
  }
  return *exit_;
}

Process::~Process() {
  close_input();
  if (!exit_) wait_exit(0.1);
  if (output_ >= 0) ::close(output_);
  if (errors_ >= 0) ::close(errors_);
}

}  // namespace dd::session
