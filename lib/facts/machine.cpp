#include "facts/machine.hpp"

#include <sched.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "facts/cpuid.hpp"

namespace dd::facts {
namespace {

std::optional<std::string> read_text(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::optional<std::int64_t> to_integer(const std::string& text) {
  char* end = nullptr;
  errno = 0;
  const long long value = std::strtoll(text.c_str(), &end, 10);
  if (end == text.c_str() || errno != 0) return std::nullopt;
  return value;
}

std::optional<std::int64_t> read_integer(const std::string& path) {
  const auto text = read_text(path);
  return text ? to_integer(*text) : std::nullopt;
}

// "Key:   123 kB" of /proc/meminfo, /proc/self/status and alike, in the file's own unit.
std::optional<std::int64_t> field(const std::string& text, const std::string& key) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.compare(0, key.size(), key) == 0) return to_integer(line.substr(key.size()));
  return std::nullopt;
}

template <class T>
void keep_smaller(std::optional<T>& slot, std::optional<T> value) {
  if (value && (!slot || *value < *slot)) slot = value;
}

// The group's own folder and every ancestor: a limit anywhere above holds as well.
std::vector<std::string> ancestors(const std::string& mount, std::string path) {
  std::vector<std::string> out;
  while (!path.empty() && path != "/") {
    out.push_back(mount + path);
    path.erase(path.find_last_of('/'));
  }
  out.push_back(mount);
  return out;
}

void read_v2(const std::string& mount, const std::string& path, Machine& m) {
  for (const std::string& folder : ancestors(mount, path)) {
    if (const auto text = read_text(folder + "/cpu.max"); text && text->compare(0, 3, "max") != 0) {
      std::istringstream words(*text);
      double quota = 0, period = 0;
      if (words >> quota >> period && quota > 0 && period > 0) keep_smaller<double>(m.cgroup_cpus, quota / period);
    }
    const auto limit = read_integer(folder + "/memory.max");  // "max" is no integer
    if (!limit) continue;
    const std::int64_t used = read_integer(folder + "/memory.current").value_or(0);
    const auto stat = read_text(folder + "/memory.stat");
    const std::int64_t reclaimable = stat ? field(*stat, "inactive_file ").value_or(0) : 0;
    keep_smaller<std::int64_t>(m.cgroup_memory, std::max<std::int64_t>(0, *limit - std::max<std::int64_t>(0, used - reclaimable)));
  }
}

void read_v1(const std::string& mount, const std::string& controllers, const std::string& path, Machine& m) {
  const auto has = [&](const std::string& name) { return ("," + controllers + ",").find("," + name + ",") != std::string::npos; };
  if (has("cpu"))
    for (const std::string& folder : ancestors(mount + "/" + controllers, path)) {
      const auto quota = read_integer(folder + "/cpu.cfs_quota_us"), period = read_integer(folder + "/cpu.cfs_period_us");
      if (quota && period && *quota > 0 && *period > 0) keep_smaller<double>(m.cgroup_cpus, double(*quota) / double(*period));
    }
  if (has("memory"))
    for (const std::string& folder : ancestors(mount + "/" + controllers, path)) {
      const auto limit = read_integer(folder + "/memory.limit_in_bytes");
      if (!limit || *limit >= std::numeric_limits<std::int64_t>::max() / 2) continue;
      const std::int64_t used = read_integer(folder + "/memory.usage_in_bytes").value_or(0);
      keep_smaller<std::int64_t>(m.cgroup_memory, std::max<std::int64_t>(0, *limit - used));
    }
}

void read_cgroups(const std::string& root, Machine& m) {
  const auto text = read_text(root + "/proc/self/cgroup");
  if (!text) return;
  const std::string mount = root + "/sys/fs/cgroup";
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {  // hierarchy:controllers:path
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (path.empty() || path[0] != '/' || path.find("..") != std::string::npos) continue;
    if (controllers.empty()) {
      read_v2(mount, path, m);
    } else {
      read_v1(mount, controllers, path, m);
    }
  }
}

void read_memory(const std::string& root, Machine& m) {
  m.memory_total.reset();
  m.memory_free.reset();
  m.cgroup_memory.reset();
  m.address_space.reset();
  m.memory_available.reset();
  if (const auto text = read_text(root + "/proc/meminfo")) {
    if (const auto kib = field(*text, "MemTotal:")) m.memory_total = *kib * 1024;
    if (const auto kib = field(*text, "MemAvailable:")) m.memory_free = *kib * 1024;
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
    const auto status = read_text(root + "/proc/self/status");
    const std::int64_t used = status ? field(*status, "VmSize:").value_or(0) * 1024 : 0;
    m.address_space = std::max<std::int64_t>(0, static_cast<std::int64_t>(limit.rlim_cur) - used);
  }
  read_cgroups(root, m);
  for (const auto& bound : {m.memory_free, m.cgroup_memory, m.address_space}) keep_smaller(m.memory_available, bound);
}

std::string model_name(const std::string& root) {
  const auto text = read_text(root + "/proc/cpuinfo");
  if (!text) return {};
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (line.compare(0, 10, "model name") != 0) continue;
    const auto colon = line.find(':');
    if (colon == std::string::npos) continue;
    const auto start = line.find_first_not_of(" \t", colon + 1);
    return start == std::string::npos ? std::string{} : line.substr(start);
  }
  return {};
}

