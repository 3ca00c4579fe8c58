// Reads an Nsight Systems SQLite export into the same records as a profiler trace: kernels, calls, NVTX ranges as
// operators. Tables and columns are asked for first, because both are made only for what was traced. Correlation ids
// repeat between processes, so the process is part of the key. Tables that hold environments are never opened.
#pragma once
#include <string>

#include "core/result.hpp"
#include "evidence/trace/kineto.hpp"
#include "evidence/trace/records.hpp"
namespace dd::evidence {

void read_nsys(const std::string& path, Trace& trace, const Progress& progress = {});

// The database as SQLite can open it: the file itself where it lies bare on the disk, else what the source gives in a
// private temporary file that is removed with this object.
class ExpandedFile {
 public:
  static core::Result<ExpandedFile> make(ByteSource& source, const std::string& name, Losses& losses);
  ExpandedFile(ExpandedFile&& other) noexcept;
  ExpandedFile& operator=(ExpandedFile&&) = delete;
  ExpandedFile(const ExpandedFile&) = delete;
  ~ExpandedFile();
  const std::string& path() const { return path_; }

 private:
  ExpandedFile(std::string path, bool owned) : path_(std::move(path)), owned_(owned) {}
  std::string path_;
  bool owned_;
};

}  // namespace dd::evidence
