#include "backends/cuda_runtime/record.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "backends/cuda_runtime/record_logs.hpp"
#include "evidence/cupti.hpp"
#include "evidence/logs/lines.hpp"

namespace dd::cuda {
namespace {

using evidence::ActivityLog;

// CUptiResult codes that mean something to the user.
constexpr int not_permitted_codes[] = {35, 40};  // insufficient privileges, also on a virtual device
constexpr int end_of_buffer = 12;                // CUPTI_ERROR_MAX_LIMIT_REACHED
constexpr int custom_id = 3;                     // CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0
constexpr std::uint64_t harness_id = 1;
std::uint64_t own_id = 1;  // one more with each recording, so that records which come late are nobody's
constexpr std::uint32_t forced = 1;
constexpr std::size_t buffer_bytes = 1 << 20;
constexpr int most_buffers = 64;

struct Api {
  int (*register_callbacks)(void (*)(std::uint8_t**, std::size_t*, std::size_t*), void (*)(void*, std::uint32_t, std::uint8_t*, std::size_t, std::size_t)) = nullptr;
  int (*enable)(int) = nullptr;
  int (*disable)(int) = nullptr;
  int (*flush)(std::uint32_t) = nullptr;
  int (*next)(std::uint8_t*, std::size_t, unsigned char**) = nullptr;
  int (*push)(int, std::uint64_t) = nullptr;
  int (*pop)(int, std::uint64_t*) = nullptr;
  int (*dropped)(void*, std::uint32_t, std::size_t*) = nullptr;
  int (*text)(int, const char**) = nullptr;
  std::string problem;
};

Api open() {
  Api api;
  const LibraryRecord& library = cuda::library(Library::cupti);
  if (!library) {
    api.problem = library.error;
    return api;
  }
  const auto need = [&](auto*& slot, const char* name) {
    if (!library.find(slot, name) && api.problem.empty()) api.problem = fmt::format("{} has no {}", library.path, name);
  };
  need(api.register_callbacks, "cuptiActivityRegisterCallbacks");
  need(api.enable, "cuptiActivityEnable");
  need(api.disable, "cuptiActivityDisable");
  need(api.flush, "cuptiActivityFlushAll");
  need(api.next, "cuptiActivityGetNextRecord");
  need(api.push, "cuptiActivityPushExternalCorrelationId");
  need(api.pop, "cuptiActivityPopExternalCorrelationId");
  library.find(api.dropped, "cuptiActivityGetNumDroppedRecords");
  library.find(api.text, "cuptiGetResultString");
  return api;
}

const Api& cupti() {
  static const Api api = open();
  return api;
}

// Buffers come back on a thread of CUPTI's own, and may come late: the log outlives every recording.
std::mutex lock;
ActivityLog& activity_log() {
  static ActivityLog log;
  return log;
}
std::atomic<bool> active{false};
std::atomic<int> buffers{0};

void give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *most_records = 0;  // as many as fit
  *buffer = nullptr;
  *size = 0;
  if (buffers.load() >= most_buffers) return;  // CUPTI drops what it has no room for, and counts it
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(8, buffer_bytes));
  if (!*buffer) return;
  ++buffers;
  *size = buffer_bytes;
}

void take_buffer(void* context, std::uint32_t stream, std::uint8_t* buffer, std::size_t, std::size_t valid) {
  const std::lock_guard guard(lock);
  unsigned char* record = nullptr;
  int code = 0;
  while (buffer && valid > 0 && (code = cupti().next(buffer, valid, &record)) == 0 && record) activity_log().take(record);
  // A record that cannot be read hides those behind it: at least one is lost.
  if (code != 0 && code != end_of_buffer) ++activity_log().dropped;
  std::size_t dropped = 0;
  if (cupti().dropped && cupti().dropped(context, stream, &dropped) == 0) activity_log().dropped += dropped;
  if (buffer) --buffers;
  std::free(buffer);
}

