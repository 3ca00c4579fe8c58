// The tool's own name and version, as printed by --version and stored in every report.
#pragma once
#include <string_view>
namespace dd::core {
std::string_view tool_version();
}
