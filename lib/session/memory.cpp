#include "session/memory.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fstream>
#include <string>

namespace dd::session {
namespace {

// The number after `key` at the start of a line ("MemAvailable:   123 kB").
std::optional<std::int64_t> number_after(const std::string& path, const std::string& key) {
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t at = line.find_first_of("0123456789", key.size());
    if (at == std::string::npos) return std::nullopt;
    std::int64_t value = 0;
    if (std::from_chars(line.data() + at, line.data() + line.size(), value).ec != std::errc{}) return std::nullopt;
    return value;
  }
  return std::nullopt;
}

std::optional<std::int64_t> first_number(const std::string& path) {
  std::ifstream in(path);
  std::int64_t value = 0;
  if (in >> value) return value;  // "max" is not a number: no limit
  return std::nullopt;
}

void lower(std::optional<std::int64_t>& bound, std::optional<std::int64_t> limit, std::optional<std::int64_t> used) {
  if (!limit || *limit > (std::int64_t{1} << 60)) return;  // version 1 writes "no limit" as a huge number
  const std::int64_t left = std::max<std::int64_t>(0, *limit - used.value_or(0));
  bound = bound ? std::min(*bound, left) : left;
}

}  // namespace

std::optional<std::int64_t> memory_available() {
  std::optional<std::int64_t> bound = number_after("/proc/meminfo", "MemAvailable:");
  if (bound) *bound *= 1024;
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (controllers.empty()) {
      // A limit of any ancestor counts as well; inside a container the path may not be visible, the root then is ours.
      for (std::string path = line.substr(second + 1);; path.resize(path.find_last_of('/'))) {
        const std::string base = "/sys/fs/cgroup" + path;
        lower(bound, first_number(base + "/memory.max"), first_number(base + "/memory.current"));
        if (path.empty() || path == "/" || path.find('/') == std::string::npos) break;
      }
      lower(bound, first_number("/sys/fs/cgroup/memory.max"), first_number("/sys/fs/cgroup/memory.current"));
    } else if (controllers == "memory") {
      for (const std::string& base : {"/sys/fs/cgroup/memory" + line.substr(second + 1), std::string("/sys/fs/cgroup/memory")})
        lower(bound, first_number(base + "/memory.limit_in_bytes"), first_number(base + "/memory.usage_in_bytes"));
    }
  }
  return bound;
}

namespace {

struct Pages {
  long long resident = 0, shared = 0;
};

std::optional<Pages> pages_of(pid_t pid) {
  std::FILE* file = std::fopen(fmt::format("/proc/{}/statm", pid).c_str(), "re");
  if (!file) return std::nullopt;
  long long size = 0;
  Pages p;
  const int found = std::fscanf(file, "%lld %lld %lld", &size, &p.resident, &p.shared);
  std::fclose(file);
  return found == 3 ? std::optional(p) : std::nullopt;
}

}  // namespace

std::optional<std::int64_t> resident_bytes(pid_t pid) {
  const auto p = pages_of(pid);
  return p ? std::optional<std::int64_t>(p->resident * ::sysconf(_SC_PAGESIZE)) : std::nullopt;
}

std::optional<std::int64_t> private_bytes(pid_t pid) {
  const auto p = pages_of(pid);
  return p ? std::optional<std::int64_t>((p->resident - p->shared) * ::sysconf(_SC_PAGESIZE)) : std::nullopt;
}

std::optional<std::int64_t> kernel_memory_kills() { return number_after("/proc/vmstat", "oom_kill "); }

std::optional<std::int64_t> peak_resident_bytes() {
  auto kilobytes = number_after("/proc/self/status", "VmHWM:");
  if (kilobytes) *kilobytes *= 1024;
  return kilobytes;
}

bool reset_peak_resident() {
  std::ofstream out("/proc/self/clear_refs");
  out << "5";
  out.flush();
  return out.good();
}

}  // namespace dd::session
