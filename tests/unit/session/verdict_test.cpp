// Each line of the contract about verdicts, requirements and exit codes, on reports made by hand.
#include "session/verdict.hpp"
#include "support/catch.hpp"

using namespace dd;
using namespace dd::session;
using report::Outcome;
using report::Status;

namespace {

struct Row {
  std::string name;
  bool fast;
  Outcome outcome;
  std::string action;  // chosen, passed-over, failed, or empty when the walk did not reach it
};

report::Case make(const std::vector<Row>& rows, const std::string& policy = "allow") {
  report::Case c;
  c.title = "sdpa --q 1x2x8x8";
  c.decision.policy = policy;
  for (const Row& row : rows) {
    report::Candidate candidate;
    candidate.backend = row.name;
    candidate.fast = row.fast;
    candidate.eligibility = row.outcome == Outcome::blocked ? "blocked" : "eligible";
    report::Attempt a;
    a.policy = "allow";
    a.mode = "eager";
    a.outcome = row.outcome;
    if (row.outcome == Outcome::off || row.outcome == Outcome::matched || row.outcome == Outcome::mistrusted) a.comparison.emplace();
    else a.error = report::Error{"CODE", "words of " + row.name, "lib"};
    candidate.attempts.push_back(a);
    report::Step step{row.name, row.action, {}};
    if (row.outcome == Outcome::blocked) {
      report::Finding f;
      f.id = "AAA001";
      f.title = "the head is too large";
      f.status = "unmet";
      f.level = "blocked";
      candidate.findings.push_back(f);
      step.finding_ids = {"AAA001"};
    }
    c.candidates.push_back(candidate);
    if (!row.action.empty()) c.decision.steps.push_back(step);
    if (row.action == "chosen") c.decision.selected = row.name;
  }
  set_verdict(c);
  return c;
}

bool says(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::vector<Requirement> required(std::initializer_list<const char*> texts) {
  std::vector<Requirement> out;
  for (const char* text : texts) out.push_back(*parse_requirement(text));
  return out;
}

const Row fast_ok{"quick", true, Outcome::matched, "chosen"};
const Row fast_blocked{"quick", true, Outcome::blocked, "passed-over"};
const Row slow_ok{"slow", false, Outcome::matched, "chosen"};

}  // namespace

TEST_CASE("verdict: the four ways a walk ends") {
  CHECK(make({fast_ok}).verdict.status == Status::fast_path);
  const auto fallback = make({fast_blocked, slow_ok});
  CHECK(fallback.verdict.status == Status::fallback);
  CHECK(says(fallback.verdict.summary, "fell back to slow"));
  CHECK(says(fallback.verdict.summary, "AAA001"));
  CHECK(says(fallback.verdict.summary, "the head is too large"));
  REQUIRE(fallback.verdict.because.size() == 1);
  CHECK(says(fallback.verdict.because[0], "quick: AAA001"));
  const auto none = make({fast_blocked, {"slow", false, Outcome::refused, "failed"}});
  CHECK(none.verdict.status == Status::no_path);
  CHECK(none.verdict.because.size() == 2);
  CHECK(says(none.verdict.because[1], "words of slow"));
  CHECK(make({{"quick", true, Outcome::off, "chosen"}}).verdict.status == Status::wrong_result);
  CHECK(make({}).verdict.status == Status::undetermined);
  CHECK(make({{"quick", true, Outcome::not_tried, ""}}).verdict.status == Status::undetermined);
}

TEST_CASE("verdict: a grade is not higher than what was done") {
  CHECK(make({fast_ok}).verdict.grade == report::Grade::ran);
  CHECK(make({fast_blocked}).verdict.grade == report::Grade::modelled);
}

TEST_CASE("verdict: a wrong backend that was not chosen is named") {
  const auto c = make({fast_ok, {"slow", false, Outcome::off, ""}});
  CHECK(c.verdict.status == Status::fast_path);
  REQUIRE(c.verdict.because.size() == 1);
  CHECK(says(c.verdict.because[0], "slow gives a wrong result"));
  CHECK(exit_code_of(c, false) == 1);
}

TEST_CASE("verdict: a product after silent conversions took no fast path") {
  auto c = make({fast_ok});
  c.title = "gemm --m 8";
  c.candidates[0].attempts[0].evidence.conversions.push_back({"cast", "x to f32", 256});
  set_verdict(c);
  CHECK(c.verdict.status == Status::fallback);
  CHECK(says(c.verdict.because[0], "cast: x to f32"));
}

TEST_CASE("verdict: a force that failed says why") {
  const auto c = make({fast_blocked, {"slow", false, Outcome::blocked, "passed-over"}}, "force quick");
  CHECK(c.verdict.status == Status::no_path);
  CHECK(says(c.verdict.summary, "forced quick did not serve the call"));
  CHECK(c.verdict.because.size() == 1);
  CHECK(says(make({fast_blocked}, "force nonsense").verdict.summary, "no backend for this call; there are quick"));
  // A slow one that was asked for by name is no fallback of anybody's.
  const auto slow = make({fast_blocked, {"slow", false, Outcome::matched, "chosen"}}, "force slow");
  CHECK(slow.verdict.summary == "slow was forced and served the call, which is no fast path");
  CHECK(slow.verdict.because.empty());
}

TEST_CASE("verdict: what the choice costs, unless the noise hides it") {
  const auto timed = [](double own, double other, double spread) {
    auto c = make({fast_blocked, slow_ok, {"third", false, Outcome::matched, ""}});
    c.candidates[1].attempts[0].timing = report::Timing{10, own, own, spread, "", 0, 0, 0};
    c.candidates[2].attempts[0].timing = report::Timing{10, other, other, spread, "", 0, 0, 0};
    set_verdict(c);
    return c.verdict.because.back();
  };
  CHECK(says(timed(3, 1, 0.01), "3.00 times as long as third"));
  CHECK(says(timed(1, 2, 0.01), "the next best, third"));
  CHECK(says(timed(1.04, 1, 0.01), "no difference"));
  CHECK(says(timed(1.3, 1, 0.5), "too noisy"));
  CHECK(says(timed(3, 1, 0.5), "3.00 times as long as third"));  // beyond what that noise could make
}

TEST_CASE("requirements: a slowdown is decided where the noise leaves no doubt, and only a slower path misses it") {
  const auto status = [](double own, double other, double spread, const char* text) {
    auto c = make({fast_blocked, slow_ok, {"third", false, Outcome::matched, ""}});
    c.candidates[1].attempts[0].timing = report::Timing{10, own, own, spread, "", 0, 0, 0};
    c.candidates[2].attempts[0].timing = report::Timing{10, other, other, spread, "", 0, 0, 0};
    set_verdict(c);
    check_requirements(c, required({text}), false);
    return c.requirements[0].status + " " + std::to_string(exit_code_of(c, false));
  };
  CHECK(status(3, 1, 0.01, "slowdown=2") == "unmet 6");
  CHECK(status(1.9, 1, 0.01, "slowdown=2") == "met 0");
  CHECK(status(2.02, 1, 0.01, "slowdown=2") == "unknown 3");  // within the noise of the limit
  CHECK(status(3, 1, 0.9, "slowdown=2") == "unknown 3");
  CHECK(status(30, 1, 0.9, "slowdown=2") == "unmet 6");
  CHECK(status(1, 3, 0.9, "slowdown=1") == "met 0");  // a speed-up never fails
  auto blocked = make({{"quick", true, Outcome::blocked, "passed-over"}, slow_ok});
  blocked.candidates[1].attempts[0].timing = report::Timing{10, 5, 5, 0.01, "", 0, 0, 0};
  blocked.candidates[0].attempts[0].timing = report::Timing{10, 1, 1, 0.01, "", 0, 0, 0};
  check_requirements(blocked, required({"slowdown=2"}), false);
  CHECK(blocked.requirements[0].status == "met");  // what is not permitted is no alternative
  auto untimed = make({fast_ok});
  check_requirements(untimed, required({"slowdown=2"}), false);
  CHECK(untimed.requirements[0].status == "unknown");
  CHECK(exit_code_of(untimed, false) == 3);
}

TEST_CASE("verdict: without a GPU that is what is said, at the grade of rules") {
  auto c = make({{"quick", true, Outcome::unavailable, "failed"}, {"slow", false, Outcome::blocked, "passed-over"}});
  report::Finding f;
  f.id = "ENV020";
  f.title = "the driver is missing";
  f.status = "unmet";
  c.findings.push_back(f);
  set_verdict(c);
  CHECK(c.verdict.status == Status::no_path);
  CHECK(c.verdict.grade == report::Grade::modelled);
  CHECK(says(c.verdict.summary, "no GPU can be used here: ENV020, the driver is missing"));
  CHECK(says(c.verdict.because.back(), "--target h100-sxm"));
}

TEST_CASE("verdict: rules alone decide nothing about the GPU of a machine that has none") {
  auto c = make({{"quick", true, Outcome::predicted, "chosen"}});
  set_verdict(c);
  CHECK(c.verdict.status == Status::fast_path);  // of a GPU that is named they do
  CHECK(exit_code_of(c, false) == 0);
  report::Finding f;
  f.id = "ENV045";
  f.title = "this torch sees no GPU";
  f.status = "unmet";
  c.findings.push_back(f);
  set_verdict(c);
  CHECK(c.verdict.status == Status::undetermined);
  CHECK(c.verdict.grade == report::Grade::modelled);
  CHECK(c.verdict.summary == "no GPU can be used here: ENV045, this torch sees no GPU");
  CHECK(says(c.verdict.because.front(), "by the rules alone, of a GPU that is not known: quick would serve the call"));
  CHECK(says(c.verdict.because.back(), "--target h100-sxm"));
  CHECK(exit_code_of(c, false) == 5);
  CHECK(exit_code_of(c, true) == 5);
}

TEST_CASE("requirements: texts that are accepted, and those that are not") {
  CHECK(parse_requirement("fast")->kind == Requirement::Kind::fast);
  CHECK(parse_requirement("close")->kind == Requirement::Kind::close);
  CHECK(parse_requirement("slowdown=1.5")->ratio == 1.5);
  CHECK(parse_requirement("backend=a,b")->backends == std::vector<std::string>{"a", "b"});
  for (const char* text : {"", "faster", "backend=", "backend=,", "backend", "slowdown", "slowdown=", "slowdown=0.9", "slowdown=nan", "slowdown=inf", "slowdown=2x"}) {
    INFO(text);
    CHECK_FALSE(parse_requirement(text).ok());
  }
}

TEST_CASE("requirements: met, unmet and unknown") {
  const auto status = [](report::Case c, const char* text) {
    check_requirements(c, required({text}), false);
    return c.requirements.at(0).status;
  };
  CHECK(status(make({fast_ok}), "fast") == "met");
  CHECK(status(make({fast_blocked, slow_ok}), "fast") == "unmet");
  CHECK(status(make({fast_blocked}), "fast") == "unmet");
  CHECK(status(make({}), "fast") == "unknown");
  CHECK(status(make({fast_ok}), "close") == "met");
  CHECK(status(make({{"quick", true, Outcome::mistrusted, "chosen"}}), "close") == "unknown");
  CHECK(status(make({{"quick", true, Outcome::off, "chosen"}}), "close") == "unmet");
  CHECK(status(make({fast_ok, {"slow", false, Outcome::off, ""}}), "close") == "unmet");
  CHECK(status(make({fast_ok}), "backend=quick") == "met");
  CHECK(status(make({fast_ok}), "backend=slow,other") == "unmet");
  CHECK(status(make({fast_blocked}), "backend=quick") == "unmet");
}

TEST_CASE("requirements: every mode that ran has to keep them") {
  report::Case c = make({{"fast", true, Outcome::matched, "chosen"}, {"slow", false, Outcome::matched, ""}});
  check_requirements(c, required({"fast", "backend=fast"}), false);
  CHECK(c.requirements.at(0).status == "met");
  c.candidates[1].attempts[0].mode = "compiled";  // the same call, compiled, went to the other one
  check_requirements(c, required({"fast", "backend=fast", "backend=fast,slow", "close"}), false);
  CHECK(c.requirements.at(0).status == "unmet");
  CHECK(says(c.requirements.at(0).detail, "in mode compiled slow served the call"));
  CHECK(c.requirements.at(1).status == "unmet");
  CHECK(c.requirements.at(2).status == "met");
  CHECK(c.requirements.at(3).status == "met");
  c.candidates[1].attempts[0].policy = "force";  // forced by hand it shows nothing about the choice
  check_requirements(c, required({"fast"}), false);
  CHECK(c.requirements.at(0).status == "met");
}

TEST_CASE("exit codes: one for each line of the contract, and their order") {
  const auto code = [](report::Case c, std::initializer_list<const char*> texts = {}, bool forced = false, bool pass = false) {
    check_requirements(c, required(texts), pass);
    return exit_code_of(c, forced);
  };
  CHECK(code(make({fast_ok})) == 0);
  CHECK(code(make({fast_blocked, slow_ok})) == 0);  // a fallback alone is no failure
  CHECK(code(make({{"quick", true, Outcome::off, "chosen"}})) == 1);
  report::Case bad = make({fast_ok});
  bad.problems = {"q.shape: wrong"};
  CHECK(code(bad) == 2);
  CHECK(code(make({fast_blocked, slow_ok}), {"fast"}) == 3);
  CHECK(code(make({fast_blocked}, "force quick"), {}, true) == 3);
  for (Outcome o : {Outcome::crashed, Outcome::timed_out, Outcome::out_of_memory}) CHECK(code(make({{"quick", true, o, "failed"}, slow_ok})) == 4);
  CHECK(code(make({fast_blocked})) == 5);
  CHECK(code(make({{"quick", true, Outcome::mistrusted, "chosen"}})) == 5);
  CHECK(code(make({})) == 5);
  // A requirement that cannot be decided counts as not met, unless told otherwise.
  CHECK(code(make({}), {"fast"}) == 3);
  CHECK(code(make({{"quick", true, Outcome::mistrusted, "chosen"}}), {"close"}, false, true) == 5);
  // 4 before 1 before 3.
  CHECK(code(make({{"quick", true, Outcome::crashed, "failed"}, {"slow", false, Outcome::off, "chosen"}}), {"fast"}) == 4);
  CHECK(code(make({{"slow", false, Outcome::off, "chosen"}}), {"fast"}) == 1);
}

TEST_CASE("exit codes: of several cases the gravest wins, and nothing tested is never success") {
  const auto with = [](std::initializer_list<int> codes) {
    std::vector<report::Case> cases;
    for (int code : codes) {
      cases.push_back(make({fast_ok}));
      if (code == 5) cases.back().candidates.clear();
      cases.back().exit_code = code;
    }
    return exit_code_of(cases);
  };
  CHECK(with({}) == 5);
  CHECK(with({0, 0}) == 0);
  CHECK(with({0, 5}) == 0);
  CHECK(with({5, 5}) == 5);
  CHECK(with({0, 3, 1, 0}) == 1);
  CHECK(with({1, 4, 3}) == 4);
  CHECK(with({4, 2, 1}) == 2);
  CHECK(with({3, 6, 5}) == 3);
  CHECK(with({6, 5}) == 6);
}

TEST_CASE("summary: counts by verdict") {
  std::vector<report::Case> cases = {make({fast_ok}), make({fast_blocked, slow_ok}), make({fast_blocked}), make({{"quick", true, Outcome::off, "chosen"}}), make({})};
  const auto s = summarize(cases);
  CHECK(s.cases == 5);
  CHECK(s.fast == 1);
  CHECK(s.fallback == 1);
  CHECK(s.no_path == 1);
  CHECK(s.wrong == 1);
  CHECK(s.undetermined == 1);
  CHECK(s.tested == 3);
}
