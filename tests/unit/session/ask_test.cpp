// A library's own answer in a what-if report: which way it turns the verdict, what it may not decide, and what becomes of
// a question that nobody answers.
#include <algorithm>

#include "facts/profiles.hpp"
#include "frameworks/framework.hpp"
#include "session/ask.hpp"
#include "session/what_if.hpp"
#include "spec/canonical.hpp"
#include "support/catch.hpp"

using namespace dd;

namespace {

spec::OpSpec call(std::int64_t head_dim, const char* cudnn) {
  spec::OpSpec s;
  spec::Attention a;
  a.q = a.k = a.v = {{1, 8, 256, head_dim}, core::DType::f16, {}, 0, {}};
  s.op = a;
  s.context.framework = "torch";
  s.context.torch = "2.9.0";
  s.context.cudnn = cudnn;
  s.policy.order = std::vector<std::string>{"torch-cudnn", "torch-flash"};
  return s;
}

report::Asked yes() {
  report::Asked a;
  a.library = "cuDNN";
  a.version = "9.19.0";
  a.order = {9};
  a.engines = {{9, "", true, true, 0, {}, "", ""}};
  return a;
}
report::Asked no() {
  report::Asked a = yes();
  a.order.clear();
  a.engines = {{9, "", false, false, -1, {}, "CODE", "no such thing"}};
  return a;
}

report::Case ask_about(const spec::OpSpec& spec, const report::Asked& answer) {
  const auto target = facts::find_profile("sm_90");
  session::WhatIfOptions options;
  options.canonical = spec::canonical;
  options.repro = spec::repro_line;
  options.ask = [&](const spec::OpSpec&, const std::string& library, const facts::DeviceProfile& device) {
    CHECK(library == "cudnn");
    CHECK(device.name == "sm_90");
    return answer;
  };
  return session::what_if(spec, "1", *frameworks::find_framework("torch", spec), &*target, options);
}

const report::Candidate& cudnn(const report::Case& c) {
  const auto at = std::find_if(c.candidates.begin(), c.candidates.end(), [](const auto& k) { return k.backend == "torch-cudnn"; });
  REQUIRE(at != c.candidates.end());
  return *at;
}

bool unmet(const report::Candidate& k, const char* id) {
  return std::any_of(k.findings.begin(), k.findings.end(), [&](const auto& f) { return f.id == id && f.status == "unmet"; });
}

}  // namespace

TEST_CASE("ask: a library that agrees raises the grade") {
  const report::Case c = ask_about(call(64, "9.19.0"), yes());
  CHECK(cudnn(c).grade == report::Grade::asked);
  CHECK(c.decision.selected == "torch-cudnn");
  CHECK(c.verdict.grade == report::Grade::asked);
  CHECK_FALSE(unmet(cudnn(c), "RUL011"));
}

TEST_CASE("ask: an assumed version that is not the one that was asked is told of") {
  spec::OpSpec spec = call(64, "9.19.0");
  spec.context.cudnn.reset();
  const report::Case c = ask_about(spec, yes());
  const auto& because = c.verdict.because;
  CHECK(std::any_of(because.begin(), because.end(), [](const std::string& b) { return b.starts_with("cuDNN 9.19.0 was asked") && b.find(", not the 9.10.2 of the call: engine 9 would serve it") != b.npos; }));
}

TEST_CASE("ask: a framework that does not ask its library chooses it, and the call fails") {
  const report::Case c = ask_about(call(64, "9.19.0"), no());
  CHECK(unmet(cudnn(c), "RUL011"));
  CHECK(cudnn(c).eligibility == "blocked");
  CHECK(cudnn(c).grade == report::Grade::asked);
  CHECK(c.verdict.status == report::Status::no_path);
}

TEST_CASE("ask: what the framework refuses by itself is no disagreement") {
  const report::Case c = ask_about(call(512, "9.19.0"), yes());
  CHECK(cudnn(c).eligibility == "blocked");
  CHECK(cudnn(c).grade == report::Grade::modelled);
  CHECK_FALSE(unmet(cudnn(c), "RUL011"));
  CHECK_FALSE(unmet(cudnn(c), "RUL012"));
}

TEST_CASE("ask: a doubt, another version or no answer decides nothing") {
  report::Asked doubtful = yes();
  doubtful.doubts = {"odd strides"};
  CHECK(cudnn(ask_about(call(64, "9.19.0"), doubtful)).grade == report::Grade::modelled);
  const report::Case other = ask_about(call(64, "9.18.0"), no());
  CHECK(other.decision.selected == "torch-cudnn");
  CHECK_FALSE(unmet(cudnn(other), "RUL011"));
  REQUIRE(cudnn(other).asked);
  CHECK(cudnn(other).asked->doubts.size() == 1);
  report::Asked silent;
  silent.library = "cuDNN";
  silent.error = report::Error{"SIGKILL", "the worker was ended", "supervisor"};
  const report::Case none = ask_about(call(64, "9.19.0"), silent);
  CHECK(none.decision.selected == "torch-cudnn");
  CHECK(cudnn(none).grade == report::Grade::modelled);
  REQUIRE(std::any_of(none.findings.begin(), none.findings.end(), [](const auto& f) { return f.id == "RUL013" && f.seen.find("the worker was ended") != std::string::npos; }));
}

TEST_CASE("ask: a worker that cannot ask, and one that is none, are answers without a verdict") {
  session::AskService service;
  service.device = [](const facts::DeviceProfile& p) { return p.device_type == "cuda" ? std::optional<std::string>("{}") : std::nullopt; };
  service.canonical = [](const spec::OpSpec&) { return std::string(R"({"op":"sdpa"})"); };
  const auto target = facts::find_profile("sm_90");
  for (const char* worker : {DD_FAKE_WORKER, "/nonexistent/worker"}) {
    service.worker = {"ask", {worker}, {}, 5};
    session::Asker asker(service, {5, {}});
    const auto a = asker.ask(call(64, "9.19.0"), "cudnn", *target);
    INFO(worker);
    REQUIRE(a);
    CHECK_FALSE(a->answered());
    CHECK_FALSE(a->error->text.empty());
    CHECK_FALSE(asker.ask(call(64, "9.19.0"), "cudnn", *facts::find_profile("gfx942")));
  }
}
