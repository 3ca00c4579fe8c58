// Catches what C code in this process writes to file descriptor 1 while it lives: libraries print their logs there and
// offer no callback. Only one at a time; other threads must not write to standard output meanwhile.
#pragma once
#include <string>

namespace dd::backends {

class OutputCapture {
 public:
  OutputCapture();
  ~OutputCapture();
  OutputCapture(const OutputCapture&) = delete;
  OutputCapture& operator=(const OutputCapture&) = delete;
  // Puts standard output back and returns what was written, at most 1 MiB of it. Empty when capturing was not possible.
  std::string finish();

 private:
  int saved_ = -1, file_ = -1;
};

}  // namespace dd::backends
