// What people paste one line of: a kernel name from a profiler, or an error text. Known texts carry what they mean.
#include <array>
#include <map>

#include "evidence/answer/work.hpp"
#include "evidence/logs/logs.hpp"
#include "fmt/format.h"

namespace dd::evidence {
namespace {

struct KnownText {
  std::string_view part, id, name, level, required, effect, fix, keeps, source;
  PathVerdict sdpa, gemm;
};

constexpr auto none = PathVerdict::none, back = PathVerdict::fallback, open = PathVerdict::cannot_tell;

constexpr std::array<KnownText, 14> known_texts = {{
    {"No execution plans support the graph", "EVD058", "cudnn-no-plan", "error", "a graph that one engine of this cuDNN supports on this GPU", "the cuDNN path is not taken",
     "set CUDNN_FRONTEND_LOG_INFO=1 and CUDNN_LOGLEVEL_DBG=3 and look for the reason before this line", "function", "cudnn-frontend 1.x", back, none},
    {"No available kernel. Aborting execution", "EVD060", "sdpa-no-kernel", "error", "one enabled backend whose conditions hold", "the call fails",
     "enable the math backend, or clear the reason named in the warnings before this line", "function", "torch 2.0 and later, SDPA dispatcher", back, none},
    {"Flash attention kernel not used because", "EVD061", "sdpa-flash-declined", "warning", "every condition of the flash backend", "the next backend in order is tried",
     "clear the reason in the following warning", "function", "torch 2.0 and later, SDPA dispatcher", open, none},
    {"emory efficient kernel not used because", "EVD062", "sdpa-efficient-declined", "warning", "every condition of the efficient backend", "the next backend in order is tried",
     "clear the reason in the following warning", "function", "torch 2.0 and later, SDPA dispatcher", open, none},
    {"CuDNN attention kernel not used because", "EVD063", "sdpa-cudnn-declined", "warning", "every condition of the cuDNN backend", "the next backend in order is tried",
     "clear the reason in the following warning", "function", "torch 2.2 and later, SDPA dispatcher", open, none},
    {"cuDNN attention kernel not used because", "EVD063", "sdpa-cudnn-declined", "warning", "every condition of the cuDNN backend", "the next backend in order is tried",
     "clear the reason in the following warning", "function", "torch 2.2 and later, SDPA dispatcher", open, none},
    {"FlashAttention only support", "EVD064", "flash-attn-unsupported", "error", "what the flash-attn package states: GPU generation, dtype, head size", "the call fails",
     "use a dtype and head size it supports, or another backend", "precision", "flash-attn 2.x", back, none},
    {"CUBLAS_STATUS_NOT_SUPPORTED", "EVD065", "cublas-not-supported", "error", "types, layouts and alignment that the library supports together", "the product fails or the caller falls back",
     "check the leading dimensions and pointers against 16 bytes and the types against the compute type", "function", "cuBLAS 11 to 13", none, open},
    {"CUBLAS_STATUS_INVALID_VALUE", "EVD066", "cublas-invalid-value", "error", "sizes and leading dimensions that fit", "the product fails",
     "check that each leading dimension is at least the rows of its matrix; a library from another CUDA release gives the same error", "function", "cuBLAS 11 to 13", none, open},
    {"CUBLAS_STATUS_ARCH_MISMATCH", "EVD067", "cublas-arch-mismatch", "error", "a GPU with the instructions asked for", "the product fails", "use a type that the GPU has", "precision", "cuBLAS 11 to 13", none, open},
    {"CUDNN_STATUS_NOT_SUPPORTED", "EVD057", "cudnn-declined", "error", "a graph that this cuDNN supports on this GPU", "the caller falls back or fails",
     "raise CUDNN_LOGLEVEL_DBG to see which condition failed", "function", "cuDNN 8 and 9", open, none},
    {"mat1 and mat2 shapes cannot be multiplied", "EVD068", "product-shapes-differ", "error", "inner sizes that agree", "the call itself is wrong", "correct the shapes", "meaning", "torch", none, open},
    {"could not create a primitive", "EVD069", "onednn-no-primitive", "error", "one implementation that takes the call", "the call fails",
     "set ONEDNN_VERBOSE=all and read the dispatch lines", "function", "oneDNN 1 to 3", none, open},
    {"xFormers wasn't build with CUDA support", "EVD070", "xformers-without-cuda", "error", "a build of xFormers that fits the installed torch", "its kernels are not used", "install the matching build", "function", "xFormers", back, none},
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
      EvidenceFinding f = log_finding(text->id, text->name, text->level, line, std::string(text->required), std::string(text->effect), std::string(text->fix), text->keeps, text->source);
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
