// Whole cases and batches with the fakes: real worker processes, the real reference and comparison.
#include <dirent.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <thread>

#include "session/batch.hpp"
#include "session/diagnose.hpp"
#include "session/interrupt.hpp"
#include "session/safetensors.hpp"
#include "support/catch.hpp"
#include "support/fakes/fakes.hpp"

using namespace dd;
using namespace dd::session;
using report::Outcome;
using report::Status;

namespace {

std::string dims(const spec::Dims& shape) {
  std::string out = "[";
  for (std::int64_t n : shape) out += fmt::format("{}{}", out.size() > 1 ? "," : "", n);
  return out + "]";
}

// What the fakes' own reader understands.
std::string short_json(const spec::OpSpec& s) {
  const spec::Attention& a = s.attention();
  return fmt::format(R"({{"op":"sdpa","q":{{"shape":{}}},"k":{{"shape":{}}},"v":{{"shape":{}}}}})", dims(a.q.shape), dims(a.k.shape), dims(a.v.shape));
}

std::string short_repro(const spec::OpSpec& s) { return "dispatchdoctor sdpa --q " + dims(s.attention().q.shape); }

void add_facts(const spec::OpSpec& s, facts::FactSet& f) {
  f.set(facts::Id::head_dim, s.attention().q.shape.back(), facts::Provenance::spec, "q.shape[3]");
  f.set(facts::Id::memory_available, std::int64_t{1} << 40, facts::Provenance::measured, "");
}

spec::OpSpec small() {
  spec::Attention a;
  a.q.shape = a.k.shape = a.v.shape = {1, 2, 6, 8};
  spec::OpSpec s;
  s.op = a;
  return s;
}

// The fakes of these names, in this order.
struct World {
  explicit World(std::initializer_list<std::string_view> names) {
    for (std::string_view name : names)
      for (const backends::Backend& b : test::fake_backends())
        if (b.name == name) rows.push_back(b);
    REQUIRE(rows.size() == names.size());
    services.backends = rows;
    services.workers = {{"native", {DD_FAKE_WORKER}, {}, 20}};
    services.add_facts = add_facts;
    services.canonical = short_json;
    services.repro = short_repro;
    settings.timeout = 60;
    settings.memory_limit = 256 << 20;
  }

  report::Case run(const spec::OpSpec& spec = small()) {
    Supervisor supervisor(limits_of(settings));
    auto scratch = Scratch::make(1 << 20);
    REQUIRE(scratch.ok());
    return diagnose(spec, "1", services, settings, supervisor, *scratch);
  }

  std::vector<backends::Backend> rows;
  Services services;
  Settings settings;
};

const report::Candidate& candidate(const report::Case& c, std::string_view name) {
  const auto it = std::find_if(c.candidates.begin(), c.candidates.end(), [&](const auto& x) { return x.backend == name; });
  REQUIRE(it != c.candidates.end());
  return *it;
}

Outcome outcome(const report::Case& c, std::string_view name, std::string_view policy = "force") {
  for (const report::Attempt& a : candidate(c, name).attempts)
    if (a.policy == policy) return a.outcome;
  return Outcome::predicted;
}

bool has(const report::Candidate& c, std::string_view id) {
  return std::any_of(c.findings.begin(), c.findings.end(), [&](const report::Finding& f) { return f.id == id && f.status == "unmet"; });
}

std::size_t entries_of(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator{}));
}

}  // namespace

TEST_CASE("diagnose: a fast backend that is right") {
  World w({"fake-fast", "fake-good"});
  const report::Case c = w.run();
  INFO((c.problems.empty() ? "" : c.problems.front()));
  CHECK(c.verdict.status == Status::fast_path);
  CHECK(c.verdict.grade == report::Grade::ran);
  CHECK(c.exit_code == 0);
  CHECK(c.decision.selected == "fake-fast");
  CHECK(outcome(c, "fake-fast", "allow") == Outcome::matched);
  CHECK(outcome(c, "fake-fast") == Outcome::matched);
  CHECK(outcome(c, "fake-good") == Outcome::matched);
  REQUIRE(c.reference);
  const auto& comparison = candidate(c, "fake-fast").attempts[0].comparison;
  REQUIRE(comparison);
  CHECK(comparison->total == 96);
  CHECK(comparison->mismatched == 0);
}

