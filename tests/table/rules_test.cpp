// Loops over every rule of every owner: what a row must have, whatever it is about.
#include <cctype>
#include <set>
#include <string>

#include "backends/backend.hpp"
#include "backends/catalogue.hpp"
#include "edge_facts.hpp"
#include "support/catch.hpp"

namespace {

using namespace dd;
using rules::Rule;

bool kebab(std::string_view name) {
  if (name.empty() || name.front() == '-' || name.back() == '-') return false;
  for (char c : name)
    if (!std::islower(static_cast<unsigned char>(c)) && !std::isdigit(static_cast<unsigned char>(c)) && c != '-') return false;
  return name.find("--") == std::string_view::npos;
}

bool date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  for (std::size_t i : {0, 1, 2, 3, 5, 6, 8, 9})
    if (!std::isdigit(static_cast<unsigned char>(text[i]))) return false;
  return true;
}

}  // namespace

TEST_CASE("ids and names are unique and well formed") {
  std::set<std::string_view> ids, names;
  const auto all = backends::catalogue().all();
  REQUIRE(all.size() >= 50);
  for (const Rule* rule : all) {
    INFO(rule->id << " " << rule->name);
    CHECK(ids.insert(rule->id).second);
    CHECK(names.insert(rule->name).second);
    REQUIRE(rule->id.size() == 6);
    for (int i = 0; i < 3; ++i) CHECK(std::isupper(static_cast<unsigned char>(rule->id[static_cast<std::size_t>(i)])));
    for (int i = 3; i < 6; ++i) CHECK(std::isdigit(static_cast<unsigned char>(rule->id[static_cast<std::size_t>(i)])));
    CHECK(kebab(rule->name));
    CHECK(backends::catalogue().find(rule->id) == rule);
    CHECK(backends::catalogue().find(rule->name) == rule);
  }
}

TEST_CASE("every field is filled, in the manner that the report prints") {
  for (const Rule* rule : backends::catalogue().all()) {
    INFO(rule->id << " " << rule->name);
    REQUIRE_FALSE(rule->title.empty());
    const bool stop = rule->title.back() == '.' || rule->title.back() == '!';
    CHECK_FALSE(stop);
    CHECK_FALSE(rule->scope.empty());
    CHECK_FALSE(rule->effect.empty());
    CHECK_FALSE(rule->source.text.empty());
    CHECK_FALSE(rule->source.version.empty());
    CHECK(date(rule->source.checked));
    // The blocked side of these five is no valid spec; the test of their table states it by itself and says why.
    const bool beyond_the_command_line = rule->id == "TCP014" || rule->id == "TCU030" || rule->id == "TSD003" || rule->id == "TEF003" || rule->id == "TFL003";
    CHECK(rule->blocked_example.empty() == beyond_the_command_line);
    CHECK_FALSE(rule->passing_example.empty());
    // Something must be required, and something must be able to go wrong.
    CHECK(rule->requires_that.kind != rules::Kind::always);
    CHECK_FALSE(rules::required_text(rule->requires_that).empty());
    for (rules::Change change : rule->fix.changes)
      if (change != rules::Change::none) CHECK_FALSE(rule->fix.text.empty());
  }
}

TEST_CASE("a fact that is missing makes a rule unknown, never fine") {
  const facts::FactSet nothing;
  for (const Rule* rule : backends::catalogue().all()) {
    if (rule->requires_that.kind == rules::Kind::never || rule->requires_that.kind == rules::Kind::stated) continue;
    bool custom = false, stated = false;
    for (const rules::Condition* condition : {&rule->applies, &rule->requires_that})
      for (const rules::Leaf& leaf : test::leaves_of(*condition)) {
        custom |= leaf.condition->kind == rules::Kind::custom;
        stated |= leaf.condition->kind == rules::Kind::stated;
      }
    if (custom || stated) continue;  // these may decide without the fact
    INFO(rule->id << " " << rule->name);
    CHECK(rules::status(*rule, nothing) == rules::Truth::unknown);
  }
}

TEST_CASE("both sides of every boundary: a leaf says what its edge says, negated where unless() stands above") {
  int edges = 0;
  for (const Rule* rule : backends::catalogue().all())
    for (const rules::Condition* condition : {&rule->applies, &rule->requires_that})
      for (const rules::Leaf& leaf : test::leaves_of(*condition)) {
        bool seen[2] = {false, false};
        for (const rules::Edge& edge : rules::edges(*leaf.condition)) {
          facts::FactSet facts;
          facts.set(edge.fact, edge.value);
          INFO(rule->id << " " << facts::info(edge.fact).name << " = " << facts::to_text(edge.value));
          CHECK(rules::evaluate(*leaf.condition, facts) == (edge.holds ? rules::Truth::met : rules::Truth::unmet));
          seen[edge.holds] = true;
          ++edges;
        }
        const bool open = leaf.condition->kind == rules::Kind::version_in && leaf.condition->literals[0].index() == 0 &&
                          leaf.condition->literals[1].index() == 0;
        if (!rules::edges(*leaf.condition).empty() && !open) {
          INFO(rule->id << " " << rules::required_text(*leaf.condition));
          CHECK(seen[0]);
          CHECK(seen[1]);
        }
      }
  CHECK(edges > 100);
}

TEST_CASE("custom conditions stay an exception") {
  int custom = 0, all = 0;
  for (const Rule* rule : backends::catalogue().all()) {
    ++all;
    for (const rules::Condition* condition : {&rule->applies, &rule->requires_that})
      for (const rules::Leaf& leaf : test::leaves_of(*condition)) custom += leaf.condition->kind == rules::Kind::custom;
  }
  CHECK(custom * 10 <= all);
}

TEST_CASE("every backend: name, functions, and rules that are about it") {
  std::set<std::pair<std::string_view, spec::Op>> names;
  for (const backends::Backend& backend : backends::all_backends()) {
    INFO(backend.name);
    CHECK(names.insert({backend.name, backend.op}).second);
    CHECK_FALSE(backend.summary.empty());
    CHECK_FALSE(backend.library.empty());
    REQUIRE(backend.rules);
    REQUIRE(backend.probe);
    CHECK_FALSE(backend.rules().empty());
    for (const Rule& rule : backend.rules()) {
      INFO(rule.id);
      CHECK((rule.scope == backend.name || rule.scope == "*"));
      CHECK(backends::catalogue().find(rule.id) == &rule);
    }
    CHECK(backends::find_backend(backend.name, backend.op) == &backend);
  }
}
