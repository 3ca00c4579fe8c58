// A framework's dispatcher: the real rules of torch on one side, a worker that plays torch on the other.
#include <algorithm>
#include <fmt/format.h>

#include "facts/derive.hpp"
#include "session/diagnose.hpp"
#include "session/framework_case.hpp"
#include "session/modes.hpp"
#include "support/catch.hpp"

using namespace dd;
using namespace dd::session;
using report::Outcome;
using report::Status;

namespace {

void known_facts(const spec::OpSpec& s, facts::FactSet& f) {
  f = facts::derive_facts(s);
  f.set(facts::Id::memory_available, std::int64_t{1} << 40, facts::Provenance::measured);
  if (s.context.target.empty()) f.set(facts::Id::device_type, std::string("cpu"), facts::Provenance::measured);
}

std::string axes(const spec::Dims& d) { return fmt::format("[{},{},{},{}]", d.at(0), d.at(1), d.at(2), d.at(3)); }

std::string call_json(const spec::OpSpec& s) {
  const std::string d = axes(s.attention().q.shape);
  return fmt::format(R"({{"op":"sdpa","q":{{"shape":{0}}},"k":{{"shape":{0}}},"v":{{"shape":{0}}}}})", d);
}

std::string call_repro(const spec::OpSpec&) { return "dispatchdoctor sdpa --framework torch"; }

spec::OpSpec call() {
  spec::Attention a;
  a.q.shape = a.k.shape = a.v.shape = {1, 2, 6, 8};
  spec::OpSpec s;
  s.op = a;
  s.context.framework = "torch";
  return s;
}

report::Case run(const spec::OpSpec& spec, const char* how) {
  Services services;
  services.add_facts = known_facts;
  services.canonical = call_json;
  services.repro = call_repro;
  if (how) services.workers = {{"torch", {DD_FAKE_WORKER, "torch", how}, {}, 20}};
  Settings settings;
  settings.timeout = 10;
  Supervisor supervisor(limits_of(settings));
  auto scratch = Scratch::make(1 << 20);
  REQUIRE(scratch.ok());
  return diagnose(spec, "1", services, settings, supervisor, *scratch);
}

const report::Candidate& answer_of(const report::Case& c, std::string_view name) {
  const auto it = std::find_if(c.candidates.begin(), c.candidates.end(), [&](const auto& x) { return x.backend == name; });
  REQUIRE(it != c.candidates.end());
  return *it;
}

bool has(const std::vector<report::Finding>& findings, std::string_view id) {
  return std::any_of(findings.begin(), findings.end(), [&](const report::Finding& f) { return f.id == id && f.status == "unmet"; });
}

}  // namespace

TEST_CASE("framework: rules and run agree") {
  const auto c = run(call(), "fused");
  INFO((c.problems.empty() ? "" : c.problems.front()));
  CHECK(c.decision.selected == "torch-cpu-flash");
  CHECK(c.verdict.status == Status::fast_path);
  CHECK(c.verdict.grade == report::Grade::ran);
  CHECK(c.exit_code == 0);
  REQUIRE(answer_of(c, "torch-cpu-flash").attempts.size() == 2);
  CHECK(answer_of(c, "torch-cpu-flash").attempts[0].policy == "allow");
  CHECK(answer_of(c, "torch-math").attempts.back().outcome == Outcome::matched);
  CHECK_FALSE(has(c.findings, "RUL003"));
}

TEST_CASE("framework: a choice that the rules did not foresee is a finding, and what ran counts") {
  const auto c = run(call(), "math");
  CHECK(c.decision.selected == "torch-math");
  CHECK(c.verdict.status == Status::fallback);
  CHECK(has(c.findings, "RUL003"));
}

TEST_CASE("framework: a refusal that the rules did not foresee keeps the framework's own words") {
  const auto c = run(call(), "refuse");
  const auto& fused = answer_of(c, "torch-cpu-flash");
  CHECK(fused.attempts.back().outcome == Outcome::refused);
  CHECK(fused.attempts.back().error->text.find("No available kernel") == 0);
  CHECK(has(fused.findings, "RUL001"));
}

TEST_CASE("framework: what a rule blocks is asked all the same, and the answer held against the rule") {
  spec::OpSpec s = call();
  auto a = s.attention();
  a.dropout_p = 0.5;  // the fused CPU kernel takes no dropout; the worker that plays torch does not care
  s.op = a;
  const auto c = run(s, "math");
  const auto& fused = answer_of(c, "torch-cpu-flash");
  CHECK(fused.eligibility == "blocked");
  CHECK(has(fused.findings, "RUL002"));
}

