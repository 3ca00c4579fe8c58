// Hand-computed cases: who takes part, fully masked rows, NaN and infinity, dropout, ill-formed problems.
#include <limits>

#include "helpers.hpp"
#include "support/catch.hpp"

using namespace dd::ops;
using namespace dd::ops::test;

namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

// One head, zero queries: every key that takes part has the same weight, so row i is the mean of the values of those
// keys. Values are 2^j, which makes the set of keys readable from the sum mean * count.
Attention who(std::int64_t tq, std::int64_t tk, DType dtype = DType::f64) {
  Attention a(1, 1, 1, tq, tk, 2, 1, dtype);
  for (std::int64_t i = 0; i < tq * 2; ++i) a.tensors[0].set(i, 0);
  for (std::int64_t j = 0; j < tk; ++j) a.tensors[2].set(j, std::ldexp(1.0, static_cast<int>(j)));
  return a;
}

// Bit j set when key j takes part in row i.
std::vector<unsigned> sets(const AttentionProblem& p) {
  const auto result = attention_reference(p);
  std::vector<unsigned> out;
  for (std::size_t i = 0; i < result.out.size(); ++i)
    out.push_back(static_cast<unsigned>(std::lround(result.out[i] * std::exp(result.lse[i]))));
  const auto naive = attention_naive(p);
  CHECK(far_apart(naive.out, result.out, 1e-12 * 64) == 0);
  return out;
}

using Sets = std::vector<unsigned>;

}  // namespace

TEST_CASE("causal in both alignments, wide and tall", "[ops][attention]") {
  auto wide = who(2, 4), tall = who(4, 2);
  wide.problem.causal = tall.problem.causal = true;
  CHECK(sets(wide.problem) == Sets{0b0001, 0b0011});
  CHECK(sets(tall.problem) == Sets{0b01, 0b11, 0b11, 0b11});
  wide.problem.align = tall.problem.align = Align::bottom_right;
  CHECK(sets(wide.problem) == Sets{0b0111, 0b1111});
  CHECK(sets(tall.problem) == Sets{0, 0, 0b01, 0b11});
}

TEST_CASE("windows follow the alignment", "[ops][attention]") {
  auto a = who(3, 5);
  a.problem.window_left = 1;
  CHECK(sets(a.problem) == Sets{0b11111, 0b11111, 0b11110});
  a.problem.window_right = 0;
  CHECK(sets(a.problem) == Sets{0b00001, 0b00011, 0b00110});
  a.problem.align = Align::bottom_right;
  CHECK(sets(a.problem) == Sets{0b00110, 0b01100, 0b11000});
  a.problem.window_left = a.problem.window_right = std::numeric_limits<std::int64_t>::max();
  CHECK(sets(a.problem) == Sets{31, 31, 31});
}

TEST_CASE("lengths cut keys and rows, per batch", "[ops][attention]") {
  auto a = who(3, 4);
  a.problem.kv_lengths = {3};
  CHECK(sets(a.problem) == Sets{0b111, 0b111, 0b111});
  a.problem.q_lengths = {2};
  a.problem.causal = true;
  a.problem.align = Align::bottom_right;
  CHECK(sets(a.problem) == Sets{0b011, 0b111, 0});
  a.problem.kv_lengths = {0};
  CHECK(sets(a.problem) == Sets{0, 0, 0});
  a.problem.masked_row = MaskedRow::nan;
  const auto result = attention_reference(a.problem);
  CHECK(std::isnan(result.out[0]));
  CHECK(result.out[2] == 0);  // past q_lengths: padding, not a masked row
  CHECK(far_apart(attention_naive(a.problem).out, result.out, 0) == 0);
}

TEST_CASE("boolean masks broadcast along every axis", "[ops][attention]") {
  auto a = who(2, 4);
  auto& row = a.mask(DType::boolean, {1, 1, 1, 4});
  for (int j = 0; j < 4; ++j) row.set(j, j % 2);
  CHECK(sets(a.problem) == Sets{0b1010, 0b1010});
  auto b = who(2, 4);
  auto& column = b.mask(DType::boolean, {1, 1, 2, 1});
  column.set(0, 0);
  column.set(1, 1);
  CHECK(sets(b.problem) == Sets{0, 0b1111});
  // Any byte that is not zero is true.
  auto c = who(1, 4);
  auto& bytes = c.mask(DType::boolean, {1, 1, 1, 4});
  bytes.bytes = {0, 2, 255, 0};
  c.problem.mask->data = bytes.bytes.data();
  CHECK(sets(c.problem) == Sets{0b0110});
}

