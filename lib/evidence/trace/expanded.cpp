#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "evidence/trace/nsys.hpp"

namespace dd::evidence {
namespace {

bool write_all(int fd, const char* data, std::size_t size) {
  while (size > 0) {
    const ssize_t n = ::write(fd, data, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    data += n;
    size -= static_cast<std::size_t>(n);
  }
  return true;
}

}  // namespace

core::Result<ExpandedFile> ExpandedFile::make(const std::string& path, Losses& losses, ExpandLimit limit) {
  auto source = open_source(path, limit);
  if (!source) return source.problems();
  std::vector<char> buffer(256 * 1024);
  std::size_t got = (*source)->read(buffer.data(), buffer.size(), losses);
  if (got < 16 || (*source)->stored_size() == 0) return ExpandedFile(path, false);
  unsigned char head[2] = {};
  const int raw = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool compressed = raw >= 0 && ::pread(raw, head, 2, 0) == 2 && head[0] == 0x1f && head[1] == 0x8b;
  if (raw >= 0) ::close(raw);
  if (!compressed) return ExpandedFile(path, false);

  const char* folder = std::getenv("TMPDIR");
  std::string name = std::string(folder != nullptr && *folder != 0 ? folder : "/tmp") + "/dispatchdoctor-XXXXXX";
  const int fd = ::mkstemp(name.data());  // readable by this user only
  if (fd < 0)
    return core::Problem{.field = "FILE", .seen = path, .wanted = "room for a temporary copy", .message = std::string("cannot be expanded: ") + std::strerror(errno), .file = {}};
  ExpandedFile out(name, true);
  bool good = true;
  while (got > 0 && good) {
    good = write_all(fd, buffer.data(), got);
    got = good ? (*source)->read(buffer.data(), buffer.size(), losses) : 0;
  }
  ::close(fd);
  if (!good) losses.detail = "the temporary copy could not be written in full";
  return out;
}

ExpandedFile::ExpandedFile(ExpandedFile&& other) noexcept : path_(std::move(other.path_)), owned_(other.owned_) { other.owned_ = false; }
ExpandedFile::~ExpandedFile() {
  if (owned_) ::unlink(path_.c_str());
}

}  // namespace dd::evidence
