#include "session/mapped_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace dd::session {
namespace {

core::Problem system_problem(const std::string& path, const char* what, int error) {
  core::Problem p;
  p.field = "file";
  p.seen = path;
  p.message = fmt::format("{}: {}", what, std::strerror(error));
  return p;
}

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

core::Result<std::shared_ptr<MappedFile>> MappedFile::open(const std::string& path, MapMode mode, std::int64_t bytes) {
  const int flags = mode == MapMode::read         ? O_RDONLY
                    : mode == MapMode::read_write ? O_RDWR
                                                  : O_RDWR | O_CREAT | O_EXCL;
  const Descriptor d{::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK, 0600)};  // non-blocking: a FIFO must not hang us
  if (d.fd < 0) return system_problem(path, "cannot open", errno);
  struct stat info {};
  if (::fstat(d.fd, &info) != 0) return system_problem(path, "cannot read its size", errno);
  if (!S_ISREG(info.st_mode)) return core::Problem{"file", path, "a regular file", "not a regular file", {}, 0};
  std::int64_t size = info.st_size;
  if (mode == MapMode::create) {
    size = bytes;
    // Reserves the space now: running out of it later would be a SIGBUS in the middle of a copy.
    const int error = size > 0 ? ::posix_fallocate(d.fd, 0, size) : 0;
    if (error != 0) {
      ::unlink(path.c_str());
      return system_problem(path, "cannot reserve its space", error);
    }
  }
  if (size == 0) return std::shared_ptr<MappedFile>(new MappedFile(path, nullptr, 0));
  // Reading maps privately, so that a careless backend that writes its inputs harms nobody else.
  const int protection = PROT_READ | PROT_WRITE;
  void* at = ::mmap(nullptr, static_cast<std::size_t>(size), protection, mode == MapMode::read ? MAP_PRIVATE : MAP_SHARED, d.fd, 0);
  if (at == MAP_FAILED) return system_problem(path, "cannot map", errno);
  return std::shared_ptr<MappedFile>(new MappedFile(path, static_cast<std::byte*>(at), size));
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(data_, static_cast<std::size_t>(size_));
}

}  // namespace dd::session
