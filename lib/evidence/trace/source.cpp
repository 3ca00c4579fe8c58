#include "evidence/trace/source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

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

class Gzip : public ByteSource {
 public:
  Gzip(std::unique_ptr<ByteSource> inner, ExpandLimit limit) : inner_(std::move(inner)), limit_(limit), input_(256 * 1024) {
    ok_ = inflateInit2(&stream_, 15 + 32) == Z_OK;
  }
  Gzip(const Gzip&) = delete;
  Gzip& operator=(const Gzip&) = delete;
  ~Gzip() override { inflateEnd(&stream_); }

  std::size_t read(char* to, std::size_t room, Losses& losses) override {
    std::size_t done = 0;
    while (ok_ && done == 0) {
      if (stream_.avail_in == 0) {
        const std::size_t got = inner_->read(input_.data(), input_.size(), losses);
        if (got == 0) {
          if (!between_members_) losses.truncated = true;  // the compressed stream has no end mark
          ok_ = false;
          break;
        }
        stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
        stream_.avail_in = static_cast<uInt>(got);
      }
      stream_.next_out = reinterpret_cast<Bytef*>(to);
      stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(room, 1u << 30));
      const uInt before = stream_.avail_out;
      const bool was_between = between_members_;
      const int code = inflate(&stream_, Z_NO_FLUSH);
      done = before - stream_.avail_out;
      written_ += done;
      between_members_ = code == Z_STREAM_END;
      if (code == Z_STREAM_END) {
        inflateReset(&stream_);  // gzip files may be put end to end
      } else if (code != Z_OK && code != Z_BUF_ERROR) {
        losses.compression_error = !was_between;  // padding behind the last member is no loss
        ok_ = false;
      }
      const std::uint64_t used = inner_->stored_read() - stream_.avail_in;
      if (written_ > limit_.free_bytes && written_ / std::max<std::uint64_t>(used, 1) > limit_.ratio) {
        losses.bomb = true;
        ok_ = false;
      }
    }
    return done;
  }
  std::uint64_t stored_read() const override { return inner_->stored_read(); }
  std::uint64_t stored_size() const override { return inner_->stored_size(); }

 private:
  std::unique_ptr<ByteSource> inner_;
  ExpandLimit limit_;
  std::vector<char> input_;
  z_stream stream_{};
  std::uint64_t written_ = 0;
  bool ok_ = false;
  bool between_members_ = false;
};

bool is_gzip(const unsigned char* head, std::size_t size) { return size >= 2 && head[0] == 0x1f && head[1] == 0x8b; }

}  // namespace

core::Result<std::unique_ptr<ByteSource>> open_source(const std::string& path, ExpandLimit limit) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const auto fail = [&](const std::string& why) {
    return core::Problem{.field = "FILE", .seen = path, .wanted = "a readable file", .message = why, .file = {}};
  };
  if (fd < 0) return fail(std::string("cannot be opened: ") + std::strerror(errno));
  struct stat info{};
  if (::fstat(fd, &info) != 0 || S_ISDIR(info.st_mode)) {
    ::close(fd);
    return fail("is not a file");
  }
  unsigned char head[2] = {};
  const ssize_t got = ::pread(fd, head, sizeof head, 0);
  std::unique_ptr<ByteSource> plain = std::make_unique<Plain>(fd, static_cast<std::uint64_t>(info.st_size));
  if (got == 2 && is_gzip(head, 2)) return std::unique_ptr<ByteSource>(std::make_unique<Gzip>(std::move(plain), limit));
  return plain;
}

std::unique_ptr<ByteSource> memory_source(std::string_view bytes, ExpandLimit limit) {
  std::unique_ptr<ByteSource> plain = std::make_unique<Memory>(bytes);
  if (is_gzip(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size()))
    return std::make_unique<Gzip>(std::move(plain), limit);
  return plain;
}

}  // namespace dd::evidence
