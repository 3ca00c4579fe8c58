// Device profiles: what is known of GPUs that need not be here. The files of configs/devices are compiled in, so the
// tool needs none at run time; a user's file in the same form (schema: configs/schemas/device.schema.json) is read by
// path. A field that a profile lacks stays unknown. sm_NN names any GPU of that capability, gfxNNN an AMD GPU.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "facts/facts.hpp"

namespace dd::facts {

struct ProfileField {
  std::int64_t value = 0;
  std::string source;
  std::string checked = {};  // the day on which the value was compared with the source; empty when nobody says so
  bool unverified = false;   // entered from memory: the source is where it can be checked
};
// The source, with what is known of its having been compared.
std::string source_text(const ProfileField& field);

struct DeviceProfile {
  std::string name;          // h100-sxm, sm_90, cpu
  std::string title;         // one line
  std::string architecture;  // may be empty
  std::string device_type = "cuda";
  std::map<std::string, ProfileField> fields;
  std::string cudnn_device;  // cuDNN's own JSON of the device, where the profile was recorded on it; else empty

  std::optional<std::int64_t> get(std::string_view field) const;
};

// The fields that a profile may have, with unit and meaning.
struct ProfileFieldInfo {
  std::string_view name, unit, text;
};
const std::vector<ProfileFieldInfo>& profile_fields();

// Reads one profile; every problem is reported, with `file` in front.
core::Result<DeviceProfile> parse_profile(std::string_view json_text, const std::string& file);

// Those compiled in, sorted: named GPUs first, then sm_NN.
const std::vector<DeviceProfile>& known_profiles();

// One target: a profile's name, sm_NN, gfxNNN, cpu, or the path of a profile file.
core::Result<DeviceProfile> find_profile(std::string_view target);
// --target: names, paths, or `all` (every named GPU), separated by commas.
core::Result<std::vector<DeviceProfile>> find_profiles(std::string_view list);

// The named profile of a GPU that is here, by what its driver says; null when none fits.
const DeviceProfile* profile_of_gpu(std::string_view name, int compute_capability, int sm_count, std::int64_t memory_bytes);

// Sets device_type, target, compute_capability and the other facts that the profile knows; those that it does not know
// become unknown, so that nothing of a present GPU shines through.
void apply(const DeviceProfile& profile, FactSet& facts);

}  // namespace dd::facts
