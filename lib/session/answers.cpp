#include "session/answers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "dispatch/dispatch.hpp"
#include "session/findings.hpp"

namespace dd::session {
namespace {

void add(std::vector<report::Finding>& into, facts::FactSet f, std::string_view id, std::string seen, std::string required) {
  if (std::any_of(into.begin(), into.end(), [&](const report::Finding& x) { return x.id == id; })) return;
  f.set(facts::Id::run_backend, std::move(seen), facts::Provenance::library, "query");
  f.set(facts::Id::chosen_backend, std::move(required), facts::Provenance::derived, "rules");
  for (const rules::Rule& rule : dispatch::answer_rules())
    if (rule.id == id) into.push_back(to_report(rules::evaluate(rule, f)));
}

}  // namespace

void answer_against_rules(std::vector<report::Finding>& into, const facts::FactSet& facts, const std::string& query, const std::string& answer,
                          const std::string& rules, const std::string& reasons) {
  if (answer == rules) return;
  add(into, facts, "RUL004", fmt::format("{} answers {}{}{}", query, answer, reasons.empty() ? "" : ": ", reasons), fmt::format("{} by the rules", rules));
}

void answer_against_run(std::vector<report::Finding>& into, const facts::FactSet& facts, const std::string& query, const std::string& answer,
                        const std::string& ran) {
  if (answer == ran) return;
  add(into, facts, "RUL005", fmt::format("{} answers {}", query, answer), fmt::format("{} when it ran", ran));
}

}  // namespace dd::session
