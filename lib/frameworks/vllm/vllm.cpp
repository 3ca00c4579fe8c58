// vLLM's choice of a kernel for a quantized linear layer: the method that the checkpoint names, then a list of kernels
// that are asked in order. Two lists, of August 2025 and August 2026.
#include <algorithm>
#include <map>
#include <vector>

#include "frameworks/gemm/facts.hpp"
#include "frameworks/gemm/product_framework.hpp"
#include "frameworks/gemm/set.hpp"
#include "frameworks/vllm/rules.hpp"

namespace dd::frameworks::gemm {
namespace {

using facts::FactSet;
using rules::Rule;

enum class Kind { plain, mixed, fp8, fp8_block, int8, fp4 };

Kind kind_of(const spec::OpSpec& spec, const FactSet& f) {
  const std::string x = text(f, Id::dtype), w = text(f, Id::dtype_w), recipe = text(f, Id::scale_recipe);
  if (spec.gemm().quant) return Kind::mixed;
  if (w == "f4_e2m1") return Kind::fp4;
  if (w.starts_with("f8_") || x.starts_with("f8_")) return recipe == "1x128" || recipe == "128x128" ? Kind::fp8_block : Kind::fp8;
  return w == "s8" ? Kind::int8 : Kind::plain;
}

bool is_2025(const FactSet& f) {
  const auto* version = std::get_if<facts::Version>(&f.value(Id::vllm_version));
  return version && *version <= facts::Version::of(2025, 8);
}

bool is_before(const FactSet& f, std::int64_t year, std::int64_t month) {
  const auto* version = std::get_if<facts::Version>(&f.value(Id::vllm_version));
  return version && *version < facts::Version::of(year, month);
}

// Class names by which VLLM_DISABLED_KERNELS knows the candidates; older names of the same kernel count too.
struct ClassName { std::string_view scope, name; };
constexpr ClassName class_names[] = {
    {"vllm-cutlass-w4a8", "CutlassW4A8LinearKernel"},
    {"vllm-machete", "MacheteLinearKernel"},
    {"vllm-allspark", "AllSparkLinearKernel"},
    {"vllm-marlin", "MarlinLinearKernel"},
    {"vllm-conch", "ConchLinearKernel"},
    {"vllm-exllama", "ExllamaLinearKernel"},
    {"vllm-triton-w4a16", "TritonW4A16LinearKernel"},
    {"vllm-dynamic-4bit", "Dynamic4bitLinearKernel"},
    {"vllm-cpu-wna16", "CPUWNA16LinearKernel"},
    {"vllm-fp8-marlin", "MarlinFP8ScaledMMLinearKernel"},
    {"vllm-fp8-flashinfer", "FlashInferFP8ScaledMMLinearKernel"},
    {"vllm-fp8-cutlass", "CutlassFP8ScaledMMLinearKernel"},
    {"vllm-fp8-block-deepgemm", "DeepGemmFp8BlockScaledMMKernel"},
    {"vllm-fp8-block-cutlass", "CutlassFp8BlockScaledMMKernel"},
    {"vllm-fp8-block-triton", "TritonFp8BlockScaledMMKernel"},
    {"vllm-int8-cutlass", "CutlassInt8ScaledMMLinearKernel"},
    {"vllm-int8-cutlass", "CutlassScaledMMLinearKernel"},
    {"vllm-int8-triton", "TritonInt8ScaledMMLinearKernel"},
    {"vllm-int8-triton", "TritonScaledMMLinearKernel"},
    {"vllm-nvfp4-cutlass", "CutlassNvFp4LinearKernel"},
    {"vllm-nvfp4-flashinfer", "FlashInferCutlassNvFp4LinearKernel"},
    {"vllm-nvfp4-marlin", "MarlinNvFp4LinearKernel"}};

bool is_listed(std::string_view list, std::string_view name) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view one = list.substr(0, comma);
    while (one.starts_with(' ')) one.remove_prefix(1);
    while (one.ends_with(' ')) one.remove_suffix(1);
    if (one == name) return true;
    if (comma == std::string_view::npos) break;
    list.remove_prefix(comma + 1);
  }
  return false;
}

