#include <cstdlib>
#include <fstream>
#include <limits>
#include <sstream>

#include "backends/catalogue.hpp"
#include "report/render/render.hpp"
#include "rules/catalogue.hpp"
#include "support/catch.hpp"

using namespace dd::report;

namespace {

std::string source_dir() {
  const char* dir = std::getenv("DD_SOURCE_DIR");
  return dir && *dir ? dir : ".";
}

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void check_file(const std::string& name, const std::string& text) {
  const std::string path = source_dir() + "/" + name;
  if (std::getenv("DD_UPDATE_GOLDEN")) std::ofstream(path, std::ios::binary) << text;
  INFO(name << " differs; DD_UPDATE_GOLDEN=1 rewrites it");
  CHECK(read(path) == text);
}

Finding finding(const char* id, const char* level, const char* status) {
  return {id, std::string("name-of-") + id, level, std::string("title of ") + id, std::string("seen ") + id, std::string("required ") + id,
          std::string("effect ") + id, std::string("fix ") + id, "function", "call", "a source, version 7", status, ""};
}

Attempt attempt(const char* policy, Outcome outcome) {
  Attempt a;
  a.policy = policy;
  a.mode = "eager";
  a.outcome = outcome;
  a.seconds = 0.125;
  return a;
}

Comparison comparison() {
  Comparison c;
  c.verdict = "off";
  c.mismatched = 3;
  c.total = 128;
  c.absolute = {0.5, 0.01, 1.25, 0.75, {0, 1, 2, 3}};
  c.relative = {0.25, 0.02, 2.5, 2.0, {0, 1, 3, 4}};
  c.nan_got = 5;
  c.inf_want = 6;
  c.zero_got = 7;
  c.zero_want = 8;
  c.unwritten = 9;
  c.guard_damaged = 10;
  c.rtol = 0.001;
  c.atol = 1e-5;
  c.bound = "rtol 0.001, atol 1e-05";
  return c;
}

Report sample() {
  Case c;
  c.id = "specs.txt:4";
  c.title = "sdpa --q 1x2x3x4";
  c.spec_json = R"({"op":"sdpa"})";
  c.repro = "dispatchdoctor sdpa --q 1x2x3x4";
  c.facts = {{"head_dim", std::int64_t{4}, "elements", "spec"}, {"memory_available", std::int64_t{3} << 20, "bytes", "measured"},
             {"blas_core", std::string("Zen"), "", "library"}, {"sm_count", std::monostate{}, "", "profile"}};
  c.reference = Reference{"attention", "f64", "an error model", "all rows", 0.002};
  Candidate fast{"back-fast", "backend", "blocked", true, Grade::ran, {finding("AAA001", "blocked", "unmet"), finding("AAA002", "slow", "met")}, {}, {}};
  fast.attempts = {attempt("force", Outcome::blocked)};
  fast.attempts[0].error = Error{"AAA001", "title of AAA001", "rules"};
  fast.asked = Asked{"libX", "9.8.7", "1.2.3", "gpu-x", std::nullopt, "", {9, 8},
                     {{0, "", false, false, -1, {}, "CODE_PATTERN", "engine 0 is not for this"},
                      {5, "", false, false, -1, {}, "CODE_PATTERN", "engine 5 is not for this"},
                      {6, "", false, false, -1, {}, "CODE_SHAPE", "too wide | by far"},
                      {8, "old kernels", true, true, 4096, {}, "", ""},
                      {9, "new kernels", true, true, 0, {"runtime-compilation"}, "", ""},
                      {11, "", true, false, -1, {}, "", ""}},
                     {"a stride of q is odd"}};
  Candidate slow{"back-slow", "backend", "eligible", false, Grade::ran, {finding("AAA003", "slow", "unmet")}, {}, {}};
  slow.attempts = {attempt("allow", Outcome::off), attempt("force", Outcome::crashed)};
  slow.attempts[0].comparison = comparison();
  slow.attempts[0].evidence.operators = {{"op<a|b>", "detail", "profiler", 2, 0.001}};
  slow.attempts[0].evidence.kernels = {{"kernel_x", "", "worker", 1, std::nullopt}};
  slow.attempts[0].evidence.conversions = {{"copy", "q to contiguous", 2048}};
  slow.attempts[0].evidence.notes = {"a note"};
  slow.attempts[0].timing = Timing{11, 0.0012, 0.0011, 0.05, "quiet", 0, 0, 4096};
  slow.attempts[1].error = Error{"SIGSEGV", "signal 11", "worker"};
  slow.asked = Asked{"libY", "", "", "gpu-x", Error{"SIGKILL", "the worker was ended", "supervisor"}, "", {}, {}, {}};
  c.candidates = {fast, slow};
  c.decision = {"allow", {"back-fast", "back-slow"}, {{"back-fast", "passed-over", {"AAA001"}}, {"back-slow", "chosen", {"AAA003"}}}, "back-slow"};
  c.verdict = {Status::wrong_result, Grade::ran, "back-slow is off", {"3 of 128 elements"}};
  c.findings = {finding("NUM004", "changes", "unknown")};
  c.requirements = {{"fast", "unmet", "back-slow is no fast path"}};
  c.exit_code = 4;
  c.seconds = 1.5;
  Case bad;
  bad.id = "specs.txt:9";
  bad.problems = {"specs.txt:9: q.shape[3]: extent is negative (seen -4, wanted 0 or more)"};
  bad.exit_code = 2;
  Case skipped;
  skipped.id = "specs.txt:10";
  skipped.title = "gemm --x 2x3";
  skipped.verdict.summary = "nothing could be judged";
  skipped.exit_code = 5;
  Report r;
  r.tool = "dispatchdoctor 9.9.9";
  r.argv = {"dispatchdoctor", "run", "specs.txt"};
  r.environment_json = R"({"system":"test"})";
  r.exit_code = 2;
  r.summary = {3, 0, 0, 0, 1, 1, 1, 1};
  r.cases = {c, bad, skipped};
  return r;
}

}  // namespace

