// Each way in which an attempt can end, with real processes: the fakes of tests/support/fakes behind dd_fake_worker.
#include <dirent.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <thread>

#include "session/interrupt.hpp"
#include "session/mapped_file.hpp"
#include "session/safetensors.hpp"
#include "session/scratch.hpp"
#include "session/supervisor.hpp"
#include "support/catch.hpp"

using namespace dd;
using namespace dd::session;
using report::Outcome;

namespace {

constexpr std::int64_t guard = 4096;
constexpr std::int64_t bytes = 1 * 2 * 4 * 8 * 4;

WorkerKind fake_kind(const char* argument = nullptr) {
  WorkerKind kind{"native", {DD_FAKE_WORKER}, {}, 10};
  if (argument) kind.command.emplace_back(argument);
  return kind;
}

// One case: inputs and an output area in a scratch folder.
struct Bench {
  Bench() {
    auto made = Scratch::make(1 << 20);
    REQUIRE(made.ok());
    scratch = *made;
    core::TensorMap inputs;
    for (const char* role : {"q", "k", "v"}) {
      core::Tensor t = make_tensor(core::DType::f32, {1, 2, 4, 8});
      for (int i = 0; i < 64; ++i) reinterpret_cast<float*>(t.data())[i] = static_cast<float>((i * 13 + role[0]) % 17) / 8.0F;
      inputs[role] = t;
    }
    REQUIRE(write_safetensors(scratch->file("in"), inputs).ok());
    auto file = MappedFile::open(scratch->file("out"), MapMode::create, bytes + 2 * guard);
    REQUIRE(file.ok());
    out = *file;
    poison();
  }

  void poison() { std::memset(out->data(), 0xA5, static_cast<std::size_t>(out->size())); }

  Job job(const std::string& backend) const {
    Job j;
    j.backend = backend;
    j.spec_json = R"({"op":"sdpa","q":{"shape":[1,2,4,8]},"k":{"shape":[1,2,4,8]},"v":{"shape":[1,2,4,8]}})";
    j.inputs = scratch->file("in");
    j.output = scratch->file("out");
    j.output_offset = guard;
    j.output_shape = {1, 2, 4, 8};
    return j;
  }

  float element(int i) const { return reinterpret_cast<const float*>(out->data() + guard)[i]; }
  bool poisoned(std::int64_t from, std::int64_t count) const {
    for (std::int64_t i = from; i < from + count; ++i)
      if (out->data()[i] != std::byte{0xA5}) return false;
    return true;
  }

  std::shared_ptr<Scratch> scratch;
  std::shared_ptr<MappedFile> out;
};

// Children of this process that have ended and were not waited for.
int zombies() {
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 ? 1 : 0;
}

int open_descriptors() {
  int n = 0;
  DIR* d = ::opendir("/proc/self/fd");
  while (::readdir(d)) ++n;
  ::closedir(d);
  return n;
}

}  // namespace

TEST_CASE("supervisor: a good attempt, and the worker serves the next one too") {
  Bench b;
  Supervisor s({10, std::nullopt});
  const Reply first = s.run(fake_kind(), b.job("fake-good"));
  CHECK(first.ending == Ending::answered);
  CHECK(outcome_of(first) == Outcome::matched);
  CHECK_FALSE(error_of(first));
  REQUIRE(first.done.evidence.kernels.size() == 1);
  CHECK(first.done.evidence.kernels[0].name == "fake_kernel");
  CHECK(b.poisoned(0, guard));
  CHECK(b.poisoned(guard + bytes, guard));
  CHECK(b.element(0) > 0.0F);
  CHECK(b.element(0) < 2.0F);
  for (int i = 0; i < 50; ++i) CHECK(outcome_of(s.run(fake_kind(), b.job("fake-good"))) == Outcome::matched);
  CHECK(s.workers_started() == 1);
}

