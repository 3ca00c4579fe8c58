// cuBLASLt and hipBLASLt logs: "[time][cublasLt][pid][Level][function] key=value key=[k=v k=v]", the time missing in
// older versions, everything before the level missing in some error lines; and the benchmark commands that hipBLASLt
// and rocBLAS print for each call ("hipblaslt-bench --api_method c -m 64 ...").
#include <array>
#include <charconv>
#include <map>

#include "evidence/answer/rules.hpp"
#include "evidence/logs/logs.hpp"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace dd::evidence {
namespace {

// What a line says about a product. With all levels on, one call is written as an API line, a query and a trace line:
// only the strongest kind that the log has is counted.
enum class Step : unsigned char { none, query, api, launch };

std::string lt_field(const CallGroup& call, const std::string& key) {
  const auto found = call.fields.find(key);
  return found == call.fields.end() ? std::string() : found->second;
}

bool lt_number(std::string_view text, long long& out, int base = 10) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out, base);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

int lt_bytes(std::string_view type) {
  for (const auto& [mark, bytes] : {std::pair<std::string_view, int>{"8F_", 1}, {"R_8", 1}, {"16", 2}, {"32", 4}, {"64", 8}})
    if (type.find(mark) != std::string_view::npos) return bytes;
  return 0;
}

class CublasLt : public LogReader {
 public:
  bool take(std::string_view text) override {
    for (const std::string_view program : {"hipblaslt-bench ", "rocblas-bench "})
      if (const auto at = text.find(program); at != std::string_view::npos && text.find(" -m ", at) != std::string_view::npos) {
        ++lines_;
        add(read_command(text.substr(at), program == "rocblas-bench " ? "rocBLAS" : "hipBLASLt"), Step::launch);
        return true;
      }
    const bool nvidia = text.find("[cublasLt") != std::string_view::npos;
    const bool amd = text.find("[HIPBLASLT]") != std::string_view::npos || text.find("[hipblaslt]") != std::string_view::npos || text.find("][hipblasLt") != std::string_view::npos;
    if (!nvidia && !amd) return false;
    ++lines_;
    std::string level, function;
    const std::string_view rest = read_brackets(text, level, function);
    if (function.empty()) return true;
    ++functions_[function];
    if (level == "Error" || level == "error") {
      take_error(function, rest);
      return true;
    }
    const Step step = step_of(function, level);
    if (step == Step::none) return true;
    CallGroup call;
    call.library = nvidia ? "cuBLASLt" : "hipBLASLt";
    call.function = function;
    call.count = 1;
    read_pairs(rest, call.fields);
    if (!lt_field(call, "Adesc.type").empty()) add(std::move(call), step);
    return true;
  }

  std::string_view grade() const override { return "modelled"; }

  void finish(TraceAnswer& answer) override {
    answer.log_lines["cublasLt lines"] = lines_;
    for (const auto& [name, count] : functions_) answer.log_lines["call " + name] = count;
    judge(answer);
    for (const auto& [what, count] : errors_) {
      answer.findings.push_back(finding_of("EVD056", fmt::format("{} ({} times)", what, count)));
      remark(answer, what);
    }
    for (CallGroup& each : counted().all()) answer.calls.push_back(std::move(each));
  }

 private:
  static Step step_of(std::string_view function, std::string_view level) {
    if (function.find("GetHeuristic") != std::string_view::npos) return Step::query;
    const bool product = function.ends_with("Matmul") || function.ends_with("_matmul") || function.ends_with("matmul_impl");
    if (!product) return Step::none;
    return level == "Trace" || level == "trace" ? Step::launch : Step::api;
  }

  void add(CallGroup call, Step step) {
    if (call.fields.empty()) return;
    ++steps_[static_cast<std::size_t>(step)];
    calls_[static_cast<std::size_t>(step)].add(std::move(call));
  }

  std::size_t strongest() const {
    for (std::size_t i = steps_.size(); i-- > 1;)
      if (steps_[i] > 0) return i;
    return 0;
  }
  CallGroups& counted() { return calls_[strongest()]; }

  // "--transA N" and "-m 64", under the names that a log line has.
  static CallGroup read_command(std::string_view text, const char* library) {
    CallGroup out;
    out.library = library;
    out.function = text.substr(0, text.find(' '));
    out.count = 1;
    std::map<std::string, std::string> options;
    for (std::size_t at = text.find(" -"); at != std::string_view::npos && options.size() < 80;) {
      const auto begin = text.find_first_not_of(" -", at);
      if (begin == std::string_view::npos) break;
      const auto end = std::min(text.find(' ', begin), text.size());
      const auto value = text.find_first_not_of(' ', end);
      std::string_view word;
      if (value != std::string_view::npos) word = text.substr(value, std::min(text.find(' ', value), text.size()) - value);
      const bool named = word.size() > 1 && word[0] == '-' && (word[1] < '0' || word[1] > '9');
      options[std::string(text.substr(begin, end - begin))] = std::string(named ? std::string_view{} : word.substr(0, 40));
      at = text.find(" -", end);
    }
    static constexpr std::string_view kept[] = {"m", "n", "k", "lda", "ldb", "ldc", "ldd", "stride_a", "stride_b", "transA", "transB", "transposeA", "transposeB", "batch_count", "a_type", "b_type", "c_type",
                                                "d_type", "compute_type", "activation_type", "bias_vector", "algo_method", "solution_index", "f", "r", "precision"};
    for (const std::string_view each : kept)
      if (const auto found = options.find(std::string(each)); found != options.end()) out.fields[found->first] = found->second.empty() ? "yes" : found->second;
    return out;
  }

