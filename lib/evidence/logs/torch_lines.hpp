// One line that torch's attention dispatcher printed about a backend that it passed over, as the rules that mean the
// same. One text often stands for several checks; the numbers and types in the line tell which of them failed.
#pragma once
#include <string_view>
#include <vector>

#include "facts/facts.hpp"
#include "rules/rule.hpp"
namespace dd::evidence {

// What the line states about the call: "Query.size(-1): 63", "Query dtype: float", "on a sm 7.5 gpu", …
facts::FactSet facts_in(std::string_view line);

// Rules that the line stands for, the likeliest first; those that the line itself shows to be met are left out unless
// none else remains. Empty when the line is none of torch's.
std::vector<const rules::Rule*> rules_behind(std::string_view line, std::string_view backend);

}  // namespace dd::evidence
