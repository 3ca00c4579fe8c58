// The GPU of this machine as a device profile (configs/schemas/device.schema.json) that `--target FILE` reads again.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/result.hpp"

namespace dd::backends {

// Peak rates are those of the named profile of the same GPU, with that as their source; what nothing tells is absent.
// `date` and `tool` go into the record.
core::Result<nlohmann::ordered_json> device_profile(int ordinal, const std::string& date, const std::string& tool);

// cuDNN's own JSON of the device's properties; empty with the reason in `problem`. Asked in a child process, since cuDNN may
// crash; therefore to be called before this process has used the driver.
std::string cudnn_device_json(int ordinal, std::string& problem);

}  // namespace dd::backends
