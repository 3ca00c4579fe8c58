// What people paste one line of: a kernel name from a profiler (bare, or a row of its table), a warning or an error text.
// Known texts carry what they mean; the reasons that torch prints behind "not used because" are those of its own rules.
#include <map>

#include "evidence/answer/rules.hpp"
#include "evidence/answer/by_name.hpp"
#include "evidence/logs/known_texts.hpp"
#include "evidence/logs/logs.hpp"
#include "evidence/logs/torch_lines.hpp"
#include "fmt/format.h"

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

class Pasted : public LogReader {
 public:
  bool take(std::string_view text) override {
    text = trimmed(text);
    if (text.empty()) return false;
    for (const KnownText& each : known_texts())
      if (text.find(each.part) != std::string_view::npos) {
        if (!each.backend.empty()) backend_ = each.backend;
        if (seen_.size() < most_lines) seen_.push_back({&each, std::string(text.substr(0, 400)), false, each.raises && text.find("Error") != std::string_view::npos});
        return true;
      }
    return take_reason(text) || take_kernel(text);
  }

  // A name proves nothing that ran; a refusal is the library's own answer.
  std::string_view grade() const override { return kernels_.empty() ? "asked" : "modelled"; }

  void keep_unknown(std::string_view name) {
    const std::string text(name.substr(0, 1000));
    ++kernels_.emplace(text, KernelSummary{text, {}}).first->second.count;
  }

  void finish(TraceAnswer& answer) override {
    bool raised = false;
    for (const Seen& each : seen_) {
      const auto verdict = [&](PathVerdict v) { return each.raised && v != PathVerdict::none ? PathVerdict::no_path : v; };
      answer.verdict.sdpa = joined(answer.verdict.sdpa, verdict(each.text->sdpa));
      answer.verdict.gemm = joined(answer.verdict.gemm, verdict(each.text->gemm));
      raised = raised || verdict(each.text->sdpa) == PathVerdict::no_path;
      if (!each.explained) add(answer, finding_of(each.text->id, each.line));
    }
    for (const Reason& each : reasons_) add(answer, finding_of(*each.rule, each.line));
    explain_attention(answer, raised);
    std::vector<KernelSummary> kernels;
    for (const auto& [name, kernel] : kernels_) kernels.push_back(kernel);
    if (kernels.empty()) return;
    answer.verdict.attribution = "kernel_names_only";
    add_named_kernels(answer, std::move(kernels));
  }

 private:
  struct Seen {
    const KnownText* text;
    std::string line;
    bool explained;  // a reason followed: the line by itself says less
    bool raised;     // printed as an error that ended the call
  };
  struct Reason {
    const rules::Rule* rule;
    std::string line, backend;
  };

  // One cause, one finding: repeats are counted by whoever reads the log, not listed.
  static void add(TraceAnswer& answer, EvidenceFinding finding) {
    for (const EvidenceFinding& known : answer.findings)
      if (known.id == finding.id && known.seen == finding.seen) return;
    answer.findings.push_back(std::move(finding));
  }

  void explain_attention(TraceAnswer& answer, bool raised) const {
    if (!raised && reasons_.empty()) return;
    std::string declined;
    for (const Reason& each : reasons_)
      if (const std::string one = fmt::format("{} ({})", each.backend, each.rule->id); declined.find(one) == std::string::npos) declined += (declined.empty() ? "" : ", ") + one;
    std::string& why = answer.verdict.sdpa_why;
    why += why.empty() ? "" : "; ";
    if (raised) {
      why += "the call failed: no backend took it, nothing ran";
      if (!declined.empty()) why += "; passed over: " + declined;
      return;
    }
    answer.verdict.sdpa = joined(answer.verdict.sdpa, PathVerdict::cannot_tell);
    why += fmt::format("torch passed over {}; which backend then served the call the lines do not say", declined);
  }

  bool take_reason(std::string_view text) {
    const auto rules = rules_behind(text, backend_);
    if (rules.empty()) return false;
    // Several rules: the same check by release, or by backend. One finding, the others named.
    std::string line(text.substr(0, 400));
    for (std::size_t i = 1; i < rules.size() && i < 8; ++i) line += fmt::format("{}{}", i > 1 ? ", " : " (also ", rules[i]->id);
    if (rules.size() > 1) line += ": the same check in other releases or backends)";
    if (reasons_.size() < most_lines) reasons_.push_back({rules.front(), std::move(line), std::string(rules.front()->scope)});
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
  std::vector<Reason> reasons_;
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
  for (const std::string& name : names)
    if (!reader.take(name)) reader.keep_unknown(name);
  reader.finish(answer);
  answer.verdict.grade = reader.grade();
  return answer;
}

}  // namespace dd::evidence
