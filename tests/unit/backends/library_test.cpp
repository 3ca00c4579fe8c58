#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "backends/backend.hpp"
#include "backends/environment.hpp"
#include "backends/libraries/onednn.hpp"
#include "backends/libraries/openblas.hpp"
#include "backends/libraries/trial.hpp"
#include "backends/mapped.hpp"
#include "cases.hpp"

namespace {

namespace fs = std::filesystem;
using namespace dd;
using facts::Id;

struct Variable {
  const char* name;
  Variable(const char* which, const std::string& value) : name(which) { setenv(which, value.c_str(), 1); }
  ~Variable() { unsetenv(name); }
  Variable(const Variable&) = delete;
};

struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "dd_libraries_XXXXXX").string();
    REQUIRE(mkdtemp(name.data()));
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
};

spec::OpSpec square(std::int64_t n) {
  spec::OpSpec s;
  spec::Gemm g;
  g.x.shape = g.w.shape = {n, n};
  s.op = g;
  return s;
}

spec::OpSpec attention() {
  spec::OpSpec s;
  spec::Attention a;
  a.q.shape = a.k.shape = a.v.shape = {1, 2, 20, 16};
  s.op = a;
  return s;
}

facts::FactSet library_facts() {
  facts::FactSet f;
  backends::add_openblas_facts(f);
  backends::add_onednn_facts(f);
  return f;
}

void expect_blocked(const char* backend, const char* id) {
  const auto* b = backends::find_backend(backend, spec::Op::gemm);
  const auto there = b->probe();
  CHECK_FALSE(there.available);
  CHECK_FALSE(there.detail.empty());
  REQUIRE(there.finding_ids.size() == 1);
  CHECK(there.finding_ids[0] == id);
  for (const rules::Rule& rule : b->rules())
    if (rule.id == id) CHECK(rules::status(rule, library_facts()) == rules::Truth::unmet);
  const auto judged = test::run_and_compare(*b, square(8));
  REQUIRE(judged.run.error);
  CHECK(judged.run.outcome == report::Outcome::unavailable);
  CHECK(judged.run.error->text == there.detail);
}

}  // namespace

TEST_CASE("a library that is not there is a finding, and the rest works") {
  const Variable blas("DD_OPENBLAS", "/nowhere/libopenblas.so"), dnnl("DD_ONEDNN", "/nowhere/libdnnl.so");
  expect_blocked("cpu-blas", "ENV001");
  expect_blocked("cpu-onednn", "ENV002");
  test::check_close("cpu-naive", square(12));
  // Attention by products falls back to own ones and says so.
  const auto math = test::run_and_compare(*backends::find_backend("cpu-math", spec::Op::sdpa), attention());
  CHECK(math.comparison.verdict == "close");
  CHECK(math.run.evidence.library_calls.empty());
  bool own = false;
  for (const auto& kernel : math.run.evidence.kernels) own |= kernel.name == "own product";
  CHECK(own);
}

TEST_CASE("a file that is no library") {
  const Folder folder;
  const std::string file = (folder.path / "libfake.so").string();
  std::ofstream(file) << "not an ELF file";
  const Variable blas("DD_OPENBLAS", file), dnnl("DD_ONEDNN", file);
  expect_blocked("cpu-blas", "ENV001");
  expect_blocked("cpu-onednn", "ENV002");
}

TEST_CASE("a library without the functions") {
  const Variable blas("DD_OPENBLAS", "libm.so.6"), dnnl("DD_ONEDNN", "libm.so.6");
  expect_blocked("cpu-blas", "ENV001");
  expect_blocked("cpu-onednn", "ENV002");
  CHECK(backends::openblas().problem.find("lacks") != std::string::npos);
  CHECK(backends::onednn().problem.find("dnnl_version") != std::string::npos);
}

TEST_CASE("a library that crashes, exits or hangs while it is loaded") {
  CHECK(backends::trial_problem([] {}).empty());
  CHECK(backends::trial_problem([] { abort(); }).find("crashed") != std::string::npos);
  CHECK(backends::trial_problem([] { _Exit(3); }).find("exit status 3") != std::string::npos);
  CHECK(backends::trial_problem([] { _Exit(0); }).find("exit status 0") != std::string::npos);
  CHECK(backends::trial_problem([] { for (volatile bool on = true; on;) {} }, 1.0).find("within 1 s") != std::string::npos);
#if defined(DD_CRASHING_LIBRARY)
  const Variable blas("DD_OPENBLAS", DD_CRASHING_LIBRARY), dnnl("DD_ONEDNN", DD_CRASHING_LIBRARY);
  expect_blocked("cpu-blas", "ENV001");
  expect_blocked("cpu-onednn", "ENV002");
  CHECK(backends::openblas().problem.find("crashed") != std::string::npos);
#endif
}

