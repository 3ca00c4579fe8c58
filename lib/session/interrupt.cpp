#include "session/interrupt.hpp"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <initializer_list>

namespace dd::session {
namespace {

volatile std::sig_atomic_t received = 0, signals = 0;
std::atomic<bool> stopping{false};
static_assert(std::atomic<bool>::is_always_lock_free);  // else a handler may not store it

void on_signal(int signal) {
  received = signal;
  stopping = true;
  signals = signals + 1;
}

// A third signal means that nobody looks at the flag any more: a library may hold the thread that would.
void on_caught(int signal) {
  on_signal(signal);
  if (signals >= 3) ::_exit(128 + signal);
}

}  // namespace

void install_stop_handlers() {
  struct sigaction action {};
  action.sa_handler = on_caught;
  sigemptyset(&action.sa_mask);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction old {};
    // What the caller had ignored (nohup) stays ignored.
    if (::sigaction(signal, nullptr, &old) == 0 && old.sa_handler == SIG_IGN) continue;
    ::sigaction(signal, &action, nullptr);
  }
  std::signal(SIGPIPE, SIG_IGN);
}

int stop_signal() { return received; }
const std::atomic<bool>* stop_flag() { return &stopping; }
void request_stop(int signal) { on_signal(signal); }
void clear_stop() {
  received = 0;
  signals = 0;
  stopping = false;
}

}  // namespace dd::session
