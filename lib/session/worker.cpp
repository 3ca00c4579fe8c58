#include "session/worker.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <deque>
#include <mutex>
#include <thread>

#include "core/clock.hpp"
#include "core/version.hpp"
#include "session/bench.hpp"
#include "session/mapped_file.hpp"
#include "session/memory.hpp"
#include "session/protocol.hpp"
#include "session/safetensors.hpp"

namespace dd::session {
namespace {

using report::Outcome;

// Reads job lines in a thread of its own: when the input ends the parent is gone, and even a hung backend must not stay.
class JobQueue {
 public:
  explicit JobQueue(int fd) : fd_(fd) {
    std::thread([this] { read_all(); }).detach();
  }

  std::string next() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return !lines_.empty(); });
    std::string line = std::move(lines_.front());
    lines_.pop_front();
    return line;
  }

 private:
  void read_all() {
    LineReader reader;
    std::string line;
    char buffer[64 << 10];
    for (;;) {
      const ssize_t n = ::read(fd_, buffer, sizeof buffer);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) ::_exit(0);
      reader.feed({buffer, static_cast<std::size_t>(n)});
      while (reader.next(line)) {
        if (line.empty()) continue;
        const std::lock_guard lock(mutex_);
        lines_.push_back(std::move(line));
        ready_.notify_one();
      }
    }
  }

  int fd_;
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::string> lines_;
};

void send(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(fd, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) ::_exit(0);  // nobody listens any more
    text.remove_prefix(static_cast<std::size_t>(n));
  }
}

Done failure(std::int64_t id, Outcome outcome, std::string code, std::string text) {
  Done d;
  d.id = id;
  d.outcome = outcome;
  d.error = report::Error{std::move(code), std::move(text), "worker"};
  return d;
}

class NativeWorker {
 public:
  explicit NativeWorker(const WorkerSetup& setup) : setup_(setup) {}

  Done serve(const Job& job) {
    try {
      return job.policy == "ask" ? ask(job) : run(job);
    } catch (const std::bad_alloc&) {
      return failure(job.id, Outcome::out_of_memory, "bad_alloc", "an allocation failed");
    } catch (const std::exception& e) {
      return failure(job.id, Outcome::failed, "exception", e.what());
    } catch (...) {
      return failure(job.id, Outcome::failed, "exception", "an exception of unknown type");
    }
  }

  // After an error on a device its context may be spoiled for good (illegal address), which would be blamed on the next
  // attempt: the process ends, and that attempt gets a fresh one.
  bool spoiled() const { return spoiled_; }

 private:
  const backends::Backend* find(const std::string& name, spec::Op op) const {
    for (const backends::Backend& b : setup_.backends)
      if (b.name == name && b.op == op) return &b;
    return nullptr;
  }

  core::Problems read_spec(const Job& job) {
    if (job.spec_json == spec_text_) return {};
    auto parsed = setup_.parse_spec(job.spec_json);
    if (!parsed) return parsed.problems();
    spec_ = std::make_unique<spec::OpSpec>(std::move(*parsed));
    spec_text_ = job.spec_json;
    return {};
  }

  Done ask(const Job& job) {
    if (core::Problems problems = read_spec(job); !problems.empty())
      return failure(job.id, Outcome::failed, "job", core::to_text(problems.front()));
    if (!setup_.ask) return failure(job.id, Outcome::unavailable, "no-asking", "this worker cannot ask a library");
    Done d;
    d.id = job.id;
    const double start = core::now();
    d.asked = setup_.ask(*spec_, job.backend, job.device);
    d.seconds = core::now() - start;
    d.outcome = Outcome::matched;
    return d;
  }

  // Spec and inputs stay the same for all attempts at one case.
  core::Problems prepare(const Job& job) {
    if (core::Problems problems = read_spec(job); !problems.empty()) return problems;
    if (job.inputs != inputs_path_) {
      inputs_.clear();
      inputs_path_.clear();
      auto read = read_safetensors(job.inputs);
      if (!read) return read.problems();
      inputs_ = std::move(read->tensors);
      inputs_path_ = job.inputs;
    }
    return {};
  }

