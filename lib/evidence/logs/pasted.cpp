// What people paste one line of: a kernel name from a profiler (bare, or a row of its table), a warning or an error text.
// Known texts carry what they mean; the reasons that torch prints behind "not used because" are those of its own rules.
#include <map>

#include "evidence/answer/rules.hpp"
#include "evidence/answer/work.hpp"
#include "evidence/logs/known_texts.hpp"
#include "evidence/logs/logs.hpp"
#include "fmt/format.h"
#include "frameworks/torch/messages.hpp"
#include "frameworks/torch/torch.hpp"

namespace dd::evidence {
namespace {

constexpr std::size_t most_lines = 500, most_kernels = 20000, longest_table_row = 4096;
constexpr std::size_t most_rows = 3000;  // cells are looked at one by one: not in every line of a long log that holds no table

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view around = " \t\"'`,|*";
  const auto begin = text.find_first_not_of(around);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(around) + 1 - begin);
}

// The cells of a table row: apart by bars, quotes, tabs or several spaces.
std::vector<std::string_view> cells_of(std::string_view row) {
  std::vector<std::string_view> out;
  std::size_t begin = 0;
  const auto put = [&](std::size_t end) {
    std::string_view cell = trimmed(row.substr(begin, end - begin));
    while (cell.ends_with("...")) cell.remove_suffix(3);
    if (cell.size() >= 6 && out.size() < 64) out.push_back(cell);
  };
  for (std::size_t i = 0; i < row.size(); ++i) {
    const bool gap = row[i] == ' ' && i + 1 < row.size() && row[i + 1] == ' ';
    if (!gap && row[i] != '|' && row[i] != '\t' && row[i] != '"' && row[i] != '`') continue;
    put(i);
    begin = i + 1;
  }
  put(row.size());
  return out;
}

const rules::Rule* torch_rule(std::string_view id) {
  for (const auto& table : frameworks::torch_framework().tables())
    for (const rules::Rule& row : table)
      if (row.id == id) return &row;
  return nullptr;
}

// Torch's texts are told by parts of sentences; a log of something else may hold the short ones by chance.
bool may_be_torch(std::string_view text) {
  for (const std::string_view mark : {"Warning", "Error", "sdp_utils", "ttention", "sdpa", "fused kernel", "query", "attn_mask", "head_dim"})
    if (text.find(mark) != std::string_view::npos) return true;
  return false;
}

class Pasted : public LogReader {
 public:
  bool take(std::string_view text) override {
    text = trimmed(text);
    if (text.empty()) return false;
    for (const KnownText& each : known_texts())
      if (text.find(each.part) != std::string_view::npos) {
        if (!each.backend.empty()) backend_ = each.backend;
        if (seen_.size() < most_lines) seen_.push_back({&each, std::string(text.substr(0, 400)), false});
        return true;
      }
    return take_reason(text) || take_kernel(text);
  }

  void finish(TraceAnswer& answer) override {
    for (const Seen& each : seen_) {
      answer.verdict.sdpa = joined(answer.verdict.sdpa, each.text->sdpa);
      answer.verdict.gemm = joined(answer.verdict.gemm, each.text->gemm);
      if (!each.explained) add(answer, finding_of(each.text->id, each.line));
    }
    for (const auto& [id, line] : reasons_)
      if (const rules::Rule* rule = torch_rule(id)) add(answer, finding_of(*rule, line));
    if (!reasons_.empty()) {
      answer.verdict.sdpa = joined(answer.verdict.sdpa, PathVerdict::cannot_tell);
      answer.verdict.sdpa_why += fmt::format("torch named {} reasons for passing backends over; which one served the call it does not say", reasons_.size());
    }
    for (const auto& [name, kernel] : kernels_) {
      const PathVerdict v = judge_kernel(kernel.kind);
      if (kernel.kind.role == Role::gemm) answer.verdict.gemm = joined(answer.verdict.gemm, v);
      if (kernel.kind.role == Role::attention) answer.verdict.sdpa = joined(answer.verdict.sdpa, v);
      answer.kernels_seen += kernel.count;
      answer.kernels.push_back(kernel);
    }
    if (!kernels_.empty()) answer.verdict.attribution = "kernel_names_only";
  }

