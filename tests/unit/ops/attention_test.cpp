// The fast reference against the plain loops: random problems over everything that a problem can ask for.
#include <algorithm>
#include <atomic>

#include "helpers.hpp"
#include "support/catch.hpp"

using namespace dd::ops;
using namespace dd::ops::test;

namespace {

// Greatest |V|: an output is a convex combination of values (times the dropout factor), so errors are judged against
// this.
double size_of(const AttentionProblem& p) {
  double largest = 1e-300;
  for (double x : values(p.v)) largest = std::isfinite(x) ? std::max(largest, std::fabs(x)) : largest;
  return largest * (p.dropout_p < 1 ? 1 / (1 - p.dropout_p) : 1);
}

Attention random_problem(Random& random) {
  const std::int64_t b = random.between(1, 2), hkv = random.between(1, 2), hq = hkv * random.between(1, 3);
  const bool large = random.chance(25);
  const std::int64_t tq = large ? random.between(20, 120) : random.between(1, 30),
                     tk = large ? random.between(150, 420) : random.between(1, 40);
  const std::int64_t d = random.between(1, 70), dv = random.chance(50) ? d : random.between(1, 70);
  const DType dtype = random.pick({DType::f32, DType::f32, DType::f64, DType::f16, DType::bf16, DType::f8_e4m3,
                                   DType::f8_e5m2, DType::s8, DType::u8, DType::s4, DType::u4});
  const std::vector<int> order =
      random.pick<std::vector<int>>({{0, 1, 2, 3}, {0, 2, 1, 3}, {2, 0, 1, 3}, {0, 1, 3, 2}, {3, 2, 1, 0}});
  Attention a(b, hq, hkv, tq, tk, d, dv, dtype, random.engine(), order, random.pick({0, 0, 1, 5}));
  AttentionProblem& p = a.problem;
  p.causal = random.chance(40);
  p.align = random.pick({Align::top_left, Align::bottom_right});
  if (random.chance(25)) p.window_left = random.between(0, tk);
  if (random.chance(15)) p.window_right = random.between(0, tk);
  if (random.chance(20))
    for (std::int64_t n = 0; n < b; ++n) p.kv_lengths.push_back(random.between(0, tk));
  if (random.chance(10))
    for (std::int64_t n = 0; n < b; ++n) p.q_lengths.push_back(random.between(0, tq));
  if (random.chance(45)) {
    const DType mask = random.pick({DType::boolean, DType::boolean, DType::f32, DType::f16, DType::bf16, DType::f64});
    std::vector<std::int64_t> shape{b, hq, tq, tk};
    for (auto& size : shape) size = random.chance(40) ? 1 : size;
    a.mask(mask, shape, {FillKind::normal, random.engine(), 5, 1.0, 0, 0});
  }
  if (random.chance(20)) p.dropout_p = random.pick({0.1, 0.5, 1.0});
  p.dropout_seed = random.engine();
  p.masked_row = random.pick({MaskedRow::zeros, MaskedRow::nan});
  if (random.chance(20)) p.scale = random.pick({0.0, -0.3, 2.0});
  if (!dd::core::is_float(dtype) && p.scale != 0) p.scale *= 1e-3;
  return a;
}

}  // namespace

TEST_CASE("random problems: fast reference equals the plain loops", "[ops][attention]") {
  Random random(20240601);
  for (int n = 0; n < 400; ++n) {
    const Attention a = random_problem(random);
    const AttentionProblem& p = a.problem;
    const AttentionWant want{n % 3 == 0, n % 5 == 0};
    const auto slow = attention_naive(p, {true, false}, {2, nullptr});
    REQUIRE(slow.error == "");
    const double tolerance = 4e-13 * size_of(p);
    each_isa([&](std::string_view isa) {
      INFO("problem " << n << " on " << isa);
      const auto fast = attention_reference(p, want, {2, nullptr});
      REQUIRE(fast.error == "");
      CHECK(fast.slow_rows == 0);
      CHECK(far_apart(fast.out, slow.out, tolerance) == 0);
      CHECK(far_apart(fast.lse, slow.lse, 1e-11) == 0);
      if (want.abs_sum) CHECK(far_apart(fast.abs_sum, slow.abs_sum, tolerance) == 0);
    });
  }
}