TEST_CASE("renderings are the committed ones") {
  const Report r = sample();
  check_file("tests/golden/batch.txt", render_text(r, {}));
  check_file("tests/golden/case.txt", render_case(r.cases[0], {}));
  check_file("tests/golden/case_verbose.txt", render_case(r.cases[0], {false, 1}));
  check_file("tests/golden/case_quiet.txt", render_case(r.cases[0], {false, -1}));
  check_file("tests/golden/report.json", render_json(r));
  check_file("tests/golden/report.md", render_markdown(r));
  check_file("tests/golden/report.xml", render_junit(r));
}

TEST_CASE("colour adds escapes and nothing else") {
  const std::string plain = render_case(sample().cases[0], {}), coloured = render_case(sample().cases[0], {true, 0});
  CHECK(plain.find('\x1b') == std::string::npos);
  std::string stripped;
  for (std::size_t i = 0; i < coloured.size(); ++i) {
    if (coloured[i] != '\x1b') {
      stripped += coloured[i];
    } else {
      while (coloured[i] != 'm') ++i;
    }
  }
  CHECK(stripped == plain);
  CHECK(coloured != plain);
}

TEST_CASE("numbers that JSON does not have and broken text survive") {
  Report r = sample();
  r.cases[0].candidates[1].attempts[0].comparison->absolute.value = std::numeric_limits<double>::infinity();
  r.cases[0].title = "bad \xff byte";
  const std::string json = render_json(r);
  CHECK(json.find("\"value\": \"inf\"") != std::string::npos);
  CHECK(json.find("bad \xEF\xBF\xBD byte") != std::string::npos);
  CHECK(render_junit(r).find("bad") != std::string::npos);
}

TEST_CASE("JUnit counts failures, errors and skipped cases apart") {
  Report r = sample();
  r.cases[0].exit_code = 3;
  const std::string xml = render_junit(r);
  CHECK(xml.find("tests=\"3\" failures=\"1\" errors=\"1\" skipped=\"1\"") != std::string::npos);
  r.cases[0].exit_code = 0;
  CHECK(render_junit(r).find("failures=\"0\" errors=\"1\" skipped=\"1\"") != std::string::npos);
}

TEST_CASE("the committed catalogue of rules is the generated one") {
  check_file("lib/rules/CATALOGUE.md", dd::rules::rules_markdown(dd::backends::catalogue().all()));
}
