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

core::Result<ExpandedFile> ExpandedFile::make(ByteSource& source, const std::string& name, Losses& losses) {
  if (is_bare_file(name)) return ExpandedFile(name, false);
  const char* folder = std::getenv("TMPDIR");
  std::string copy = std::string(folder != nullptr && *folder != 0 ? folder : "/tmp") + "/dispatchdoctor-XXXXXX";
  const int fd = ::mkstemp(copy.data());  // readable by this user only
  if (fd < 0)
    return core::Problem{.field = "FILE", .seen = name, .wanted = "room for a temporary copy", .message = std::string("cannot be expanded: ") + std::strerror(errno), .file = {}};
  ExpandedFile out(copy, true);
  std::vector<char> buffer(256 * 1024);
  bool good = true;
  for (std::size_t got = source.read(buffer.data(), buffer.size(), losses); got > 0 && good; got = good ? source.read(buffer.data(), buffer.size(), losses) : 0)
    good = write_all(fd, buffer.data(), got);
  ::close(fd);
  if (!good) losses.detail = "the temporary copy could not be written in full";
  return out;
}

ExpandedFile::ExpandedFile(ExpandedFile&& other) noexcept : path_(std::move(other.path_)), owned_(other.owned_) { other.owned_ = false; }
ExpandedFile::~ExpandedFile() {
  if (owned_) ::unlink(path_.c_str());
}

}  // namespace dd::evidence
