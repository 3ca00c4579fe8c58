// A file mapped into memory: read-only with private pages, or shared and writable (what one process writes, the other sees).
// Owns descriptor and mapping; a failure is a Problem with the system's own words, never an exception.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/result.hpp"

namespace dd::session {

enum class MapMode { read, read_write, create };

class MappedFile {
 public:
  // `bytes` is used by create (new file, mode 0600, that size); the other two map the whole file.
  static core::Result<std::shared_ptr<MappedFile>> open(const std::string& path, MapMode mode, std::int64_t bytes = 0);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::byte* data() const { return data_; }
  std::int64_t size() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  MappedFile(std::string path, std::byte* data, std::int64_t size) : path_(std::move(path)), data_(data), size_(size) {}
  std::string path_;
  std::byte* data_ = nullptr;
  std::int64_t size_ = 0;
};

}  // namespace dd::session