TEST_CASE("framework: a query of the library against the rules and the run, in both directions") {
  spec::OpSpec with_dropout = call();
  auto a = with_dropout.attention();
  a.dropout_p = 0.5;  // the fused CPU kernel takes none
  with_dropout.op = a;
  SECTION("all agree") {
    const auto c = run(call(), "fused,choice=torch-cpu-flash,support=yes");
    CHECK_FALSE(has(c.findings, "RUL004"));
    CHECK_FALSE(has(c.findings, "RUL005"));
    const auto& fused = answer_of(c, "torch-cpu-flash");
    CHECK_FALSE(has(fused.findings, "RUL004"));
    CHECK_FALSE(has(fused.findings, "RUL005"));
    REQUIRE(fused.answers.size() == 2);
    CHECK(fused.answers[0].answer == "chosen");
  }
  SECTION("the choice that is told is neither the rules' nor the one that ran") {
    const auto c = run(call(), "fused,choice=torch-math");
    CHECK(has(c.findings, "RUL004"));
    CHECK(has(c.findings, "RUL005"));
    CHECK_FALSE(has(c.findings, "RUL003"));
    CHECK(c.decision.selected == "torch-cpu-flash");
  }
  SECTION("told no, the rules allow it, and it runs") {
    const auto c = run(call(), "fused,support=no");
    const auto& fused = answer_of(c, "torch-cpu-flash");
    CHECK(has(fused.findings, "RUL004"));
    CHECK(has(fused.findings, "RUL005"));
    CHECK_FALSE(has(fused.findings, "RUL001"));
    REQUIRE_FALSE(fused.answers.empty());
    CHECK(fused.answers[0].text.find("[TCP004]") != std::string::npos);
  }
  SECTION("told yes, the rules block it, and it runs") {
    const auto c = run(with_dropout, "fused,support=yes");
    const auto& fused = answer_of(c, "torch-cpu-flash");
    CHECK(has(fused.findings, "RUL004"));
    CHECK_FALSE(has(fused.findings, "RUL005"));
    CHECK(has(fused.findings, "RUL002"));
  }
  SECTION("told yes, and refused") {
    const auto c = run(call(), "refuse,support=yes");
    const auto& fused = answer_of(c, "torch-cpu-flash");
    CHECK_FALSE(has(fused.findings, "RUL004"));
    CHECK(has(fused.findings, "RUL005"));
  }
}

TEST_CASE("framework: modes side by side, and where they differ") {
  const auto mode = [](const char* name, const char* which, Outcome outcome, std::vector<std::string> kernels) {
    ModeRun run{name, which, {}};
    run.attempt.outcome = outcome;
    if (outcome == Outcome::unavailable) run.attempt.error = report::Error{"no-graph", "no device", ""};
    for (std::string& k : kernels) run.attempt.evidence.kernels.push_back({std::move(k), "", "profiler", 1, {}});
    return run;
  };
  const auto fallback = [](const std::string& name) { return name == "torch-math"; };
  const auto one_with = [](const std::vector<std::string>& lines, std::string_view part) {
    return std::count_if(lines.begin(), lines.end(), [&](const std::string& l) { return l.find(part) != std::string::npos; }) == 1;
  };
  CHECK(compare_modes({mode("eager", "torch-flash", Outcome::matched, {"a"})}, fallback).lines.empty());
  SECTION("another backend, another kernel, and a fallback in the graph") {
    const auto [lines, difference] = compare_modes({mode("eager", "torch-flash", Outcome::matched, {"flash"}), mode("captured", "torch-math", Outcome::matched, {"gemm", "softmax"})}, fallback);
    CHECK(lines.size() == 5);
    CHECK(one_with(lines, "the graph holds the fallback torch-math"));
    CHECK(one_with(lines, "modes differ: eager takes torch-flash, captured takes torch-math"));
    CHECK(difference == "; in mode captured torch-math");
    CHECK(one_with(lines, "modes differ: device kernels, eager launches flash, captured launches gemm, softmax"));
  }
  SECTION("what the evidence does not name is not compared") {
    const auto [lines, difference] = compare_modes({mode("eager", "torch-flash", Outcome::matched, {"a"}), mode("compiled", "", Outcome::matched, {})}, fallback);
    CHECK(lines.size() == 2);
    CHECK(one_with(lines, "mode compiled: backend not told by the evidence, matched"));
  }
  SECTION("generated code against operators") {
    ModeRun eager = mode("eager", "torch-math", Outcome::matched, {}), compiled = mode("compiled", "torch-math", Outcome::matched, {});
    eager.attempt.evidence.operators = {{"aten::matmul", "", "profiler", 1, {}}, {"  aten::bmm", "", "profiler", 1, {}}};
    compiled.attempt.evidence.kernels = {{"cpp_fused_softmax_0", "generated", "inductor", 1, {}}, {"extern_kernels.bmm", "library call that remains", "inductor", 1, {}},
                                         {"torch.ops.aten._weight_int8pack_mm", "library call that remains", "inductor", 1, {}}};
    const std::string expected = "modes differ: compiled runs generated code (cpp_fused_softmax_0) in place of operators of eager; it calls _weight_int8pack_mm, which eager does not; both call bmm";
    CHECK(compare_modes({eager, compiled}, fallback).lines.back() == expected);
    CHECK(compare_modes({compiled, eager}, fallback).lines.back() == expected);  // whichever mode was named first
    CHECK(compare_modes({eager, compiled}, fallback).difference.empty());
    compiled.attempt.evidence.kernels = {{"extern_kernels.bmm", "library call that remains", "inductor", 1, {}}};
    CHECK(compare_modes({eager, compiled}, fallback).lines.back() == "modes agree: eager and compiled end in bmm");
  }
  SECTION("one mode runs and the other fails") {
    const auto [lines, difference] = compare_modes({mode("eager", "torch-math", Outcome::matched, {}), mode("compiled", "", Outcome::failed, {})}, fallback);
    CHECK(lines.size() == 2);
    CHECK(difference == "; in mode compiled it ended failed");
  }
  SECTION("a mode that could not be run gives its reason") {
    const auto [lines, difference] = compare_modes({mode("eager", "torch-flash", Outcome::matched, {"a"}), mode("captured", "", Outcome::unavailable, {})}, fallback);
    CHECK(lines.size() == 2);
    CHECK(one_with(lines, "mode captured: unavailable, no device"));
  }
}

