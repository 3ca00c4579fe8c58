// The driver's functions by run-time lookup, in plain C types (handles are void*, a CUdeviceptr is 64 bits wide), so that
// no CUDA header is needed and the same code builds everywhere. Private to this folder; others use Device.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace dd::cuda {

struct LibraryRecord;

struct CallError {
  // What it means for an attempt: the library said no to the call, or something went wrong.
  enum class Fault { failed, refused, out_of_memory, unavailable };
  int code = 0;            // CUresult, or the status of the library
  std::string name, text;  // CUDA_ERROR_..., in words
  std::string call;        // the function that returned it
  std::string source = "CUDA driver";
  Fault fault = Fault::failed;
};

struct DriverApi {
  int (*init)(unsigned);
  int (*driver_version)(int*);
  int (*device_count)(int*);
  int (*device_get)(int*, int);
  int (*device_name)(char*, int, int);
  int (*device_attribute)(int*, int, int);
  int (*device_memory)(std::size_t*, int);
  int (*context_retain)(void**, int);
  int (*context_current)(void*);
  int (*memory_info)(std::size_t*, std::size_t*);
  int (*allocate)(std::uint64_t*, std::size_t);
  int (*release)(std::uint64_t);
  int (*upload)(std::uint64_t, const void*, std::size_t);
  int (*download)(void*, std::uint64_t, std::size_t);
  int (*module_load)(void**, const void*);
  int (*module_function)(void**, void*, const char*);
  int (*function_attribute)(void*, int, int);
  int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void*, void**, void**);
  int (*stream_create)(void**, unsigned);
  int (*stream_wait)(void*);
  int (*event_create)(void**, unsigned);
  int (*event_record)(void*, void*);
  int (*event_elapsed)(float*, void*, void*);
  int (*event_destroy)(void*);
  int (*capture_begin)(void*, int);
  int (*capture_end)(void*, void**);
  int (*graph_nodes)(void*, void**, std::size_t*);
  int (*graph_instantiate)(void**, void*, unsigned long long);
  int (*graph_launch)(void*, void*);
  int (*graph_destroy)(void*);
  int (*graph_exec_destroy)(void*);
  int (*error_name)(int, const char**);
  int (*error_text)(int, const char**);
  // Absent from older drivers; every use looks first.
  int (*fill)(std::uint64_t, unsigned char, std::size_t, void*) = nullptr;
  int (*device_pci)(char*, int, int) = nullptr;
  int (*graph_node_type)(void*, int*) = nullptr;
  int (*graph_kernel_parameters)(void*, void*) = nullptr;
  int (*graph_fill_parameters)(void*, void*) = nullptr;
  int (*graph_copy_parameters)(void*, void*) = nullptr;
  int (*graph_child)(void*, void**) = nullptr;
  int (*function_name)(const char**, void*) = nullptr;
  int (*function_value)(int*, int, void*) = nullptr;
  int (*kernel_function)(void**, void*) = nullptr;
  int (*kernel_name)(const char**, void*) = nullptr;

  // Empty, or the first function that the driver lacks.
  std::string fill_from(const LibraryRecord& driver);
  // Nullopt for success, else the driver's own name and text of the code.
  std::optional<CallError> check(int code, const char* call) const;
};

}  // namespace dd::cuda
