// How much memory there is, and how much a process holds. All figures in bytes; nullopt where the system does not say.
#pragma once
#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace dd::session {

// The lesser of what the machine can give without swapping and what this process's control group has left.
std::optional<std::int64_t> memory_available();
std::optional<std::int64_t> resident_bytes(pid_t pid);
// Without what it shares with files and other processes: what it has allocated itself.
std::optional<std::int64_t> private_bytes(pid_t pid);
// Processes that the kernel has killed for memory since boot; nullopt where it does not count them.
std::optional<std::int64_t> kernel_memory_kills();
// Peak resident set of this process since the last reset, and the reset (false where not permitted).
std::optional<std::int64_t> peak_resident_bytes();
bool reset_peak_resident();

}  // namespace dd::session
