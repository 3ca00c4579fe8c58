// The product reference against the plain loops; exact integers; epilogues; sampled rows; Freivalds' check.
#include <limits>

#include "helpers.hpp"
#include "support/catch.hpp"

using namespace dd::ops;
using namespace dd::ops::test;

namespace {

struct Gemm {
  std::vector<Tensor> tensors;
  GemmProblem problem;
  Gemm(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, DType x, DType w, const Fill& how,
       bool trans_x = false, bool trans_w = false, std::int64_t gap = 0) {
    tensors.reserve(4);
    const auto order = [](bool transposed) {
      return transposed ? std::vector<int>{0, 2, 1} : std::vector<int>{0, 1, 2};
    };
    tensors.emplace_back(x, std::vector<std::int64_t>{batch, m, k}, order(trans_x), gap, gap);
    tensors.emplace_back(w, std::vector<std::int64_t>{batch, k, n}, order(trans_w), gap, gap);
    for (std::uint32_t i = 0; i < 2; ++i) {
      Fill stream = how;
      stream.stream = i;
      tensors[i].filled(stream);
    }
    problem.x = tensors[0].view;
    problem.w = tensors[1].view;
  }
  void bias(DType dtype, std::vector<std::int64_t> shape) {
    tensors.emplace_back(dtype, std::move(shape));
    tensors.back().filled({FillKind::normal, 4, 9, 1.0, 0, 0});
    problem.bias = tensors.back().view;
  }
};

double largest(const std::vector<double>& x) {
  double best = 1e-300;
  for (double value : x) best = std::max(best, std::fabs(value));
  return best;
}

constexpr Fill normal{FillKind::normal, 3, 0, 1.0, 0, 0};

}  // namespace

TEST_CASE("random products: fast reference equals the plain loops", "[ops][gemm]") {
  Random random(11);
  for (int n = 0; n < 150; ++n) {
    const auto type = [&] {
      return random.pick({DType::f32, DType::f64, DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2, DType::s8,
                          DType::u8, DType::s4, DType::u4});
    };
    Gemm g(random.between(1, 3), random.between(1, 40), random.between(1, 60),
           random.between(1, random.chance(20) ? 600 : 60), type(), type(), normal, random.chance(50),
           random.chance(50), random.pick({0, 0, 1, 4}));
    GemmProblem& p = g.problem;
    if (random.chance(50))
      g.bias(random.pick({DType::f32, DType::f16}), {random.pick<std::int64_t>({1, p.x.shape[0]}),
                                                     random.pick<std::int64_t>({1, p.x.shape[1]}), p.w.shape[2]});
    p.epilogue = random.pick({Epilogue::none, Epilogue::none, Epilogue::relu, Epilogue::gelu_erf, Epilogue::gelu_tanh});
    const auto slow = gemm_naive(p, true);
    REQUIRE(slow.error == "");
    const double tolerance = 1e-13 * largest(slow.abs_sum);
    each_isa([&](std::string_view isa) {
      INFO("product " << n << " on " << isa);
      const auto fast = gemm_reference(p, true, {2, nullptr});
      REQUIRE(fast.error == "");
      CHECK(far_apart(fast.out, slow.out, tolerance) == 0);
      CHECK(far_apart(fast.abs_sum, slow.abs_sum, tolerance) == 0);
      const auto threads = gemm_reference(p, true, {5, nullptr});
      CHECK(same_bits(fast.out, threads.out));
      CHECK(same_bits(fast.abs_sum, threads.abs_sum));
    });
  }
}

TEST_CASE("sizes around the tile edges of a product", "[ops][gemm]") {
  for (std::int64_t m : {1, 3, 4, 5, 8, 191, 192, 193})
    for (std::int64_t n : {1, 5, 6, 12, 13, 24, 47, 48, 49, 383, 385})
      for (std::int64_t k : {1, 255, 256, 257}) {
        if (m * n * k > 5000000 && (m != 193 || n != 385)) continue;
        const bool large = m > 100 && n > 100;
        Gemm g(1, m, n, large ? k % 255 + 1 : k, DType::f32, DType::f32, {FillKind::integers, 1, 0, 1.0, -9, 9});
        const auto slow = gemm_naive(g.problem);
        each_isa([&](std::string_view isa) {
          INFO(isa << " " << m << " x " << n << " x " << k);
          CHECK(gemm_reference(g.problem).out == slow.out);
        });
      }
}

TEST_CASE("integer products are exact, and equal to 64-bit integer arithmetic", "[ops][gemm]") {
  for (DType dtype : {DType::s8, DType::u8, DType::s4, DType::u4, DType::s32}) {
    INFO(dd::core::to_text(dtype));
    Gemm g(1, 17, 19, 700, dtype, dtype, {FillKind::uniform, 8, 0, 1.0, 0, 0});
    const auto x = values(g.problem.x), w = values(g.problem.w);
    std::vector<double> expected;
    for (std::size_t m = 0; m < 17; ++m)
      for (std::size_t n = 0; n < 19; ++n) {
        std::int64_t sum = 0;
        for (std::size_t k = 0; k < 700; ++k)
          sum += static_cast<std::int64_t>(x[m * 700 + k]) * static_cast<std::int64_t>(w[k * 19 + n]);
        expected.push_back(static_cast<double>(sum));
      }
    each_isa([&](std::string_view isa) {
      INFO(isa);
      CHECK(gemm_reference(g.problem).out == expected);
    });
  }
}

