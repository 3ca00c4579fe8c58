// Cases that are answered by rules alone: the dispatcher of a framework, or the native one, on a device that is not here.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "cli/options.hpp"
#include "facts/profiles.hpp"
#include "report/report.hpp"
#include "session/ask.hpp"
#include "session/batch.hpp"

namespace dd::cli {

// Whether the spec names a target that is a profile, or several: nothing of it is run here.
bool is_modelled(const spec::OpSpec& spec);

// What find_profiles says of each target that a batch names.
using Places = std::map<std::string, core::Result<std::vector<facts::DeviceProfile>>>;

struct Modelled {
  std::vector<report::Case> cases;   // one per target
  std::vector<std::string> labels;   // the targets' names
};
// `targets` is what find_profiles says of the spec's target. `brief`: only what a line in a list and a table need. `asker`
// may be nullptr: then no library is asked.
Modelled model(const session::BatchItem& item, const core::Result<std::vector<facts::DeviceProfile>>& targets, const RunOptions& run,
               const session::Settings& settings, bool brief, session::Asker* asker);

}  // namespace dd::cli
