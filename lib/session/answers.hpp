// A library's own query ("would you take this call?") held against the rules and against what ran. Where the words are the
// same nothing happens; a difference, in either direction, becomes one finding.
#pragma once
#include <string>
#include <vector>

#include "facts/facts.hpp"
#include "report/report.hpp"

namespace dd::session {

// `answer` and `rules` (or `ran`) are words of one kind: yes and no, or names of backends.
void answer_against_rules(std::vector<report::Finding>& into, const facts::FactSet& facts, const std::string& query, const std::string& answer,
                          const std::string& rules, const std::string& reasons = {});
void answer_against_run(std::vector<report::Finding>& into, const facts::FactSet& facts, const std::string& query, const std::string& answer,
                        const std::string& ran);

}  // namespace dd::session
