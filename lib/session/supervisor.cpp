#include "session/supervisor.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/clock.hpp"
#include "session/interrupt.hpp"
#include "session/memory.hpp"

namespace dd::session {
namespace {

using report::Outcome;

constexpr double compile_patience = 300;           // seconds beyond the limit of an attempt in compiled mode
constexpr int tick_ms = 20;                        // how often memory, the clock and Ctrl-C are looked at
constexpr std::size_t printed_limit = 32 << 10;    // of what an attempt prints: its beginning and its end

}  // namespace

// Keeps the beginning and the end of a text of any length.
class BoundedText {
 public:
  void add(std::string_view text) {
    const std::size_t room = printed_limit / 2 - std::min(head_.size(), printed_limit / 2);
    head_ += text.substr(0, room);
    if (text.size() <= room) return;
    tail_ += text.substr(room);
    if (tail_.size() > printed_limit) cut();
  }
  std::string take() {
    if (tail_.size() > printed_limit / 2) cut();
    std::string out = std::move(head_);
    if (dropped_ > 0) out += fmt::format("\n[{} bytes left out]\n", dropped_);
    out += tail_;
    head_.clear();
    tail_.clear();
    dropped_ = 0;
    return out;
  }

 private:
  void cut() {
    const std::size_t surplus = tail_.size() - printed_limit / 2;
    dropped_ += surplus;
    tail_.erase(0, surplus);
  }
  std::string head_, tail_;
  std::size_t dropped_ = 0;
};

namespace {

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name ? fmt::format("SIG{}", name) : fmt::format("signal {}", signal);
}

// Libraries that ask for memory until they get it hang under such a limit.
std::string address_space_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return {};
  return fmt::format(" (address space is limited to {} MiB, see ulimit -v: some libraries wait for ever for memory that they cannot have)", limit.rlim_cur >> 20);
}

enum class Drained { more, end };

// Reads what is there without waiting.
template <class F>
Drained drain(int fd, F&& use) {
  char buffer[64 << 10];
  for (int rounds = 0; rounds < 64; ++rounds) {  // a worker that prints without end must not keep us here
    const ssize_t n = ::read(fd, buffer, sizeof buffer);
    if (n > 0) {
      use(std::string_view(buffer, static_cast<std::size_t>(n)));
      continue;
    }
    if (n < 0 && errno == EINTR) continue;
    return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? Drained::more : Drained::end;
  }
  return Drained::more;
}

}  // namespace

WorkerKind native_worker() { return {"native", {"/proc/self/exe", "worker"}, {}, 20}; }

Outcome outcome_of(const Reply& reply) {
  switch (reply.ending) {
    case Ending::answered: {
      // A worker may only claim what it can know; whether the numbers are close is not its to say.
      static constexpr Outcome allowed[] = {Outcome::matched, Outcome::refused, Outcome::failed, Outcome::unavailable, Outcome::out_of_memory, Outcome::blocked};
      const bool fine = std::find(std::begin(allowed), std::end(allowed), reply.done.outcome) != std::end(allowed);
      return fine ? reply.done.outcome : Outcome::failed;
    }
    case Ending::crashed:
    case Ending::exited: return Outcome::crashed;
    case Ending::timed_out: return Outcome::timed_out;
    case Ending::out_of_memory: return Outcome::out_of_memory;
    case Ending::no_start: return Outcome::unavailable;
    case Ending::broken: return Outcome::failed;
    case Ending::interrupted: return Outcome::not_tried;
  }
  return Outcome::failed;
}

std::optional<report::Error> error_of(const Reply& reply) {
  if (reply.ending != Ending::answered) return report::Error{reply.code, reply.text, "supervisor"};
  if (reply.done.error) return reply.done.error;
  const Outcome outcome = outcome_of(reply);
  if (outcome == Outcome::matched) return std::nullopt;
  return report::Error{"no-text", fmt::format("the worker answered \"{}\" without a text", core::to_text(reply.done.outcome)), "supervisor"};
}

// The parent's end of one worker process.
class Supervisor::Worker {
 public:
  Worker(std::unique_ptr<Process> process, WorkerLimits limits) : process_(std::move(process)), limits_(limits) {}

  const Hello& hello() const { return hello_; }
  bool usable() const { return usable_; }

  // Waits for the hello; empty when it came.
  std::string greet(double patience) {
    Reply reply = attend({}, 0, patience, true);
    if (greeted_ && hello_.protocol == protocol_version) return {};
    usable_ = false;
    if (greeted_) return fmt::format("worker speaks protocol {}, this program {}", hello_.protocol, protocol_version);
    const std::string printed = reply.printed.empty() ? "" : "; it printed: " + reply.printed.substr(0, 500);
    return (reply.text.empty() ? "no hello" : reply.text) + printed;
  }