TEST_CASE("kernel sets of OpenBLAS") {
  CHECK(backends::isa_of_core("Haswell") == "avx2");
  CHECK(backends::isa_of_core("ZEN") == "avx2");
  CHECK(backends::isa_of_core("SkylakeX") == "avx512");
  CHECK(backends::isa_of_core("Sandybridge") == "avx");
  CHECK(backends::isa_of_core("Skylake").empty());
  CHECK(backends::isa_of_core("").empty());
}

TEST_CASE("a pinned or outdated kernel set is told apart") {
  const rules::Rule* pinned = nullptr;
  const rules::Rule* outdated = nullptr;
  for (const rules::Rule& rule : backends::find_backend("cpu-blas", spec::Op::gemm)->rules()) {
    if (rule.id == "CPU026") pinned = &rule;
    if (rule.id == "CPU027") outdated = &rule;
  }
  REQUIRE((pinned && outdated));
  facts::FactSet f;
  f.set(Id::blas_available, true);
  f.set(Id::cpu_isa, "avx512");
  f.set(Id::blas_core_isa, "avx2");
  f.set(Id::blas_core_pinned, true);
  CHECK(rules::status(*pinned, f) == rules::Truth::unmet);
  CHECK(rules::status(*outdated, f) == rules::Truth::met);
  f.set(Id::blas_core_pinned, false);
  CHECK(rules::status(*pinned, f) == rules::Truth::met);
  CHECK(rules::status(*outdated, f) == rules::Truth::unmet);
  f.set(Id::cpu_isa, "avx2");
  CHECK(rules::status(*outdated, f) == rules::Truth::met);
  f.clear(Id::blas_core_isa);
  CHECK(rules::status(*outdated, f) == rules::Truth::unknown);
  // A library that is not there picked nothing.
  f.set(Id::blas_available, false);
  f.set(Id::blas_core_isa, facts::NotApplicable{});
  for (const bool by_variable : {false, true}) {
    f.set(Id::blas_core_pinned, by_variable);
    CHECK(rules::status(*pinned, f) == rules::Truth::met);
    CHECK(rules::status(*outdated, f) == rules::Truth::met);
  }
}

TEST_CASE("versions from file names") {
  CHECK(backends::version_from_name("/usr/lib/libdnnl.so.2.6") == "2.6");
  CHECK(backends::version_from_name("libopenblasp-r0.3.21.so") == "0.3.21");
  CHECK(backends::version_from_name("libtorch_cpu.so").empty());
  CHECK(backends::version_from_name("").empty());
}

TEST_CASE("the environment record") {
  const Variable pin("ONEDNN_MAX_CPU_ISA", "AVX2"), secret("VLLM_API_KEY", "hidden-value"), odd("DD_ODD", "\xff\xfe");
  const auto record = nlohmann::json::parse(backends::environment_json(false));
  CHECK(record["processor"]["threads"].get<int>() >= 1);
  CHECK(record["variables"]["ONEDNN_MAX_CPU_ISA"] == "AVX2");
  CHECK(record["variables"].contains("DD_ODD"));
  CHECK_FALSE(record["variables"].contains("VLLM_API_KEY"));
  bool c_library = false;
  for (const auto& library : record["libraries"]) c_library |= library["path"].get<std::string>().find("libc.so") != std::string::npos;
  CHECK(c_library);
  if (record["openblas"]["available"].get<bool>()) {
    bool mapped = false;
    for (const auto& library : record["libraries"]) mapped |= library["path"] == record["openblas"]["path"];
    CHECK(mapped);
  }
  CHECK_FALSE(backends::environment_text().empty());
}

TEST_CASE("redaction hides host, user, home and private paths, and nothing else") {
  const Variable home("HOME", "/home/some.body");
  CHECK(backends::redacted("at /home/some.body/x/liba.so") == "at <home>/x/liba.so");
  CHECK(backends::redacted("/home/some.bodyelse/x/liba.so") == "<path>/liba.so");
  CHECK(backends::redacted("/usr/lib/x86_64-linux-gnu/libdnnl.so.2.6") == "/usr/lib/x86_64-linux-gnu/libdnnl.so.2.6");
  CHECK(backends::redacted("/srv/secret-project/libdnnl.so: cannot open") == "<path>/libdnnl.so: cannot open");
  CHECK(backends::redacted("a/b and 3/4 of it") == "a/b and 3/4 of it");
  CHECK(backends::redacted("/usr/libexec2/secret/x") == "<path>/x");
  CHECK(backends::redacted("PATH=/srv/a/b:/srv/c/d") == "PATH=<path>/b:<path>/d");
  char host[256] = {};
  REQUIRE(gethostname(host, sizeof host - 1) == 0);
  const std::string name = host;
  if (name.size() >= 2) CHECK(backends::redacted("on " + name + " today").find(name) == std::string::npos);
}
