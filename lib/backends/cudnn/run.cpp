// cudnn: the library's fused attention graph. Here: whether it is there, and what it takes beside the tensors.
#include <fmt/format.h>

#include "backends/common/device_call.hpp"
#include "backends/cuda_runtime/environment.hpp"
#include "backends/cudnn/frontend/ask.hpp"
#include "backends/tables.hpp"

namespace dd::backends::cudnn_attention {

Availability probe() {
  if (!cudnn::ask_built()) return {false, "this build was configured without the headers of cudnn-frontend and cuDNN", {"RUL013"}};
  const cuda::LibraryRecord& library = cuda::library(cuda::Library::cudnn);
  if (!library) return {false, library.error, {"ENV025"}};
  const cuda::LibraryRecord& driver = cuda::library(cuda::Library::driver);
  if (!driver || driver.stub) return {false, driver ? "only the toolkit's stand-in of the driver is here" : driver.error, {"ENV020"}};
  return {true, fmt::format("cuDNN {}, {}", library.version, library.path), {}};
}

void add_facts(facts::FactSet& facts) {
  add_device_facts(facts);
  cuda::add_library_facts(cuda::Library::cudnn, facts);
}

// The additive form of a boolean mask; the engines' own workspace is not known before they are asked.
std::int64_t extra_bytes(const spec::OpSpec& spec) {
  const spec::Attention& a = spec.attention();
  if (!a.mask || a.mask->dtype != core::DType::boolean) return 0;
  std::int64_t elements = 1;
  for (std::int64_t extent : a.mask->shape)
    if (__builtin_mul_overflow(elements, extent, &elements)) return 0;
  return core::bytes_of(a.q.dtype, elements);
}

}  // namespace dd::backends::cudnn_attention