  Reply run(const Job& job) {
    // Compilers of graphs take their time before the call that is judged; a hang is still a hang.
    const double compiling = job.mode == spec::Mode::compiled ? compile_patience : 0;
    return attend(to_line(job), job.id, limits_.timeout + compiling + (job.bench ? job.bench->max_seconds : 0), false);
  }
  bool started_job() const { return saw_started_; }

 private:
  struct Watch {
    double begin = 0, deadline = 0;
    std::optional<std::int64_t> kills_before;
    std::int64_t peak = 0;
    bool output_open = true;
  };

  Reply attend(std::string line, std::int64_t id, double patience, bool for_hello) {
    Reply reply;
    Watch watch;
    watch.begin = core::now();
    watch.deadline = watch.begin + patience;
    if (limits_.memory_bytes) watch.kills_before = kernel_memory_kills();
    saw_started_ = false;
    bool finished = false;
    while (!finished) {
      wait_for_events(!line.empty(), watch.output_open);
      write_some(line);
      read_all(watch);
      finished = take_messages(reply, id, for_hello) || ended(reply, watch) || overdue(reply, watch, patience);
    }
    reply.seconds = core::now() - watch.begin;
    reply.peak_private = watch.peak;
    if (reply.ending != Ending::answered) {
      usable_ = false;
      process_->kill_group();
      process_->wait_exit(0);
    }
    drain(process_->errors(), [&](std::string_view text) { printed_.add(text); });
    reply.printed = printed_.take();
    return reply;
  }

  void wait_for_events(bool writing, bool reading) {
    pollfd fds[3] = {{reading ? process_->output() : -1, POLLIN, 0}, {errors_open_ ? process_->errors() : -1, POLLIN, 0}, {writing ? process_->input() : -1, POLLOUT, 0}};
    ::poll(fds, 3, tick_ms);
  }

  void write_some(std::string& line) {
    while (!line.empty()) {
      const ssize_t n = ::write(process_->input(), line.data(), line.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0 && errno != EAGAIN) line.clear();  // it is gone; its end will be seen
      if (n <= 0) return;
      line.erase(0, static_cast<std::size_t>(n));
    }
  }

  void read_all(Watch& watch) {
    if (watch.output_open && drain(process_->output(), [&](std::string_view text) { reader_.feed(text); }) == Drained::end) watch.output_open = false;
    if (errors_open_ && drain(process_->errors(), [&](std::string_view text) { printed_.add(text); }) == Drained::end) errors_open_ = false;
  }

  bool take_messages(Reply& reply, std::int64_t id, bool for_hello) {
    std::string line;
    bool finished = false;
    while (!finished && reader_.next(line)) {
      Message message = parse_message(line);
      if (auto* h = std::get_if<Hello>(&message)) {
        hello_ = std::move(*h);
        greeted_ = true;
        finished = for_hello;
      } else if (auto* s = std::get_if<Started>(&message)) {
        saw_started_ = saw_started_ || s->id == id;
      } else if (auto* n = std::get_if<Note>(&message)) {
        printed_.add(n->text + "\n");
      } else if (auto* d = std::get_if<Done>(&message)) {
        if (for_hello || d->id != id) continue;  // an answer to another question is no answer
        reply.done = std::move(*d);
        finished = true;
      } else if (!line.empty()) {
        printed_.add(line + "\n");
      }
    }
    if (!finished && reader_.dropped_lines() > dropped_) {
      // It may have been the answer, and waiting for another one would only end in a time-out.
      dropped_ = reader_.dropped_lines();
      printed_.add(fmt::format("[a line of more than {} bytes was dropped]\n", line_limit));
      dropped_in_attempt_ = true;
    }
    return finished;
  }

