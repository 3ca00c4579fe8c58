#include "backends/libraries/openblas.hpp"

#include <strings.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "backends/libraries/trial.hpp"

namespace dd::backends {
namespace {

constexpr const char* names[] = {"libopenblas.so.0", "libopenblas.so"};

void read_identity(OpenBlas& blas) {
  const char* (*text)() = nullptr;
  if (blas.library.find(text, "openblas_get_config"); text) blas.config = text();
  if (blas.library.find(text, "openblas_get_corename"); text) blas.core = text();
  blas.core_isa = isa_of_core(blas.core);
  blas.pinned = environment_value("OPENBLAS_CORETYPE");
  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH …"
  constexpr std::string_view word = "OpenBLAS ";
  if (const auto at = blas.config.find(word); at != std::string::npos) {
    const auto start = at + word.size();
    blas.version = blas.config.substr(start, blas.config.find(' ', start) - start);
  }
}

// OpenBLAS starts its threads while it is opened. Where memory or processes are short these spin for ever or raise
// SIGINT, and whoever only wants to know the version would hang or be "interrupted" with them. Threads come with the
// first product instead: take_threads() grows the pool.
class WithoutThreads {
 public:
  WithoutThreads() {
    for (const char* name : variables)
      if (const char* value = std::getenv(name)) kept_.emplace_back(name, value);
    for (const char* name : variables) ::setenv(name, "1", 1);
  }
  ~WithoutThreads() {
    for (const char* name : variables) ::unsetenv(name);
    for (const auto& [name, value] : kept_) ::setenv(name.c_str(), value.c_str(), 1);
  }
  WithoutThreads(const WithoutThreads&) = delete;
  WithoutThreads& operator=(const WithoutThreads&) = delete;

 private:
  static constexpr const char* variables[] = {"OPENBLAS_NUM_THREADS", "OPENBLAS_DEFAULT_NUM_THREADS"};
  std::vector<std::pair<std::string, std::string>> kept_;
};

OpenBlas open() {
  OpenBlas blas;
  const WithoutThreads guard;
  if (const std::string trouble = trial_problem([] { open_library("DD_OPENBLAS", names); }); !trouble.empty()) {
    blas.problem = "OpenBLAS cannot be used: " + trouble;
    return blas;
  }
  blas.library = open_library("DD_OPENBLAS", names);
  if (!blas.library) {
    blas.problem = "OpenBLAS could not be opened: " + blas.library.error;
    return blas;
  }
  blas.library.find(blas.sgemm, "cblas_sgemm");
  blas.library.find(blas.dgemm, "cblas_dgemm");
  blas.library.find(blas.set_threads, "openblas_set_num_threads");
  if (!blas.sgemm || !blas.dgemm) {
    blas.problem = blas.library.path + " lacks cblas_sgemm or cblas_dgemm";
    return blas;
  }
  if (!blas.set_threads) {
    blas.problem = blas.library.path + " lacks openblas_set_num_threads: it is another BLAS";
    return blas;
  }
  read_identity(blas);
  // A build with 64-bit integers reads twice the width of every size that is passed here.
  if (blas.config.find("USE64BITINT") != std::string::npos)
    blas.problem = blas.library.path + " is built with 64-bit integers under the names of the 32-bit interface";
  return blas;
}

// One buffer a thread, the caller's own among them (GEMM buffers of 0.3.21 on x86-64; a build may have smaller ones).
constexpr std::size_t buffer_bytes = std::size_t{129} << 20;

std::size_t stack_bytes() {
  rlimit limit{};
  constexpr std::size_t usual = std::size_t{8} << 20;
  return ::getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY ? static_cast<std::size_t>(limit.rlim_cur) : usual;
}

// Whether the system would give that many buffers and stacks now: it is asked for them, and they are given back.
bool room_for(int threads) {
  constexpr std::size_t slack = std::size_t{8} << 20;
  const std::size_t bytes = static_cast<std::size_t>(threads) * (buffer_bytes + stack_bytes()) + slack;
  void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) return false;
  ::munmap(at, bytes);
  return true;
}

// A first product makes the library take its buffers now: what is free this moment may be gone at the first real one.
// Above the size (100 cubed) up to which kernels for small matrices do without a buffer.
void take_buffers(const OpenBlas& blas) {
  constexpr int side = 64, depth = 512, row_major = 101, no_trans = 111;
  const std::vector<float> a(side * depth, 0.5F);
  std::vector<float> c(side * side);
  blas.sgemm(row_major, no_trans, no_trans, side, side, depth, 1.0F, a.data(), depth, a.data(), side, 0.0F, c.data(), side);
}

}  // namespace

