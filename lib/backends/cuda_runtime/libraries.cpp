#include "backends/cuda_runtime/libraries.hpp"

#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <mutex>

#include "backends/libraries/trial.hpp"

namespace dd::cuda {
namespace fs = std::filesystem;
namespace {

struct Names {
  Library which;
  std::string_view name;
  std::vector<const char*> files;  // newest first; the first that opens wins
};
const Names& names(Library which) {
  static const Names table[] = {
      {Library::driver, "driver", {"libcuda.so.1"}},
      {Library::cublas, "cublas", {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11"}},
      {Library::cublaslt, "cublaslt", {"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so.11"}},
      {Library::cudnn, "cudnn", {"libcudnn.so.9", "libcudnn.so.8"}},
      {Library::cupti, "cupti", {"libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"}},
      {Library::nvrtc, "nvrtc", {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"}},
      {Library::nvml, "nvml", {"libnvidia-ml.so.1"}},
  };
  return table[static_cast<std::size_t>(which)];
}

std::string environment(const char* name) {
  const char* value = getenv(name);
  return value ? value : "";
}

std::vector<std::string> split_folders(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(':', at), text.size());
    if (end > at) out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::string mapped_path(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map || !map->l_name) return {};
  char resolved[PATH_MAX];
  return realpath(map->l_name, resolved) ? resolved : map->l_name;
}

bool try_open(const std::string& file, LibraryRecord& record) {
  // Global: cuDNN and cuBLAS look for the driver and for each other among what is already there.
  record.handle = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL);
  std::string trouble;
  if (!record.handle) {
    const char* why = dlerror();
    trouble = why ? why : file;
  } else if (record.which == Library::driver && !record.symbol("cuInit")) {
    record.handle = nullptr;
    trouble = file + ": it has no cuInit, so it is no NVIDIA driver";
  } else {
    record.path = mapped_path(record.handle);
    record.error.clear();
    return true;
  }
  record.error += (record.error.empty() ? "" : "; ") + trouble;
  return false;
}

std::vector<std::string> candidates(Library which, const SearchPlaces& places) {
  std::vector<std::string> out;
  const auto in_folder = [&](const std::string& folder) {
    for (const char* file : names(which).files) {
      const fs::path path = fs::path(folder) / file;
      std::error_code ignored;
      if (fs::symlink_status(path, ignored).type() != fs::file_type::not_found) out.push_back(path.string());
    }
  };
  if (!places.only.empty()) {
    for (const std::string& folder : places.only) in_folder(folder);
    return out;
  }
  for (const std::string& folder : places.wheels) in_folder(folder);
  for (const char* file : names(which).files) out.push_back(file);
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const std::string home = environment(variable); !home.empty()) in_folder(home + "/lib64");
  for (const char* folder : {"/usr/local/cuda/lib64", "/usr/local/cuda/extras/CUPTI/lib64", "/usr/lib/wsl/lib"})
    in_folder(folder);
  return out;
}

// The toolkit's stand-in gives itself away wherever it was copied to: each call of it answers this.
bool is_stand_in(const LibraryRecord& driver) {
  constexpr int stub_library = 34;  // CUDA_ERROR_STUB_LIBRARY
  int (*get)(int*) = nullptr;
  int version = 0;
  return driver.find(get, "cuDriverGetVersion") && get(&version) == stub_library;
}

// Each library's own answer to "which version", through the one function of it that needs neither handle nor device.
std::int64_t ask_version(const LibraryRecord& record) {
  switch (record.which) {
    case Library::driver: {
      int (*get)(int*) = nullptr;
      int version = 0;
      return record.find(get, "cuDriverGetVersion") && get(&version) == 0 ? version : 0;
    }
    case Library::cublas: {
      int (*get)(int, int*) = nullptr;  // 0, 1, 2: major, minor, patch
      int part[3] = {};
      if (!record.find(get, "cublasGetProperty")) return 0;
      for (int i = 0; i < 3; ++i)
        if (get(i, &part[i]) != 0) return 0;
      return part[0] * 10000 + part[1] * 100 + part[2];
    }
    case Library::cublaslt: {
      std::size_t (*get)() = nullptr;
      return record.find(get, "cublasLtGetVersion") ? static_cast<std::int64_t>(get()) : 0;
    }
    case Library::cudnn: {
      std::size_t (*get)() = nullptr;
      return record.find(get, "cudnnGetVersion") ? static_cast<std::int64_t>(get()) : 0;
    }
    case Library::cupti: {
      int (*get)(std::uint32_t*) = nullptr;
      std::uint32_t version = 0;
      return record.find(get, "cuptiGetVersion") && get(&version) == 0 ? version : 0;
    }
    case Library::nvrtc: {
      int (*get)(int*, int*) = nullptr;
      int major = 0, minor = 0;
      return record.find(get, "nvrtcVersion") && get(&major, &minor) == 0 ? major * 1000 + minor * 10 : 0;
    }
    case Library::nvml: return 0;  // of the driver's release, which its file name carries
  }
  return 0;
}

// The release in a file name such as libcudnn_ops.so.9.19.0; empty where the name carries the major number only.
std::string version_in_name(const std::string& path) {
  const std::size_t at = path.rfind(".so.");
  if (at == std::string::npos) return {};
  const std::string version = path.substr(at + 4);
  return version.find('.') == std::string::npos ? "" : version;
}

LibraryRecord open(Library which) {
  LibraryRecord record;
  record.which = which;
  for (const std::string& file : candidates(which, search_places()))
    if (try_open(file, record)) break;
  if (!record) {
    if (record.error.empty()) record.error = fmt::format("no {} in the folders given", fmt::join(names(which).files, " or "));
    return record;
  }
  record.code = ask_version(record);
  record.version = which == Library::nvml ? version_in_name(record.path) : version_text(which, record.code);
  const std::size_t so = record.path.rfind(".so.");
  if (so != std::string::npos && (which == Library::cublas || which == Library::cublaslt || which == Library::nvrtc || which == Library::cupti))
    record.built_for = record.path.substr(so + 4, record.path.find('.', so + 4) - so - 4);
  record.stub = which == Library::driver && is_stand_in(record);
  return record;
}

}  // namespace

std::string_view name_of(Library which) { return names(which).name; }

void* LibraryRecord::symbol(const char* name) const { return handle ? dlsym(handle, name) : nullptr; }

std::string version_text(Library which, std::int64_t code) {
  if (code <= 0) return {};
  switch (which) {
    case Library::driver:
    case Library::nvrtc: return fmt::format("{}.{}", code / 1000, code % 1000 / 10);
    case Library::cudnn:
      return code >= 90000 ? fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100)
                           : fmt::format("{}.{}.{}", code / 1000, code / 100 % 10, code % 100);
    case Library::cupti: return std::to_string(code);
    default: return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
  }
}

std::vector<std::string> wheel_folders(const std::string& python) {
  std::vector<std::string> out;
  std::error_code ignored;
  if (python.empty()) return out;
  // <prefix>/bin/python belongs to <prefix>/lib/python3.N/site-packages; the link of a virtual environment is not followed.
  const fs::path prefix = fs::is_directory(python, ignored) ? fs::path(python) : fs::path(python).parent_path().parent_path();
  for (const char* lib : {"lib", "lib64"})
    for (const auto& version : fs::directory_iterator(prefix / lib, fs::directory_options::skip_permission_denied, ignored)) {
      if (version.path().filename().string().rfind("python3", 0) != 0) continue;
      for (const char* packages : {"site-packages", "dist-packages"})
        for (const auto& wheel : fs::directory_iterator(version.path() / packages / "nvidia", fs::directory_options::skip_permission_denied, ignored))
          if (fs::is_directory(wheel.path() / "lib", ignored)) out.push_back((wheel.path() / "lib").string());
    }
  std::sort(out.begin(), out.end());
  return out;
}

SearchPlaces search_places() {
  return {split_folders(environment("DD_LIB_DIR")), wheel_folders(environment("DD_PYTHON"))};
}

void set_search_places(const std::vector<std::string>& folders, const std::string& python) {
  std::error_code ignored;
  std::string all;
  for (const std::string& folder : folders) all += (all.empty() ? "" : ":") + fs::absolute(folder, ignored).string();
  if (!all.empty()) setenv("DD_LIB_DIR", all.c_str(), 1);
  if (python.empty()) return;
  fs::path found = python;
  if (python.find('/') == std::string::npos)
    for (const std::string& folder : split_folders(environment("PATH")))
      if (fs::exists(fs::path(folder) / python, ignored)) {
        found = fs::path(folder) / python;
        break;
      }
  setenv("DD_PYTHON", fs::absolute(found, ignored).lexically_normal().c_str(), 1);
}

const LibraryRecord& library(Library which) {
  static std::once_flag once[std::size(all_libraries)];
  static LibraryRecord records[std::size(all_libraries)];
  const auto index = static_cast<std::size_t>(which);
  std::call_once(once[index], [&] {
    if (const std::string trouble = backends::trial_problem([which] { open(which); }); trouble.empty()) {
      records[index] = open(which);
    } else {
      records[index].which = which;
      records[index].error = fmt::format("{}: {}", names(which).files.front(), trouble);
    }
  });
  return records[index];
}

CudnnParts cudnn_parts(const LibraryRecord& cudnn) {
  CudnnParts out;
  if (!cudnn) return out;
  const fs::path folder = fs::path(cudnn.path).parent_path();
  std::string first;
  for (const char* part : {"graph", "ops", "cnn", "adv", "heuristic", "engines_precompiled", "engines_runtime_compiled"}) {
    std::error_code ignored;
    const fs::path file = folder / fmt::format("libcudnn_{}.so.{}", part, cudnn.code / 10000);
    if (!fs::exists(file, ignored)) continue;
    const std::string version = version_in_name(fs::canonical(file, ignored).string());
    out.parts.push_back({file.string(), version});
    if (!version.empty() && !first.empty() && version != first) out.mixed = true;
    if (first.empty()) first = version;
  }
  // The main library compares itself with each part; any answer but 0 is its own word for "these do not fit".
  // To do so it loads the part, and one that is cut short ends the process that does.
  for (const char* check : {"cudnnGraphVersionCheck", "cudnnOpsVersionCheck"}) {
    int (*ask)() = nullptr;
    if (!cudnn.find(ask, check)) continue;
    if (const std::string trouble = backends::trial_problem([ask] { ask(); }); !trouble.empty()) {
      out.mixed = true;
      out.complaint = fmt::format("{} cannot be asked: {}", check, trouble);
      continue;
    }
    if (const int status = ask(); status != 0) {
      out.mixed = true;
      // Numbers of cuDNN 9; a part that is missing or broken is no other release.
      const char* const meaning = status == 1002 ? " (parts of different releases)" : status == 1008 || status == 3009 ? " (a part could not be loaded)" : "";
      out.complaint = fmt::format("{} answers {}{}", check, status, meaning);
    }
  }
  return out;
}

}  // namespace dd::cuda
