#include "evidence/answer/by_name.hpp"

#include <map>

#include "evidence/answer/rules.hpp"
#include "evidence/answer/work.hpp"
#include "evidence/logs/logs.hpp"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace dd::evidence {
namespace {

constexpr std::size_t most_told = 8;  // names told one by one; more are counted

std::string operation_words(const KernelClass& kind) {
  const std::string_view op = kind.row->operation;
  if (op == "gemm" || op == "gemm-int8") return "matrix product";
  if (op == "gemv") return "product with one row or column";
  if (op == "sdpa") return "attention";
  if (op == "sdpa-forward") return "attention, forward";
  if (op == "sdpa-backward") return "attention, backward";
  return std::string(op);
}

std::string tells_of(const KernelClass& kind) {
  std::vector<std::string> parts{std::string(kind.row->provider), operation_words(kind)};
  if (!kind.dtype.empty()) parts.push_back(kind.dtype);
  if (kind.role == Role::gemm || kind.role == Role::attention || kind.role == Role::convolution)
    parts.push_back(kind.tensor_cores == Tri::yes ? "tensor cores" : kind.tensor_cores == Tri::no ? "no tensor cores" : "tensor cores unknown");
  if (kind.alignment > 0) parts.push_back(kind.role == Role::attention ? "variant for unaligned inputs" : fmt::format("loads of {} element{}", kind.alignment, kind.alignment == 1 ? "" : "s"));
  if (kind.tile_m > 0) parts.push_back(fmt::format("tile {}x{}", kind.tile_m, kind.tile_n));
  if (kind.split_k > 1) parts.push_back(fmt::format("inner dimension split in {}", kind.split_k));
  if (kind.build_sm > 0) parts.push_back(fmt::format("built for sm_{} (which newer GPUs run too)", kind.build_sm));
  return fmt::format("{}", fmt::join(parts, ", "));
}

void read_product(const KernelClass& kind, NameReading& out) {
  const bool narrow = kind.dtype == "fp16" || kind.dtype == "bf16" || kind.dtype == "int8" || kind.dtype == "fp8";
  switch (gemm_state(kind)) {
    case GemmState::fast:
      out.gemm = PathVerdict::fast_path;
      out.because = kind.row->family == "gemm-quantized" ? "the fast path: the packed weights are multiplied as they lie" : "the fast path: the kernel works on tensor cores";
      return;
    case GemmState::degraded:
      out.gemm = PathVerdict::mixed;
      out.rule = kind.wmma ? "EVD012" : "EVD010";
      out.because = kind.wmma ? "not quite the fast path: tensor cores through the older instructions"
                              : "not quite the fast path: tensor cores, but fed by narrow loads, which the library takes when a leading dimension or an address is no multiple of 16 bytes";
      return;
    case GemmState::slow:
      out.gemm = PathVerdict::fallback;
      out.rule = narrow ? "EVD016" : "EVD011";
      out.because = narrow ? "not the fast path: a narrow type, multiplied on the plain cores" : "not the fast path: multiplied on the plain cores, where tensor cores would need TF32 or a 16-bit type";
      return;
    case GemmState::vector:
      out.gemm = PathVerdict::fast_path;
      out.because = "the right kernel for one row or column: bound by memory, tensor cores would not help";
      return;
    case GemmState::unknown: break;
  }
  out.gemm = PathVerdict::cannot_tell;
  out.because = "the name does not say whether tensor cores are used";
}

void read_attention(const KernelClass& kind, NameReading& out) {
  if (!is_fused_attention(kind)) {
    out.sdpa = PathVerdict::fallback;
    out.because = "not the fast path: a straight implementation, not a fused one";
    return;
  }
  out.sdpa = PathVerdict::fast_path;
  out.because = kind.row->family == "attention-helper" ? "the fast path: it runs beside a fused attention kernel" : "the fast path: one fused kernel, the scores are never written to memory";
  if (kind.alignment != 1) return;
  out.rule = "EVD022";
  out.because += "; the variant for unaligned inputs, with narrow loads";
}

}  // namespace

bool is_fused_attention(const KernelClass& kind) { return kind.role == Role::attention && kind.row->family != "attention-plain"; }

NameReading read_name(const KernelClass& kind) {
  NameReading out;
  if (!kind.known()) return out;
  out.tells = tells_of(kind);
  if (kind.role == Role::gemm) read_product(kind, out);
  else if (kind.role == Role::attention) read_attention(kind, out);
  else out.because = "neither a matrix product nor attention: no verdict follows from it";
  return out;
}

void add_named_kernels(TraceAnswer& answer, std::vector<KernelSummary> kernels) {
  struct Shared {
    std::uint64_t count = 0;
    std::string first;
  };
  std::map<std::string_view, Shared> rules;
  std::size_t told = 0, judged = 0;
  for (KernelSummary& kernel : kernels) {
    const NameReading reading = read_name(kernel.kind);
    const std::string name = kernel.name.substr(0, 120);
    answer.verdict.gemm = joined(answer.verdict.gemm, reading.gemm);
    answer.verdict.sdpa = joined(answer.verdict.sdpa, reading.sdpa);
    if (!reading.tells.empty()) answer.kernels_seen += kernel.count;  // a name that says nothing is nothing to judge
    if (reading.tells.empty()) {
      ++answer.kernels_unclassified;
      ++rules["EVD007"].count;
      if (rules["EVD007"].first.empty()) rules["EVD007"].first = name;
    } else if (++judged <= most_told) {
      const bool gemm = reading.gemm != PathVerdict::none, sdpa = reading.sdpa != PathVerdict::none;
      std::string& why = gemm ? answer.verdict.gemm_why : sdpa ? answer.verdict.sdpa_why : answer.verdict.other_why;
      why += fmt::format("{}{} is {}: {}", why.empty() ? "" : "; ", name, reading.tells, reading.because);
      ++told;
    }
    if (!reading.rule.empty()) {
      Shared& shared = rules[reading.rule];
      if (shared.count++ == 0) shared.first = fmt::format("{}: {}", name, reading.tells);
    }
    answer.kernels.push_back(std::move(kernel));
  }
  if (judged > told) answer.verdict.other_why += fmt::format("{}{} more kernels are in the list", answer.verdict.other_why.empty() ? "" : "; ", judged - told);
  for (const auto& [id, shared] : rules) answer.findings.push_back(finding_of(id, shared.count == 1 ? shared.first : fmt::format("{} kernels; first {}", shared.count, shared.first)));
  if (judged > 0) answer.findings.push_back(finding_of("EVD008", judged == 1 ? "the name of one kernel" : fmt::format("the names of {} kernels", judged), "unknown"));
}

}  // namespace dd::evidence
