#include "backends/cudnn/frontend/ask.hpp"
#include "backends/cudnn/frontend/reasons.hpp"
#include "support/catch.hpp"

using namespace dd::cudnn;

TEST_CASE("the root of each failed call is its reason") {
  const std::vector<std::string> messages = {
      "CuDNN (v91900 56) function cudnnBackendFinalize() called:",
      "        Warning: CUDNN_STATUS_NOT_SUPPORTED; Reason: Engine 0 is not enabled for SOME_PATTERN at: true",
      "        Warning: CUDNN_STATUS_NOT_SUPPORTED; Reason: status",
      "Time: 2026-01-01",
      "CuDNN (v91900 56) function cudnnBackendFinalize() called:",
      "    Warning: CUDNN_STATUS_NOT_SUPPORTED_SHAPE; Reason: d of q and k is not less than equal to 256 at: d > 256",
      "    Warning: CUDNN_STATUS_NOT_SUPPORTED; Reason: finalize_internal()"};
  const auto reasons = reasons_in(messages);
  REQUIRE(reasons.size() == 2);
  CHECK(reasons[0].text == "Engine 0 is not enabled for SOME_PATTERN");
  CHECK(reasons[1].code == "CUDNN_STATUS_NOT_SUPPORTED_SHAPE");
  CHECK(reasons[1].text == "d of q and k is not less than equal to 256");
  CHECK(most_telling(reasons).text == reasons[1].text);
  CHECK_FALSE(only_generic(reasons));
  CHECK(only_generic({reasons[0]}));
  CHECK(reasons_in(std::vector<std::string>{"", "Reason:", "no reason here"}).empty());
  CHECK(most_telling({}).text.empty());
}

TEST_CASE("a lacking prerequisite beats a shape, a shape beats the architecture") {
  const Reason pattern{"CUDNN_STATUS_NOT_SUPPORTED_GRAPH_PATTERN", "the chosen engine does not support this graph pattern"};
  const Reason arch{"CUDNN_STATUS_NOT_SUPPORTED_ARCH_MISMATCH", "only on Hopper"};
  const Reason shape{"CUDNN_STATUS_NOT_SUPPORTED_SHAPE", "too wide"};
  const Reason lacking{"CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING", "libcuda == nullptr"};
  CHECK(most_telling({pattern, arch}).text == arch.text);
  CHECK(most_telling({arch, pattern, shape}).text == shape.text);
  CHECK(most_telling({arch, shape, lacking, pattern}).text == lacking.text);
}

TEST_CASE("device properties carry the architecture and its shared memory") {
  AskDevice device;
  device.compute_capability = 86;
  const std::string json = device_properties(device);
  CHECK(json.find("\"deviceVer\":860") != std::string::npos);
  CHECK(json.find("\"maxSharedMemoryPerBlockOptin\":101376") != std::string::npos);
}

TEST_CASE("the last status named is the code, and says what it means for an attempt") {
  using Fault = dd::cuda::CallError::Fault;
  const auto fault = [](const char* words) { return call_error("call", words, "own").fault; };
  const auto e = call_error("cudnnBackendExecute", "execute() failed with message: no room, and code: CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED\n", "own");
  CHECK(e.name == "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED");
  CHECK(e.fault == Fault::out_of_memory);
  CHECK(e.text.back() == 'D');
  CHECK(fault("CUDNN_STATUS_NOT_INITIALIZED") == Fault::unavailable);
  CHECK(fault("CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING") == Fault::unavailable);
  CHECK(fault("CUDNN_STATUS_SUBLIBRARY_VERSION_MISMATCH") == Fault::unavailable);
  CHECK(fault("CUDNN_STATUS_NOT_SUPPORTED_SHAPE") == Fault::refused);
  CHECK(fault("CUDNN_STATUS_BAD_PARAM_SHAPE_MISMATCH") == Fault::refused);
  CHECK(fault("CUDNN_STATUS_EXECUTION_FAILED_CUDA_DRIVER") == Fault::failed);
  CHECK(fault("CUDNN_STATUS_INTERNAL_ERROR") == Fault::failed);
  CHECK(fault("cudaMemcpyAsync(a, b) failed with an illegal memory access was encountered") == Fault::failed);
  CHECK(fault("Unable to find symbol cudnnBackendExecute") == Fault::unavailable);
  CHECK(fault("std::bad_alloc") == Fault::out_of_memory);
  const auto own = call_error("graph", "hidden_dim should be multiple of 8", "cudnn-frontend");
  CHECK(own.name == "cudnn-frontend");
  CHECK(own.fault == Fault::refused);
}

TEST_CASE("a plan's name tells its engine") {
  CHECK(engine_in("eng9_k24=3") == 9);
  CHECK(engine_in("sdpa_eng10_k2=1_k24=36") == 10);
  CHECK(engine_in("nothing") == -1);
  CHECK(engine_in("eng") == -1);
  CHECK(engine_in("eng99999999999999999999") == 999999999);
}
