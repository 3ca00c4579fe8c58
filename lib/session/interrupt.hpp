// Ctrl-C and its kin: the handler only sets a flag, which every wait of the session polls. The run then ends the attempt
// in progress, reports what is done so far and exits with 128 + the signal's number.
#pragma once

#include <atomic>

namespace dd::session {

void install_stop_handlers();   // SIGINT, SIGTERM, SIGHUP; SIGPIPE is ignored (a dead worker is an outcome, not our end)
int stop_signal();              // 0: none so far
const std::atomic<bool>* stop_flag();  // becomes true with it: what long computations poll
void request_stop(int signal);  // what the handler does; for tests
void clear_stop();

}  // namespace dd::session
