// Single values of case files: several spellings of one value are taken; anything else throws runtime_error with the name
// of the field and what stands there.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "spec/spec.hpp"

namespace dd::cases {

// A whole number, also as its digits or as 64.0.
std::int64_t figure(const nlohmann::json& value, const std::string& name);
double fraction(const nlohmann::json& value, const std::string& name);
std::string text_of(const nlohmann::json& value, const std::string& name);
spec::Dims extents(const nlohmann::json& value, const std::string& name);
// true, "true", "on", "yes", 1; the word "strict" counts as true.
bool truth(const nlohmann::json& value, const std::string& name);

}  // namespace dd::cases
