#include "backends/cuda_runtime/record_logs.hpp"

#include <atomic>
#include <cstdio>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "backends/cuda_runtime/record.hpp"

namespace dd::cuda {
namespace {

constexpr std::size_t most_text = 1 << 20;

std::mutex lock;  // a library may log from a thread of its own
std::map<Library, std::string>& texts() {
  static std::map<Library, std::string> all;
  return all;
}

void add(Library which, std::string_view text) {
  const std::lock_guard guard(lock);
  std::string& all = texts()[which];
  if (all.size() + text.size() < most_text) all += text;
}

void cublas_line(const char* message) {
  if (message) add(Library::cublas, message);
}

// Level, function and message come apart; together they are a line of the log file.
void cublaslt_line(int level, const char* function, const char* message) {
  static constexpr const char* names[] = {"Off", "Error", "Trace", "Hint", "Info", "Api"};
  const char* name = level >= 0 && level < static_cast<int>(std::size(names)) ? names[level] : "Info";
  add(Library::cublaslt, std::string("[cublasLt][") + name + "][" + (function ? function : "") + "] " + (message ? message : "") + "\n");
}

// cuDNN has one callback for both who collects its log and who waits for its reasons.
void (*cudnn_listener)(const char*) = nullptr;
std::atomic<bool> cudnn_collected{false};

// The message is a list of texts, each ended by a zero, the list by one more.
void cudnn_line(int severity, void*, const void*, const char* message) {
  if (!message) return;
  if (cudnn_listener && severity <= 2) cudnn_listener(message);
  if (!cudnn_collected || in_harness()) return;
  const char mark = severity <= 1 ? 'E' : severity == 2 ? 'W' : 'I';
  std::string out;
  bool first = true;
  for (const char* at = message; *at && out.size() < (64u << 10); at += std::strlen(at) + 1) {
    out += first ? mark : static_cast<char>(mark | 0x20);
    out += std::string("! ") + at + "\n";
    first = false;
  }
  add(Library::cudnn, out);
}

// cuBLASLt prints every line beside calling back, unless it is given a file.
std::FILE* nowhere() {
  static std::FILE* file = std::fopen("/dev/null", "w");
  return file;
}

bool cublas_log(const LibraryRecord& library, bool on) {
  int (*configure)(int, int, int, const char*) = nullptr;
  int (*callback)(void (*)(const char*)) = nullptr;
  if (!library.find(configure, "cublasLoggerConfigure") || !library.find(callback, "cublasSetLoggerCallback")) return false;
  return callback(on ? cublas_line : nullptr) == 0 && configure(on, 0, 0, nullptr) == 0;
}

bool cublaslt_log(const LibraryRecord& library, bool on) {
  int (*callback)(void (*)(int, const char*, const char*)) = nullptr;
  int (*mask)(int) = nullptr;
  int (*file)(std::FILE*) = nullptr;
  if (!library.find(callback, "cublasLtLoggerSetCallback") || !library.find(mask, "cublasLtLoggerSetMask")) return false;
  if (on && library.find(file, "cublasLtLoggerSetFile") && nowhere()) file(nowhere());
  constexpr int errors_launches_hints = 1 | 2 | 4;
  return callback(on ? cublaslt_line : nullptr) == 0 && mask(on ? errors_launches_hints : 0) == 0;
}

bool cudnn_log(const LibraryRecord& library, bool on) {
  int (*callback)(unsigned, void*, void (*)(int, void*, const void*, const char*)) = nullptr;
  if (!library.find(callback, "cudnnSetCallback")) return false;
  constexpr unsigned errors_and_warnings = 1u << 1 | 1u << 2, information = 1u << 3;
  cudnn_collected = on;
  const unsigned mask = on ? errors_and_warnings | information : cudnn_listener ? errors_and_warnings : 0;
  return callback(mask, nullptr, mask ? cudnn_line : nullptr) == 0;
}

bool set_log(Library which, bool on) {
  const LibraryRecord& library = cuda::library(which);
  if (!library) return false;
  switch (which) {
    case Library::cublas: return cublas_log(library, on);
    case Library::cublaslt: return cublaslt_log(library, on);
    case Library::cudnn: return cudnn_log(library, on);
    default: return false;
  }
}

}  // namespace

bool listen_to_cudnn(void (*listener)(const char*)) {
  cudnn_listener = listener;
  return cudnn_log(cuda::library(Library::cudnn), cudnn_collected);
}

bool begin_log(Library which) {
  taken_log(which);
  return set_log(which, true);
}

void end_log(Library which) { set_log(which, false); }

std::string taken_log(Library which) {
  const std::lock_guard guard(lock);
  return std::exchange(texts()[which], {});
}

}  // namespace dd::cuda
