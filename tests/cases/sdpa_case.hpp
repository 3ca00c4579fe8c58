// The spec part of an attention case, turned into a spec of the tool and the facts of the device that it names. Liberal:
// other spellings of a name or value are taken, null means absent; a field that is not read is told of in `notes`.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "facts/facts.hpp"
#include "spec/spec.hpp"

namespace dd::cases {

struct SdpaCase {
  spec::OpSpec spec;
  facts::FactSet facts;
  std::string device;              // cuda, rocm or cpu
  std::vector<std::string> notes;  // one per field that says nothing to the reader
};

// Throws what the JSON library throws, or runtime_error, when a field has a value that cannot be read.
SdpaCase read_sdpa_case(const nlohmann::json& spec);

// Names of backends: as case files write them (any spelling), and as the tool does.
std::string backend_name(const std::string& written);
std::string backend_name_in_cases(const std::string& ours);

}  // namespace dd::cases
