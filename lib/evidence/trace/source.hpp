// Bytes of a file, expanded on the way when it is gzip (told by its first bytes, not by its name).
// A file that expands beyond the stated ratio is cut there and the loss is recorded; nothing is ever read whole.
#pragma once
#include <cstdint>
#include <memory>
#include <string>

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

core::Result<std::unique_ptr<ByteSource>> open_source(const std::string& path, ExpandLimit limit = {});
std::unique_ptr<ByteSource> memory_source(std::string_view bytes, ExpandLimit limit = {});

}  // namespace dd::evidence