// By the variable; torch's product answers to one name per scaling recipe.
bool is_disabled(const spec::OpSpec& spec, const FactSet& f, std::string_view scope) {
  const auto it = spec.context.env.find("VLLM_DISABLED_KERNELS");
  if (it == spec.context.env.end()) return false;
  if (scope == "vllm-fp8-torch")
    return is_listed(it->second, text(f, Id::scale_recipe) == "tensorwise" ? "PerTensorTorchFP8ScaledMMLinearKernel" : "ChannelWiseTorchFP8ScaledMMLinearKernel");
  return std::any_of(std::begin(class_names), std::end(class_names), [&](const ClassName& row) { return row.scope == scope && is_listed(it->second, row.name); });
}

// The rules of a candidate that the variable names: that one first, then its own.
std::span<const Rule> with_disabled(std::string_view scope, std::span<const Rule> own) {
  static const std::map<std::string_view, std::vector<Rule>> tables = [] {
    std::map<std::string_view, std::vector<Rule>> out;
    const auto selection = frameworks::vllm::selection();
    for (const Scope& s : all_scopes()) {
      if (!s.name.starts_with("vllm-")) continue;
      std::vector<Rule>& rows = out[s.name];
      for (const Rule& rule : selection)
        if (rule.id == "VLM001") rows.push_back(rule);
      rows.insert(rows.end(), s.rules().begin(), s.rules().end());
    }
    return out;
  }();
  static const std::vector<Rule> alone = [] {
    const auto selection = frameworks::vllm::selection();
    return std::vector<Rule>(selection.begin(), selection.begin() + 1);
  }();
  const auto it = tables.find(scope);
  if (it != tables.end()) return it->second;
  return own.empty() ? std::span<const Rule>(alone) : own;
}

// The kernel's own check fails when the call is made, after it was chosen.
constexpr std::string_view awq_raises[] = {"VLM130"};
constexpr std::string_view int8_raises[] = {"VLM160"};

std::vector<Candidate> mixed(const FactSet& f, bool cpu) {
  if (cpu) return {candidate("vllm-dynamic-4bit", "ARM 4-bit kernel", Speed::fast), candidate("vllm-cpu-wna16", "processor's 4-bit kernel", Speed::fast)};
  const std::string packing = text(f, Id::quant_packing), named = text(f, Id::quantization);
  const bool old = is_2025(f);
  std::vector<Candidate> out;
  // A method named by hand keeps the slow kernels in 2025 versions; so does what stands in the way of AWQ-Marlin.
  const bool plain_awq = packing == "awq" && ((old && named == "awq") || flag(f, Id::batch_invariant).value_or(false) ||
                                              (flag(f, Id::group_splits_k).value_or(false) && integer_or(f, Id::group_count_rest, 0) != 0));
  if (plain_awq) return {candidate("vllm-awq-plain", "plain AWQ kernels", Speed::fallback, awq_raises)};
  const bool not_symmetric = packing == "gptq" && !flag(f, Id::symmetric).value_or(true);
  if (packing == "gptq" && old && (named == "gptq" || not_symmetric)) return {candidate("vllm-gptq-legacy", "legacy GPTQ kernels", Speed::fallback)};
  // A kernel is asked from the release on that brought it, as far as that is known: Machete joined the list after 2024-09-17 (vLLM pull
  // requests 7701 and 8046), ExLlama is in it in 0.6.4 (vLLM issue 11286), AllSpark was merged before 2025-03-03 (12931 and 14157), Conch
  // came between 2025-06-18 (19818) and the snapshot of August 2025. Release notes that would name the very release were not at hand.
  const auto since = [&](std::int64_t year, std::int64_t month) { return !is_before(f, year, month); };
  if (!old) out.push_back(candidate("vllm-cutlass-w4a8", "CUTLASS, INT4 by FP8", Speed::fast));
  if (since(2024, 9)) out.push_back(candidate("vllm-machete", "Machete, Hopper", Speed::fast));
  if (since(2025, 3)) out.push_back(candidate("vllm-allspark", "AllSpark, INT8 weights on Ampere", Speed::fast));
  out.push_back(candidate("vllm-marlin", "Marlin", Speed::fast));
  if (since(2025, 8)) out.push_back(candidate("vllm-conch", "Conch, Triton", Speed::fast));
  if (since(2024, 12)) out.push_back(candidate("vllm-exllama", "ExLlama, FP16", Speed::fast));
  if (old) return out;
  out.push_back(candidate("vllm-triton-w4a16", "Triton W4A16", Speed::fast));
  out.push_back(candidate("vllm-humming", "Humming, compiled at run time", Speed::fast));
  return out;
}

