#include "evidence/logs/logs.hpp"

#include <algorithm>

#include "evidence/answer/work.hpp"
#include "fmt/format.h"

namespace dd::evidence {
namespace {

constexpr std::size_t longest_line = 1u << 20;

// Lines one by one; a longer one than the limit is cut there and the rest of it dropped.
class Lines {
 public:
  Lines(ByteSource& source, Losses& losses) : source_(source), losses_(losses), buffer_(64 * 1024, 0) {}
  bool next(std::string& line) {
    line.clear();
    bool any = false;
    while (true) {
      if (at_ == size_) {
        size_ = source_.read(buffer_.data(), buffer_.size(), losses_);
        at_ = 0;
        if (size_ == 0) return any;
      }
      any = true;
      const auto* begin = buffer_.data() + at_;
      const auto* end = std::find(begin, static_cast<const char*>(buffer_.data()) + size_, '\n');
      const auto room = longest_line - std::min(line.size(), longest_line);
      const auto length = static_cast<std::size_t>(end - begin);
      if (length > room) ++losses_.oversized_events;
      line.append(begin, std::min(length, room));
      at_ += length;
      if (at_ < size_) {
        ++at_;
        while (!line.empty() && (line.back() == '\r' || line.back() == '\n')) line.pop_back();
        return true;
      }
    }
  }

 private:
  ByteSource& source_;
  Losses& losses_;
  std::string buffer_;
  std::size_t at_ = 0, size_ = 0;
};

// Escape sequences and control characters of a pasted terminal would upset the reader's own terminal.
void clean(std::string& line) {
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) == 0x7f) c = c == '\t' ? ' ' : '?';
}

}  // namespace

void CallGroups::add(CallGroup call) {
  std::string key = fmt::format("{}\n{}\n{}\n{}\n{}\n{}", call.function, call.implementation, call.problem, call.memory, call.attributes, call.engine);
  for (const auto& [name, value] : call.fields) key += fmt::format("\n{}={}", name, value);
  const auto found = index_.find(key);
  if (found != index_.end()) {
    groups_[found->second].count += call.count;
    groups_[found->second].ms += call.ms;
  } else if (groups_.size() < most_call_groups) {
    index_.emplace(std::move(key), groups_.size());
    groups_.push_back(std::move(call));
  }
}

std::string_view weaker(std::string_view a, std::string_view b) {
  for (const std::string_view grade : {"modelled", "asked", "ran"})
    if (a == grade || b == grade) return grade;
  return "traced";
}

void remark(TraceAnswer& answer, std::string_view text) {
  if (answer.remarks.size() < most_remarks) answer.remarks.emplace_back(text.substr(0, 600));
}

PathVerdict joined(PathVerdict a, PathVerdict b) {
  if (a == PathVerdict::none || a == b) return b;
  if (b == PathVerdict::none) return a;
  if (a == PathVerdict::cannot_tell) return b;
  if (b == PathVerdict::cannot_tell) return a;
  const auto failed = [](PathVerdict v) { return v == PathVerdict::no_path || v == PathVerdict::fallback; };
  if (failed(a) && failed(b)) return PathVerdict::no_path;
  return PathVerdict::mixed;
}

TraceAnswer answer_log(ByteSource& source, const std::string& file) {
  TraceAnswer answer;
  answer.file = file;
  answer.verdict.attribution = "library_log";
  std::unique_ptr<LogReader> readers[] = {onednn_reader(), cublas_reader(), cublaslt_reader(), cudnn_reader(), pasted_reader()};
  static constexpr std::string_view formats[] = {"onednn-verbose", "cublas-log", "cublaslt-log", "cudnn-log", "pasted-lines"};
  std::uint64_t taken[5] = {};
  Losses losses;
  Lines lines(source, losses);
  std::string line;
  std::uint64_t total = 0;
  while (lines.next(line)) {
    if (total++ == 0 && line.starts_with("\xef\xbb\xbf")) line.erase(0, 3);
    clean(line);
    for (std::size_t i = 0; i < 5; ++i)
      if (readers[i]->take(line)) {
        ++taken[i];
        break;
      }
  }
  for (std::size_t i = 0; i < 5; ++i)
    if (taken[i] > 0) {
      readers[i]->finish(answer);
      answer.verdict.grade = answer.format.empty() ? std::string(readers[i]->grade()) : std::string(weaker(answer.verdict.grade, readers[i]->grade()));
      answer.format += (answer.format.empty() ? "" : "+") + std::string(formats[i]);
    }
  if (answer.format.empty()) {
    answer.format = "unknown";
    answer.verdict.grade = "modelled";
  }
  add_call_specs(answer);
  if (total == 0) answer.warnings.push_back("the file is empty");
  else if (answer.format == "unknown") answer.warnings.push_back(fmt::format("none of {} lines is of a known library", total));
  if (losses.truncated) answer.warnings.push_back("the compressed file ends in the middle: the rest is lost");
  if (losses.bomb) answer.warnings.push_back("the file expands beyond the limit: the rest is lost");
  if (losses.compression_error) answer.warnings.push_back("the compressed data is damaged: the rest is lost");
  if (losses.oversized_events > 0) answer.warnings.push_back(fmt::format("{} lines longer than {} bytes were cut", losses.oversized_events, longest_line));
  if (!losses.detail.empty()) answer.warnings.push_back(losses.detail);
  answer.partial = losses.any() || answer.format == "unknown";
  return answer;
}

}  // namespace dd::evidence