  static core::Result<core::Tensor> open_output(const Job& job) {
    auto file = MappedFile::open(job.output, MapMode::read_write);
    if (!file) return file.problems();
    core::Tensor out;
    out.dtype = job.output_dtype;
    out.shape = job.output_shape;
    out.strides = job.output_strides.empty() ? spec::contiguous_strides(out.shape) : job.output_strides;
    out.offset = job.output_start;
    const auto span = spec::storage_span(out.shape, out.strides, out.offset);
    const std::int64_t room = (*file)->size() - job.output_offset;
    if (!span || job.output_offset < 0 || *span > INT64_MAX / 64 || core::bytes_of(out.dtype, *span) > room)
      return core::Problem{"output", job.output, "a file that holds the whole output", "output file is too small", {}, 0};
    out.storage_bytes = core::bytes_of(out.dtype, *span);
    out.storage = {*file, (*file)->data() + job.output_offset};
    return out;
  }

  Done run(const Job& job) {
    if (core::Problems problems = prepare(job); !problems.empty())
      return failure(job.id, Outcome::failed, "job", core::to_text(problems.front()));
    const backends::Backend* backend = find(job.backend, spec_->is_attention() ? spec::Op::sdpa : spec::Op::gemm);
    if (!backend || !backend->run)
      return failure(job.id, Outcome::unavailable, "no-such-backend", fmt::format("this worker has no {} to run", job.backend));
    if (backend->probe) {
      if (const backends::Availability a = backend->probe(); !a.available) return failure(job.id, Outcome::unavailable, "library", a.detail);
    }
    auto out = open_output(job);
    if (!out) return failure(job.id, Outcome::failed, "job", core::to_text(out.problems().front()));

    backends::RunRequest request{*spec_, inputs_, *out, job.mode, job.threads};
    // A device times itself; on the processor the whole call is timed below.
    if (job.bench && backend->device != "cpu") request.bench = &*job.bench;
    Done d;
    d.id = job.id;
    // Off-heap memory that an earlier attempt freed must not count as this one's.
    ::malloc_trim(0);
    const bool peak_known = reset_peak_resident();
    const std::int64_t before = resident_bytes(::getpid()).value_or(0);
    const double start = core::now();
    backends::RunResult result = setup_.run ? setup_.run(*backend, request) : backend->run(request);
    d.seconds = core::now() - start;
    if (peak_known) d.peak_bytes = std::max<std::int64_t>(0, peak_resident_bytes().value_or(before) - before);
    if (job.bench && result.outcome == Outcome::matched) {
      request.bench = nullptr;
      d.timing = result.timing ? std::move(*result.timing) : measure([&] { return backend->run(request).outcome == Outcome::matched; }, *job.bench);
      d.timing->peak_bytes = d.peak_bytes;
    }
    d.outcome = result.outcome;
    spoiled_ = backend->device != "cpu" && d.outcome == Outcome::failed;
    d.error = std::move(result.error);
    d.evidence = std::move(result.evidence);
    d.asked = std::move(result.asked);
    return d;
  }

  const WorkerSetup& setup_;
  std::unique_ptr<spec::OpSpec> spec_;
  std::string spec_text_;
  core::TensorMap inputs_;
  std::string inputs_path_;
  bool spoiled_ = false;
};

}  // namespace

int run_worker(int in_fd, int out_fd, const WorkerSetup& setup) {
  const int out = ::fcntl(out_fd, F_DUPFD_CLOEXEC, 10);
  const int in = ::fcntl(in_fd, F_DUPFD_CLOEXEC, 10);
  if (out < 0 || in < 0) return 70;
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  if (const int null = ::open("/dev/null", O_RDONLY | O_CLOEXEC); null >= 0) ::dup2(null, STDIN_FILENO);
  std::signal(SIGPIPE, SIG_IGN);
  const struct rlimit no_core {0, 0};  // a crash here is expected work; dumping gigabytes of tensors is not
  ::setrlimit(RLIMIT_CORE, &no_core);

  send(out, to_line(Hello{protocol_version, "native", {{"dispatchdoctor", std::string(core::tool_version())}}, {}}));
  JobQueue queue(in);
  NativeWorker worker(setup);
  for (;;) {
    const std::string line = queue.next();
    const auto job = parse_job(line);
    if (!job) {
      std::fprintf(stderr, "worker: %s\n", core::to_text(job.problems().front()).c_str());
      continue;
    }
    send(out, to_line(Started{job->id}));
    const Done done = worker.serve(*job);
    std::fflush(nullptr);
    send(out, to_line(done));
    if (worker.spoiled()) ::_exit(0);
  }
}

}  // namespace dd::session