TEST_CASE("diagnose: every fault has its outcome and finding, and takes nothing else along") {
  World w({"fake-crash", "fake-exit", "fake-hog", "fake-bad-alloc", "fake-throw", "fake-refuse", "fake-missing", "fake-no-run", "fake-wrong",
           "fake-overrun", "fake-underrun", "fake-gap", "fake-nan", "fake-print", "fake-blocked", "fake-good"});
  const report::Case c = w.run();
  CHECK(outcome(c, "fake-crash") == Outcome::crashed);
  CHECK(outcome(c, "fake-exit") == Outcome::crashed);
  CHECK(outcome(c, "fake-hog") == Outcome::out_of_memory);
  CHECK(outcome(c, "fake-bad-alloc") == Outcome::out_of_memory);
  CHECK(outcome(c, "fake-throw") == Outcome::failed);
  CHECK(outcome(c, "fake-refuse") == Outcome::refused);
  CHECK(outcome(c, "fake-missing") == Outcome::unavailable);
  CHECK(outcome(c, "fake-no-run") == Outcome::unavailable);
  CHECK(outcome(c, "fake-wrong") == Outcome::off);
  CHECK(outcome(c, "fake-overrun") == Outcome::off);
  CHECK(outcome(c, "fake-underrun") == Outcome::off);
  CHECK(outcome(c, "fake-gap") == Outcome::off);
  CHECK(outcome(c, "fake-nan") == Outcome::off);
  CHECK(outcome(c, "fake-print") == Outcome::matched);
  CHECK(outcome(c, "fake-blocked") == Outcome::blocked);
  CHECK(outcome(c, "fake-good") == Outcome::matched);

  // The walk stops at the first one that serves the call, which is the one that lies.
  CHECK(c.decision.selected == "fake-wrong");
  CHECK(c.verdict.status == Status::wrong_result);
  CHECK(c.exit_code == 4);
  CHECK(has(candidate(c, "fake-refuse"), "RUL001"));
  CHECK(has(candidate(c, "fake-wrong"), "NUM001"));
  CHECK(candidate(c, "fake-wrong").attempts.back().comparison->mismatched == 1);
  CHECK(has(candidate(c, "fake-overrun"), "NUM003"));
  CHECK_FALSE(has(candidate(c, "fake-overrun"), "NUM001"));
  CHECK(candidate(c, "fake-overrun").attempts.back().comparison->guard_damaged > 0);
  CHECK(has(candidate(c, "fake-underrun"), "NUM003"));
  CHECK(has(candidate(c, "fake-gap"), "NUM002"));
  CHECK(candidate(c, "fake-gap").attempts.back().comparison->unwritten == 8);
  CHECK_FALSE(has(candidate(c, "fake-gap"), "NUM004"));
  CHECK(has(candidate(c, "fake-nan"), "NUM004"));
  CHECK(candidate(c, "fake-blocked").eligibility == "blocked");
  CHECK(has(candidate(c, "fake-blocked"), "FAK001"));
  CHECK(candidate(c, "fake-blocked").attempts.back().error->code == "FAK001");
  CHECK(candidate(c, "fake-missing").attempts.back().error->text.find("libfake.so.3") != std::string::npos);
  CHECK(candidate(c, "fake-print").attempts.back().evidence.notes.at(0).find("loading kernels") != std::string::npos);
  CHECK(candidate(c, "fake-good").findings.empty());
}

TEST_CASE("diagnose: a hang ends at the time-out and the next backend serves") {
  World w({"fake-hang", "fake-good"});
  w.settings.timeout = 3;
  const report::Case c = w.run();
  CHECK(outcome(c, "fake-hang", "allow") == Outcome::timed_out);
  CHECK(c.decision.selected == "fake-good");
  CHECK(c.exit_code == 4);
}