TEST_CASE("integers within the exact limit lose nothing in the f32 and s32 accumulators", "[ops][gemm]") {
  const auto r = exact_integer_limit(DType::f32, DType::f32, 300);
  Gemm g(1, 9, 11, 300, DType::f32, DType::f32, {FillKind::integers, 2, 0, 1.0, -r, r});
  Tensor out(DType::f32, {1, 9, 11});
  REQUIRE(gemm_naive_cpu(g.problem, out.view).ok());
  CHECK(values(out.view) == gemm_reference(g.problem).out);
  Gemm i(1, 9, 11, 300, DType::s8, DType::u8, {FillKind::uniform, 2, 0, 1.0, 0, 0});
  Tensor exact(DType::s32, {1, 9, 11});
  REQUIRE(gemm_naive_cpu(i.problem, exact.view, {3, nullptr}).ok());
  CHECK(values(exact.view) == gemm_reference(i.problem).out);
}

TEST_CASE("the int32 accumulator wraps, f32 rounds, f64 does neither", "[ops][gemm]") {
  Gemm g(1, 1, 1, 3, DType::s32, DType::s32, {FillKind::integers, 1, 0, 1.0, 1, 2});
  for (int k = 0; k < 3; ++k) {
    g.tensors[0].set(k, 2147483647.0);
    g.tensors[1].set(k, 1);
  }
  Tensor out(DType::f64, {1, 1, 1});
  REQUIRE(gemm_naive_cpu(g.problem, out.view).ok());
  CHECK(out.at(0) == 2147483645.0);  // 3 (2^31 - 1) - 2^32
  CHECK(gemm_reference(g.problem).out[0] == 3 * 2147483647.0);
  Gemm f(1, 1, 1, 2, DType::f32, DType::f32, normal);
  const double x[] = {16777216.0, 1.0};
  for (int k = 0; k < 2; ++k) {
    f.tensors[0].set(k, x[k]);
    f.tensors[1].set(k, 1);
  }
  REQUIRE(gemm_naive_cpu(f.problem, out.view).ok());
  CHECK(out.at(0) == 16777216.0);
  f.tensors.emplace_back(DType::f64, std::vector<std::int64_t>{1, 1, 2});
  for (int k = 0; k < 2; ++k) f.tensors.back().set(k, x[k]);
  f.problem.x = f.tensors.back().view;
  REQUIRE(gemm_naive_cpu(f.problem, out.view).ok());
  CHECK(out.at(0) == 16777217.0);
}

TEST_CASE("epilogues at known points", "[ops][gemm]") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  CHECK(apply_epilogue(-2, Epilogue::none) == -2);
  CHECK(apply_epilogue(-2, Epilogue::relu) == 0);
  CHECK(apply_epilogue(2, Epilogue::relu) == 2);
  CHECK(std::isnan(apply_epilogue(std::nan(""), Epilogue::relu)));
  // x Phi(x) with Phi(1) = 0.84134474606854293 (standard normal table, 17 digits).
  CHECK(apply_epilogue(1, Epilogue::gelu_erf) == Approx(0.84134474606854293).epsilon(1e-15));
  CHECK(apply_epilogue(-1, Epilogue::gelu_erf) == Approx(-0.15865525393145707).epsilon(1e-14));
  CHECK(apply_epilogue(1, Epilogue::gelu_tanh) == Approx(0.84119199060827670).epsilon(1e-12));
  for (Epilogue e : {Epilogue::gelu_erf, Epilogue::gelu_tanh}) {
    CHECK(apply_epilogue(0, e) == 0);
    CHECK(apply_epilogue(inf, e) == inf);
    CHECK(apply_epilogue(-inf, e) == 0);
    CHECK(apply_epilogue(-60, e) == Approx(0).margin(1e-300));
    CHECK(std::isnan(apply_epilogue(std::nan(""), e)));
  }
  CHECK(apply_epilogue(1, Epilogue::gelu_erf) != apply_epilogue(1, Epilogue::gelu_tanh));
}

TEST_CASE("NaN and infinity in products", "[ops][gemm]") {
  Gemm g(1, 20, 30, 40, DType::f32, DType::f32, normal);
  g.tensors[0].set(3 * 40 + 5, std::numeric_limits<double>::infinity());
  g.tensors[0].set(4 * 40 + 5, std::nan(""));
  const auto slow = gemm_naive(g.problem), fast = gemm_reference(g.problem);
  CHECK(std::isinf(fast.out[3 * 30]));
  CHECK(std::isnan(fast.out[4 * 30 + 7]));
  CHECK(std::isfinite(fast.out[5 * 30]));
  CHECK(far_apart(fast.out, slow.out, 1e-12) == 0);
}