TEST_CASE("supervisor: every fault is its own outcome and leaves the next attempt unharmed") {
  struct Row {
    const char* backend;
    Outcome outcome;
    const char* code;
    const char* text;
    bool fresh;  // the next attempt needs a new worker
  };
  const Row rows[] = {
      {"fake-crash", Outcome::crashed, "", "the worker", true},
      {"fake-abort", Outcome::crashed, "SIGABRT", "SIGABRT", true},
      {"fake-exit", Outcome::crashed, "exit 3", "status 3", true},
      {"fake-exit-clean", Outcome::crashed, "exit 0", "before it answered", true},
      {"fake-hang", Outcome::timed_out, "timeout", "within 3 s", true},
      {"fake-bad-alloc", Outcome::out_of_memory, "bad_alloc", "allocation", false},
      {"fake-throw", Outcome::failed, "exception", "the fake library threw", false},
      {"fake-refuse", Outcome::refused, "FAKE_STATUS_NOT_SUPPORTED", "head size 13", false},
      {"fake-refuse-mute", Outcome::refused, "no-text", "without a text", false},
      {"fake-missing", Outcome::unavailable, "library", "libfake.so.3", false},
      {"fake-no-run", Outcome::unavailable, "no-such-backend", "fake-no-run", false},
      {"no-such", Outcome::unavailable, "no-such-backend", "no-such", false},
  };
  Bench b;
  Supervisor s({3, std::nullopt});
  REQUIRE(outcome_of(s.run(fake_kind(), b.job("fake-good"))) == Outcome::matched);
  for (const Row& row : rows) {
    INFO(row.backend);
    const int before = s.workers_started();
    const Reply reply = s.run(fake_kind(), b.job(row.backend));
    CHECK(outcome_of(reply) == row.outcome);
    const auto error = error_of(reply);
    REQUIRE(error);
    if (*row.code) CHECK(error->code == row.code);
    INFO(error->text);
    CHECK(error->text.find(row.text) != std::string::npos);
    CHECK(zombies() == 0);
    CHECK(outcome_of(s.run(fake_kind(), b.job("fake-good"))) == Outcome::matched);
    CHECK(s.workers_started() - before == (row.fresh ? 1 : 0));
  }
}

TEST_CASE("supervisor: a worker that takes too much memory is killed, and it is said how much") {
  Bench b;
  Supervisor s({120, 256 << 20});
  const Reply reply = s.run(fake_kind(), b.job("fake-hog"));
  CHECK(outcome_of(reply) == Outcome::out_of_memory);
  CHECK(reply.code == "memory-limit");
  CHECK(reply.peak_private > (256 << 20));
  CHECK(outcome_of(s.run(fake_kind(), b.job("fake-good"))) == Outcome::matched);
}

TEST_CASE("supervisor: what this process holds is not laid at the door of a worker that is just starting") {
  const std::vector<char> held(400 << 20, 1);  // more than a worker may hold
  REQUIRE(held.back() == 1);
  for (int i = 0; i < 60; ++i) {
    Supervisor s({10, 256 << 20});
    const auto hello = s.hello(fake_kind());
    REQUIRE(hello.ok());
  }
}

TEST_CASE("supervisor: what an attempt does to the output area is visible to the parent") {
  Bench b;
  Supervisor s({10, std::nullopt});
  SECTION("beyond the end") {
    CHECK(outcome_of(s.run(fake_kind(), b.job("fake-overrun"))) == Outcome::matched);
    CHECK_FALSE(b.poisoned(guard + bytes, 4));
    CHECK(b.poisoned(0, guard));
  }
  SECTION("before the start") {
    CHECK(outcome_of(s.run(fake_kind(), b.job("fake-underrun"))) == Outcome::matched);
    CHECK_FALSE(b.poisoned(guard - 4, 4));
  }
  SECTION("a row left out") {
    CHECK(outcome_of(s.run(fake_kind(), b.job("fake-gap"))) == Outcome::matched);
    CHECK(b.poisoned(guard + bytes - 32, 32));
    CHECK_FALSE(b.poisoned(guard, 32));
  }
}

TEST_CASE("supervisor: print-out is captured, bounded, and not mistaken for an answer") {
  Bench b;
  Supervisor s({10, std::nullopt});
  const Reply chatty = s.run(fake_kind(), b.job("fake-print"));
  CHECK(outcome_of(chatty) == Outcome::matched);
  CHECK(chatty.printed.find("loading kernels") != std::string::npos);
  CHECK(chatty.printed.find("half a li") != std::string::npos);
  CHECK(chatty.printed.find("left out") != std::string::npos);
  CHECK(chatty.printed.size() < 40000);
  const Reply raw = s.run(fake_kind(), b.job("fake-print-raw"));
  CHECK(outcome_of(raw) == Outcome::matched);
  CHECK(raw.printed.size() < 40000);
  CHECK(s.run(fake_kind(), b.job("fake-good")).printed.empty());
  CHECK(s.workers_started() == 1);
}

