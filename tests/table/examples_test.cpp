// Every rule's examples are read as command lines and evaluated: the one must block, the other must pass.
#include <algorithm>
#include <optional>
#include <string>

#include "backends/backend.hpp"
#include "backends/catalogue.hpp"
#include "cli/options.hpp"
#include "dispatch/dispatch.hpp"
#include "edge_facts.hpp"
#include "facts/derive.hpp"
#include "facts/profiles.hpp"
#include "frameworks/framework.hpp"
#include "support/catch.hpp"

namespace {

using namespace dd;
using facts::Id;
using rules::Rule;
using rules::Truth;

// A machine that is the same everywhere, so that the outcome does not hang on where the test runs.
void add_plain_machine(facts::FactSet& f) {
  f.set(Id::cpu_isa, "avx2");
  f.set(Id::cpu_bf16, false);
  f.set(Id::cpu_vnni, false);
  f.set(Id::cpu_threads, std::int64_t{2});
  f.set(Id::memory_available, std::int64_t{8} << 30);
  f.set(Id::blas_available, true);
  f.set(Id::blas_core, "Haswell");
  f.set(Id::blas_core_isa, "avx2");
  f.set(Id::blas_core_pinned, false);
  f.set(Id::onednn_available, true);
  f.set(Id::onednn_version, facts::Version::of(2, 6, 3));
  f.set(Id::onednn_isa, "avx2");
  f.set(Id::onednn_isa_capped, false);
}

// Facts that no spec can state: a rule about these alone has the same example on both sides.
const std::vector<Id> of_machine = {Id::cpu_isa,   Id::cpu_bf16,      Id::cpu_vnni,         Id::cpu_threads,      Id::memory_available,
                                    Id::blas_core, Id::blas_core_isa, Id::blas_core_pinned, Id::blas_available,   Id::onednn_available,
                                    Id::onednn_version, Id::onednn_isa, Id::onednn_isa_capped,
                                    Id::cuda_driver_available, Id::cuda_driver_version, Id::cuda_device_count, Id::cuda_libraries_version,
                                    Id::device_code_built, Id::cublas_available, Id::cublaslt_available, Id::cudnn_available, Id::cudnn_parts_fit,
                                    Id::cupti_available, Id::nvrtc_available};

bool about_the_machine_alone(const Rule& rule) {
  const auto read = rules::facts_read(rule.requires_that);
  return std::all_of(read.begin(), read.end(), [](Id id) { return std::find(of_machine.begin(), of_machine.end(), id) != of_machine.end(); }) &&
         rule.blocked_example == rule.passing_example;
}

facts::FactSet facts_for(const spec::OpSpec& spec, const Rule& rule) {
  facts::FactSet f;
  add_plain_machine(f);
  facts::add_spec_facts(spec, f);
  if (const auto profile = facts::find_profile(spec.context.target); !spec.context.target.empty() && profile.ok()) facts::apply(*profile, f);
  if (const auto* framework = frameworks::find_framework(spec.context.framework)) framework->add_facts(spec, f);
  // A policy rule speaks of one backend; the examples are about the one that they name.
  const std::string backend = rule.scope == "*" ? (spec.is_attention() ? "cpu-math" : "cpu-blas") : std::string(rule.scope);
  dispatch::set_policy_facts(f, spec.policy, backend);
  return f;
}

bool native(const Rule& rule) {
  for (const backends::Backend& backend : backends::all_backends())
    for (const Rule& own : backend.rules())
      if (&own == &rule) return backend.device == "cpu";
  return rule.id.substr(0, 3) == "POL";
}

std::optional<spec::OpSpec> read_example(const Rule& rule, std::string_view line) {
  INFO(rule.id << ": " << line);
  const auto spec = cli::parse_batch_line(line);
  std::string problems;
  if (!spec.ok())
    for (const core::Problem& p : spec.problems()) problems += core::to_text(p) + "; ";
  INFO(problems);
  CHECK(spec.ok());
  if (!spec.ok()) return std::nullopt;
  return *spec;
}

}  // namespace

