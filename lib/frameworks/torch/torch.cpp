#include "frameworks/torch/torch.hpp"

#include <algorithm>

#include "frameworks/torch/attention/facts.hpp"
#include "frameworks/torch/attention/priority.hpp"
#include "frameworks/torch/attention/tables.hpp"

namespace dd::frameworks {
namespace {

using facts::Id;
using rules::Rule;

// How much is known of each release; see the sources of the rules.
constexpr VersionConfidence certainty[] = {
    {{"2.0.0", "2.0.0"}, Confidence::medium, "read from a copy before the release"},
    {{"2.0.1", "2.0"}, Confidence::medium, "read from the nearest copy"},
    {{"2.1", "2.1"}, Confidence::high, "rules sure; which point release brought each is less so"},
    {{"2.2", "2.2"}, Confidence::medium_high, "read from a copy of January 2024"},
    {{"2.3", "2.3"}, Confidence::medium, "not read itself; taken from its neighbours"},
    {{"2.4", "2.4"}, Confidence::medium_high, "read from a copy of spring 2024"},
    {{"2.5.0", "2.5.0"}, Confidence::medium, "order sure; its check of masks for cuDNN is not"},
    {{"2.5.1", "2.5"}, Confidence::medium_high, "order sure; the length-1 rule less so"},
    {{"2.6", "2.6"}, Confidence::exact, "read from the source of the release and its tests"},
    {{"2.7", "2.7"}, Confidence::medium_high, "read from a copy of February 2025"},
    {{"2.8", "2.8"}, Confidence::high, "read from a fork on its base; header, machine code and order of the checks of 2.8.0 agree"},
    {{"2.9", "2.9"}, Confidence::high, "read from a copy and the pull requests"},
    {{"2.10", "2.11"}, Confidence::medium_high, "read in part; dates of pull requests separate the two"},
    {{"2.12", "2.13"}, Confidence::medium, "known from pull requests and their dates only"},
    {{"2.14", "2.14"}, Confidence::medium_high, "read from quotations of the release and a later copy"},
    {{"2.15", "2.15"}, Confidence::high, "checks and their order read in the header and the machine code of 2.15.0"},
    {{"2.16", ""}, Confidence::low, "newer than what was read"},
};

constexpr std::string_view flash_events[] = {"aten::_scaled_dot_product_flash_attention", "aten::_flash_attention_forward"};
constexpr std::string_view flash_kernels[] = {"pytorch_flash::flash_fwd", "flash_attncute"};
constexpr std::string_view efficient_events[] = {"aten::_scaled_dot_product_efficient_attention", "aten::_efficient_attention_forward"};
constexpr std::string_view efficient_kernels[] = {"fmha_cutlassF_"};
constexpr std::string_view cudnn_events[] = {"aten::_scaled_dot_product_cudnn_attention", "aten::_cudnn_attention_forward"};
constexpr std::string_view math_events[] = {"aten::_scaled_dot_product_attention_math", "aten::_safe_softmax"};
constexpr std::string_view cpu_events[] = {"aten::_scaled_dot_product_flash_attention_for_cpu"};
constexpr std::string_view overrideable_events[] = {"aten::_scaled_dot_product_fused_attention_overrideable"};

// Weights asked for, scores changed, attention written out.
constexpr std::string_view elsewhere[] = {"TSD024", "TSD026", "TSD027"};

// Errors of the computation that no check of the selector prevents.
constexpr std::string_view math_errors[] = {"TMA002", "TMA003", "TMA004", "TMA005", "TMA006", "TMA008"};
constexpr std::string_view overrideable_errors[] = {"TOV001"};

// Checks that the AMD tables state in their own way; one cause is named once.
constexpr std::string_view replaced[] = {"flash-head-dim-above-256", "flash-head-dims-differ", "efficient-grouped-heads-not-served",
                                         "efficient-grouped-heads-do-not-fit", "efficient-head-counts-differ"};

// On AMD GPUs the two fused backends keep the checks of the call and replace those of the GPU.
std::vector<Rule> for_rocm(std::span<const Rule> common, std::span<const Rule> own) {
  std::vector<Rule> out;
  for (const Rule& rule : common) {
    const auto reads = rules::facts_read(rule.requires_that);
    const auto guards = rules::facts_read(rule.applies);
    const auto about_nvidia = [](Id id) { return id == Id::compute_capability || id == Id::efficient_align_elements; };
    if (std::any_of(reads.begin(), reads.end(), about_nvidia) || std::any_of(guards.begin(), guards.end(), about_nvidia)) continue;
    if (std::find(std::begin(replaced), std::end(replaced), rule.name) != std::end(replaced)) continue;
    out.push_back(rule);
  }
  out.insert(out.end(), own.begin(), own.end());
  return out;
}

class Torch final : public Framework {
 public:
  std::string_view name() const override { return "torch"; }
  bool serves(const spec::OpSpec& spec) const override { return spec.is_attention(); }
  void add_facts(const spec::OpSpec& spec, facts::FactSet& facts) const override { torch_attention::add_facts(spec, facts); }
  std::span<const Rule> call_rules(const spec::OpSpec&) const override { return torch_attention::call_rules(); }
  std::span<const Rule> outcome_rules(const spec::OpSpec&) const override { return torch_attention::outcome_rules(); }
  std::vector<Priority> priorities(const spec::OpSpec& spec, const facts::FactSet& facts) const override {
    return torch_attention::priorities(spec, facts);
  }