TEST_CASE("additive masks: -inf excludes, numbers shift, a fully -inf row is masked", "[ops][attention]") {
  for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    INFO(dd::core::to_text(dtype));
    auto a = who(2, 4);
    auto& m = a.mask(dtype, {1, 1, 2, 4});
    const double mask[] = {-inf, 0, -inf, 0, -inf, -inf, -inf, -inf};
    for (int i = 0; i < 8; ++i) m.set(i, mask[i]);
    CHECK(sets(a.problem) == Sets{0b1010, 0});
    a.problem.masked_row = MaskedRow::nan;
    CHECK(std::isnan(attention_reference(a.problem).out[1]));
    for (int i = 0; i < 8; ++i) m.set(i, 3.0);
    CHECK(attention_reference(a.problem).lse[0] == Approx(3 + std::log(4.0)));
  }
}

TEST_CASE("the lowest finite mask value does not exclude", "[ops][attention]") {
  auto a = who(1, 4);
  auto& m = a.mask(DType::f32, {1, 1, 1, 4});
  for (int j = 0; j < 4; ++j) m.set(j, -3.4028234663852886e38);
  CHECK(attention_reference(a.problem).out[0] == 15.0 / 4);
  CHECK(attention_naive(a.problem).out[0] == 15.0 / 4);
}

TEST_CASE("keys that do not take part may hold anything", "[ops][attention]") {
  for (const double bad : {std::nan(""), inf, -inf, 1e308}) {
    Attention a(1, 1, 1, 30, 250, 4, 4, DType::f64);
    auto& m = a.mask(DType::boolean, {1, 1, 1, 250});
    for (int j = 0; j < 250; ++j) m.set(j, j != 7 && j != 200);
    const auto clean = attention_naive(a.problem);
    for (int c = 0; c < 4; ++c) {
      a.tensors[1].set(7 * 4 + c, bad);
      a.tensors[2].set(200 * 4 + c, bad);
    }
    each_isa([&](std::string_view isa) {
      INFO(isa << " " << bad);
      const auto dirty = attention_reference(a.problem);
      CHECK(dirty.slow_rows == 30);
      CHECK(far_apart(dirty.out, clean.out, 1e-13) == 0);
    });
  }
}

TEST_CASE("NaN and infinity that take part propagate", "[ops][attention]") {
  const auto rows_of = [](Attention& a) {
    const auto fast = attention_reference(a.problem);
    CHECK(far_apart(fast.out, attention_naive(a.problem).out, 1e-12) == 0);
    return fast.out;
  };
  {
    Attention a(1, 1, 1, 3, 5, 4, 2, DType::f32);
    a.tensors[0].set(1 * 4, std::nan(""));  // one query: its row only
    const auto out = rows_of(a);
    CHECK(std::isfinite(out[0]));
    CHECK(std::isnan(out[2]));
    CHECK(std::isnan(out[3]));
    CHECK(std::isfinite(out[4]));
  }
  {
    Attention a(1, 1, 1, 3, 5, 4, 2, DType::f32);
    a.problem.causal = true;
    a.tensors[1].set(2 * 4, std::nan(""));  // one key: rows that see it
    const auto out = rows_of(a);
    CHECK(std::isfinite(out[2]));
    CHECK(std::isnan(out[4]));
  }
  {
    Attention a(1, 1, 1, 1, 5, 4, 2, DType::f32);
    a.tensors[2].set(3 * 2 + 1, inf);  // one value column
    const auto out = rows_of(a);
    CHECK(std::isfinite(out[0]));
    CHECK(out[1] == inf);
  }
  {
    auto a = who(1, 4);
    a.tensors[0].set(0, 1);
    for (int j = 0; j < 4; ++j) a.tensors[1].set(j * 2, j == 2 ? -inf : 0.0);  // a score of -inf: weight 0
    for (int j = 0; j < 4; ++j) a.tensors[1].set(j * 2 + 1, 0);
    CHECK(rows_of(a)[0] == Approx(11.0 / 3));
    a.tensors[1].set(2 * 2 + 1, -inf);
    CHECK(std::isnan(rows_of(a)[0]));  // 0 * -inf in the second component
    a.tensors[1].set(2 * 2 + 1, 0);
    a.tensors[1].set(2 * 2, inf);  // a score of +inf: inf - inf
    CHECK(std::isnan(rows_of(a)[0]));
    for (int j = 0; j < 4; ++j) a.tensors[1].set(j * 2, -inf);  // all scores -inf: a masked row
    CHECK(rows_of(a)[0] == 0);
  }
  {
    auto a = who(1, 4);
    a.mask(DType::f32, {1, 1, 1, 4}, {FillKind::integers, 1, 1, 1.0, 0, 1}).set(1, std::nan(""));
    CHECK(std::isnan(rows_of(a)[0]));
    a.tensors.back().set(1, inf);
    CHECK(std::isnan(rows_of(a)[0]));
  }
}

