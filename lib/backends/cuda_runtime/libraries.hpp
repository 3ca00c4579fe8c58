// The NVIDIA libraries, opened at run time and asked for their versions. Nothing here links against CUDA and nothing
// here needs a GPU or a driver: what is missing is a record with a reason. Opened libraries stay open.
//
// Where they are looked for, in this order: the folders of --lib-dir (then nowhere else), the NVIDIA wheels of the Python
// environment of --python, the loader's own path, CUDA_HOME, /usr/local/cuda. The two options reach worker processes
// through the environment variables DD_LIB_DIR (folders, ':' between them) and DD_PYTHON.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace dd::cuda {

enum class Library { driver, cublas, cublaslt, cudnn, cupti, nvrtc, nvml };
inline constexpr Library all_libraries[] = {Library::driver, Library::cublas, Library::cublaslt,
                                            Library::cudnn,  Library::cupti,  Library::nvrtc,  Library::nvml};
std::string_view name_of(Library library);  // "driver", "cublas", ...

struct LibraryRecord {
  Library which{};
  void* handle = nullptr;
  std::string path;      // of the file that is mapped
  std::string version;   // as the library itself says; empty when it does not answer
  std::int64_t code = 0; // the number behind it, in the library's own form
  std::string built_for; // CUDA major that its file name carries, where it does
  std::string error;     // what was tried, when nothing opened
  bool stub = false;     // the toolkit's link-time stand-in of the driver: opens, but every call fails

  explicit operator bool() const { return handle != nullptr; }
  void* symbol(const char* name) const;
  template <class F>
  bool find(F*& slot, const char* name) const {
    slot = reinterpret_cast<F*>(symbol(name));
    return slot != nullptr;
  }
};

struct SearchPlaces {
  std::vector<std::string> only;    // given folders
  std::vector<std::string> wheels;  // folders of NVIDIA wheels
};
SearchPlaces search_places();  // from the environment
// Puts the two options into the environment, for this process and its workers. Before the first library is opened. A
// bare name of an interpreter is looked up on PATH.
void set_search_places(const std::vector<std::string>& folders, const std::string& python);
// Folders <site-packages>/nvidia/*/lib of the environment that this interpreter belongs to; found by path, nothing is run.
std::vector<std::string> wheel_folders(const std::string& python);

// Opened once per process, on first use. cublasLt alone takes a third of a second.
const LibraryRecord& library(Library which);

// A cuDNN whose parts are of different releases misbehaves in odd ways. The parts that sit beside the main library, with
// the release in their file names where there is one; `mixed` when these differ or the library itself says so.
struct CudnnParts {
  struct Part {
    std::string file, version;
  };
  std::vector<Part> parts;
  bool mixed = false;
  std::string complaint;
};
CudnnParts cudnn_parts(const LibraryRecord& cudnn);

std::string version_text(Library which, std::int64_t code);

}  // namespace dd::cuda
