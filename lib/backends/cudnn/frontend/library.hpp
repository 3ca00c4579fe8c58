// cuDNN itself as the files of this folder use it: opened once, the functions of its backend interface, and what it says
// through its message callback. Needs cudnn.h; included by frontend.cpp, engines.cpp and library.cpp alone.
#pragma once
#include <cudnn.h>

#include <optional>
#include <string>
#include <vector>

#include "backends/cuda_runtime/libraries.hpp"
#include "backends/cudnn/frontend/ask.hpp"

namespace dd::cudnn {

struct BackendApi {
  decltype(&cudnnBackendCreateDescriptor) create = nullptr;
  decltype(&cudnnBackendDestroyDescriptor) destroy = nullptr;
  decltype(&cudnnBackendSetAttribute) set = nullptr;
  decltype(&cudnnBackendGetAttribute) get = nullptr;
  decltype(&cudnnBackendFinalize) finalize = nullptr;
  decltype(&cudnnGetErrorString) error_string = nullptr;
  decltype(&cudnnCreate) create_handle = nullptr;
  decltype(&cudnnDestroy) destroy_handle = nullptr;
  decltype(&cudnnSetStream) set_stream = nullptr;
};

struct Ready {
  std::optional<report::Error> problem;
  std::optional<report::Error> no_properties;  // why this release cannot be asked about a device that is not here
  BackendApi api;
  const cuda::LibraryRecord* library = nullptr;
};
// Opened once. Without a driver the toolkit's stand-in is loaded, so call it in a worker process.
const Ready& ready();

// What cuDNN said on this thread since the last call.
std::vector<std::string> take_messages();

// A descriptor that is destroyed at the end of its scope.
class Descriptor {
 public:
  Descriptor(const BackendApi& api, cudnnBackendDescriptorType_t type) : api_(api) {
    if (api.create(type, &raw_) != CUDNN_STATUS_SUCCESS) raw_ = nullptr;
  }
  ~Descriptor() {
    if (raw_) api_.destroy(raw_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  void set(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, const void* value) {
    if (raw_) api_.set(raw_, name, type, 1, value);
  }
  cudnnStatus_t finalize() { return raw_ ? api_.finalize(raw_) : CUDNN_STATUS_ALLOC_FAILED; }
  cudnnBackendDescriptor_t& raw() { return raw_; }

 private:
  const BackendApi& api_;
  cudnnBackendDescriptor_t raw_ = nullptr;
};

// Asks one engine (answer.id) about an operation graph; `properties` is null for the device that is here.
void ask_engine(const BackendApi& api, cudnnBackendDescriptor_t graph, cudnnBackendDescriptor_t properties, EngineAnswer& answer);

}  // namespace dd::cudnn