TEST_CASE("scores near the ends of double neither overflow nor vanish", "[ops][attention]") {
  Attention a(1, 1, 1, 2, 3, 1, 1, DType::f64);
  const double k[] = {1e200, -1e200, 1e-200};
  for (int j = 0; j < 3; ++j) a.tensors[1].set(j, k[j]);
  a.tensors[0].set(0, 1e200);
  a.tensors[0].set(1, 1.0);
  a.problem.scale = 1e-3;
  const auto out = attention_reference(a.problem);
  CHECK(std::isnan(out.out[0]));  // 1e397 is infinite: inf - inf
  CHECK(out.out[1] == a.tensors[2].at(0));
  CHECK(far_apart(out.out, attention_naive(a.problem).out, 0) == 0);
}

TEST_CASE("dropout multiplies kept weights and follows the shared mask", "[ops][attention]") {
  auto a = who(3, 6);
  a.problem.dropout_p = 0.5;
  a.problem.dropout_seed = 99;
  const auto result = attention_reference(a.problem);
  for (std::int64_t i = 0; i < 3; ++i) {
    std::uint8_t keep[6];
    dropout_keep(99, 0, 0, i, 0, 6, 0.5, keep);
    double expected = 0;
    for (int j = 0; j < 6; ++j) expected += keep[j] ? std::ldexp(2.0, j) / 6 : 0.0;
    CHECK(result.out[static_cast<std::size_t>(i)] == Approx(expected));
    CHECK(result.lse[static_cast<std::size_t>(i)] == Approx(std::log(6.0)));  // the denominator is that of all keys
  }
  a.problem.dropout_p = 1.0;
  CHECK(attention_reference(a.problem).out == std::vector<double>(3, 0.0));
}

TEST_CASE("grouped heads share keys and values in order", "[ops][attention]") {
  Attention a(1, 6, 2, 3, 4, 5, 5);
  const auto out = attention_reference(a.problem).out;
  for (std::int64_t h = 0; h < 6; ++h) {
    auto one = a.problem;
    const auto head = [](TensorView v, std::int64_t n) {
      v.offset += n * v.stride[1];
      v.shape[1] = 1;
      return v;
    };
    one.q = head(a.problem.q, h);
    one.k = head(a.problem.k, h / 3);
    one.v = head(a.problem.v, h / 3);
    const auto part = attention_reference(one).out;
    CHECK(std::equal(part.begin(), part.end(), out.begin() + h * 15));
  }
}

TEST_CASE("ill-formed problems list every error and compute nothing", "[ops][attention]") {
  Attention a(1, 4, 2, 3, 4, 5, 5);
  CHECK(attention_errors(a.problem).empty());
  auto p = a.problem;
  p.k.shape[1] = 3;
  p.v.shape[1] = 3;
  p.k.shape[3] = 6;
  p.scale = std::nan("");
  p.dropout_p = 1.5;
  p.window_left = -2;
  p.kv_lengths = {5};
  CHECK(attention_errors(p).size() == 6);
  CHECK_FALSE(attention_reference(p).ok());
  CHECK(attention_reference(p).out.empty());
  CHECK_FALSE(attention_naive(p).ok());
  p = a.problem;
  p.q.rank = 3;
  CHECK_FALSE(attention_errors(p).empty());
  p = a.problem;
  p.q.data = nullptr;
  CHECK_FALSE(attention_errors(p).empty());
  p = a.problem;
  p.mask = contiguous(a.tensors[0].bytes.data(), DType::boolean, {1, 2, 3, 4});
  CHECK_FALSE(attention_errors(p).empty());
  p.mask = contiguous(a.tensors[0].bytes.data(), DType::s8, {1, 1, 3, 4});
  CHECK_FALSE(attention_errors(p).empty());
  p.mask->dtype = DType::boolean;
  CHECK(attention_errors(p).empty());
}

TEST_CASE("sizes whose product overflows end in a message", "[ops][attention]") {
  Attention a(1, 1, 1, 2, 2, 2, 2);
  auto p = a.problem;
  p.q.shape[0] = p.k.shape[0] = p.v.shape[0] = std::int64_t{1} << 40;
  p.q.shape[2] = std::int64_t{1} << 40;
  CHECK(attention_reference(p).error == "not enough memory");
  CHECK(attention_naive(p).error == "not enough memory");
}