TEST_CASE("diagnose: each fault alone falls back to the next backend") {
  for (const char* fault : {"fake-crash", "fake-exit-clean", "fake-refuse", "fake-missing", "fake-blocked", "fake-throw"}) {
    INFO(fault);
    World w({fault, "fake-good"});
    w.rows[0].fast = true;
    const report::Case c = w.run();
    CHECK(c.decision.selected == "fake-good");
    CHECK(c.verdict.status == Status::fallback);
    REQUIRE(c.decision.steps.size() == 2);
    CHECK(c.decision.steps[0].action == (std::string(fault) == "fake-blocked" ? "passed-over" : "failed"));
    CHECK(c.verdict.summary.find(fault) != std::string::npos);
  }
}

TEST_CASE("diagnose: policies") {
  World w({"fake-fast", "fake-good"});
  spec::OpSpec s = small();
  SECTION("deny") {
    s.policy.deny = {"fake-fast"};
    const auto c = w.run(s);
    CHECK(c.decision.selected == "fake-good");
    CHECK(outcome(c, "fake-fast") == Outcome::blocked);
    CHECK(has(candidate(c, "fake-fast"), "POL001"));
  }
  SECTION("allow list") {
    s.policy.allow = {"fake-good"};
    CHECK(w.run(s).decision.selected == "fake-good");
  }
  SECTION("force") {
    s.policy.force = "fake-good";
    const auto c = w.run(s);
    CHECK(c.decision.policy == "force fake-good");
    CHECK(c.decision.selected == "fake-good");
    CHECK(candidate(c, "fake-good").attempts.size() == 1);
    CHECK(outcome(c, "fake-fast") == Outcome::blocked);
    CHECK(c.exit_code == 0);
  }
  SECTION("order") {
    s.policy.order = {"fake-good", "fake-fast"};
    CHECK(w.run(s).decision.selected == "fake-good");
  }
  SECTION("a force that a rule forbids") {
    World blocked({"fake-blocked", "fake-good"});
    s.policy.force = "fake-blocked";
    const auto c = blocked.run(s);
    CHECK(c.verdict.status == Status::no_path);
    CHECK(c.exit_code == 3);
    CHECK(c.verdict.summary.find("FAK001") != std::string::npos);
  }
}

TEST_CASE("diagnose: rule against library when what is blocked is run all the same") {
  World w({"fake-blocked", "fake-good"});
  w.settings.run_blocked = true;
  const auto c = w.run();
  CHECK(outcome(c, "fake-blocked") == Outcome::matched);
  CHECK(has(candidate(c, "fake-blocked"), "RUL002"));
  CHECK(c.decision.selected == "fake-good");
}

TEST_CASE("diagnose: other modes are unavailable on a processor, each with its reason") {
  World w({"fake-good"});
  spec::OpSpec s = small();
  s.further_modes = {spec::Mode::compiled, spec::Mode::captured};
  const auto c = w.run(s);
  const auto& attempts = candidate(c, "fake-good").attempts;
  REQUIRE(attempts.size() == 4);
  CHECK(attempts[2].mode == "compiled");
  CHECK(attempts[2].outcome == Outcome::unavailable);
  CHECK(attempts[2].error->text.find("framework") != std::string::npos);
  CHECK(attempts[3].mode == "captured");
  CHECK(attempts[3].error->text.find("CUDA graph") != std::string::npos);
  CHECK(c.verdict.status == Status::fallback);
}

