#include "cli/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "cli/output.hpp"

namespace dd::cli {

Progress::Progress(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO)), last_(std::chrono::steady_clock::now()) {}

void Progress::clear() {
  if (shown_) std::fputs("\r\033[K", stderr);
  shown_ = false;
}

void Progress::update(std::size_t done, std::size_t total) {
  if (quiet_ || total < 2) return;
  const auto now = std::chrono::steady_clock::now();
  const auto interval = terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10000);
  if (now - last_ < interval) return;
  last_ = now;
  if (!terminal_) {
    complain(fmt::format("{} of {} cases", done, total));
    return;
  }
  constexpr std::size_t width = 30;
  const std::size_t filled = done * width / total;
  say(fmt::format("\r\033[K[{}{}] {}/{}", std::string(filled, '#'), std::string(width - filled, ' '), done, total));
  std::fflush(stderr);
  shown_ = true;
}

}  // namespace dd::cli