TEST_CASE("supervisor: what a worker has started dies with it") {
  Bench b;
  const int before = open_descriptors();
  {
    Supervisor s({3, std::nullopt});
    CHECK(outcome_of(s.run(fake_kind(), b.job("fake-spawn"))) == Outcome::matched);
    CHECK(outcome_of(s.run(fake_kind(), b.job("fake-hang"))) == Outcome::timed_out);
    CHECK(outcome_of(s.run(fake_kind(), b.job("fake-good"))) == Outcome::matched);
  }
  CHECK(zombies() == 0);
  CHECK(open_descriptors() == before);
}

TEST_CASE("supervisor: a worker that dies between two attempts costs neither of them") {
  Bench b;
  Supervisor s({10, std::nullopt});
  CHECK(outcome_of(s.run(fake_kind(), b.job("fake-dies-later"))) == Outcome::matched);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  CHECK(outcome_of(s.run(fake_kind(), b.job("fake-good"))) == Outcome::matched);
  CHECK(s.workers_started() == 2);
}

TEST_CASE("supervisor: a worker that cannot start is unavailable, with the reason") {
  Bench b;
  struct Row {
    WorkerKind kind;
    const char* text;
  };
  WorkerKind absent = fake_kind(), silent = fake_kind("silent");
  absent.command[0] = "/nowhere/python3";
  silent.start_timeout = 0.3;
  for (const Row& row : {Row{absent, "cannot start"}, Row{fake_kind("early-exit"), "no module named torch"}, Row{fake_kind("old-protocol"), "protocol 99"}, Row{silent, "within 0.3 s"}}) {
    Supervisor s({1, std::nullopt});
    const Reply reply = s.run(row.kind, b.job("fake-good"));
    CHECK(reply.ending == Ending::no_start);
    CHECK(outcome_of(reply) == Outcome::unavailable);
    INFO(reply.text);
    CHECK(reply.text.find(row.text) != std::string::npos);
  }
  Supervisor s({5, std::nullopt});
  CHECK(outcome_of(s.run(fake_kind("garbage"), b.job("fake-good"))) == Outcome::matched);
  CHECK(zombies() == 0);
}

TEST_CASE("supervisor: a job that the worker cannot serve is an answer too") {
  Bench b;
  Supervisor s({5, std::nullopt});
  Job job = b.job("fake-good");
  job.inputs = "/nowhere";
  CHECK(outcome_of(s.run(fake_kind(), job)) == Outcome::failed);
  job = b.job("fake-good");
  job.output_shape = {1, 2, 4, 8000};
  CHECK(error_of(s.run(fake_kind(), job))->text.find("too small") != std::string::npos);
  job = b.job("fake-good");
  job.spec_json = R"({"op":"gemm"})";
  CHECK(error_of(s.run(fake_kind(), job))->text.find("attention only") != std::string::npos);
  CHECK(s.workers_started() == 1);
}

TEST_CASE("supervisor: Ctrl-C ends the attempt in progress") {
  Bench b;
  clear_stop();
  install_stop_handlers();
  Supervisor s({30, std::nullopt});
  std::thread presser([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    ::kill(::getpid(), SIGINT);
  });
  const Reply reply = s.run(fake_kind(), b.job("fake-hang"));
  presser.join();
  CHECK(reply.ending == Ending::interrupted);
  CHECK(stop_signal() == SIGINT);
  clear_stop();
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGHUP, SIG_DFL);
  CHECK(outcome_of(s.run(fake_kind(), b.job("fake-good"))) == Outcome::matched);
}

TEST_CASE("supervisor: repeated runs under --bench are made by the worker") {
  Bench b;
  Supervisor s({10, std::nullopt});
  Job job = b.job("fake-good");
  job.bench = BenchPlan{12, 0.0, 5.0};
  const Reply reply = s.run(fake_kind(), job);
  REQUIRE(reply.done.timing);
  CHECK(reply.done.timing->runs >= 12);
  CHECK(reply.done.timing->median > 0);
  job = b.job("fake-refuse");
  job.bench = BenchPlan{12, 0.0, 5.0};
  CHECK_FALSE(s.run(fake_kind(), job).done.timing);
}