// Rules of frameworks read facts of a GPU and of builds that need their own ground; their tests are with their tables.
TEST_CASE("the examples of every processor and policy rule block and pass") {
  int judged = 0;
  for (const Rule* rule : backends::catalogue().all()) {
    if (!native(*rule)) continue;
    const auto blocked = read_example(*rule, rule->blocked_example), passing = read_example(*rule, rule->passing_example);
    if (!blocked || !passing || about_the_machine_alone(*rule)) continue;
    INFO(rule->id << " " << rule->name << ": " << rule->blocked_example << " | " << rule->passing_example);
    CHECK(rules::status(*rule, facts_for(*blocked, *rule)) == Truth::unmet);
    CHECK(rules::status(*rule, facts_for(*passing, *rule)) == Truth::met);
    const rules::Finding finding = rules::evaluate(*rule, facts_for(*blocked, *rule));
    CHECK_FALSE(finding.seen.empty());
    CHECK_FALSE(finding.required.empty());
    ++judged;
  }
  CHECK(judged > 30);
}

TEST_CASE("the examples of every rule of a GPU backend block and pass") {
  int judged = 0;
  for (const backends::Backend& backend : backends::all_backends()) {
    if (backend.device != "cuda") continue;
    for (const Rule& rule : backend.rules()) {
      const auto facts_of = [&](std::string_view line) -> std::optional<facts::FactSet> {
        auto spec = read_example(rule, line);
        if (!spec) return std::nullopt;
        if (spec->context.target.empty()) spec->context.target = "sm_90";
        facts::FactSet f = facts_for(*spec, rule);
        if (backend.add_call_facts) backend.add_call_facts(*spec, f);
        return f;
      };
      const auto blocked = facts_of(rule.blocked_example), passing = facts_of(rule.passing_example);
      if (!blocked || !passing) continue;
      INFO(rule.id << " " << rule.name << ": " << rule.blocked_example << " | " << rule.passing_example);
      CHECK(rules::status(rule, *blocked) == Truth::unmet);
      CHECK(rules::status(rule, *passing) == Truth::met);
      ++judged;
    }
  }
  CHECK(judged > 60);
}

TEST_CASE("rules about the machine alone: each of their facts can break them") {
  for (const Rule* rule : backends::catalogue().all()) {
    if (!native(*rule) || !about_the_machine_alone(*rule)) continue;
    const auto spec = read_example(*rule, rule->passing_example);
    REQUIRE(spec);
    bool met = false, unmet = false;
    for (const rules::Leaf& leaf : test::leaves_of(rule->requires_that)) {
      std::vector<rules::Edge> edges = rules::edges(*leaf.condition);
      if (edges.empty() && leaf.condition->has_other) {  // equality of two facts: both sides by hand
        edges.push_back({leaf.condition->fact, facts::Value(std::string("avx2")), true});
        edges.push_back({leaf.condition->fact, facts::Value(std::string("sse")), false});
      }
      for (const rules::Edge& edge : edges)
        for (const bool pinned : {false, true}) {
          facts::FactSet f = facts_for(*spec, *rule);
          f.set(Id::blas_core_pinned, pinned);
          f.set(edge.fact, edge.value);
          const Truth truth = rules::status(*rule, f);
          met |= truth == Truth::met;
          unmet |= truth == Truth::unmet;
        }
    }
    INFO(rule->id << " " << rule->name);
    CHECK(met);
    CHECK(unmet);
  }
}

TEST_CASE("three wrongs are three findings") {
  const auto spec = cli::parse_batch_line("sdpa --q 1x2x16x576 --dtype f64 --train");
  REQUIRE(spec.ok());
  facts::FactSet f;
  add_plain_machine(f);
  facts::add_spec_facts(*spec, f);
  std::vector<std::string_view> unmet;
  for (const rules::Finding& finding : rules::evaluate_all(backends::find_backend("cpu-flash", spec::Op::sdpa)->rules(), f))
    if (finding.status == Truth::unmet && finding.rule->level == rules::Level::blocks) unmet.push_back(finding.rule->id);
  // The head size of v follows that of q here, so one wrong shape breaks two limits.
  CHECK(unmet == std::vector<std::string_view>{"FLA001", "FLA002", "FLA003", "FLA004"});
}