  // The words in brackets at the front; gives back what follows them.
  static std::string_view read_brackets(std::string_view text, std::string& level, std::string& function) {
    static constexpr std::array<std::string_view, 12> levels = {"Error", "Trace", "Hint", "Hints", "Info", "Api", "Warning", "Bench", "error", "trace", "info", "api"};
    auto at = text.find('[');
    while (at != std::string_view::npos && at < text.size() && text[at] == '[') {
      const auto close = text.find(']', at);
      if (close == std::string_view::npos) break;
      const std::string_view word = text.substr(at + 1, close - at - 1);
      if (!level.empty() && function.empty()) function = word.substr(0, 80);
      for (const std::string_view each : levels)
        if (word == each) level = word;
      at = close + 1;
      while (at < text.size() && text[at] == ' ' && function.empty()) ++at;
      if (!function.empty()) break;
    }
    return at == std::string_view::npos ? std::string_view{} : text.substr(std::min(at, text.size()));
  }

  // key=value and key=[k=v ...], one level deep. Addresses differ from call to call: only how they are aligned is kept.
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
      long long address = 0;
      const bool pointer = value.starts_with("0X") || value.starts_with("0x");
      if (!pointer) out[group + key] = std::string(value.substr(0, 80));
      else if (group.empty() && key.size() == 1 && lt_number(value.substr(2), address, 16) && address % 16 != 0) out[key + " mod 16"] = std::to_string(address % 16);
      at = end;
    }
  }

  void take_error(const std::string& function, std::string_view rest) {
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    if (errors_.size() < 200) ++errors_[fmt::format("{}: {}", function, rest.substr(0, 300))];
  }

  static bool is_plain_float(const CallGroup& call) {
    const std::string compute = lt_field(call, "computeDesc.computeType");
    if (call.fields.count("Adesc.type") != 0) return lt_field(call, "Adesc.type") == "R_32F" && (compute == "COMPUTE_32F" || compute == "COMPUTE_32F_PEDANTIC");
    return lt_field(call, "a_type") == "f32_r" && lt_field(call, "compute_type").starts_with("f32_r");
  }

  static void find_unaligned(const CallGroup& call, std::map<std::string, std::uint64_t>& out) {
    for (const char* matrix : {"A", "B", "C", "D"}) {
      const std::string desc = fmt::format("{}desc", matrix);
      long long ld = 0;
      const int bytes = lt_bytes(lt_field(call, desc + ".type"));
      if (bytes > 0 && lt_number(lt_field(call, desc + ".ld"), ld) && (ld * bytes) % 16 != 0 && out.size() < 200)
        out[fmt::format("{} {} ld={} of {}-byte elements", call.function, matrix, ld, bytes)] += call.count;
      if (const std::string past = lt_field(call, fmt::format("{} mod 16", matrix)); !past.empty() && out.size() < 200)
        out[fmt::format("{} address of {} is {} bytes past a multiple of 16", call.function, matrix, past)] += call.count;
    }
  }

  // Types and compute type say whether tensor cores can be used; that one was used the log does not say.
  void judge(TraceAnswer& answer) {
    const std::size_t strongest_step = strongest();
    if (strongest_step == 0 && errors_.empty()) return;
    std::uint64_t plain = 0;
    std::map<std::string, std::uint64_t> unaligned;
    for (const CallGroup& each : counted().all()) {
      plain += is_plain_float(each) ? each.count : 0;
      find_unaligned(each, unaligned);
    }
    answer.verdict.gemm = joined(answer.verdict.gemm, PathVerdict::cannot_tell);
    static constexpr std::string_view steps[] = {"", "queries for an algorithm, no product", "products asked for", "products launched"};
    std::vector<std::string> parts;
    if (strongest_step > 0) parts.push_back(fmt::format("{} {}", steps_[strongest_step], steps[strongest_step]));
    if (!errors_.empty()) parts.push_back(fmt::format("{} kinds of error", errors_.size()));
    answer.verdict.gemm_why += fmt::format("{}{}: {}; the log names no kernel", answer.verdict.gemm_why.empty() ? "" : "; ", library(), fmt::join(parts, ", "));
    if (plain > 0) answer.findings.push_back(finding_of("EVD054", fmt::format("{} float products with float compute type", plain)));
    for (const auto& [what, count] : unaligned) answer.findings.push_back(finding_of("EVD055", fmt::format("{} ({} calls)", what, count)));
  }

  std::string library() {
    const auto& calls = counted().all();
    return calls.empty() ? "cuBLASLt" : calls.front().library;
  }

  std::uint64_t lines_ = 0;
  std::array<std::uint64_t, 4> steps_{};
  std::array<CallGroups, 4> calls_;
  std::map<std::string, std::uint64_t> functions_, errors_;
};

}  // namespace

std::unique_ptr<LogReader> cublaslt_reader() { return std::make_unique<CublasLt>(); }

}  // namespace dd::evidence