int take_threads(const OpenBlas& blas, int wanted) {
  static std::mutex mutex;
  static std::map<const OpenBlas*, int> most;  // what was once taken keeps its buffers
  const std::lock_guard lock(mutex);
  int& had = most[&blas];
  int taken = wanted;
  while (taken > had && !room_for(taken - had)) --taken;
  if (taken < 1) return 0;
  blas.set_threads(taken);
  if (taken > had) take_buffers(blas);
  had = std::max(had, taken);
  return taken;
}

std::string threads_lacking(int taken, int wanted) {
  rlimit limit{};
  const bool limited = ::getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  const std::string where = limited ? "the limit on address space (ulimit -v) of " + std::to_string(limit.rlim_cur >> 20) + " MiB" : "the memory that the system gives";
  return "OpenBLAS runs " + (taken == 0 ? std::string("nothing") : std::to_string(taken) + " of " + std::to_string(wanted) + " threads") + ": it keeps a buffer of 128 MiB for each, and " +
         where + " does not hold " + (taken == 0 ? "one" : "more");
}

std::string_view isa_of_core(std::string_view core) {
  struct Row {
    std::string_view core, isa;
  };
  static constexpr Row table[] = {
      {"Prescott", "sse"},     {"Core2", "sse"},      {"Penryn", "sse"},       {"Dunnington", "sse"},   {"Nehalem", "sse"},
      {"Atom", "sse"},         {"Nano", "sse"},       {"Athlon", "sse"},       {"Opteron", "sse"},      {"Opteron_SSE3", "sse"},
      {"Barcelona", "sse"},    {"Bobcat", "sse"},     {"Katmai", "sse"},       {"Coppermine", "sse"},   {"Northwood", "sse"},
      {"Banias", "sse"},       {"Sandybridge", "avx"}, {"Bulldozer", "avx"},   {"Piledriver", "avx"},   {"Steamroller", "avx"},
      {"Haswell", "avx2"},     {"Zen", "avx2"},       {"Excavator", "avx2"},   {"SkylakeX", "avx512"},  {"Cooperlake", "avx512"},
      {"SapphireRapids", "avx512"},
  };
  for (const Row& row : table)
    if (row.core.size() == core.size() && strncasecmp(row.core.data(), core.data(), core.size()) == 0) return row.isa;
  return {};
}

const OpenBlas& openblas() {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<OpenBlas>> opened;  // by DD_OPENBLAS; entries never move
  const std::lock_guard lock(mutex);
  auto& slot = opened[environment_value("DD_OPENBLAS")];
  if (!slot) slot = std::make_unique<OpenBlas>(open());
  return *slot;
}

void add_openblas_facts(facts::FactSet& facts) {
  using facts::Id;
  const OpenBlas& blas = openblas();
  const auto set = [&](Id id, facts::Value value, const char* where) {
    facts.set(id, std::move(value), facts::Provenance::library, where);
  };
  set(Id::blas_available, blas.ok(), blas.ok() ? "OpenBLAS" : "dlopen");
  set(Id::blas_core_pinned, blas.ok() && !blas.pinned.empty(), "OPENBLAS_CORETYPE");
  if (!blas.ok()) {
    set(Id::blas_core, facts::NotApplicable{}, "");
    set(Id::blas_core_isa, facts::NotApplicable{}, "");
    return;
  }
  if (!blas.core.empty()) set(Id::blas_core, blas.core, "openblas_get_corename");
  if (!blas.core_isa.empty()) set(Id::blas_core_isa, blas.core_isa, "openblas_get_corename");
}

}  // namespace dd::backends
