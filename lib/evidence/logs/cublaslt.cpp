// cuBLASLt and hipBLASLt logs: "[time][cublasLt][pid][Level][function] key=value key=[k=v k=v]", the time missing in
// older versions, everything before the level missing in some error lines.
#include <array>
#include <map>

#include "evidence/answer/rules.hpp"
#include "evidence/logs/logs.hpp"
#include "fmt/format.h"

namespace dd::evidence {
namespace {


class CublasLt : public LogReader {
 public:
  bool take(std::string_view text) override {
    const bool nvidia = text.find("[cublasLt") != std::string_view::npos;
    const bool amd = text.find("[HIPBLASLT]") != std::string_view::npos || text.find("[hipblaslt]") != std::string_view::npos;
    const bool bench = text.find("hipblaslt-bench ") != std::string_view::npos;
    if (!nvidia && !amd && !bench) return false;
    ++lines_;
    if (bench) {
      ++products_;
      return true;
    }
    std::string level, function;
    const std::string_view rest = read_brackets(text, level, function);
    if (function.empty()) return true;
    ++functions_[function];
    if (level == "Error") take_error(function, rest);
    const bool matmul = function.find("Matmul") != std::string::npos && function.find("Desc") == std::string::npos && function.find("Layout") == std::string::npos &&
                        function.find("Preference") == std::string::npos;
    if (!matmul || level == "Error") return true;
    CallGroup call;
    call.library = nvidia ? "cuBLASLt" : "hipBLASLt";
    call.function = function;
    call.count = 1;
    read_pairs(rest, call.fields);
    if (call.fields.empty()) return true;
    ++products_;
    calls_.add(std::move(call));
    return true;
  }

  void finish(TraceAnswer& answer) override {
    answer.log_lines["cublasLt lines"] = lines_;
    for (const auto& [name, count] : functions_) answer.log_lines["call " + name] = count;
    judge(answer);
    for (const auto& [what, count] : errors_) {
      answer.findings.push_back(finding_of("EVD056", fmt::format("{} ({} times)", what, count)));
      remark(answer, what);
    }
    for (CallGroup& each : calls_.all()) answer.calls.push_back(std::move(each));
  }

 private:
  // The words in brackets at the front; gives back what follows them.
  static std::string_view read_brackets(std::string_view text, std::string& level, std::string& function) {
    static constexpr std::array<std::string_view, 10> levels = {"Error", "Trace", "Hint", "Info", "Api", "Warning", "error", "trace", "info", "api"};
    auto at = text.find('[');
    while (at != std::string_view::npos && at < text.size() && text[at] == '[') {
      const auto close = text.find(']', at);
      if (close == std::string_view::npos) break;
      const std::string_view word = text.substr(at + 1, close - at - 1);
      if (!level.empty() && function.empty()) function = word.substr(0, 80);
      for (const std::string_view each : levels)
        if (word == each) level = word;
      at = close + 1;
      if (!function.empty()) break;
    }
    return at == std::string_view::npos ? std::string_view{} : text.substr(std::min(at, text.size()));
  }

  // key=value and key=[k=v ...], one level deep; pointers are left out.
  static void read_pairs(std::string_view text, std::map<std::string, std::string>& out) {
    std::string group;
    for (std::size_t at = 0; at < text.size() && out.size() < 64;) {
      if (text[at] == ' ' || text[at] == ']') {
        if (text[at] == ']') group.clear();
        ++at;
        continue;
      }
      const auto equals = text.find('=', at);
      if (equals == std::string_view::npos) return;
      const std::string key(text.substr(at, std::min<std::size_t>(equals - at, 60)));
      at = equals + 1;
      if (at < text.size() && text[at] == '[') {
        group = key + ".";
        ++at;
        continue;
      }
      auto end = text.find_first_of(" ]", at);
      if (end == std::string_view::npos) end = text.size();
      const std::string_view value = text.substr(at, end - at);
      if (!value.starts_with("0X") && !value.starts_with("0x")) out[group + key] = std::string(value.substr(0, 80));
      at = end;
    }
  }

  void take_error(const std::string& function, std::string_view rest) {
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    if (errors_.size() < 200) ++errors_[fmt::format("{}: {}", function, rest.substr(0, 300))];
  }

  static std::string field(const CallGroup& call, const char* key) {
    const auto found = call.fields.find(key);
    return found == call.fields.end() ? std::string() : found->second;
  }

  // Types and compute type say whether tensor cores can be used; that one was used the log does not say.
  void judge(TraceAnswer& answer) {
    if (products_ == 0 && errors_.empty()) return;
    std::uint64_t plain = 0;
    for (const CallGroup& each : calls_.all()) {
      const bool f32 = field(each, "Adesc.type") == "R_32F";
      const std::string compute = field(each, "computeDesc.computeType");
      if (f32 && compute == "COMPUTE_32F") plain += each.count;
    }
    answer.verdict.gemm = joined(answer.verdict.gemm, PathVerdict::cannot_tell);
    answer.verdict.gemm_why += fmt::format("cublasLt: {} products, {} kinds of error; the log names no kernel", products_, errors_.size());
    if (plain > 0)
      answer.findings.push_back(finding_of("EVD054", fmt::format("{} products of R_32F with COMPUTE_32F", plain)));
  }

  std::uint64_t lines_ = 0, products_ = 0;
  std::map<std::string, std::uint64_t> functions_, errors_;
  CallGroups calls_;
};

}  // namespace

std::unique_ptr<LogReader> cublaslt_reader() { return std::make_unique<CublasLt>(); }

}  // namespace dd::evidence