  bool ended(Reply& reply, Watch& watch) {
    const std::optional<std::int64_t> pages = private_bytes();
    if (pages) watch.peak = std::max(watch.peak, *pages);
    if (limits_.memory_bytes && pages && *pages > *limits_.memory_bytes && *pages > allowed_bytes()) {
      process_->kill_group();
      process_->wait_exit(1);
      reply.ending = Ending::out_of_memory;
      reply.code = "memory-limit";
      reply.text = fmt::format("killed: it held {} bytes of memory, {} are allowed", *pages, *limits_.memory_bytes);
      return true;
    }
    auto exit = process_->poll_exit();
    if (!exit && !watch.output_open) exit = process_->wait_exit(1);  // closed its output: nothing can come any more
    if (!exit) return false;
    read_all(watch);  // what it said last
    printed_.add(reader_.take_rest());
    if (exit->signal == 0) {
      reply.ending = Ending::exited;
      reply.code = fmt::format("exit {}", exit->status);
      reply.text = fmt::format("the worker exited with status {} before it answered", exit->status);
      return true;
    }
    reply.code = signal_name(exit->signal);
    const bool by_kernel = watch.kills_before && kernel_memory_kills().value_or(0) > *watch.kills_before;
    const bool near_limit = limits_.memory_bytes && watch.peak > *limits_.memory_bytes / 2;
    if (exit->signal == SIGKILL && (by_kernel || near_limit)) {
      reply.ending = Ending::out_of_memory;
      reply.text = fmt::format("killed by the system while it held {} bytes of memory", watch.peak);
    } else {
      reply.ending = Ending::crashed;
      reply.text = fmt::format("the worker was ended by {} ({})", reply.code, ::sigdescr_np(exit->signal) ? ::sigdescr_np(exit->signal) : "unknown signal");
    }
    return true;
  }

  bool overdue(Reply& reply, const Watch& watch, double patience) {
    if (stop_signal() != 0) {
      reply.ending = Ending::interrupted;
      reply.code = "interrupted";
      reply.text = "stopped by the user";
      return true;
    }
    if (core::now() < watch.deadline) return false;
    reply.ending = dropped_in_attempt_ ? Ending::broken : Ending::timed_out;
    reply.code = dropped_in_attempt_ ? "protocol" : "timeout";
    reply.text = dropped_in_attempt_ ? fmt::format("no answer of at most {} bytes within {:.3g} s", line_limit, patience)
                                     : fmt::format("no answer within {:.3g} s; the worker was killed{}", patience, address_space_limit());
    return true;
  }

  // Between its start and its hello a worker is for a moment a child that still shows this process's memory as its own.
  std::int64_t allowed_bytes() const {
    return *limits_.memory_bytes + (greeted_ ? 0 : dd::session::private_bytes(::getpid()).value_or(0));
  }

  std::optional<std::int64_t> private_bytes() const { return dd::session::private_bytes(process_->pid()); }

  std::unique_ptr<Process> process_;
  WorkerLimits limits_;
  LineReader reader_;
  BoundedText printed_;
  Hello hello_;
  std::int64_t dropped_ = 0;
  bool dropped_in_attempt_ = false;
  bool greeted_ = false, usable_ = true, errors_open_ = true, saw_started_ = false;
};

Supervisor::Supervisor(WorkerLimits limits) : limits_(limits) {
  // Writing to a worker that has just died must be an error code, not our own end.
  if (struct sigaction now {}; ::sigaction(SIGPIPE, nullptr, &now) == 0 && now.sa_handler == SIG_DFL) std::signal(SIGPIPE, SIG_IGN);
}
Supervisor::~Supervisor() = default;
Supervisor::Supervisor(Supervisor&&) noexcept = default;

core::Result<Supervisor::Worker*> Supervisor::worker(const WorkerKind& kind) {
  auto& slot = workers_[kind.name];
  if (slot && slot->usable()) return slot.get();
  slot.reset();
  auto process = Process::start(kind.command, kind.environment);
  if (!process) return process.problems();
  ++started_;
  auto fresh = std::make_unique<Worker>(std::move(*process), limits_);
  if (std::string why = fresh->greet(kind.start_timeout); !why.empty())
    return core::Problem{"worker", kind.name, {}, "the worker did not start: " + why, {}, 0};
  slot = std::move(fresh);
  return slot.get();
}

core::Result<Hello> Supervisor::hello(const WorkerKind& kind) {
  auto found = worker(kind);
  if (!found) return found.problems();
  return (*found)->hello();
}

Reply Supervisor::run(const WorkerKind& kind, Job job) {
  for (int tries = 0;; ++tries) {
    job.id = next_id_++;
    auto found = worker(kind);
    if (!found) {
      Reply reply;
      reply.ending = stop_signal() != 0 ? Ending::interrupted : Ending::no_start;
      reply.code = "no-worker";
      reply.text = core::to_text(found.problems().front());
      return reply;
    }
    Reply reply = (*found)->run(job);
    const bool idle_death = (reply.ending == Ending::crashed || reply.ending == Ending::exited) && !(*found)->started_job();
    // It died of something earlier before it took this job: that is not this attempt's doing. Once only.
    if (!idle_death || tries > 0) return reply;
  }
}

}  // namespace dd::session
