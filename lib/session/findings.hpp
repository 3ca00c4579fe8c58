// From evaluated rules to the report's plain findings, and the eligibility that follows from them.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "report/report.hpp"
#include "rules/rule.hpp"

namespace dd::session {

report::Finding to_report(const rules::Finding& finding);
// Unmet and unknown ones; met ones too when asked for.
std::vector<report::Finding> to_report(std::span<const rules::Finding> findings, bool with_met);
std::vector<report::Fact> to_report(const facts::FactSet& facts);

}  // namespace dd::session