TEST_CASE("framework: a gradient that is off makes the attempt off") {
  const auto c = run(call(), "fused,gradients");
  const auto& fused = answer_of(c, "torch-cpu-flash");
  CHECK(fused.attempts.front().outcome == Outcome::off);
  REQUIRE(fused.attempts.front().comparison);
  CHECK(fused.attempts.front().comparison->gradients.size() == 2);
  CHECK(fused.attempts.front().comparison->mismatched == 0);
  CHECK(has(fused.findings, "NUM006"));
  CHECK_FALSE(has(fused.findings, "NUM001"));
  CHECK(c.verdict.status == Status::wrong_result);
  CHECK(c.exit_code == 1);
}

TEST_CASE("framework: policy") {
  spec::OpSpec s = call();
  SECTION("force") {
    s.policy.force = "torch-math";
    const auto c = run(s, "fused");
    CHECK(c.decision.selected == "torch-math");
    CHECK(answer_of(c, "torch-cpu-flash").attempts.back().outcome == Outcome::blocked);
    CHECK(c.exit_code == 0);
  }
  SECTION("a force that is refused") {
    s.policy.force = "torch-cpu-flash";
    const auto c = run(s, "refuse");
    CHECK_FALSE(c.decision.selected);
    CHECK(c.exit_code == 3);
  }
  SECTION("deny") {
    s.policy.deny = {"torch-cpu-flash"};
    const auto c = run(s, "fused");
    CHECK(c.decision.selected == "torch-math");
    CHECK_FALSE(has(c.findings, "RUL003"));
  }
}

TEST_CASE("framework: what is not here is predicted, and said to be") {
  spec::OpSpec s = call();
  SECTION("no worker") {
    const auto c = run(s, nullptr);
    CHECK(c.verdict.summary.find("not run") == 0);
    CHECK(c.verdict.grade == report::Grade::modelled);
  }
  SECTION("another version") {
    s.context.torch = "2.6.0";
    const auto c = run(s, "old");
    CHECK(answer_of(c, "torch-cpu-flash").attempts.back().outcome == Outcome::predicted);
    CHECK(c.verdict.summary.find("2.5.0 is installed here, 2.6.0 was asked for") != std::string::npos);
    CHECK(c.verdict.status == Status::fast_path);
    CHECK(c.verdict.grade == report::Grade::modelled);
    CHECK(c.exit_code == 0);
  }
  SECTION("no torch") {
    const auto c = run(s, "missing");
    CHECK(c.verdict.summary.find("not run (ENV041") == 0);
    CHECK(std::any_of(c.findings.begin(), c.findings.end(), [](const report::Finding& f) { return f.id == "ENV041" && f.seen.find("found no torch") != std::string::npos; }));
    CHECK(std::none_of(c.findings.begin(), c.findings.end(), [](const report::Finding& f) { return f.id == "TSD032"; }));  // whatever the release: it speaks of a GPU, and this call is for the processor
  }
  SECTION("no such framework") {
    s.context.framework = "nonsense";
    const auto c = run(s, "fused");
    CHECK(c.exit_code == 2);
    CHECK(c.problems.at(0).find("nonsense") != std::string::npos);
  }
}

TEST_CASE("framework: versions of the worker become facts") {
  facts::FactSet f;
  f.set(facts::Id::device_type, std::string("cuda"));
  add_worker_facts({1, "torch", {{"torch", "2.6.0+cu124"}, {"torch.cuda", "12.4"}, {"torch.cudnn", "90100"}, {"torch.compute_capability", "9.0"}}, {}}, f);
  CHECK(facts::to_text(f.value(facts::Id::torch_version)) == "2.6.0");
  CHECK(facts::to_text(f.value(facts::Id::cuda_version)) == "12.4.0");
  CHECK(facts::to_text(f.value(facts::Id::cudnn_version)) == "9.1.0");
  CHECK(facts::to_text(f.value(facts::Id::compute_capability)) == "90");
  facts::FactSet old;
  add_worker_facts({1, "torch", {{"torch.cudnn", "8906"}}, {}}, old);
  CHECK(facts::to_text(old.value(facts::Id::cudnn_version)) == "8.9.6");
}
