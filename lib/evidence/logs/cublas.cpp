// cuBLAS logs (CUBLAS_LOGINFO_DBG, versions 10.2 to 13.4): one record a call, parameters as "name: type=...; val=...".
#include <charconv>
#include <map>

#include "evidence/answer/rules.hpp"
#include "evidence/logs/logs.hpp"
#include "fmt/format.h"

namespace dd::evidence {
namespace {


// "CUDA_R_16F(2)" -> element bytes; 0 when unknown.
int type_bytes(std::string_view type) {
  if (type.find("_8F") != std::string_view::npos || type.find("_8I") != std::string_view::npos || type.find("_8U") != std::string_view::npos) return 1;
  if (type.find("_16F") != std::string_view::npos || type.find("_16BF") != std::string_view::npos) return 2;
  if (type.find("_32F") != std::string_view::npos) return 4;
  return type.find("_64F") != std::string_view::npos ? 8 : 0;
}

bool read_number(std::string_view text, long long& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

class Cublas : public LogReader {
 public:
  bool take(std::string_view text) override {
    const auto at = text.find("! cuBLAS (");
    if (at != std::string_view::npos) {
      close();
      open(text.substr(at));
      read_parameters(text);
      return true;
    }
    if (!in_call_ || !text.starts_with("i!")) return false;
    read_parameters(text);
    return true;
  }

  std::string_view grade() const override { return "modelled"; }

  void finish(TraceAnswer& answer) override {
    close();
    for (const auto& [name, count] : functions_) answer.log_lines["call " + name] = count;
    if (!version_.empty()) answer.versions.push_back("cuBLAS " + version_);
    if (products_ > 0) {
      answer.verdict.gemm = joined(answer.verdict.gemm, PathVerdict::cannot_tell);
      answer.verdict.gemm_why += fmt::format("cuBLAS: {} products; the log says types, layouts and math mode but names no kernel", products_);
    }
    add_findings(answer);
    for (CallGroup& each : calls_.all()) answer.calls.push_back(std::move(each));
  }

 private:
  void open(std::string_view text) {
    in_call_ = true;
    call_ = {};
    call_.library = "cuBLAS";
    call_.count = 1;
    const auto version = text.find('(') + 1;
    version_ = text.substr(version, std::min<std::size_t>(text.find(')', version) - version, 20));
    // "function cublasStatus_t cublasSgemm_v2(...)": the word before the bracket
    const auto bracket = text.find('(', text.find("function"));
    if (text.find("function") == std::string_view::npos || bracket == std::string_view::npos) return;
    auto begin = bracket;
    while (begin > 0 && text[begin - 1] != ' ' && text[begin - 1] != '*') --begin;
    call_.function = text.substr(begin, std::min<std::size_t>(bracket - begin, 80));
  }

  // "name: type=int; val=512", any number of them in a line.
  void read_parameters(std::string_view text) {
    for (auto at = text.find(": type="); at != std::string_view::npos; at = text.find(": type=", at + 1)) {
      auto begin = at;
      while (begin > 0 && (std::isalnum(static_cast<unsigned char>(text[begin - 1])) != 0 || text[begin - 1] == '_')) --begin;
      const auto val = text.find("val=", at);
      if (val == std::string_view::npos) break;
      std::string_view value = text.substr(val + 4);
      if (value.starts_with("POINTER")) {
        value = value.substr(0, value.find(')') + 1);
      } else {
        value = value.substr(0, value.find(';'));
        while (!value.empty() && value.back() == ' ') value.remove_suffix(1);
      }
      const std::string name(text.substr(begin, at - begin));
      if (name.empty() || call_.fields.size() > 48) continue;
      if (value.starts_with("POINTER")) pointers_[name] = std::string(value.substr(0, 80));
      else call_.fields[name] = std::string(value.substr(0, 80));
    }
    const auto mode = text.find("MathMode=");
    if (mode != std::string_view::npos) {
      const std::string_view value = text.substr(mode + 9);
      call_.fields["math_mode"] = std::string(value.substr(0, std::min<std::size_t>(value.find_first_of(" ;"), 80)));
    }
  }

  void close() {
    if (!in_call_) return;
    in_call_ = false;
    if (!call_.function.empty()) {
      ++functions_[call_.function];
      if (is_product(call_.function)) {
        ++products_;
        check_alignment();
        calls_.add(call_);
      }
    }
    pointers_.clear();
  }

  static bool is_product(std::string_view name) {
    for (const std::string_view each : {"gemm", "Gemm", "GEMM"})
      if (name.find(each) != std::string_view::npos) return true;
    return false;
  }

  int element_bytes(const char* which) const {
    const auto type = call_.fields.find(which);
    if (type != call_.fields.end()) return type_bytes(type->second);
    for (const auto& [prefix, bytes] : {std::pair<std::string_view, int>{"cublasSgemm", 4}, {"cublasDgemm", 8}, {"cublasHgemm", 2}})
      if (call_.function.starts_with(prefix)) return bytes;
    return 0;
  }

  // A pointer as text, with the doubled "0x" some versions print.
  static bool pointer_value(std::string_view text, unsigned long long& out) {
    auto at = text.rfind("0x");
    if (at == std::string_view::npos) return false;
    const auto [end, error] = std::from_chars(text.data() + at + 2, text.data() + text.size(), out, 16);
    return error == std::errc{} && end != text.data() + at + 2;
  }

  void check_alignment() {
    for (const auto& [matrix, leading, type] : {std::tuple{"A", "lda", "Atype"}, {"B", "ldb", "Btype"}, {"C", "ldc", "Ctype"}}) {
      const int bytes = element_bytes(type);
      long long ld = 0;
      const auto field = call_.fields.find(leading);
      if (bytes > 0 && field != call_.fields.end() && read_number(field->second, ld) && (ld * bytes) % 16 != 0)
        ++unaligned_[fmt::format("{} {}={} of {}-byte elements", call_.function, leading, ld, bytes)];
      unsigned long long address = 0;
      const auto pointer = pointers_.find(matrix);
      if (pointer != pointers_.end() && pointer_value(pointer->second, address) && address % 16 != 0) {
        call_.fields[std::string(matrix) + " mod 16"] = std::to_string(address % 16);
        ++unaligned_[fmt::format("{} pointer {} is {} bytes past a multiple of 16", call_.function, matrix, address % 16)];
      }
      if (unaligned_.size() > 200) unaligned_.erase(unaligned_.begin());
    }
  }

  static bool is_float_default(const CallGroup& call) {
    const auto mode = call.fields.find("math_mode");
    if (mode != call.fields.end() && mode->second != "CUBLAS_DEFAULT_MATH") return false;
    if (call.function.starts_with("cublasSgemm")) return true;
    const auto a = call.fields.find("Atype");
    const auto compute = call.fields.find("computeType");
    const bool fast = compute != call.fields.end() && compute->second.find("FAST") != std::string::npos;
    return a != call.fields.end() && type_bytes(a->second) == 4 && !fast;
  }

  void add_findings(TraceAnswer& answer) const {
    std::uint64_t plain = 0;
    for (const CallGroup& each : calls_.all()) plain += is_float_default(each) ? each.count : 0;
    if (plain > 0)
      answer.findings.push_back(finding_of("EVD054", fmt::format("{} float products under CUBLAS_DEFAULT_MATH", plain)));
    for (const auto& [what, count] : unaligned_)
      answer.findings.push_back(finding_of("EVD055", fmt::format("{} ({} calls)", what, count)));
  }

  bool in_call_ = false;
  CallGroup call_;
  std::string version_;
  std::uint64_t products_ = 0;
  std::map<std::string, std::string> pointers_;
  std::map<std::string, std::uint64_t> functions_, unaligned_;
  CallGroups calls_;
};

}  // namespace

std::unique_ptr<LogReader> cublas_reader() { return std::make_unique<Cublas>(); }

}  // namespace dd::evidence
