// The catalogue of rules as text: explain (one rule in full), and the tables that `rules` prints. The committed
// lib/rules/CATALOGUE.md is rules_markdown() of all tables; a test fails when the two differ.
#pragma once
#include <string>
#include <vector>

#include "rules/rule.hpp"

namespace dd::rules {

std::string explain_text(const Rule& rule);
std::string rules_text(const std::vector<const Rule*>& rules);
std::string rules_markdown(const std::vector<const Rule*>& rules);
std::string rules_json(const std::vector<const Rule*>& rules);

}  // namespace dd::rules
