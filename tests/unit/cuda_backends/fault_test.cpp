// Each call of cuBLAS and cuBLASLt failing with each kind of status: the right outcome with the library's own code and text.
#include <cstdlib>

#include "specs.hpp"

using namespace dd;
using namespace dd::test;
using report::Outcome;

namespace {

struct Fault {
  explicit Fault(const std::string& text) { ::setenv("DD_FAKE_CUBLAS", text.c_str(), 1); }
  ~Fault() { ::unsetenv("DD_FAKE_CUBLAS"); }
};

spec::OpSpec plain() { return product(DType::f16, 16, 32, 64); }
spec::OpSpec batched() {
  auto s = plain();
  gemm(s).x.shape = {2, 16, 64};
  gemm(s).w.shape = {2, 64, 32};
  return s;
}

void check_fault(const char* backend, const spec::OpSpec& s, const std::string& function, int status, Outcome outcome, const char* source) {
  const Fault fault(function + "=" + std::to_string(status));
  const auto r = run(backend, s);
  INFO(backend << " " << function << " " << status);
  CHECK(r.outcome == outcome);
  REQUIRE(r.error);
  CHECK(r.error->source == source);
  CHECK(r.error->code.rfind("CUBLAS_STATUS_", 0) == 0);
  CHECK(r.error->text.rfind(function, 0) == 0);
}

constexpr std::pair<int, Outcome> meanings[] = {{15, Outcome::refused}, {7, Outcome::refused}, {8, Outcome::refused}, {3, Outcome::out_of_memory}, {13, Outcome::failed}, {14, Outcome::failed},
                                                {1, Outcome::unavailable}};

}  // namespace

TEST_CASE("a status at each call of cuBLAS", "[blas-faults]") {
  for (const auto& [status, outcome] : meanings)
    for (const char* function : {"cublasSetStream", "cublasSetWorkspace", "cublasSetMathMode", "cublasGemmEx"}) {
      check_fault("cublas", plain(), function, status, outcome, "cuBLAS");
      check_fault("cuda-dequant", quantized(4, false, 32, 3, 24, 96), function, status, outcome, "cuBLAS");
    }
  check_fault("cublas", batched(), "cublasGemmStridedBatchedEx", 15, Outcome::refused, "cuBLAS");
  check_fault("cuda-math", attention(DType::f16, 1, 2, 2, 8, 8, 16, 16), "cublasGemmStridedBatchedEx", 13, Outcome::failed, "cuBLAS");
  check_close("cublas", plain());  // and the next call works
}

TEST_CASE("a status at each call of cuBLASLt", "[blas-faults]") {
  for (const auto& [status, outcome] : meanings)
    for (const char* function : {"cublasLtMatmulDescCreate", "cublasLtMatmulDescSetAttribute", "cublasLtMatrixLayoutCreate", "cublasLtMatmulPreferenceCreate",
                                 "cublasLtMatmulPreferenceSetAttribute", "cublasLtMatmulAlgoGetHeuristic", "cublasLtMatmul"})
      check_fault("cublaslt", plain(), function, status, outcome, "cuBLASLt");
  check_fault("cublaslt", batched(), "cublasLtMatrixLayoutSetAttribute", 7, Outcome::refused, "cuBLASLt");
  check_close("cublaslt", plain());
}

TEST_CASE("a status that nobody knows is a failure with its number", "[blas-faults]") {
  const Fault fault("cublasLtMatmul=99");
  CHECK(run("cublaslt", plain()).outcome == Outcome::failed);
}

TEST_CASE("no algorithm is refused; one that cannot run is passed over", "[blas-faults]") {
  {
    const Fault fault("no-algorithm");
    const auto r = run("cublaslt", plain());
    CHECK(r.outcome == Outcome::refused);
    REQUIRE(r.error);
    CHECK(r.error->code == "CUBLAS_STATUS_NOT_SUPPORTED");
    CHECK(r.error->text.find("found no algorithm") != std::string::npos);
  }
  const Fault fault("first-cannot");
  check_close("cublaslt", plain());
  const auto r = run("cublaslt", plain());
  CHECK(r.evidence.notes.at(0).find("candidate 1: CUBLAS_STATUS_NOT_SUPPORTED") == 0);
  CHECK(r.evidence.library_calls.at(0).detail.find("candidate 2: algorithm 67") != std::string::npos);
}

TEST_CASE("what has no description in the library is refused, never copied", "[blas-faults]") {
  auto s = product(DType::f16, 8, 8, 8);
  gemm(s).x.strides = Dims{32, 2};
  for (const char* name : {"cublas", "cublaslt"}) {
    const auto r = run(name, s);
    CHECK(r.outcome == Outcome::refused);
    REQUIRE(r.error);
    CHECK(r.error->source == "own code");
    CHECK(r.error->text.find("no axis of unit stride") != std::string::npos);
  }
}

TEST_CASE("a handle that cannot be made", "[create]") {
  const std::string function = std::string(std::getenv("DD_FAKE_CUBLAS") ? std::getenv("DD_FAKE_CUBLAS") : "");
  const bool lt = function.rfind("cublasLt", 0) == 0;
  const auto r = run(lt ? "cublaslt" : "cublas", plain());
  CHECK(r.outcome == Outcome::unavailable);
  REQUIRE(r.error);
  CHECK(r.error->text.find(lt ? "cublasLtCreate" : "cublasCreate") == 0);
}

TEST_CASE("a library without a function is unavailable and says which", "[old-library]") {
  for (const auto& [name, op, function, finding] :
       {std::tuple{"cublas", spec::Op::gemm, "cublasCreate_v2", "ENV023"}, std::tuple{"cuda-math", spec::Op::sdpa, "cublasCreate_v2", "ENV023"},
        std::tuple{"cublaslt", spec::Op::gemm, "cublasLtCreate", "ENV024"}, std::tuple{"cublaslt-s8", spec::Op::gemm, "cublasLtCreate", "ENV024"}}) {
    const auto there = backends::find_backend(name, op)->probe();
    INFO(name << ": " << there.detail);
    CHECK_FALSE(there.available);
    CHECK(there.detail.find(function) != std::string::npos);
    CHECK(there.finding_ids == std::vector<std::string>{finding});
  }
  const auto r = run("cublas", plain());
  CHECK(r.outcome == Outcome::unavailable);
}
