// Progress on standard error: a bar on a terminal, else a line every ten seconds; nothing with -q or for a single case.
#pragma once
#include <chrono>
#include <cstddef>

namespace dd::cli {

class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void clear();  // before anything else is printed
  void update(std::size_t done, std::size_t total);

 private:
  bool quiet_, terminal_, shown_ = false;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace dd::cli
