// A command line to facts or to a diagnosis of the framework that it names.
#pragma once
#include <string>

#include "cli/options.hpp"
#include "facts/profiles.hpp"
#include "frameworks/framework.hpp"
#include "frameworks/gemm/facts.hpp"
#include "support/catch.hpp"

namespace dd::test {

inline spec::OpSpec spec_of(const std::string& line) {
  INFO(line);
  const auto spec = cli::parse_batch_line(line);
  std::string problems;
  if (!spec.ok())
    for (const core::Problem& p : spec.problems()) problems += core::to_text(p) + "; ";
  INFO(problems);
  REQUIRE(spec.ok());
  return *spec;
}

inline facts::FactSet facts_of(const spec::OpSpec& spec) {
  facts::FactSet f;
  // A device named in an example brings its figures along, as it does in the program.
  if (const auto profile = facts::find_profile(spec.context.target); profile && !spec.context.target.starts_with("sm_") && profile->device_type == "cuda") facts::apply(*profile, f);
  frameworks::gemm::add_gemm_facts(spec, f);
  frameworks::gemm::add_attention_facts(spec, f);
  return f;
}

inline frameworks::Diagnosis diagnosed(const std::string& line) {
  const spec::OpSpec spec = spec_of(line);
  const frameworks::Framework* framework = frameworks::find_framework(spec.context.framework, spec);
  INFO(spec.context.framework);
  REQUIRE(framework);
  return frameworks::diagnose(*framework, spec, facts::FactSet());
}

// A rule is named when it is unmet among the findings of the call or of any candidate.
inline bool names(const frameworks::Diagnosis& d, std::string_view id) {
  const auto unmet = [&](const rules::Finding& f) { return f.rule->id == id && f.status == rules::Truth::unmet; };
  for (const rules::Finding& f : d.call_findings)
    if (unmet(f)) return true;
  for (const frameworks::CandidateResult& c : d.candidates)
    for (const rules::Finding& f : c.findings)
      if (unmet(f)) return true;
  return false;
}

}  // namespace dd::test
