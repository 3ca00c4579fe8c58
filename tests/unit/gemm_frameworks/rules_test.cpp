// Every rule of matrix-product dispatch: its examples are read as command lines, the one must break it, the other not.
#include "diagnosed.hpp"

#include <set>

#include "frameworks/gemm/scopes.hpp"

using namespace dd;

TEST_CASE("the examples of every product rule break it and keep it") {
  int judged = 0;
  for (const frameworks::gemm::Scope& scope : frameworks::gemm::all_scopes()) {
    REQUIRE_FALSE(scope.rules().empty());
    for (const rules::Rule& rule : scope.rules()) {
      INFO(rule.id << " " << rule.name);
      CHECK(rule.scope == scope.name);
      const auto breaking = cli::parse_batch_line(rule.blocked_example), keeping = cli::parse_batch_line(rule.passing_example);
      INFO("breaks: " << rule.blocked_example << "\nkeeps: " << rule.passing_example);
      CHECK(breaking.ok());
      CHECK(keeping.ok());
      if (!breaking.ok() || !keeping.ok()) continue;
      CHECK(rules::status(rule, test::facts_of(*breaking)) == rules::Truth::unmet);
      CHECK(rules::status(rule, test::facts_of(*keeping)) == rules::Truth::met);
      ++judged;
    }
  }
  CHECK(judged >= 290);
}

TEST_CASE("ids and names of product rules are unique, orders never fall below 1") {
  std::set<std::string_view> ids, names;
  for (const frameworks::gemm::Scope& scope : frameworks::gemm::all_scopes())
    for (const rules::Rule& rule : scope.rules()) {
      INFO(rule.id << " " << rule.name);
      CHECK(ids.insert(rule.id).second);
      CHECK(names.insert(rule.name).second);
      CHECK(rule.order > 0);
      CHECK_FALSE(rule.fix.text.empty());
    }
}

TEST_CASE("every scope belongs to a framework's tables, each once") {
  std::multiset<const rules::Rule*> seen;
  for (const frameworks::Framework* framework : frameworks::all_frameworks())
    for (const auto table : framework->tables())
      if (!table.empty()) seen.insert(table.data());
  for (const frameworks::gemm::Scope& scope : frameworks::gemm::all_scopes()) {
    INFO(scope.name);
    CHECK(seen.count(scope.rules().data()) == 1);
  }
}
