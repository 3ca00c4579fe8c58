#include "dispatch/dispatch.hpp"
#include "support/catch.hpp"

using namespace dd;
using dispatch::Action;
using dispatch::Candidate;
using facts::Id;

namespace {

const rules::Rule narrow = {.id = "AAA001", .name = "too-wide", .title = "", .level = rules::Level::blocks, .scope = "a",
                            .applies = rules::always(), .requires_that = rules::at_most(Id::head_dim, 128)};
const rules::Rule unknown = {.id = "AAA002", .name = "not-known", .title = "", .level = rules::Level::blocks, .scope = "b",
                             .applies = rules::always(), .requires_that = rules::at_most(Id::sm_count, 8)};

std::vector<Candidate> three(std::int64_t head_dim) {
  facts::FactSet f;
  f.set(Id::head_dim, head_dim);
  return {{"a", {rules::evaluate(narrow, f)}}, {"b", {rules::evaluate(unknown, f)}}, {"c", {}}};
}

dispatch::Tried works(const std::string&) { return {true, {}}; }

}  // namespace

TEST_CASE("the first eligible candidate is chosen") {
  const auto d = dispatch::decide({}, three(64), works);
  REQUIRE(d.selected);
  CHECK(*d.selected == "a");
  CHECK(d.steps.size() == 1);
}

TEST_CASE("a blocked candidate is passed over with its ids, a failing one falls back with its own") {
  const auto d = dispatch::decide({}, three(256), [](const std::string& name) {
    return name == "b" ? dispatch::Tried{false, {"RUL001"}} : dispatch::Tried{true, {}};
  });
  REQUIRE(d.steps.size() == 3);
  CHECK(d.steps[0].action == Action::passed_over);
  CHECK(d.steps[0].finding_ids == std::vector<std::string>{"AAA001"});
  CHECK(d.steps[1].action == Action::failed);
  CHECK(d.steps[1].finding_ids == std::vector<std::string>{"RUL001"});
  CHECK(d.steps[2].action == Action::chosen);
  CHECK(*d.selected == "c");
}

TEST_CASE("no backend at all is a decision without a selection") {
  const auto d = dispatch::decide({}, three(256), [](const std::string&) { return dispatch::Tried{}; });
  CHECK_FALSE(d.selected);
  CHECK(d.steps.size() == 3);
}

TEST_CASE("an order puts known names first, once, and keeps the rest") {
  spec::Policy p;
  p.order = {"c", "nobody", "c", "a"};
  CHECK(dispatch::walk_order(p, three(1)) == std::vector<std::string>{"c", "a", "b"});
}

TEST_CASE("policy facts block what the policy leaves out") {
  spec::Policy p;
  p.allow = {"a", "b"};
  p.deny = {"b"};
  const auto blocked = [&](const char* name) {
    facts::FactSet f;
    dispatch::set_policy_facts(f, p, name);
    return dispatch::ids_of(rules::evaluate_all(dispatch::policy_rules(), f), rules::Level::blocks);
  };
  CHECK(blocked("a").empty());
  CHECK(blocked("b") == std::vector<std::string>{"POL001"});
  CHECK(blocked("c") == std::vector<std::string>{"POL002"});
  p.force = "c";
  CHECK(blocked("c") == std::vector<std::string>{"POL002"});
  CHECK(blocked("a") == std::vector<std::string>{"POL003"});
}
