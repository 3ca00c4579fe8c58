// What the benchmark measures with: timing, the machine's peak, peak memory of a child process, OpenBLAS opened at run
// time, and the list of figures that is printed as text or JSON.
#pragma once
#include <functional>
#include <string>

#include "ops/attention/attention.hpp"

namespace dd::bench {

// Adds a figure; a value below 0 means unavailable. Text is printed at once, JSON at the end.
// unit: "ratio", "share", "GF/s" or "MiB".
void report(const std::string& name, double value, const std::string& unit, const std::string& note = "");
void use_json();
void print_json(int threads);

// Best of `repeats` runs in seconds, at least one. One thread (which is then the caller's) is timed by processor time,
// several by the clock.
double best_of(int repeats, const std::function<void()>& work, int threads);

// Fused multiply-adds in operations a second on `threads` threads, f64 (wide) or f32.
double peak(int threads, bool wide);

// Peak resident memory, in MiB above what the process had before, of `work` run in a child process; below 0 on failure.
double peak_memory(const std::function<bool()>& work);

// OpenBLAS by its CBLAS entry points.
class OpenBlas {
 public:
  explicit OpenBlas(int threads);
  bool available() const { return sgemm_ != nullptr; }
  ops::BlasTable table();

 private:
  using Sgemm = void (*)(int, int, int, int, int, int, float, const float*, int, const float*, int, float, float*, int);
  Sgemm sgemm_ = nullptr;
};

}  // namespace dd::bench
