#include "frameworks/gemm/product_framework.hpp"

#include <algorithm>

#include "frameworks/gemm/facts.hpp"
#include "frameworks/gemm/set.hpp"

namespace dd::frameworks::gemm {

void ProductFramework::add_facts(const spec::OpSpec& spec, facts::FactSet& facts) const {
  add_gemm_facts(spec, facts);
  add_attention_facts(spec, facts);
}

std::vector<Priority> ProductFramework::priorities(const spec::OpSpec& spec, const facts::FactSet& facts) const {
  Priority order;
  order.reason = "the order in which the framework asks";
  for (const Candidate& c : candidates(spec, facts)) order.order.push_back(c.name);
  return {order};
}

std::vector<std::span<const rules::Rule>> ProductFramework::tables() const {
  std::vector<std::span<const rules::Rule>> out;
  for (const Scope& scope : all_scopes()) {
    const bool mine = std::any_of(prefixes_.begin(), prefixes_.end(), [&](std::string_view p) { return scope.name.starts_with(p); });
    if (mine) out.push_back(scope.rules());
  }
  return out;
}

Candidate candidate(std::string_view scope, std::string_view text, Speed speed, std::span<const std::string_view> raising) {
  Candidate out;
  out.name = scope;
  out.text = text;
  out.fast = speed == Speed::fast;
  if (const Scope* found = find_scope(scope)) out.rules = found->rules();
  out.raising = raising;
  static constexpr std::pair<std::string_view, Id> versions[] = {{"vllm-", Id::vllm_version}, {"bnb-", Id::bnb_version}, {"torch-", Id::torch_version}, {"cublas", Id::cublas_version}};
  for (const auto& [prefix, version] : versions)
    if (scope.starts_with(prefix)) out.version = version;
  return out;
}

Candidate last_resort(std::string_view name, std::string_view text, Speed speed) {
  Candidate out = candidate(name, text, speed);
  out.last_resort = true;
  return out;
}

}  // namespace dd::frameworks::gemm
