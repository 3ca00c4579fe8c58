// The vector exponential, the dispatch between instruction sets, and the work loop.
#include <atomic>
#include <limits>

#include "helpers.hpp"
#include "ops/tensor/parallel.hpp"
#include "support/catch.hpp"

using namespace dd::ops;
using namespace dd::ops::test;

TEST_CASE("exp in double is within 1e-15 of the library's in long double", "[ops][kernels]") {
  each_isa([](std::string_view isa) {
    INFO(isa);
    Random random(3);
    std::vector<double> x, y(200003);
    for (std::size_t i = 0; i < y.size(); ++i)
      x.push_back(-707.0 + 1416.0 * static_cast<double>(random.between(0, 1 << 30)) / (1 << 30));
    for (std::size_t i = 0; i < 2000; ++i)
      x[i] = (static_cast<double>(i) - 1000) * 0.34657359027997264;  // ends of the reduced interval
    simd::kernels().exp_f64(x.data(), static_cast<std::int64_t>(y.size()), y.data());
    double worst = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      const long double exact = std::exp(static_cast<long double>(x[i]));
      worst = std::max(worst, static_cast<double>(std::fabs((static_cast<long double>(y[i]) - exact) / exact)));
    }
    CHECK(worst < 1e-15);
    CHECK(worst > 1e-18);  // a comparison with itself would give 0
  });
}

TEST_CASE("exp in float is within 2e-7", "[ops][kernels]") {
  each_isa([](std::string_view isa) {
    INFO(isa);
    std::vector<float> x, y(100001);
    for (std::size_t i = 0; i < y.size(); ++i) x.push_back(-86.9f + 175.0f * static_cast<float>(i) / 100000.0f);
    simd::kernels().exp_f32(x.data(), static_cast<std::int64_t>(y.size()), y.data());
    double worst = 0;
    for (std::size_t i = 0; i < y.size(); ++i)
      worst = std::max(worst, std::fabs(y[i] / std::exp(static_cast<double>(x[i])) - 1));
    CHECK(worst < 2e-7);
  });
}

TEST_CASE("exp at the ends of its range", "[ops][kernels]") {
  static constexpr double inf = std::numeric_limits<double>::infinity();
  each_isa([](std::string_view isa) {
    INFO(isa);
    const double x[] = {-inf, -1e308, -709, -708, 0, -0.0, 709.7, 709.9, 1e308, inf, std::nan("")};
    double y[11] = {};
    simd::kernels().exp_f64(x, 11, y);
    CHECK(y[0] == 0);
    CHECK(y[1] == 0);
    CHECK(y[2] == 0);
    CHECK(std::fabs(y[3] / std::exp(-708.0) - 1) < 1e-15);
    CHECK(y[4] == 1);
    CHECK(y[5] == 1);
    CHECK(std::fabs(y[6] / std::exp(709.7) - 1) < 1e-14);
    CHECK(y[7] == inf);
    CHECK(y[8] == inf);
    CHECK(y[9] == inf);
    CHECK(std::isnan(y[10]));
    const float f[] = {-std::numeric_limits<float>::infinity(), -88.0f, -87.0f, 88.7f, 89.0f, std::nanf("")};
    float g[6] = {};
    simd::kernels().exp_f32(f, 6, g);
    CHECK(g[0] == 0);
    CHECK(g[1] == 0);
    CHECK(std::fabs(g[2] / std::exp(-87.0f) - 1) < 1e-6f);
    CHECK(std::isfinite(g[3]));
    CHECK(std::isinf(g[4]));
    CHECK(std::isnan(g[5]));
  });
}

TEST_CASE("instruction sets: portable is always there, unknown names change nothing", "[ops][kernels]") {
  const auto names = simd::available_isas();
  REQUIRE_FALSE(names.empty());
  CHECK(names.front() == "portable");
  const auto before = simd::kernels().name;
  CHECK_FALSE(simd::set_isa("sse9"));
  CHECK(simd::kernels().name == before);
  for (auto name : names) {
    CHECK(simd::set_isa(name));
    CHECK(simd::kernels().name == name);
  }
  simd::set_isa(before);
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    CHECK(std::find(names.begin(), names.end(), "avx2") != names.end());
#endif
}

TEST_CASE("peak loops report the work that they did", "[ops][kernels]") {
  each_isa([](std::string_view) {
    double wide = 0;
    float narrow = 0;
    const double one = simd::kernels().peak_f64(1, &wide), ten = simd::kernels().peak_f64(10, &wide);
    CHECK(ten == 10 * one);
    CHECK(simd::kernels().peak_f32(1, &narrow) == 2 * one);
    CHECK(std::isfinite(wide));
    CHECK(std::isfinite(narrow));
  });
}

TEST_CASE("parallel_for runs every task once, in any thread count", "[ops][kernels]") {
  for (int threads : {1, 2, 3, 16}) {
    std::vector<std::atomic<int>> seen(100);
    std::atomic<bool> worker_out_of_range{false};
    CHECK(parallel_for(100, {threads, nullptr}, [&](std::int64_t task, int worker) {
      ++seen[static_cast<std::size_t>(task)];
      if (worker < 0 || worker >= threads) worker_out_of_range = true;
    }));
    for (auto& count : seen) CHECK(count == 1);
    CHECK_FALSE(worker_out_of_range);
  }
  std::atomic<bool> cancel{true};
  int runs = 0;
  CHECK_FALSE(parallel_for(10, {1, &cancel}, [&](std::int64_t, int) { ++runs; }));
  CHECK(runs == 0);
  CHECK(parallel_for(0, {}, [&](std::int64_t, int) { ++runs; }));
  CHECK(runs == 0);
}
