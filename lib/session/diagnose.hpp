// One case end to end: memory check, facts, findings of every candidate, inputs and reference, the dispatcher with real
// runs and fallback, each permitted backend once under force, comparison, rule against library, verdict, exit code.
#pragma once
#include <memory>
#include <string>

#include "report/report.hpp"
#include "session/scratch.hpp"
#include "session/settings.hpp"
#include "session/supervisor.hpp"

namespace dd::session {

// The spec must have passed validation. Never throws; what cannot be done is in the case. Ctrl-C ends it early with what
// is done so far (attempts not made are marked not-tried).
report::Case diagnose(const spec::OpSpec& spec, const std::string& id, const Services& services, const Settings& settings,
                      Supervisor& supervisor, const std::shared_ptr<Scratch>& scratch);

// Memory that a worker may hold when the user gave no limit.
WorkerLimits limits_of(const Settings& settings);

}  // namespace dd::session
