#include "rules/registry.hpp"
#include "rules/rule.hpp"
#include "support/catch.hpp"

using namespace dd::rules;
using dd::facts::FactSet;
using dd::facts::Id;

namespace {

const Rule table[] = {
    {.id = "AAA001", .name = "too-wide", .title = "the head is too wide", .level = Level::blocks, .scope = "x", .applies = always(),
     .requires_that = at_most(Id::head_dim, 128)},
    {.id = "AAA002", .name = "too-long", .title = "the sequence is too long", .level = Level::slows, .scope = "x", .applies = is_true(Id::is_causal),
     .requires_that = at_most(Id::q_len, 10)},
};

FactSet facts(std::int64_t head_dim, std::int64_t q_len, std::optional<bool> causal) {
  FactSet f;
  f.set(Id::head_dim, head_dim);
  f.set(Id::q_len, q_len);
  if (causal) f.set(Id::is_causal, *causal);
  return f;
}

}  // namespace

TEST_CASE("a rule that does not apply is met, an undecided guard is unknown unless the requirement holds") {
  CHECK(status(table[1], facts(1, 11, false)) == Truth::met);
  CHECK(status(table[1], facts(1, 11, true)) == Truth::unmet);
  CHECK(status(table[1], facts(1, 11, std::nullopt)) == Truth::unknown);
  CHECK(status(table[1], facts(1, 10, std::nullopt)) == Truth::met);
}

TEST_CASE("all rules are evaluated, whatever the first one says") {
  const auto findings = evaluate_all(table, facts(256, 99, true));
  REQUIRE(findings.size() == 2);
  CHECK(findings[0].status == Truth::unmet);
  CHECK(findings[1].status == Truth::unmet);
  CHECK(findings[1].required == "q_len at most 10 tokens");
}

TEST_CASE("only blocking rules decide eligibility, and unknown is not eligible") {
  CHECK(eligibility(table, facts(64, 99, true)) == Eligibility::eligible);
  CHECK(eligibility(table, facts(256, 1, true)) == Eligibility::blocked);
  CHECK(eligibility(table, FactSet{}) == Eligibility::unknown);
}

TEST_CASE("the registry finds by id and by name and suggests near ones") {
  Registry registry;
  registry.add(table);
  REQUIRE(registry.find("aaa002") != nullptr);
  CHECK(registry.find("too-wide")->id == "AAA001");
  CHECK(registry.find("too-wid") == nullptr);
  REQUIRE_FALSE(registry.near("too-wid").empty());
  CHECK(registry.near("too-wid").front() == "too-wide");
}
