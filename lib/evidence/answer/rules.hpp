// The rules of owner EVD: what recorded evidence shows that keeps a call off the fast path, or that makes the answer
// uncertain. The same rows are explained, listed and evaluated; log readers refer to them by id.
#pragma once
#include <span>
#include <string>
#include <string_view>

#include "evidence/answer/answer.hpp"
#include "facts/facts.hpp"
#include "rules/rule.hpp"
namespace dd::evidence {

std::span<const rules::Rule> evidence_rules();
const rules::Rule* find_evidence_rule(std::string_view id);
// Any rule with what was seen; status unmet unless said otherwise.
EvidenceFinding finding_of(const rules::Rule& rule, std::string seen, std::string_view status = "unmet");
// The same for a row of this table.
EvidenceFinding finding_of(std::string_view id, std::string seen, std::string_view status = "unmet");

}  // namespace dd::evidence
