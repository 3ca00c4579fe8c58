#include <atomic>
#include <cstdlib>
#include <string>

#include "ops/simd/kernels.hpp"

namespace dd::ops::simd {
namespace {

bool machine_has(std::string_view name) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (name == "avx2") return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  if (name == "avx512")
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma");
#endif
  return name == "portable";
}

const Kernels* find(std::string_view name) {
  for (const Kernels* candidate : {portable_kernels(), avx2_kernels(), avx512_kernels()})
    if (candidate && candidate->name == name && machine_has(name)) return candidate;
  return nullptr;
}

struct State {
  std::atomic<const Kernels*> current{nullptr};
  std::string problem;
  State() {
    const char* wanted = std::getenv("DD_ISA");
    const Kernels* chosen = wanted && *wanted ? find(wanted) : nullptr;
    if (wanted && *wanted && !chosen) problem = std::string("DD_ISA=") + wanted + " is not available on this machine";
    current = chosen ? chosen : find(available_isas().back());
  }
};

State& state() {
  static State instance;
  return instance;
}

}  // namespace

std::vector<std::string_view> available_isas() {
  std::vector<std::string_view> names;
  for (std::string_view name : {"portable", "avx2", "avx512"})
    if (find(name)) names.push_back(name);
  return names;
}

const Kernels& kernels() {
  return *state().current.load(std::memory_order_acquire);
}

bool set_isa(std::string_view name) {
  const Kernels* chosen = find(name);
  if (chosen) state().current.store(chosen, std::memory_order_release);
  return chosen != nullptr;
}

std::string_view isa_problem() {
  return state().problem;
}

}  // namespace dd::ops::simd