  std::vector<Candidate> candidates(const spec::OpSpec& spec, const facts::FactSet& facts) const override {
    const auto* device = std::get_if<std::string>(&facts.value(Id::device_type));
    std::vector<Candidate> out;
    if (device && *device == "cpu") {
      out.push_back(cpu_flash());
    } else {
      const bool rocm = device && *device == "rocm";
      out.push_back(flash(rocm));
      out.push_back(efficient(rocm));
      out.push_back(cudnn());
    }
    out.push_back(math());
    const auto& order = spec.policy.order;
    if (order && std::find(order->begin(), order->end(), "torch-overrideable") != order->end()) out.push_back(overrideable());
    return out;
  }

  VersionConfidence confidence(const facts::FactSet& facts) const override {
    if (const auto* version = std::get_if<facts::Version>(&facts.value(Id::torch_version)))
      for (const VersionConfidence& c : certainty)
        if (contains(c.span, *version)) return c;
    return {{}, Confidence::unknown, "the PyTorch version is not known, or older than 2.0"};
  }

  std::span<const std::string_view> rerouting() const override { return elsewhere; }

  std::vector<std::span<const Rule>> tables() const override {
    namespace t = torch_attention;
    return {t::call_rules(), t::outcome_rules(), t::flash_rules(), t::efficient_rules(), t::cudnn_rules(), t::cpu_rules(),
            t::math_rules(), t::overrideable_rules(), t::rocm_flash_rules(), t::rocm_efficient_rules()};
  }

 private:
  static Candidate flash(bool rocm) {
    static const std::vector<Rule> amd = for_rocm(torch_attention::flash_rules(), torch_attention::rocm_flash_rules());
    Candidate c{"torch-flash", "FlashAttention kernels inside PyTorch"};
    c.fast = true;
    c.rules = rocm ? std::span<const Rule>(amd) : torch_attention::flash_rules();
    c.positions = torch_attention::flash_positions();
    c.version = Id::torch_version;
    c.operators = flash_events;
    c.kernels = flash_kernels;
    return c;
  }
  static Candidate efficient(bool rocm) {
    static const std::vector<Rule> amd = for_rocm(torch_attention::efficient_rules(), torch_attention::rocm_efficient_rules());
    Candidate c{"torch-efficient", "memory-efficient attention (CUTLASS) inside PyTorch"};
    c.fast = true;
    c.rules = rocm ? std::span<const Rule>(amd) : torch_attention::efficient_rules();
    c.positions = torch_attention::efficient_positions();
    c.version = Id::torch_version;
    c.operators = efficient_events;
    c.kernels = efficient_kernels;
    return c;
  }
  // The selector does not ask cuDNN: where cuDNN has no engine after all, it is chosen and the call fails.
  static Candidate cudnn() {
    static constexpr std::string_view cudnn_errors[] = {"RUL011"};
    Candidate c{"torch-cudnn", "attention through a cuDNN graph"};
    c.fast = true;
    c.rules = torch_attention::cudnn_rules();
    c.positions = torch_attention::cudnn_positions();
    c.version = Id::torch_version;
    c.operators = cudnn_events;
    c.raising = cudnn_errors;
    return c;
  }
  static Candidate cpu_flash() {
    Candidate c{"torch-cpu-flash", "fused attention on the CPU"};
    c.fast = true;
    c.rules = torch_attention::cpu_rules();
    c.positions = torch_attention::cpu_positions();
    c.version = Id::torch_version;
    c.operators = cpu_events;
    return c;
  }
  static Candidate math() {
    Candidate c{"torch-math", "two matrix products and a softmax, scores in memory"};
    c.last_resort = true;
    c.rules = torch_attention::math_rules();
    c.raising = math_errors;
    c.positions = torch_attention::math_positions();
    c.version = Id::torch_version;
    c.operators = math_events;
    return c;
  }
  static Candidate overrideable() {
    Candidate c{"torch-overrideable", "slot for devices outside the tree"};
    c.rules = torch_attention::overrideable_rules();
    c.raising = overrideable_errors;
    c.version = Id::torch_version;
    c.operators = overrideable_events;
    return c;
  }
};

}  // namespace

const Framework& torch_framework() {
  static const Torch instance;
  return instance;
}

}  // namespace dd::frameworks