std::vector<Candidate> scaled(Kind kind, const FactSet& f) {
  switch (kind) {
    case Kind::fp8:
      return {candidate("vllm-fp8-marlin", "FP8 weights, 16-bit activations", Speed::fast), candidate("vllm-fp8-flashinfer", "FlashInfer per-tensor FP8", Speed::fast),
              candidate("vllm-fp8-cutlass", "CUTLASS FP8", Speed::fast), candidate("vllm-fp8-torch", "torch._scaled_mm", Speed::fast)};
    case Kind::fp8_block:
      return {candidate("vllm-fp8-block-deepgemm", "DeepGEMM block FP8", Speed::fast), candidate("vllm-fp8-block-cutlass", "CUTLASS block FP8", Speed::fast),
              candidate("vllm-fp8-marlin", "FP8 weights, 16-bit activations", Speed::fast), last_resort("vllm-fp8-block-triton", "Triton block FP8, tuned per device and shape"),
              candidate("vllm-fp8-block-torch", "torch._scaled_mm in blocks", Speed::fallback)};
    case Kind::int8: return {candidate("vllm-int8-cutlass", "CUTLASS INT8", Speed::fast, int8_raises), last_resort("vllm-int8-triton", "Triton INT8")};
    case Kind::fp4:
      if (text(f, Id::scale_recipe) == "mxfp4")
        return {candidate("vllm-mxfp4-native", "native MXFP4", Speed::fast), candidate("vllm-nvfp4-marlin", "FP4 weights, 16-bit activations", Speed::fallback)};
      return {candidate("vllm-nvfp4-flashinfer", "FlashInfer NVFP4", Speed::fast), candidate("vllm-nvfp4-cutlass", "CUTLASS NVFP4", Speed::fast),
              candidate("vllm-nvfp4-marlin", "FP4 weights, 16-bit activations", Speed::fast), last_resort("vllm-nvfp4-emulation", "expanded to 16 bit in every call")};
    case Kind::mixed: return mixed(f, text(f, Id::device_type) == "cpu");
    case Kind::plain: break;
  }
  return {last_resort("vllm-unquantized", "the 16-bit linear layer of PyTorch", Speed::fast)};
}

class Vllm final : public ProductFramework {
 public:
  Vllm() : ProductFramework("vllm", {"vllm-"}, {{"2025.8", "2026.8"}, Confidence::high, "two snapshots, of August 2025 and August 2026; what lies between is placed by date, and before them the month that brought a kernel is from public reports"}) {}

  std::span<const Rule> call_rules(const spec::OpSpec& spec) const override {
    if (!spec.gemm().quant) return {};
    const std::string& packing = spec.gemm().quant->packing;
    if (packing == "gptq" && !falls_to_legacy(spec)) return frameworks::vllm::gptq();
    return packing == "awq" ? frameworks::vllm::awq() : std::span<const Rule>();
  }
  void add_facts(const spec::OpSpec& spec, FactSet& f) const override {
    // Read by the candidates that the variable names, and by no other.
    if (spec.context.env.contains("VLLM_DISABLED_KERNELS")) f.set(Id::kernel_disabled, true, Provenance::spec, "context.env, VLLM_DISABLED_KERNELS");
    ProductFramework::add_facts(spec, f);
  }
  std::vector<Candidate> candidates(const spec::OpSpec& spec, const FactSet& f) const override {
    std::vector<Candidate> out = scaled(kind_of(spec, f), f);
    for (Candidate& c : out)
      if (is_disabled(spec, f, c.name)) c.rules = with_disabled(c.name, c.rules);
    return out;
  }
  std::span<const Rule> outcome_rules(const spec::OpSpec& spec) const override {
    return spec.gemm().quant ? frameworks::vllm::outcome() : std::span<const Rule>();
  }

 private:
  // 2025 versions serve asymmetric GPTQ checkpoints by the legacy kernels instead of refusing them.
  static bool falls_to_legacy(const spec::OpSpec& spec) {
    const auto it = spec.context.versions.find("vllm");
    facts::Version version;
    return it != spec.context.versions.end() && parse_vllm_version(it->second, version) && version <= facts::Version::of(2025, 8) && spec.gemm().quant->zero_point;
  }
};

}  // namespace

const Framework& vllm() {
  static const Vllm framework;
  return framework;
}

}  // namespace dd::frameworks::gemm
