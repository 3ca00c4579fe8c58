// A library opened at run time. Where its environment variable holds a path, only that path is tried, so that another
// build, or a missing or broken one, can be put in place of the system's. Failure is text, never an exception.
// Libraries stay open for the life of the process: their threads and exit handlers do not survive unloading.
#pragma once
#include <span>
#include <string>

namespace dd::backends {

struct SharedLibrary {
  void* handle = nullptr;
  std::string path;   // of the file that was really mapped
  std::string error;  // every attempt that failed, when none worked

  explicit operator bool() const { return handle != nullptr; }
  void* find(const char* symbol) const;
  // Fills `slot`; false when the symbol is absent.
  template <class F>
  bool find(F*& slot, const char* symbol) const {
    slot = reinterpret_cast<F*>(find(symbol));
    return slot != nullptr;
  }
};

SharedLibrary open_library(const char* environment_variable, std::span<const char* const> names);

// The variable's value; empty when unset.
std::string environment_value(const char* name);

}  // namespace dd::backends
