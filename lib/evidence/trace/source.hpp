// Bytes of a file as UTF-8 text or as they are: gzip is expanded on the way (also gzip in gzip) and UTF-16 becomes UTF-8,
// told by the first bytes, not by the name. A file that expands beyond the stated ratio is cut there and the loss is
// recorded; nothing is ever read whole. Pipes can be read: a file is opened once, and its beginning can be looked at first.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/result.hpp"
#include "evidence/trace/records.hpp"
namespace dd::evidence {

struct ExpandLimit {
  std::uint64_t free_bytes = 64ull << 20;  // always allowed
  std::uint64_t ratio = 200;               // expanded bytes per stored byte beyond that (real traces: 12 to 40)
};

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills up to `room` bytes; 0 at the end. Troubles go to `losses`.
  virtual std::size_t read(char* to, std::size_t room, Losses& losses) = 0;
  virtual std::uint64_t stored_read() const = 0;  // for progress
  virtual std::uint64_t stored_size() const = 0;
};

// A source whose beginning can be looked at before it is read.
class PeekSource : public ByteSource {
 public:
  explicit PeekSource(std::unique_ptr<ByteSource> inner) : inner_(std::move(inner)) {}
  // Up to `most` bytes from the start; to be called before the first read.
  std::string_view peek(std::size_t most);
  std::size_t read(char* to, std::size_t room, Losses& losses) override;
  std::uint64_t stored_read() const override { return inner_->stored_read(); }
  std::uint64_t stored_size() const override { return inner_->stored_size(); }

 private:
  std::unique_ptr<ByteSource> inner_;
  std::string head_;
  std::size_t taken_ = 0;
  Losses early_;  // of looking ahead; handed on by the first read
};

// "-" is standard input. Fails for directories, for devices that never end, and for a pipe that nobody writes to.
core::Result<std::unique_ptr<PeekSource>> open_source(const std::string& path, ExpandLimit limit = {});
std::unique_ptr<PeekSource> memory_source(std::string_view bytes, ExpandLimit limit = {});
// True when the path is a plain file whose bytes are not packed: what SQLite can open where it lies.
bool is_bare_file(const std::string& path);

}  // namespace dd::evidence