constexpr int kinds[] = {static_cast<int>(evidence::cupti::kernel), static_cast<int>(evidence::cupti::copy), static_cast<int>(evidence::cupti::fill),
                         static_cast<int>(evidence::cupti::synchronisation), static_cast<int>(evidence::cupti::external),
                         static_cast<int>(evidence::cupti::driver_call), static_cast<int>(evidence::cupti::runtime_call)};

std::string words_of(int code) {
  const char* text = nullptr;
  return cupti().text && cupti().text(code, &text) == 0 && text ? text : fmt::format("CUPTI error {}", code);
}

// What became of the recording that was started last.
struct State {
  std::string status, detail;
};
State& state() {
  static State s;
  return s;
}

void fail(int code, const char* call) {
  bool permitted = true;
  for (int c : not_permitted_codes) permitted = permitted && c != code;
  state() = {permitted ? "failed" : "not-permitted", fmt::format("{}: {}", call, words_of(code))};
}

bool start() {
  if (!cupti().problem.empty()) {
    state() = {"missing", cupti().problem};
    return false;
  }
  static const int registered = cupti().register_callbacks(give_buffer, take_buffer);
  if (registered != 0) {
    fail(registered, "cuptiActivityRegisterCallbacks");
    return false;
  }
  {
    const std::lock_guard guard(lock);
    activity_log() = {};
  }
  for (int kind : kinds)
    if (const int code = cupti().enable(kind); code != 0) {
      fail(code, "cuptiActivityEnable");
      for (int on : kinds) cupti().disable(on);
      return false;
    }
  if (const int code = cupti().push(custom_id, ++own_id); code != 0) {
    fail(code, "cuptiActivityPushExternalCorrelationId");
    for (int on : kinds) cupti().disable(on);
    return false;
  }
  state() = {"recorded", {}};
  return true;
}

const char* advice(const std::string& status) {
  if (status == "missing") return "install CUPTI, which is part of the toolkit, or name its folder with --lib-dir";
  if (status == "not-permitted")
    return "allow profiling to all users (driver option NVreg_RestrictProfilingToAdminUsers=0) or run with CAP_SYS_ADMIN";
  return "end other profilers of this process and see whether the driver is as new as CUPTI";
}

}  // namespace

namespace {
thread_local int harness_depth = 0;
}

bool in_harness() { return harness_depth > 0; }

HarnessScope::HarnessScope() : pushed_(active.load() && cupti().push(custom_id, harness_id) == 0) { ++harness_depth; }
HarnessScope::~HarnessScope() {
  --harness_depth;
  std::uint64_t last = 0;
  if (pushed_) cupti().pop(custom_id, &last);
}

Recording::Recording(const std::vector<Library>& libraries) {
  running_ = start();
  active = running_;
  for (Library which : libraries)
    if (begin_log(which)) logged_.push_back(which);
}

void Recording::stop() {
  for (Library which : logged_) end_log(which);
  if (!running_) return;
  running_ = false;
  active = false;
  std::uint64_t last = 0;
  cupti().pop(custom_id, &last);
  // The attempt has waited for its stream, so what is not complete now never will be.
  if (const int code = cupti().flush(forced); code != 0 && code != end_of_buffer) fail(code, "cuptiActivityFlushAll");
  for (int kind : kinds) cupti().disable(kind);
}

Recording::~Recording() { stop(); }

void Recording::finish(report::Evidence& evidence) {
  stop();
  for (Library which : logged_) evidence::add_log_lines(taken_log(which), evidence);
  evidence.recording = state().status;
  const std::lock_guard guard(lock);
  if (evidence.recording == "recorded") {
    evidence::add_activity(activity_log(), own_id, harness_id, evidence);
  } else {
    evidence.notes.push_back(fmt::format("kernels not recorded, {}: {}; {}", evidence.recording, state().detail, advice(evidence.recording)));
  }
}

}  // namespace dd::cuda
