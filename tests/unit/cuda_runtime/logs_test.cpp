// The logging callbacks of the real libraries, where they are: what they hand over without a device is read like a log file.
#include <algorithm>

#include "backends/cuda_runtime/record_logs.hpp"
#include "evidence/logs/lines.hpp"
#include "support/catch.hpp"

using namespace dd;
using cuda::Library;

namespace {

bool called(const report::Evidence& e, std::string_view name) {
  return std::any_of(e.library_calls.begin(), e.library_calls.end(), [&](const report::Operation& o) { return o.name.find(name) != std::string::npos && o.origin == "library log"; });
}
bool noted(const report::Evidence& e, std::string_view what) {
  return std::any_of(e.notes.begin(), e.notes.end(), [&](const std::string& n) { return n.find(what) != std::string::npos; });
}

// Creates a handle under watch; what was logged, and the status.
std::pair<std::string, int> create(Library which, const char* function) {
  int (*make)(void**) = nullptr;
  const cuda::LibraryRecord& library = cuda::library(which);
  if (!library || !library.find(make, function) || !cuda::begin_log(which)) return {{}, -1};
  void* handle = nullptr;
  const int status = make(&handle);
  cuda::end_log(which);
  return {cuda::taken_log(which), status};
}

}  // namespace

TEST_CASE("cuBLAS hands over its calls", "[logs]") {
  const auto [text, status] = create(Library::cublas, "cublasCreate_v2");
  if (status < 0) {
    WARN("cuBLAS is not here: not tested");
    return;
  }
  report::Evidence e;
  evidence::add_log_lines(text, e);
  INFO(text);
  CHECK(called(e, "cublasCreate_v2"));
}

TEST_CASE("cuBLASLt hands over errors and launches, and prints nothing", "[logs]") {
  const auto [text, status] = create(Library::cublaslt, "cublasLtCreate");
  if (status < 0) {
    WARN("cuBLASLt is not here: not tested");
    return;
  }
  if (status == 0) return;  // with a device nothing is wrong, and making a handle is no launch
  report::Evidence e;
  evidence::add_log_lines(text, e);
  INFO(text);
  CHECK(called(e, "cublasLtCreate"));
  CHECK(noted(e, "Failed to initialize CUDA"));
}

TEST_CASE("cuDNN hands over its calls and its reasons", "[logs]") {
  const auto [text, status] = create(Library::cudnn, "cudnnCreate");
  if (status < 0) {
    WARN("cuDNN is not here: not tested");
    return;
  }
  report::Evidence e;
  evidence::add_log_lines(text, e);
  INFO(text);
  CHECK(called(e, "cudnnCreate"));
  if (status != 0) CHECK(noted(e, "cudaGetDeviceCount"));
}

TEST_CASE("a log is taken once, and nothing is taken after its end", "[logs]") {
  for (Library which : {Library::cublas, Library::cublaslt, Library::cudnn}) {
    cuda::taken_log(which);
    CHECK(cuda::taken_log(which).empty());
  }
  CHECK_FALSE(cuda::begin_log(Library::nvrtc));
  report::Evidence e;
  evidence::add_log_lines("", e);
  evidence::add_log_lines("something that no library wrote\n", e);
  CHECK(e.library_calls.empty());
}

TEST_CASE("lines of a product become a call with its types and sizes", "[logs]") {
  report::Evidence e;
  evidence::add_log_lines("[cublasLt][Trace][cublasLtMatmul] A=0X7F Adesc=[type=R_16F rows=192 cols=256 ld=192] Bdesc=[type=R_16F rows=256 cols=128 ld=256] "
                          "computeDesc=[computeType=COMPUTE_32F scaleType=R_32F] algo=[algoId=66 tile=MATMUL_TILE_128x128]\n", e);
  REQUIRE(e.library_calls.size() == 1);
  CHECK(e.library_calls[0].name == "cublasLtMatmul");
  CHECK(e.library_calls[0].detail.find("Adesc.type R_16F") != std::string::npos);
  CHECK(e.library_calls[0].detail.find("algo.algoId 66") != std::string::npos);
  CHECK(e.library_calls[0].detail.find("0X7F") == std::string::npos);
}
