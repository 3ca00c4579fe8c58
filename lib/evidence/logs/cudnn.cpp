// cuDNN back end logs (CUDNN_LOGLEVEL_DBG, CUDNN_LOGINFO_DBG; versions 7 to 9) and the front end's own lines.
#include <map>

#include "evidence/answer/rules.hpp"
#include "evidence/logs/logs.hpp"
#include "fmt/format.h"

namespace dd::evidence {
namespace {


class Cudnn : public LogReader {
 public:
  bool take(std::string_view text) override {
    if (text.find("[cudnn_frontend]") != std::string_view::npos || text.find("cudnn_frontend::") != std::string_view::npos) {
      take_frontend(text);
      return true;
    }
    const auto head = text.find("! CuDNN (v");
    if (head != std::string_view::npos && head > 0) {
      open(text.substr(head - 1));
      look_for_reason(text);
      return true;
    }
    if (!in_record_ || text.size() < 2 || text[1] != '!') return false;
    look_for_reason(text);
    return true;
  }

  std::string_view grade() const override { return executed_ > 0 ? "traced" : reasons_.empty() ? "modelled" : "asked"; }

  void finish(TraceAnswer& answer) override {
    for (const auto& [name, count] : functions_) answer.log_lines["call " + name] = count;
    if (!version_.empty()) answer.versions.push_back("cuDNN " + version_);
    judge(answer);
    // Engines that decline one after the other are how a plan is found: where one then ran they refused nothing.
    if (executed_ > 0 && refused_graphs() == 0) {
      for (const auto& [what, count] : reasons_) remark(answer, what);
      return;
    }
    // The general message says nothing by itself: the last specific one is the cause.
    std::string last;
    for (const auto& [what, count] : reasons_)
      if (!is_general(what)) last = what;
    for (const auto& [what, count] : reasons_) {
      std::string seen = fmt::format("{} ({} times)", what, count);
      if (is_general(what)) seen += last.empty() ? "; the log holds no more specific reason (raise CUDNN_LOGLEVEL_DBG to 3 and CUDNN_FRONTEND_LOG_INFO to 1)" : "; last specific reason: " + last;
      answer.findings.push_back(finding_of(is_general(what) ? "EVD058" : "EVD057", std::move(seen)));
      remark(answer, what);
    }
  }

 private:
  std::uint64_t refused_graphs() const {
    std::uint64_t out = 0;
    for (const auto& [what, count] : reasons_)
      if (is_general(what)) out += count;
    return out;
  }

  void judge(TraceAnswer& answer) const {
    if (!attention_) return;
    const bool ran = executed_attention_ > 0;
    const PathVerdict v = ran ? (refused_graphs() > 0 ? PathVerdict::mixed : PathVerdict::fast_path) : reasons_.empty() ? PathVerdict::cannot_tell : PathVerdict::fallback;
    answer.verdict.sdpa = joined(answer.verdict.sdpa, v);
    std::string& why = answer.verdict.sdpa_why;
    why += why.empty() ? "" : "; ";
    if (ran) why += fmt::format("cuDNN ran an attention plan{}", refused_graphs() > 0 ? ", and found none for another graph" : "");
    else why += reasons_.empty() ? "cuDNN was asked for attention; the log shows no refusal and names no kernel" : "cuDNN declined the attention graph";
  }

  static bool is_general(std::string_view text) {
    return text.find("No execution plans") != std::string_view::npos || text.find("No valid execution plans") != std::string_view::npos ||
           text.find("no engine configs") != std::string_view::npos;
  }

  void open(std::string_view text) {
    in_record_ = true;
    const auto version = text.find("(v") + 1;
    version_ = text.substr(version, std::min<std::size_t>(text.find_first_of(" )", version) - version, 20));
    const auto at = text.find("function ");
    if (at == std::string_view::npos) return;
    const auto end = text.find('(', at + 9);
    if (end != std::string_view::npos) {
      std::string name(text.substr(at + 9, std::min<std::size_t>(end - at - 9, 80)));
      if (const auto space = name.rfind(' '); space != std::string::npos) name.erase(0, space + 1);
      if (functions_.size() < 1000) ++functions_[name];
    }
  }

  void look_for_reason(std::string_view text) {
    if (text.find("SDPA") != std::string_view::npos || text.find("sdpa") != std::string_view::npos || text.find("ttention") != std::string_view::npos) attention_ = true;
    for (const std::string_view mark : {"Reason: ", "Error: ", "reason: "}) {
      const auto at = text.find(mark);
      if (at == std::string_view::npos) continue;
      add(text.substr(at));
      return;
    }
    if (text.starts_with("E!") && text.find("CUDNN_STATUS_") != std::string_view::npos) add(text.substr(text.find("CUDNN_STATUS_")));
  }

  void take_frontend(std::string_view text) {
    ++functions_["cudnn_frontend line"];
    for (const std::string_view mark : {"SDPA", "sdpa", "flash", "attn", "FLASH"})
      if (text.find(mark) != std::string_view::npos) attention_ = pending_attention_ = true;
    if (text.find("INFO: Executed ") != std::string_view::npos) {
      ++executed_;
      if (pending_attention_) ++executed_attention_;
      pending_attention_ = false;
    }
    const auto error = text.find("ERROR:") != std::string_view::npos ? text.find("ERROR:") + 6 : text.find("Error:") != std::string_view::npos ? text.find("Error:") + 6 : std::string_view::npos;
    if (error != std::string_view::npos) add(text.substr(error));
    else if (is_general(text)) add(text.substr(text.find("No ")));
  }

  void add(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    if (!text.empty() && reasons_.size() < 200) ++reasons_[std::string(text.substr(0, 300))];
    if (text.find("attention") != std::string_view::npos || text.find("No execution plans") != std::string_view::npos) attention_ = true;
  }

  bool in_record_ = false, attention_ = false;
  bool pending_attention_ = false;  // a graph with attention was described and has not run yet
  std::uint64_t executed_ = 0, executed_attention_ = 0;
  std::string version_;
  std::map<std::string, std::uint64_t> functions_, reasons_;
};

}  // namespace

std::unique_ptr<LogReader> cudnn_reader() { return std::make_unique<Cudnn>(); }

}  // namespace dd::evidence
