// A mangled name made readable as far as the patterns need it: the identifiers in order, "::" between those of one
// qualified name, "<" where template arguments begin. Linear in the length, whatever the text; no full demangler, because
// those expand substitutions without bound.
#pragma once
#include <string>
#include <string_view>
namespace dd::evidence {
// "_ZN5flash16flash_fwd_kernelILi64E..." -> "flash::flash_fwd_kernel<..."
std::string spelled_out(std::string_view mangled);
}  // namespace dd::evidence
