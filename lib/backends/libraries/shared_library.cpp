#include "backends/libraries/shared_library.hpp"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>

namespace dd::backends {
namespace {

std::string mapped_path(void* handle) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || !map || !map->l_name) return {};
  char resolved[PATH_MAX];
  return realpath(map->l_name, resolved) ? resolved : map->l_name;
}

bool try_open(const char* name, SharedLibrary& library) {
  library.handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  if (library.handle) {
    library.path = mapped_path(library.handle);
    library.error.clear();
    return true;
  }
  const char* why = dlerror();
  library.error += (library.error.empty() ? "" : "; ") + std::string(why ? why : name);
  return false;
}

}  // namespace

void* SharedLibrary::find(const char* symbol) const { return handle ? dlsym(handle, symbol) : nullptr; }

std::string environment_value(const char* name) {
  const char* value = getenv(name);
  return value ? value : "";
}

SharedLibrary open_library(const char* environment_variable, std::span<const char* const> names) {
  SharedLibrary library;
  if (const std::string given = environment_value(environment_variable); !given.empty()) {
    if (!try_open(given.c_str(), library)) library.error += " (" + std::string(environment_variable) + ")";
    return library;
  }
  for (const char* name : names)
    if (try_open(name, library)) break;
  return library;
}

}  // namespace dd::backends
