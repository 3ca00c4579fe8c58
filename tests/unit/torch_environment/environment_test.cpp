// What the torch worker says of itself, and the one finding that follows.
#include "frameworks/torch/environment.hpp"
#include "support/catch.hpp"

using namespace dd;
using frameworks::torch::environment_findings;
using frameworks::torch::WorkerState;

namespace {

std::string ids(const WorkerState& state) {
  std::string out;
  for (const rules::Finding& f : environment_findings(state)) {
    CHECK_FALSE(f.seen.empty());
    CHECK_FALSE(f.required.empty());
    out += (out.empty() ? "" : " ") + std::string(f.rule->id);
  }
  return out;
}

WorkerState healthy() {
  WorkerState s;
  s.started = true;
  s.torch = facts::Version::of(2, 8);
  return s;
}

}  // namespace

TEST_CASE("torch environment: one cause, one finding") {
  CHECK(ids(healthy()).empty());
  WorkerState s;
  CHECK(ids(s) == "ENV040");
  s.started = true;
  CHECK(ids(s) == "ENV042");
  s.missing = true;
  CHECK(ids(s) == "ENV041");
  s = healthy();
  s.torch = facts::Version::of(1, 13, 1);
  CHECK(ids(s) == "ENV043");
}

TEST_CASE("torch environment: a call for a GPU") {
  WorkerState s = healthy();
  s.wants_gpu = true;
  CHECK(ids(s) == "ENV044");
  s.built_for_gpu = true;
  CHECK(ids(s) == "ENV045");
  s.sees_gpu = true;
  CHECK(ids(s).empty());
}

TEST_CASE("torch environment: the worker's own words are kept") {
  WorkerState s;
  s.started = true;
  s.detail = "ImportError: libcudart.so.12";
  const auto found = environment_findings(s);
  REQUIRE(found.size() == 1);
  CHECK(found[0].seen.find("libcudart.so.12") != std::string::npos);
}
