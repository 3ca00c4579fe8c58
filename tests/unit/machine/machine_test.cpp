#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include "facts/machine.hpp"
#include "support/catch.hpp"

namespace {

namespace fs = std::filesystem;
using namespace dd::facts;

// A folder that looks like / to measure_machine.
struct FakeRoot {
  fs::path path;
  FakeRoot() {
    std::string name = (fs::temp_directory_path() / "dd_machine_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()));
    path = name;
  }
  ~FakeRoot() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((path / file).parent_path());
    std::ofstream(path / file) << text;
  }
  Machine measure() const { return measure_machine(path.string()); }
};

}  // namespace

TEST_CASE("this machine") {
  const Machine& m = machine();
  CHECK(m.threads >= 1);
  CHECK(m.threads <= m.affinity_cpus);
  CHECK(m.affinity_cpus <= m.logical_cpus);
  CHECK((m.isa == "portable" || m.isa == "avx2" || m.isa == "avx512"));
#if defined(__x86_64__)
  __builtin_cpu_init();
  CHECK((m.isa != "portable") == (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")));
  CHECK((m.isa == "avx512") == (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                                __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")));
#endif
  FactSet facts;
  add_machine_facts(facts);
  CHECK(facts.known(Id::cpu_isa));
  CHECK(facts[Id::cpu_threads].provenance == Provenance::measured);
  if (m.memory_available) CHECK(std::get<std::int64_t>(facts.value(Id::memory_available)) > 0);
}

TEST_CASE("an empty root leaves facts unknown instead of inventing them") {
  const FakeRoot root;
  const Machine m = root.measure();
  CHECK_FALSE(m.memory_total);
  CHECK_FALSE(m.memory_available.has_value() != m.address_space.has_value());
  CHECK_FALSE(m.cgroup_cpus);
  CHECK(m.cpu_model.empty());
}

TEST_CASE("cgroup v2: the tightest limit on the way up holds, reclaimable memory counts as free") {
  const FakeRoot root;
  root.write("proc/meminfo", "MemTotal: 8000 kB\nMemFree: 10 kB\nMemAvailable: 6000 kB\n");
  root.write("proc/cpuinfo", "processor\t: 0\nmodel name\t: Example 9000\n");
  root.write("proc/self/cgroup", "0::/a/b\n");
  root.write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  root.write("sys/fs/cgroup/a/cpu.max", "50000 100000\n");
  root.write("sys/fs/cgroup/a/b/memory.max", "max\n");
  root.write("sys/fs/cgroup/a/memory.max", "1000000\n");
  root.write("sys/fs/cgroup/a/memory.current", "700000\n");
  root.write("sys/fs/cgroup/a/memory.stat", "anon 1\ninactive_file 200000\n");
  const Machine m = root.measure();
  CHECK(m.cpu_model == "Example 9000");
  CHECK(m.memory_total == 8000 * 1024);
  REQUIRE(m.cgroup_cpus);
  CHECK(*m.cgroup_cpus == 0.5);
  CHECK(m.threads == 1);
  CHECK(m.cgroup_memory == 500000);
  if (!m.address_space) CHECK(m.memory_available == 500000);
}

TEST_CASE("cgroup v1 and hostile files") {
  const FakeRoot root;
  root.write("proc/meminfo", "MemAvailable: twelve kB\n");
  root.write("proc/self/cgroup", "5:memory:/x\n4:cpu,cpuacct:/x\nbroken\n3:cpu:../../etc\n::\n");
  root.write("sys/fs/cgroup/memory/x/memory.limit_in_bytes", "4096\n");
  root.write("sys/fs/cgroup/memory/x/memory.usage_in_bytes", "9999999\n");
  root.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/x/cpu.cfs_quota_us", "-1\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000\n");
  root.write("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  const Machine m = root.measure();
  CHECK_FALSE(m.memory_free);
  CHECK(m.cgroup_memory == 0);
  REQUIRE(m.cgroup_cpus);
  CHECK(*m.cgroup_cpus == 1.5);
}
