// A call whose layer above does not ask the dispatcher (attention written out, its weights wanted, its scores changed): which rule says so,
// and what the verdict then says.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "frameworks/framework.hpp"
#include "report/report.hpp"

namespace dd::session {

// The unmet rule by which the dispatcher is left; nullptr where it is asked, or without a framework.
const report::Finding* rerouting(const frameworks::Framework* framework, const std::vector<report::Finding>& findings);

// Rewrites the verdict of a finished case. `predicted`: the backend that would serve the call itself; `why_not_here`: empty where it ran.
void say_rerouting(report::Case& done, const frameworks::Framework& framework, const std::optional<std::string>& predicted, const std::string& why_not_here);

}  // namespace dd::session