  static PathVerdict judge_kernel(const KernelClass& kind) {
    if (kind.role == Role::attention) return PathVerdict::fast_path;
    switch (gemm_state(kind)) {
      case GemmState::fast: return PathVerdict::fast_path;
      case GemmState::slow: return PathVerdict::fallback;
      case GemmState::degraded: return PathVerdict::mixed;
      case GemmState::vector: return PathVerdict::fast_path;  // bound by memory: the right kernel for one row
      case GemmState::unknown: break;
    }
    return PathVerdict::cannot_tell;
  }

 private:
  struct Seen {
    const KnownText* text;
    std::string line;
    bool explained;  // a reason followed: the line by itself says less
  };

  // One cause, one finding: repeats are counted by whoever reads the log, not listed.
  static void add(TraceAnswer& answer, EvidenceFinding finding) {
    for (const EvidenceFinding& known : answer.findings)
      if (known.id == finding.id && known.seen == finding.seen) return;
    answer.findings.push_back(std::move(finding));
  }

  bool take_reason(std::string_view text) {
    if (!may_be_torch(text)) return false;
    const auto ids = frameworks::torch::rules_of(text, backend_);
    if (ids.empty()) return false;
    // Several ids: the same check by release or by backend. One finding, the others named.
    std::string line(text.substr(0, 400));
    if (ids.size() > 1) {
      line += " (also";
      for (std::size_t i = 1; i < ids.size() && i < 8; ++i) line += fmt::format("{} {}", i > 1 ? "," : "", ids[i]);
      line += ": the same check elsewhere)";
    }
    if (reasons_.size() < most_lines) reasons_.emplace_back(ids.front(), std::move(line));
    for (std::size_t i = seen_.size(); i-- > 0;)
      if (seen_[i].text->backend == backend_ && !backend_.empty()) {
        seen_[i].explained = true;
        break;
      }
    return true;
  }

  bool take_kernel(std::string_view text) {
    if (remember(text)) return true;
    if (text.size() > longest_table_row || ++rows_ > most_rows) return false;
    for (const std::string_view cell : cells_of(text))
      if (cell.size() < text.size() && remember(cell)) {
        rows_ = 0;
        return true;
      }
    return false;
  }

  bool remember(std::string_view text) {
    const std::string name(text.substr(0, 1000));
    auto found = kernels_.find(name);
    if (found == kernels_.end()) {
      KernelClass kind = classify_kernel(text);
      if (!kind.known()) return false;
      if (kernels_.size() >= most_kernels) return true;
      found = kernels_.emplace(name, KernelSummary{name, std::move(kind)}).first;
    }
    ++found->second.count;
    return true;
  }

  std::vector<Seen> seen_;
  std::vector<std::pair<std::string_view, std::string>> reasons_;
  std::string_view backend_;
  std::size_t rows_ = 0;  // in a row, without a kernel's name
  std::map<std::string, KernelSummary> kernels_;
};

}  // namespace

std::unique_ptr<LogReader> pasted_reader() { return std::make_unique<Pasted>(); }

TraceAnswer answer_kernels(const std::vector<std::string>& names) {
  TraceAnswer answer;
  answer.file = "--kernel";
  answer.format = "kernel-names";
  answer.verdict.attribution = "kernel_names_only";
  Pasted reader;
  std::vector<std::string> unknown;
  for (const std::string& name : names)
    if (!reader.take(name)) unknown.push_back(name.substr(0, 1000));
  reader.finish(answer);
  for (const std::string& name : unknown) {
    KernelSummary summary;
    summary.name = name;
    summary.count = 1;
    ++answer.kernels_unclassified;
    answer.kernels.push_back(std::move(summary));
    answer.findings.push_back(finding_of("EVD007", name));
  }
  return answer;
}

}  // namespace dd::evidence
