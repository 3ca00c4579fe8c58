// Random specs against every processor backend. Eligible means that it runs and is close; blocked means that a forced
// dispatch refuses and names the rule. DD_PROPERTY_SPECS sets how many (default 2500), DD_PROPERTY_FIRST where they start.
#include <cstdlib>
#include <map>
#include <string>

#include "cases.hpp"
#include "dispatch/dispatch.hpp"
#include "facts/derive.hpp"
#include "facts/machine.hpp"
#include "random_specs.hpp"
#include "spec/canonical.hpp"

namespace {

using namespace dd;

std::uint64_t number(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text && *text ? std::strtoull(text, nullptr, 10) : otherwise;
}

bool serves(const backends::Backend& b, const spec::OpSpec& s) {
  if (b.device != "cpu" || b.op != (s.is_attention() ? spec::Op::sdpa : spec::Op::gemm)) return false;
  return s.is_attention() || (s.gemm().quant ? b.quantized : b.dense);
}

struct Tally {
  int eligible = 0, blocked = 0;
};

void check_forced_refusal(const backends::Backend& b, std::vector<rules::Finding> findings) {
  spec::Policy force;
  force.force = std::string(b.name);
  const dispatch::Candidate candidates[] = {{std::string(b.name), std::move(findings)}};
  bool tried = false;
  const auto decision = dispatch::decide(force, candidates, [&](const std::string&) {
    tried = true;
    return dispatch::Tried{};
  });
  CHECK_FALSE(tried);
  CHECK_FALSE(decision.selected);
  REQUIRE(decision.steps.size() == 1);
  CHECK_FALSE(decision.steps[0].finding_ids.empty());
}

void check_eligible(const backends::Backend& b, const spec::OpSpec& s) {
  const auto judged = test::run_and_compare(b, s);
  INFO((judged.run.error ? judged.run.error->text : std::string("ran")));
  REQUIRE_FALSE(judged.run.error);
  const report::Comparison& c = judged.comparison;
  INFO(c.verdict << ": mismatched " << c.mismatched << " of " << c.total << ", unwritten " << c.unwritten << ", worst " << c.absolute.value
                 << " allowed " << c.absolute.limit << " " << c.mistrust);
  CHECK((c.verdict == "close" || c.verdict == "mistrusted"));
  CHECK(c.guard_damaged == 0);
}

}  // namespace

TEST_CASE("random specs: eligible means close, blocked means refused with an id") {
  const std::uint64_t count = number("DD_PROPERTY_SPECS", 2500), first = number("DD_PROPERTY_FIRST", 0);
  std::map<std::string, Tally> tallies;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    const spec::OpSpec s = test::random_spec(seed);
    facts::FactSet shared = facts::derive_facts(s);
    facts::add_machine_facts(shared);
    for (const backends::Backend& b : backends::all_backends()) {
      if (!serves(b, s) || !b.probe().available) continue;
      facts::FactSet f = shared;
      if (b.add_facts) b.add_facts(f);
      auto findings = rules::evaluate_all(b.rules(), f);
      INFO("seed " << seed << ", " << b.name << ": " << spec::repro_line(s));
      Tally& tally = tallies[std::string(b.name) + (s.is_attention() ? " sdpa" : s.gemm().quant ? " quantized" : " dense")];
      const auto eligibility = rules::eligibility(findings);
      // Everything that these rules read is known on a machine that is here.
      CHECK(eligibility != rules::Eligibility::unknown);
      if (eligibility == rules::Eligibility::blocked) {
        ++tally.blocked;
        check_forced_refusal(b, std::move(findings));
      } else {
        ++tally.eligible;
        check_eligible(b, s);
      }
    }
  }
  // A backend that was never eligible was not tested.
  for (const auto& [name, tally] : tallies) {
    INFO(name << ": eligible " << tally.eligible << ", blocked " << tally.blocked);
    CHECK(tally.eligible > 0);
  }
  CHECK(tallies.size() >= 7);
}
