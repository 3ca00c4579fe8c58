#include "backends/libraries/capture.hpp"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

namespace dd::backends {

OutputCapture::OutputCapture() {
  fflush(stdout);
  file_ = memfd_create("library-output", MFD_CLOEXEC);
  if (file_ < 0) return;
  saved_ = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
  // With standard output closed there is nothing to put back, and nothing that could be disturbed.
  if (dup2(file_, STDOUT_FILENO) < 0) {
    if (saved_ >= 0) close(saved_);
    close(file_);
    saved_ = file_ = -1;
  }
}

std::string OutputCapture::finish() {
  if (file_ < 0) return {};
  fflush(stdout);
  if (saved_ >= 0) {
    dup2(saved_, STDOUT_FILENO);
    close(saved_);
  } else {
    close(STDOUT_FILENO);
  }
  constexpr off_t most = 1 << 20;
  std::string text;
  const off_t size = lseek(file_, 0, SEEK_END);
  text.resize(static_cast<std::size_t>(size < 0 ? 0 : size < most ? size : most));
  const ssize_t got = pread(file_, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(got < 0 ? 0 : got));
  close(file_);
  saved_ = file_ = -1;
  return text;
}

OutputCapture::~OutputCapture() { finish(); }

}  // namespace dd::backends