TEST_CASE("the same bits for any thread count and any choice of rows", "[ops][attention]") {
  Random random(77);
  for (int n = 0; n < 25; ++n) {
    const Attention a = random_problem(random);
    const AttentionProblem& p = a.problem;
    each_isa([&](std::string_view isa) {
      INFO("problem " << n << " on " << isa);
      const auto one = attention_reference(p, {true, true}, {1, nullptr});
      for (int threads : {2, 7}) {
        const auto many = attention_reference(p, {true, true}, {threads, nullptr});
        CHECK(same_bits(one.out, many.out));
        CHECK(same_bits(one.abs_sum, many.abs_sum));
        CHECK(same_bits(one.lse, many.lse));
        CHECK(same_bits(one.score_bound, many.score_bound));
      }
      auto rows = sample_rows(p, 9, static_cast<std::uint64_t>(n));
      std::reverse(rows.begin(), rows.end());
      rows.push_back(rows.front());  // repeats are allowed
      const auto some = attention_reference_rows(p, rows, {true, true}, {2, nullptr});
      REQUIRE(some.error == "");
      std::size_t wrong = 0;
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const auto flat = static_cast<std::size_t>((rows[r].b * p.q.shape[1] + rows[r].h) * p.q.shape[2] + rows[r].i);
        const auto dv = static_cast<std::size_t>(p.v.shape[3]);
        wrong += std::memcmp(&some.out[r * dv], &one.out[flat * dv], dv * sizeof(double)) != 0;
        wrong += std::memcmp(&some.abs_sum[r * dv], &one.abs_sum[flat * dv], dv * sizeof(double)) != 0;
        wrong += some.lse[r] != one.lse[flat];
        wrong += !near(some.score_bound[r], one.score_bound[flat], 0);
      }
      CHECK(wrong == 0);
    });
  }
}

TEST_CASE("sizes around the tile edges", "[ops][attention]") {
  for (std::int64_t tq : {1, 23, 24, 25, 97})
    for (std::int64_t tk : {1, 5, 6, 7, 11, 12, 13, 23, 24, 25, 47, 48, 49, 191, 192, 193, 384, 385})
      for (const bool causal : {false, true}) {
        Attention a(1, 1, 1, tq, tk, 8, 9);
        a.problem.causal = causal;
        a.problem.align = Align::bottom_right;
        const auto slow = attention_naive(a.problem);
        each_isa([&](std::string_view isa) {
          INFO(isa << " " << tq << " x " << tk << " causal " << causal);
          CHECK(far_apart(attention_reference(a.problem).out, slow.out, 1e-13) == 0);
        });
      }
  for (std::int64_t dv : {1, 2, 3, 4, 7, 8, 9, 11, 12, 13, 15, 16, 17, 24, 31, 32, 33, 48, 63, 64, 65, 130}) {
    Attention a(1, 2, 1, 30, 40, dv, dv);
    const auto slow = attention_naive(a.problem, {true, false});
    each_isa([&](std::string_view isa) {
      INFO(isa << " dv " << dv);
      const auto fast = attention_reference(a.problem, {true, false});
      CHECK(far_apart(fast.out, slow.out, 1e-13) == 0);
      CHECK(far_apart(fast.abs_sum, slow.abs_sum, 1e-13) == 0);
    });
  }
}

TEST_CASE("empty sizes", "[ops][attention]") {
  // No keys: every row is fully masked. No head size: all scores are 0, the output is the mean of the values.
  Attention none(1, 2, 2, 5, 0, 8, 4);
  for (const auto& result : {attention_reference(none.problem), attention_naive(none.problem)}) {
    REQUIRE(result.error == "");
    CHECK(result.out == std::vector<double>(40, 0.0));
    CHECK(result.lse[3] == -INFINITY);
  }
  none.problem.masked_row = MaskedRow::nan;
  CHECK(std::isnan(attention_reference(none.problem).out[7]));
  Attention flat(1, 1, 1, 2, 3, 0, 1);
  const auto v = values(flat.problem.v);
  CHECK(attention_reference(flat.problem).out[1] == Approx((v[0] + v[1] + v[2]) / 3));
  Attention no_rows(1, 1, 1, 0, 3, 4, 4);
  CHECK(attention_reference(no_rows.problem).out.empty());
  CHECK(attention_reference(no_rows.problem).error == "");
  Attention no_columns(1, 1, 1, 3, 3, 4, 0);
  CHECK(attention_reference(no_columns.problem).out.empty());
  CHECK(attention_reference(no_columns.problem).lse.size() == 3);
  Attention no_batch(0, 1, 1, 3, 3, 4, 4);
  CHECK(attention_reference(no_batch.problem).error == "");
}