TEST_CASE("diagnose: a GPU that is not here is predicted, and nothing runs in its stead") {
  World w({"fake-blocked", "fake-crash", "fake-good"});
  for (auto& row : w.rows) row.device = "cuda";
  w.rows[2].device = "cpu";
  w.rows[1].fast = true;
  spec::OpSpec s = small();
  s.context.target = "sm_90";
  const auto c = w.run(s);
  REQUIRE(c.candidates.size() == 2);
  CHECK(outcome(c, "fake-blocked") == Outcome::blocked);
  CHECK(outcome(c, "fake-crash") == Outcome::predicted);
  CHECK(c.decision.selected == "fake-crash");
  CHECK(c.verdict.status == Status::fast_path);
  CHECK(c.verdict.grade == report::Grade::modelled);
  CHECK(c.verdict.summary.find("not run") == 0);
  CHECK(c.exit_code == 0);
}

TEST_CASE("diagnose: what cannot fit is refused with the figures before anything is allocated") {
  World w({"fake-good"});
  spec::Attention a;
  a.q.shape = a.k.shape = a.v.shape = {1024, 1024, 1024, 4096};
  spec::OpSpec s;
  s.op = a;
  const auto c = w.run(s);
  REQUIRE(c.problems.size() == 1);
  CHECK(c.problems[0].find("does not fit") != std::string::npos);
  CHECK(c.problems[0].find("available") != std::string::npos);
  CHECK(c.exit_code == 2);
  CHECK(c.candidates.empty());
}

TEST_CASE("diagnose: a backend that needs more memory than there is is passed over") {
  World w({"fake-fast", "fake-good"});
  w.rows[0].extra_bytes = [](const spec::OpSpec&) { return std::int64_t{1} << 50; };
  const auto c = w.run();
  CHECK(c.decision.selected == "fake-good");
  CHECK(has(candidate(c, "fake-fast"), "MEM001"));
}

TEST_CASE("diagnose: data that cannot tell gives mistrusted, and nothing counts as tested") {
  World w({"fake-fast"});
  spec::Attention a;
  a.q.shape = {1, 1, 4, 8};
  a.k.shape = {1, 1, 1, 8};
  a.v.shape = {1, 1, 1, 1};  // one key, one element: every wanted element has one value
  spec::OpSpec s;
  s.op = a;
  w.settings.requirements = {*parse_requirement("close")};
  const auto c = w.run(s);
  CHECK(outcome(c, "fake-fast") == Outcome::mistrusted);
  CHECK(has(candidate(c, "fake-fast"), "NUM005"));
  CHECK(c.requirements.at(0).status == "unknown");
  CHECK(c.exit_code == 3);
}

