#include "backends/cuda_runtime/driver_api.hpp"

#include <fmt/format.h>

#include "backends/cuda_runtime/libraries.hpp"

namespace dd::cuda {
namespace {

CallError::Fault fault_of(int code) {
  switch (code) {
    case 2: return CallError::Fault::out_of_memory;
    // No code for this device, or none that this driver can load: invalid image, no binary, invalid PTX, no compiler for
    // PTX, PTX of a newer release.
    case 200:
    case 209:
    case 218:
    case 221:
    case 222: return CallError::Fault::unavailable;
    default: return CallError::Fault::failed;
  }
}

}  // namespace

std::string DriverApi::fill_from(const LibraryRecord& driver) {
  std::string missing;
  const auto need = [&](auto*& slot, const char* name) {
    if (!driver.find(slot, name) && missing.empty()) missing = name;
  };
  need(init, "cuInit");
  need(driver_version, "cuDriverGetVersion");
  need(device_count, "cuDeviceGetCount");
  need(device_get, "cuDeviceGet");
  need(device_name, "cuDeviceGetName");
  need(device_attribute, "cuDeviceGetAttribute");
  need(device_memory, "cuDeviceTotalMem_v2");
  need(context_retain, "cuDevicePrimaryCtxRetain");
  need(context_current, "cuCtxSetCurrent");
  need(memory_info, "cuMemGetInfo_v2");
  need(allocate, "cuMemAlloc_v2");
  need(release, "cuMemFree_v2");
  need(upload, "cuMemcpyHtoD_v2");
  need(download, "cuMemcpyDtoH_v2");
  need(module_load, "cuModuleLoadData");
  need(module_function, "cuModuleGetFunction");
  need(function_attribute, "cuFuncSetAttribute");
  need(launch, "cuLaunchKernel");
  need(stream_create, "cuStreamCreate");
  need(stream_wait, "cuStreamSynchronize");
  need(event_create, "cuEventCreate");
  need(event_record, "cuEventRecord");
  need(event_elapsed, "cuEventElapsedTime");
  need(event_destroy, "cuEventDestroy_v2");
  need(capture_begin, "cuStreamBeginCapture_v2");
  need(capture_end, "cuStreamEndCapture");
  need(graph_nodes, "cuGraphGetNodes");
  need(graph_instantiate, "cuGraphInstantiateWithFlags");
  need(graph_launch, "cuGraphLaunch");
  need(graph_destroy, "cuGraphDestroy");
  need(graph_exec_destroy, "cuGraphExecDestroy");
  need(error_name, "cuGetErrorName");
  need(error_text, "cuGetErrorString");
  driver.find(fill, "cuMemsetD8Async");
  driver.find(device_pci, "cuDeviceGetPCIBusId");
  driver.find(graph_node_type, "cuGraphNodeGetType");
  driver.find(graph_kernel_parameters, "cuGraphKernelNodeGetParams_v2");
  driver.find(graph_fill_parameters, "cuGraphMemsetNodeGetParams");
  driver.find(graph_copy_parameters, "cuGraphMemcpyNodeGetParams");
  driver.find(graph_child, "cuGraphChildGraphNodeGetGraph");
  driver.find(function_name, "cuFuncGetName");
  driver.find(function_value, "cuFuncGetAttribute");
  driver.find(kernel_function, "cuKernelGetFunction");
  driver.find(kernel_name, "cuKernelGetName");
  return missing;
}

std::optional<CallError> DriverApi::check(int code, const char* call) const {
  if (code == 0) return std::nullopt;
  CallError error{code, fmt::format("CUDA error {}", code), "unknown error", call, "CUDA driver", fault_of(code)};
  const char* words = nullptr;
  if (error_name(code, &words) == 0 && words) error.name = words;
  if (error_text(code, &words) == 0 && words) error.text = words;
  return error;
}

}  // namespace dd::cuda
