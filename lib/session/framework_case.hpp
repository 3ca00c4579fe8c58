// A case of a framework's own dispatcher (torch, …): what its rules say for this version and device, held against what the
// framework itself does when a worker can run it here. Without such a worker, or for a device or version that is not
// here, the case ends with the prediction, and says so.
#pragma once
#include <memory>
#include <string>

#include "report/report.hpp"
#include "session/scratch.hpp"
#include "session/settings.hpp"
#include "session/supervisor.hpp"

namespace dd::session {

// The framework is spec.context.framework; the worker is the one of that name.
report::Case diagnose_framework(const spec::OpSpec& spec, const std::string& id, const Services& services, const Settings& settings,
                                Supervisor& supervisor, const std::shared_ptr<Scratch>& scratch);

// Facts from a worker's hello (torch, torch.cuda, torch.cudnn, torch.compute_capability), where the spec states none.
// `on_first_gpu`: the call names no target, so it runs on the worker's first GPU where there is one.
void add_worker_facts(const Hello& hello, facts::FactSet& facts, bool on_first_gpu = false);

}  // namespace dd::session
