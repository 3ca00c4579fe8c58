// What people paste one line of: a kernel name from a profiler, or an error text. Known texts carry what they mean.
#include <array>
#include <map>

#include "evidence/answer/work.hpp"
#include "evidence/answer/rules.hpp"
#include "evidence/logs/logs.hpp"
#include "fmt/format.h"

namespace dd::evidence {
namespace {

struct KnownText {
  std::string_view part, id;
  PathVerdict sdpa, gemm;
};

constexpr auto none = PathVerdict::none, back = PathVerdict::fallback, open = PathVerdict::cannot_tell;

constexpr std::array<KnownText, 14> known_texts = {{
    {"No execution plans support the graph", "EVD058", back, none},
    {"No available kernel. Aborting execution", "EVD060", back, none},
    {"Flash attention kernel not used because", "EVD061", open, none},
    {"emory efficient kernel not used because", "EVD062", open, none},
    {"CuDNN attention kernel not used because", "EVD063", open, none},
    {"cuDNN attention kernel not used because", "EVD063", open, none},
    {"FlashAttention only support", "EVD064", back, none},
    {"CUBLAS_STATUS_NOT_SUPPORTED", "EVD065", none, open},
    {"CUBLAS_STATUS_INVALID_VALUE", "EVD066", none, open},
    {"CUBLAS_STATUS_ARCH_MISMATCH", "EVD067", none, open},
    {"CUDNN_STATUS_NOT_SUPPORTED", "EVD057", open, none},
    {"mat1 and mat2 shapes cannot be multiplied", "EVD068", none, open},
    {"could not create a primitive", "EVD069", none, open},
    {"xFormers wasn't build with CUDA support", "EVD070", back, none},
}};

class Pasted : public LogReader {
 public:
  bool take(std::string_view text) override {
    while (!text.empty() && (text.front() == ' ' || text.front() == '"' || text.front() == '\'')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '"' || text.back() == '\'' || text.back() == ',')) text.remove_suffix(1);
    for (const KnownText& each : known_texts)
      if (text.find(each.part) != std::string_view::npos) {
        if (seen_.size() < 500) seen_.emplace_back(&each, std::string(text.substr(0, 400)));
        return true;
      }
    KernelClass kind = classify_kernel(text);
    if (!kind.known()) return false;
    const std::string name(text.substr(0, 1000));
    auto found = kernels_.find(name);
    if (found == kernels_.end()) {
      if (kernels_.size() > 20000) return true;
      found = kernels_.emplace(name, KernelSummary{name, std::move(kind)}).first;
    }
    ++found->second.count;
    return true;
  }

  void finish(TraceAnswer& answer) override {
    for (const auto& [text, line] : seen_) {
      EvidenceFinding f = finding_of(text->id, line);
      answer.findings.push_back(std::move(f));
      answer.verdict.sdpa = joined(answer.verdict.sdpa, text->sdpa);
      answer.verdict.gemm = joined(answer.verdict.gemm, text->gemm);
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
      case GemmState::vector:
      case GemmState::unknown: break;
    }
    return PathVerdict::cannot_tell;
  }

 private:
  std::vector<std::pair<const KnownText*, std::string>> seen_;
  std::map<std::string, KernelSummary> kernels_;
};

}  // namespace

std::unique_ptr<LogReader> pasted_reader() { return std::make_unique<Pasted>(); }

}  // namespace dd::evidence
