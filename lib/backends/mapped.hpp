// Shared libraries that are really mapped into this process, as the loader lists them: path, version, build id. A wrapper
// script, LD_LIBRARY_PATH or a wheel can put another file in place than the one that was compiled against.
#pragma once
#include <string>
#include <vector>

namespace dd::backends {

struct MappedLibrary {
  std::string path;      // as the loader opened it, links followed
  std::string version;   // from the library itself where it is known here, else from the file name; may be empty
  std::string build_id;  // hexadecimal GNU build id; may be empty
};

// Those that matter to dispatch: BLAS, oneDNN, OpenMP, CUDA and its libraries, C and C++ run time.
std::vector<MappedLibrary> mapped_libraries();
// "13.0.2" of "libcublas.so.13.0.2"; empty without digits.
std::string version_from_name(const std::string& path);

}  // namespace dd::backends
