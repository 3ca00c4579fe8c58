// Common part of the frameworks that dispatch matrix products: facts, tables by scope, and candidates made from scopes.
// A framework names its candidates and their order for a spec; everything else is rows of data.
#pragma once
#include <string>
#include <vector>

#include "frameworks/framework.hpp"
#include "frameworks/gemm/scopes.hpp"

namespace dd::frameworks::gemm {

class ProductFramework : public Framework {
 public:
  // `prefixes`: the scopes whose rules belong to this framework start with one of these.
  ProductFramework(std::string_view name, std::vector<std::string_view> prefixes, VersionConfidence confidence)
      : name_(name), prefixes_(std::move(prefixes)), confidence_(confidence) {}

  std::string_view name() const override { return name_; }
  bool serves(const spec::OpSpec& spec) const override { return !spec.is_attention(); }
  void add_facts(const spec::OpSpec& spec, facts::FactSet& facts) const override;
  std::span<const rules::Rule> call_rules(const spec::OpSpec&) const override { return {}; }
  std::vector<Priority> priorities(const spec::OpSpec& spec, const facts::FactSet& facts) const override;
  VersionConfidence confidence(const facts::FactSet&) const override { return confidence_; }
  std::vector<std::span<const rules::Rule>> tables() const override;

 private:
  std::string_view name_;
  std::vector<std::string_view> prefixes_;
  VersionConfidence confidence_;
};

enum class Speed { fast, fallback };
// A candidate whose rules are those of the scope of its name (none: it takes whatever reaches it).
Candidate candidate(std::string_view scope, std::string_view text, Speed speed, std::span<const std::string_view> raising = {});
Candidate last_resort(std::string_view name, std::string_view text, Speed speed = Speed::fallback);

// The frameworks, each in its own folder or in packages.cpp.
const Framework& torch_products();
const Framework& vllm();
const Framework& bitsandbytes();
const Framework& torchao();
const Framework& ggml();
const Framework& autoawq();
const Framework& gptqmodel();
const Framework& onnxruntime();
const Framework& marlin();
const Framework& tensorrt_llm();
const Framework& transformer_engine();
const Framework& cublas();

}  // namespace dd::frameworks::gemm
