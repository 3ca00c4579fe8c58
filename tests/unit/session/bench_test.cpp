#include "session/bench.hpp"
#include "support/catch.hpp"

using namespace dd::session;
using dd::report::summarize;

TEST_CASE("bench: statistics of known runs") {
  const auto t = summarize({4, 1, 3, 2, 5});
  CHECK(t.runs == 5);
  CHECK(t.median == Approx(3));
  CHECK(t.minimum == Approx(1));
  CHECK(t.spread == Approx(2.0 / 3));
  CHECK(t.noise == "too noisy to rank");
  CHECK(summarize({1, 1.01, 1.02, 1.01}).noise == "quiet");
  CHECK(summarize({1, 1.1, 1.05, 1.2, 1.0}).noise == "noisy");
  CHECK(summarize({1}).noise == "too few runs");
  CHECK(summarize({}).runs == 0);
}

TEST_CASE("bench: at least the runs asked for, and an end when the call fails") {
  int calls = 0;
  const auto t = measure([&] { ++calls; return true; }, {20, 0.0, 1e9});
  CHECK(t.runs == 20);
  CHECK(calls >= 23);  // the warm-up takes three at least
  int left = 2;
  CHECK(measure([&] { return left-- > 0; }, {5, 0.0, 10.0}).runs == 0);
}

TEST_CASE("bench: a limit of time holds even when the count is not reached") {
  const auto t = measure([] { return true; }, {1 << 30, 0.0, 0.05});
  CHECK(t.runs >= 1);
  CHECK(t.runs < 1 << 30);
}
