#include "core/version.hpp"
namespace dd::core {
std::string_view tool_version() { return DD_VERSION; }
}  // namespace dd::core