TEST_CASE("score_bound bounds every score", "[ops][attention]") {
  Attention a(1, 4, 2, 10, 20, 16, 16);
  const auto result = attention_reference(a.problem, {false, true});
  const auto q = values(a.problem.q), k = values(a.problem.k);
  for (std::size_t row = 0; row < 40; ++row)
    for (std::size_t j = 0; j < 20; ++j) {
      double magnitude = 0;
      for (std::size_t c = 0; c < 16; ++c) magnitude += std::fabs(q[row * 16 + c] * k[(row / 20 * 20 + j) * 16 + c]);
      REQUIRE(magnitude * a.problem.scale <= result.score_bound[row] * (1 + 1e-12));
    }
}

TEST_CASE("sampled rows are distinct, sorted, spread and include the ends", "[ops][attention]") {
  Attention a(2, 3, 3, 50, 4, 2, 2);
  const auto rows = sample_rows(a.problem, 30, 5);
  REQUIRE(rows.size() == 30);
  std::vector<std::int64_t> flat;
  for (const auto& r : rows) flat.push_back((r.b * 3 + r.h) * 50 + r.i);
  CHECK(std::is_sorted(flat.begin(), flat.end()));
  CHECK(std::adjacent_find(flat.begin(), flat.end()) == flat.end());
  CHECK(flat.front() == 0);
  CHECK(flat.back() == 299);
  std::vector<int> heads(6);
  for (auto f : flat) ++heads[static_cast<std::size_t>(f / 50)];
  for (int count : heads) CHECK(count > 0);
  CHECK(sample_rows(a.problem, 1000, 5).size() == 300);
  CHECK(sample_rows(a.problem, 0, 5).empty());
  const auto outside = attention_reference_rows(a.problem, {{0, 3, 0}});
  CHECK_FALSE(outside.ok());
}

TEST_CASE("work counts the keys that take part", "[ops][attention]") {
  Attention a(2, 3, 3, 10, 10, 4, 6);
  CHECK(attention_work(a.problem) == 2 * 3 * 100 * 10);
  a.problem.causal = true;
  CHECK(attention_work(a.problem) == 2 * 3 * 55 * 10);
  a.problem.kv_lengths = {0, 10};
  CHECK(attention_work(a.problem) == 3 * 55 * 10);
}

TEST_CASE("work equals a count row by row", "[ops][attention]") {
  Random random(8);
  for (int n = 0; n < 300; ++n) {
    const std::int64_t tq = random.between(0, 40), tk = random.between(0, 40);
    Attention a(2, 1, 1, tq, tk, 1, 2);
    AttentionProblem& p = a.problem;
    p.causal = random.chance(50);
    p.align = random.pick({Align::top_left, Align::bottom_right});
    p.window_left = random.between(-1, 50);
    p.window_right = random.between(-1, 50);
    if (random.chance(50)) p.kv_lengths = {random.between(0, tk), random.between(0, tk)};
    if (random.chance(50)) p.q_lengths = {random.between(0, tq), random.between(0, tq)};
    double expected = 0;
    for (std::size_t b = 0; b < 2; ++b) {
      const std::int64_t ql = p.q_lengths.empty() ? tq : p.q_lengths[b],
                         kl = p.kv_lengths.empty() ? tk : p.kv_lengths[b];
      for (std::int64_t i = 0; i < ql; ++i)
        for (std::int64_t j = 0; j < kl; ++j) {
          const std::int64_t at = i + (p.align == Align::bottom_right ? kl - ql : 0);
          expected += (!p.causal || j <= at) && (p.window_left < 0 || j >= at - p.window_left) &&
                      (p.window_right < 0 || j <= at + p.window_right);
        }
    }
    INFO("problem " << n);
    CHECK(attention_work(p) == 3 * expected);
  }
  Attention huge(1, 1, 1, 2, 2, 2, 2);
  huge.problem.q.shape[2] = std::int64_t{1} << 50;  // answered at once
  CHECK(attention_work(huge.problem) == std::ldexp(8.0, 50));
}

TEST_CASE("a cancelled run says so", "[ops][attention]") {
  Attention a(1, 1, 1, 10, 10, 4, 4);
  const std::atomic<bool> cancel{true};
  CHECK(attention_reference(a.problem, {}, {2, &cancel}).error == "cancelled");
  CHECK(attention_naive(a.problem, {}, {2, &cancel}).error == "cancelled");
}
