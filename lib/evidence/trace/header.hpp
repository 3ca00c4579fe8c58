// Top-level keys of a trace: numbers, versions and device properties. An allow-list: whatever else a tool wrote there
// (environments, command lines, host names) is not even looked at.
#pragma once
#include <string_view>

#include "evidence/trace/records.hpp"
namespace dd::evidence {
void read_header(std::string_view key, std::string_view value, Trace& trace);
}
