#include "backends/cudnn/frontend/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdlib>

#include "backends/cuda_runtime/record_logs.hpp"

namespace dd::cudnn {
namespace {

// Messages of the call that this thread is making.
thread_local std::vector<std::string> heard;
void listen(const char* message) {
  if (heard.size() > 256) return;
  while (*message) {  // several strings, the last followed by an empty one
    const std::string line = message;
    heard.push_back(line.substr(0, 2000));
    message += line.size() + 1;
  }
}

// cuDNN refuses every engine while it finds no libcuda.so.1. The toolkit's stand-in carries that name inside, so loading it
// by path is enough. Never where a driver is.
bool some_driver() {
  if (cuda::library(cuda::Library::driver)) return true;
  if (const char* named = std::getenv("DD_CUDA_STAND_IN"); named && *named) {  // then no other
    dlopen(named, RTLD_NOW | RTLD_GLOBAL);
    return dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr;
  }
  std::vector<std::string> roots;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* value = std::getenv(variable); value && *value) roots.emplace_back(value);
  roots.emplace_back("/usr/local/cuda");
  for (const std::string& root : roots)
    for (const char* folder : {"lib64/stubs", "lib/stubs", "targets/x86_64-linux/lib/stubs", "targets/sbsa-linux/lib/stubs"})
      if (dlopen(fmt::format("{}/{}/libcuda.so", root, folder).c_str(), RTLD_NOW | RTLD_GLOBAL)) return dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD) != nullptr;
  return false;
}

// The first name that is missing, or empty.
std::string fill(const cuda::LibraryRecord& library, BackendApi& api) {
  std::string missing;
  const auto need = [&](auto*& slot, const char* name) {
    if (!library.find(slot, name) && missing.empty()) missing = name;
  };
  need(api.create, "cudnnBackendCreateDescriptor");
  need(api.destroy, "cudnnBackendDestroyDescriptor");
  need(api.set, "cudnnBackendSetAttribute");
  need(api.get, "cudnnBackendGetAttribute");
  need(api.finalize, "cudnnBackendFinalize");
  need(api.error_string, "cudnnGetErrorString");
  need(api.create_handle, "cudnnCreate");
  need(api.destroy_handle, "cudnnDestroy");
  need(api.set_stream, "cudnnSetStream");
  return missing;
}

Ready open() {
  Ready r;
  constexpr std::int64_t first_with_device_properties = 90800, first_with_these_graphs = 90000;
  const cuda::LibraryRecord& library = cuda::library(cuda::Library::cudnn);
  if (!library) {
    r.problem = report::Error{"ENV025", library.error, "loader"};
  } else if (library.code < first_with_these_graphs) {
    r.problem = report::Error{"ENV025", fmt::format("cuDNN {} is older than the graphs built here, which need 9.0 ({})", library.version, library.path), "cuDNN"};
  } else if (!some_driver()) {
    r.problem = report::Error{"ENV020", "no libcuda.so.1 and no toolkit with a stand-in of it: cuDNN refuses every engine without one", "loader"};
  } else if (const std::string missing = fill(library, r.api); !missing.empty()) {
    r.problem = report::Error{"ENV025", fmt::format("{} has no {}", library.path, missing), "loader"};
  }
  if (!r.problem && library.code < first_with_device_properties)
    r.no_properties = report::Error{"ENV025", fmt::format("cuDNN {} cannot be asked about a device, 9.8 and newer can ({})", library.version, library.path), "cuDNN"};
  if (!r.problem && !cuda::listen_to_cudnn(&listen)) r.problem = report::Error{"ENV025", library.path + " has no cudnnSetCallback", "loader"};
  if (r.problem) return r;
  cuda::library(cuda::Library::nvrtc);  // held open: cuDNN would open and close it for each engine it is asked about
  r.library = &library;
  return r;
}

}  // namespace

const Ready& ready() {
  static const Ready state = open();
  return state;
}

std::vector<std::string> take_messages() { return std::exchange(heard, {}); }

}  // namespace dd::cudnn