void read_processor(const std::string& root, Machine& m) {
  m.cpu_model = model_name(root);
  utsname name{};
  if (uname(&name) == 0) m.architecture = name.machine;
  m.isa_levels = vector_extensions();
  const auto has = [&](const char* level) {
    return std::find(m.isa_levels.begin(), m.isa_levels.end(), level) != m.isa_levels.end();
  };
  if (has("avx2") && has("fma")) m.isa = "avx2";
  if (has("avx512f") && has("avx512bw") && has("avx512dq") && has("avx512vl")) m.isa = "avx512";
  m.bf16 = has("avx512_bf16") || has("amx_bf16");
  m.vnni = has("avx512_vnni") || has("avx_vnni");
}

void read_threads(Machine& m) {
  m.logical_cpus = static_cast<int>(std::max(1L, sysconf(_SC_NPROCESSORS_ONLN)));
  m.affinity_cpus = m.logical_cpus;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) m.affinity_cpus = std::max(1, CPU_COUNT(&set));
  m.threads = m.affinity_cpus;
  if (m.cgroup_cpus) m.threads = std::clamp(static_cast<int>(std::ceil(std::min(*m.cgroup_cpus, 1e6))), 1, m.threads);
}

}  // namespace

Machine measure_machine(const std::string& root) {
  Machine m;
  read_processor(root, m);
  read_memory(root, m);
  read_threads(m);
  return m;
}

const Machine& machine() {
  static const Machine measured = measure_machine();
  return measured;
}

void add_machine_facts(FactSet& facts) {
  const Machine& m = machine();
  const auto set = [&](Id id, Value value, const char* where) { facts.set(id, std::move(value), Provenance::measured, where); };
  set(Id::cpu_isa, m.isa, "cpuid");
  set(Id::cpu_bf16, m.bf16, "cpuid");
  set(Id::cpu_vnni, m.vnni, "cpuid");
  set(Id::cpu_threads, std::int64_t{m.threads}, m.cgroup_cpus ? "affinity and cgroup quota" : "affinity");
  Machine now;
  read_memory("", now);
  if (now.memory_available) {
    const bool group = now.cgroup_memory && *now.cgroup_memory == *now.memory_available;
    const bool space = now.address_space && *now.address_space == *now.memory_available;
    set(Id::memory_available, *now.memory_available, space ? "address-space limit" : group ? "cgroup limit" : "/proc/meminfo");
  }
}

}  // namespace dd::facts