TEST_CASE("sampled rows are the rows, bit for bit", "[ops][gemm]") {
  Gemm g(3, 50, 70, 300, DType::f16, DType::bf16, normal, true, false, 2);
  g.bias(DType::f32, {1, 50, 70});
  g.problem.epilogue = Epilogue::gelu_erf;
  auto rows = sample_gemm_rows(g.problem, 12, 3);
  REQUIRE(rows.size() == 12);
  std::reverse(rows.begin(), rows.end());
  rows.push_back(rows[3]);
  each_isa([&](std::string_view isa) {
    INFO(isa);
    const auto all = gemm_reference(g.problem, true), some = gemm_reference_rows(g.problem, rows, true);
    REQUIRE(some.error == "");
    std::size_t wrong = 0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const auto flat = static_cast<std::size_t>(rows[r].b * 50 + rows[r].m) * 70;
      wrong += std::memcmp(&some.out[r * 70], &all.out[flat], 70 * sizeof(double)) != 0;
      wrong += std::memcmp(&some.abs_sum[r * 70], &all.abs_sum[flat], 70 * sizeof(double)) != 0;
    }
    CHECK(wrong == 0);
  });
  CHECK_FALSE(gemm_reference_rows(g.problem, {{0, 50}}).ok());
}

TEST_CASE("Freivalds' check passes right products and names the wrong row", "[ops][gemm]") {
  Gemm g(2, 30, 40, 50, DType::f32, DType::f32, normal, false, true);
  g.bias(DType::f32, {1, 1, 40});
  Tensor y(DType::f32, {2, 30, 40}, {0, 2, 1});
  const auto right = gemm_reference(g.problem);
  write_all(y.view, right.out.data());
  auto check = freivalds(g.problem, y.view, 1, 3);
  REQUIRE(check.error == "");
  REQUIRE(check.rows.size() == 60);
  for (const auto& row : check.rows) CHECK(row.difference <= 0x1p-22 * row.magnitude);
  const auto before = y.at(37 * 40 + 11);
  y.set(37 * 40 + 11, before + 0.01);
  check = freivalds(g.problem, y.view, 1, 3, {2, nullptr});
  for (const auto& row : check.rows) {
    const bool wrong = row.b == 1 && row.m == 7;
    CHECK((row.difference > 0x1p-22 * row.magnitude) == wrong);
  }
  y.set(37 * 40 + 11, std::nan(""));
  CHECK(std::isnan(freivalds(g.problem, y.view, 1, 3).rows[37].difference));
  g.problem.epilogue = Epilogue::relu;
  CHECK_FALSE(freivalds(g.problem, y.view, 1).ok());
  // Integers: the difference is exactly zero or not.
  Gemm i(1, 20, 20, 20, DType::s8, DType::s8, {FillKind::uniform, 2, 0, 1.0, 0, 0});
  Tensor z(DType::s32, {1, 20, 20});
  write_all(z.view, gemm_reference(i.problem).out.data());
  for (const auto& row : freivalds(i.problem, z.view, 9).rows) CHECK(row.difference == 0);
}

TEST_CASE("own BLAS: transposes, leading dimensions, alpha and beta", "[ops][gemm]") {
  const BlasTable blas = own_blas();
  const double a[] = {1, 2, -9, 3, 4, -9}, b[] = {5, 6, 7, 8};
  double c[] = {1, 1, 1, 1};
  REQUIRE(blas.dgemm(nullptr, false, false, 2, 2, 2, 2.0, a, 3, b, 2, 1.0, c, 2));
  CHECK(std::vector<double>(c, c + 4) == std::vector<double>{39, 45, 87, 101});
  c[0] = std::nan("");  // beta 0 must not read C
  REQUIRE(blas.dgemm(nullptr, true, true, 2, 2, 2, 1.0, a, 3, b, 2, 0.0, c, 2));
  CHECK(std::vector<double>(c, c + 4) == std::vector<double>{23, 31, 34, 46});
}

TEST_CASE("ill-formed products list every error", "[ops][gemm]") {
  Gemm g(2, 3, 4, 5, DType::f32, DType::f32, normal);
  g.bias(DType::f32, {1, 1, 3});
  g.problem.w.shape[0] = 1;
  g.problem.w.shape[1] = 6;
  CHECK(gemm_errors(g.problem).size() == 3);
  CHECK_FALSE(gemm_reference(g.problem).ok());
  CHECK_FALSE(gemm_naive(g.problem).ok());
  Gemm good(2, 3, 4, 5, DType::f32, DType::f32, normal);
  Tensor wrong(DType::f32, {2, 4, 3}), nibbles(DType::s4, {2, 3, 4});
  CHECK_FALSE(gemm_naive_cpu(good.problem, wrong.view).ok());
  CHECK_FALSE(gemm_naive_cpu(good.problem, nibbles.view).ok());
  for (auto [m, n, k] : {std::tuple{0, 4, 5}, {3, 0, 5}, {3, 4, 0}}) {
    Gemm empty(1, m, n, k, DType::f32, DType::f32, normal);
    const auto result = gemm_reference(empty.problem);
    CHECK(result.error == "");
    CHECK(result.out == std::vector<double>(static_cast<std::size_t>(m * n), 0.0));
  }
}
