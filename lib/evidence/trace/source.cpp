#include "evidence/trace/source.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "evidence/trace/decode.hpp"

namespace dd::evidence {
namespace {

class Plain : public ByteSource {
 public:
  Plain(int fd, std::uint64_t size) : fd_(fd), size_(size) {}
  Plain(const Plain&) = delete;
  Plain& operator=(const Plain&) = delete;
  ~Plain() override { ::close(fd_); }
  std::size_t read(char* to, std::size_t room, Losses& losses) override {
    while (true) {
      const ssize_t got = ::read(fd_, to, room);
      if (got >= 0) {
        read_ += static_cast<std::uint64_t>(got);
        return static_cast<std::size_t>(got);
      }
      if (errno == EINTR) continue;
      losses.detail = std::string("reading stopped: ") + std::strerror(errno);
      return 0;
    }
  }
  std::uint64_t stored_read() const override { return read_; }
  std::uint64_t stored_size() const override { return size_; }

 private:
  int fd_;
  std::uint64_t size_, read_ = 0;
};

class Memory : public ByteSource {
 public:
  explicit Memory(std::string_view bytes) : bytes_(bytes) {}
  std::size_t read(char* to, std::size_t room, Losses&) override {
    const std::size_t n = std::min(room, bytes_.size() - at_);
    if (n > 0) std::memcpy(to, bytes_.data() + at_, n);
    at_ += n;
    return n;
  }
  std::uint64_t stored_read() const override { return at_; }
  std::uint64_t stored_size() const override { return bytes_.size(); }

 private:
  std::string_view bytes_;
  std::size_t at_ = 0;
};

bool is_gzip(std::string_view head) { return head.size() >= 2 && head[0] == '\x1f' && head[1] == '\x8b'; }

constexpr int most_layers = 4;  // gzip in gzip in gzip: somebody's mistake, or a trap

std::unique_ptr<PeekSource> layered(std::unique_ptr<ByteSource> raw, ExpandLimit limit) {
  auto out = std::make_unique<PeekSource>(std::move(raw));
  for (int depth = 0; depth < most_layers && is_gzip(out->peek(2)); ++depth) out = std::make_unique<PeekSource>(gzip_source(std::move(out), limit));
  const std::string_view head = out->peek(2);
  if (head == "\xff\xfe" || head == "\xfe\xff") {
    const bool little = head[0] == '\xff';
    out = std::make_unique<PeekSource>(utf16_source(std::move(out), little));
  }
  return out;
}

// A named pipe without a writer would block for ever: it gets some seconds. Empty when there is something to read.
std::string wait_for_writer(int fd) {
  pollfd one{fd, POLLIN, 0};
  const int ready = ::poll(&one, 1, 10000);
  if (ready == 0) return "is a pipe that no program writes to";
  const int flags = ::fcntl(fd, F_GETFL);
  if (ready < 0 || flags < 0 || ::fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0) return std::string("cannot be read: ") + std::strerror(errno);
  return {};
}

bool endless(const struct stat& info, int fd) {
  if (S_ISBLK(info.st_mode)) return true;
  return S_ISCHR(info.st_mode) && ::isatty(fd) == 0 && info.st_rdev != makedev(1, 3);  // all but terminals and /dev/null
}

}  // namespace

std::string_view PeekSource::peek(std::size_t most) {
  while (head_.size() < most) {
    const std::size_t had = head_.size();
    head_.resize(most);
    const std::size_t got = inner_->read(head_.data() + had, most - had, early_);
    head_.resize(had + got);
    if (got == 0) break;
  }
  return std::string_view(head_).substr(0, most);
}

std::size_t PeekSource::read(char* to, std::size_t room, Losses& losses) {
  if (early_.any()) {
    losses.truncated |= early_.truncated;
    losses.bomb |= early_.bomb;
    losses.compression_error |= early_.compression_error;
    if (!early_.detail.empty()) losses.detail = early_.detail;
    early_ = {};
  }
  if (taken_ == head_.size()) return inner_->read(to, room, losses);
  const std::size_t n = std::min(room, head_.size() - taken_);
  std::memcpy(to, head_.data() + taken_, n);
  taken_ += n;
  return n;
}

core::Result<std::unique_ptr<PeekSource>> open_source(const std::string& path, ExpandLimit limit) {
  const auto fail = [&](const std::string& why) {
    return core::Problem{.field = "FILE", .seen = path, .wanted = "a readable file", .message = why, .file = {}};
  };
  struct stat named{};
  const bool pipe = path != "-" && ::lstat(path.c_str(), &named) == 0 && S_ISFIFO(named.st_mode);
  const int fd = path == "-" ? ::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | (pipe ? O_NONBLOCK : 0));
  if (fd < 0) return fail(std::string("cannot be opened: ") + std::strerror(errno));
  struct stat info{};
  std::string why;
  if (::fstat(fd, &info) != 0) why = std::string("cannot be looked at: ") + std::strerror(errno);
  else if (S_ISDIR(info.st_mode)) why = "is a directory";
  else if (endless(info, fd)) why = "is a device, not a file";
  else if (pipe) why = wait_for_writer(fd);
  if (!why.empty()) {
    ::close(fd);
    return fail(why);
  }
  return layered(std::make_unique<Plain>(fd, S_ISREG(info.st_mode) ? static_cast<std::uint64_t>(info.st_size) : 0), limit);
}

std::unique_ptr<PeekSource> memory_source(std::string_view bytes, ExpandLimit limit) { return layered(std::make_unique<Memory>(bytes), limit); }

bool is_bare_file(const std::string& path) {
  struct stat info{};
  if (path == "-" || ::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return false;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char head[2] = {};
  const bool packed = ::read(fd, head, sizeof head) == 2 && is_gzip({head, 2});
  ::close(fd);
  return !packed;
}

}  // namespace dd::evidence
