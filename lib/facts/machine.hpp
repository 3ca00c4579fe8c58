// Machine: what this host offers, measured: processor, vector extensions, threads that may really be used (affinity and
// cgroup quota), memory that may really be allocated (cgroup and address-space limits). Nothing here fails: what cannot be
// read stays empty, and the fact that follows from it stays unknown.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "facts/facts.hpp"

namespace dd::facts {

struct Machine {
  std::string cpu_model;                 // as the processor names itself; empty: unknown
  std::string architecture;              // x86_64, aarch64, …
  std::string isa = "portable";          // portable, avx2 or avx512: what own kernels and rules distinguish
  std::vector<std::string> isa_levels;   // every vector extension of interest that processor and system support
  bool bf16 = false;                     // multiplies bf16 pairs natively
  bool vnni = false;                     // 8-bit dot products
  int logical_cpus = 0;                  // online processors
  int affinity_cpus = 0;                 // of these, processors that this process may run on
  std::optional<double> cgroup_cpus;     // quota in processors; absent: none
  int threads = 1;                       // what follows from the three
  std::optional<std::int64_t> memory_total, memory_free;             // of the host; free counts what can be reclaimed
  std::optional<std::int64_t> cgroup_memory, address_space;          // what limits leave over; absent: no limit
  std::optional<std::int64_t> memory_available;                      // the smallest of what is known
};

// Reads /proc and /sys below `root` (tests pass a folder of their own).
Machine measure_machine(const std::string& root = "");
// Measured once for this process.
const Machine& machine();
// cpu_*, memory_available; memory is measured anew on each call.
void add_machine_facts(FactSet& facts);

}  // namespace dd::facts
