// Reads library logs (oneDNN verbose, cuBLAS, cuBLASLt, hipBLASLt, cuDNN and its front end) and pasted lines: kernel
// names and error texts. Lines of several libraries and other output may be mixed; each line goes to the reader that
// knows it, whatever stands before the marker. Nothing of an unknown line is kept.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "evidence/answer/answer.hpp"
#include "evidence/trace/source.hpp"
namespace dd::evidence {

class LogReader {
 public:
  virtual ~LogReader() = default;
  // True when the line is of this reader's library.
  virtual bool take(std::string_view line) = 0;
  virtual void finish(TraceAnswer& answer) = 0;
  // How much its lines prove: traced (implementations that ran are named), asked (a library's own answer), modelled.
  virtual std::string_view grade() const = 0;
};

std::unique_ptr<LogReader> onednn_reader();
std::unique_ptr<LogReader> cublas_reader();
std::unique_ptr<LogReader> cublaslt_reader();
std::unique_ptr<LogReader> cudnn_reader();
std::unique_ptr<LogReader> pasted_reader();  // kernel names and error texts; asked last

TraceAnswer answer_log(ByteSource& source, const std::string& file);
// Kernel names given by hand; those that the table does not know are listed as such.
TraceAnswer answer_kernels(const std::vector<std::string>& names);

// Of oneDNN: a plain implementation, the slowest there is.
bool is_reference(std::string_view implementation);

// --- shared by the readers
constexpr std::size_t most_call_groups = 20000;
constexpr std::size_t most_remarks = 200;
// Counts calls with the same values together; found by their text, so a long log costs one look-up a line.
class CallGroups {
 public:
  void add(CallGroup call);
  std::vector<CallGroup>& all() { return groups_; }
  const std::vector<CallGroup>& all() const { return groups_; }

 private:
  std::vector<CallGroup> groups_;
  std::unordered_map<std::string, std::size_t> index_;
};
std::string_view weaker(std::string_view a, std::string_view b);  // of two grades
void remark(TraceAnswer& answer, std::string_view text);
// Joins what several readers say about one operation.
PathVerdict joined(PathVerdict a, PathVerdict b);

}  // namespace dd::evidence
