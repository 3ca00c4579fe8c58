#include "backends/common/recorded.hpp"

#include "backends/cuda_runtime/record.hpp"

namespace dd::backends {
namespace {

// From the column that says which library a backend needs. cuBLAS hands many products on to cuBLASLt.
std::vector<cuda::Library> libraries_of(const Backend& backend) {
  std::vector<cuda::Library> out;
  const auto names = [&](std::string_view name) { return backend.library.find(name) != std::string_view::npos; };
  const bool lt = names("cuBLASLt");
  if (names("cuBLAS") && !lt) out = {cuda::Library::cublas, cuda::Library::cublaslt};
  if (lt) out.push_back(cuda::Library::cublaslt);
  if (names("cuDNN")) out.push_back(cuda::Library::cudnn);
  return out;
}

}  // namespace

RunResult run_recorded(const Backend& backend, const RunRequest& request) {
  // Recording slows launches down, so a timed run goes without.
  if (backend.device != "cuda" || request.bench || request.mode == spec::Mode::compiled) return backend.run(request);
  cuda::Recording recording(libraries_of(backend));
  RunResult result = backend.run(request);
  if (result.outcome != report::Outcome::unavailable) recording.finish(result.evidence);
  return result;
}

}  // namespace dd::backends