TEST_CASE("diagnose: saved tensors can be read, and hold what was compared") {
  World w({"fake-fast"});
  std::string folder = (std::filesystem::temp_directory_path() / "dd-save-test-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  w.settings.save_folder = folder + "/deep";
  const auto c = w.run();
  for (const char* role : {"q", "k", "v", "reference", "out.fake-fast.allow.eager", "out.fake-fast.force.eager"}) {
    INFO(role);
    REQUIRE(c.saved_tensors.count(role) == 1);
    CHECK(read_safetensors(c.saved_tensors.at(role)).ok());
  }
  const auto reference = read_safetensors(c.saved_tensors.at("reference"));
  const auto out = read_safetensors(c.saved_tensors.at("out.fake-fast.force.eager"));
  const auto& want = reference->tensors.at("reference");
  const auto& got = out->tensors.at("out");
  CHECK(want.shape == got.shape);
  for (int i = 0; i < 96; ++i) CHECK(reinterpret_cast<const float*>(got.data())[i] == Approx(reinterpret_cast<const double*>(want.data())[i]).margin(1e-5));
  CHECK(out->metadata.at("what").find("fake-fast") != std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST_CASE("diagnose: timings under bench, of matched attempts only") {
  World w({"fake-fast", "fake-wrong"});
  w.settings.bench = BenchPlan{10, 0.0, 2.0};
  const auto c = w.run();
  for (const auto& a : candidate(c, "fake-fast").attempts) {
    REQUIRE(a.timing);
    CHECK(a.timing->runs >= 10);
    CHECK(a.timing->tflops > 0);
    CHECK(a.timing->gbytes_per_second > 0);
  }
  CHECK_FALSE(candidate(c, "fake-wrong").attempts.back().timing);
}

TEST_CASE("diagnose: a worker that cannot start makes every attempt unavailable and the report complete") {
  World w({"fake-fast", "fake-good"});
  w.services.workers[0].command = {"/nowhere/worker"};
  const auto c = w.run();
  CHECK(outcome(c, "fake-good") == Outcome::unavailable);
  CHECK(c.verdict.status == Status::no_path);
  CHECK(c.exit_code == 5);
}

TEST_CASE("batch: a crash in case 2 keeps cases 1 and 3, a bad line keeps the others, the order stays") {
  World w({"fake-fast", "fake-crash"});
  std::vector<BatchItem> items;
  for (int i = 0; i < 4; ++i) items.push_back({fmt::format("f:{}", i), small(), {}});
  items[1].spec->policy.force = "fake-crash";
  items[2].spec.reset();
  items[2].problems = {{"q", "1x", "BxHxTxD", "not a shape", "f", 2}};
  for (auto& item : {&items[0], &items[3]}) item->spec->policy.deny = {"fake-crash"};
  for (int jobs : {1, 3}) {
    std::vector<std::string> told;
    const BatchResult r = run_batch(items, w.services, w.settings, jobs, [&](const BatchProgress& p) { told.push_back(p.finished->id); });
    REQUIRE(r.cases.size() == 4);
    CHECK(told == std::vector<std::string>{"f:0", "f:1", "f:2", "f:3"});
    CHECK(r.cases[0].exit_code == 0);
    CHECK(r.cases[1].exit_code == 4);
    CHECK(r.cases[2].exit_code == 2);
    CHECK(r.cases[2].problems[0].find("f:2: q") == 0);
    CHECK(r.cases[3].exit_code == 0);
    report::Report report;
    fill_report(report, r);
    CHECK(report.exit_code == 2);
    CHECK(report.summary.cases == 4);
    CHECK(report.summary.fast == 2);
  }
}

TEST_CASE("batch: many small cases share their workers") {
  World w({"fake-fast", "fake-good"});
  const std::vector<BatchItem> items(200, {"x", small(), {}});
  const BatchResult r = run_batch(items, w.services, w.settings, 2);
  CHECK(r.cases.size() == 200);
  for (const auto& c : r.cases) CHECK(c.exit_code == 0);
}

TEST_CASE("batch: Ctrl-C keeps what is done, ends at once, and leaves nothing behind") {
  std::string folder = (std::filesystem::temp_directory_path() / "dd-stop-test-XXXXXX").string();
  REQUIRE(::mkdtemp(folder.data()) != nullptr);
  ::setenv("DD_TMPDIR", folder.c_str(), 1);
  clear_stop();
  install_stop_handlers();
  {
    World w({"fake-fast", "fake-hang"});
    w.settings.timeout = 60;
    std::vector<BatchItem> items(3, {"x", small(), {}});
    items[0].spec->policy.deny = {"fake-hang"};
    std::thread presser;
    const BatchResult r = run_batch(items, w.services, w.settings, 1, [&](const BatchProgress& p) {
      CHECK(entries_of(folder) == 1);
      if (p.done == 1) presser = std::thread([] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        ::kill(::getpid(), SIGINT);
      });
    });
    presser.join();
    CHECK(r.interrupted);
    REQUIRE(r.cases.size() == 2);
    CHECK(r.cases[0].exit_code == 0);
    CHECK(outcome(r.cases[1], "fake-fast", "allow") == Outcome::matched);
    CHECK(outcome(r.cases[1], "fake-hang") == Outcome::not_tried);
    report::Report report;
    fill_report(report, r);
    CHECK(report.exit_code == 130);
    CHECK(report.interrupted);
  }
  clear_stop();
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_DFL);
  ::unsetenv("DD_TMPDIR");
  CHECK(entries_of(folder) == 0);
  std::filesystem::remove_all(folder);
}
