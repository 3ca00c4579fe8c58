#include <set>

#include "helpers.hpp"
#include "ops/tensor/philox.hpp"
#include "support/catch.hpp"

using namespace dd::ops;
using namespace dd::ops::test;

TEST_CASE("philox 4x32-10 gives the published vectors", "[ops][fill]") {
  // Known-answer vectors of the Random123 distribution (kat_vectors, philox4x32 10).
  CHECK(philox({0, 0, 0, 0}, 0) == std::array<std::uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, 0xffffffffffffffff) ==
        std::array<std::uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822) ==
        std::array<std::uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("fills are golden: the same bits on every platform", "[ops][fill]") {
  Tensor t(DType::f64, {5});
  t.filled({FillKind::normal, 42, 7, 1.0, 0, 0});
  // Replays of a seed must hold across releases: change these only with a note in the change log.
  const double golden[] = {0x1.10adba649d66dp+0, -0x1.a29299a32ad0ep-1, -0x1.512068366703cp-1, 0x1.22037d3c33124p+0,
                           -0x1.50833f5f254b9p-2};
  for (int i = 0; i < 5; ++i) CHECK(t.at(i) == golden[i]);
  Tensor u(DType::f32, {5});
  u.filled({FillKind::uniform, 42, 7, 1.0, 0, 0});
  const float golden_uniform[] = {-0x1.81190ep-3f, 0x1.955044p-1f, -0x1.38135cp-3f, -0x1.54633ap-2f, 0x1.9777a4p-1f};
  for (int i = 0; i < 5; ++i) CHECK(u.at(i) == static_cast<double>(golden_uniform[i]));
}

TEST_CASE("values depend on the logical index alone, not on layout or threads", "[ops][fill]") {
  for (FillKind kind : {FillKind::normal, FillKind::uniform, FillKind::integers, FillKind::outliers})
    for (DType dtype : {DType::f32, DType::f16, DType::f8_e4m3, DType::s8, DType::u4}) {
      const Fill how{kind, 11, 2, 1.0, 0, 0};
      Tensor plain(dtype, {4, 50, 60}), odd(dtype, {4, 50, 60}, {1, 2, 0}, 3, 9);
      fill(plain.view, how, 1);
      fill(odd.view, how, 3);
      CHECK(values(plain.view) == values(odd.view));
      Tensor threads(dtype, {4, 50, 60});
      fill(threads.view, how, 5);
      CHECK(threads.bytes == plain.bytes);
      CHECK(plain.at(1234) == round_to(fill_value(dtype, how, 1234), dtype, Overflow::saturate));
      Tensor other(dtype, {4, 50, 60});
      fill(other.view, {kind, 12, 2, 1.0, 0, 0}, 1);
      CHECK(values(other.view) != values(plain.view));
      fill(other.view, {kind, 11, 3, 1.0, 0, 0}, 1);
      CHECK(values(other.view) != values(plain.view));
    }
}

TEST_CASE("a broadcast axis is filled once, with the value of its first position", "[ops][fill]") {
  Tensor t(DType::f32, {8});
  TensorView view = t.view;
  view.rank = 2;
  view.shape[0] = 1000;
  view.stride[0] = 0;
  view.shape[1] = 8;
  view.stride[1] = 1;
  fill(view, {FillKind::normal, 3, 0, 1.0, 0, 0}, 4);
  for (int i = 0; i < 8; ++i)
    CHECK(t.at(i) == round_to(fill_value(DType::f32, {FillKind::normal, 3, 0, 1.0, 0, 0}, i), DType::f32));
}

TEST_CASE("moments and ranges are as stated", "[ops][fill]") {
  constexpr int n = 200000;
  Tensor t(DType::f64, {n});
  t.filled({FillKind::normal, 1, 0, 1.0, 0, 0});
  double sum = 0, square = 0, fourth = 0;
  for (double x : values(t.view)) {
    sum += x;
    square += x * x;
    fourth += x * x * x * x;
  }
  CHECK(std::fabs(sum / n) < 0.01);
  CHECK(std::fabs(square / n - 1) < 0.02);
  CHECK(std::fabs(fourth / n - 3) < 0.15);
  t.filled({FillKind::uniform, 1, 0, 1.0, 0, 0});
  double low = 9, high = -9;
  for (double x : values(t.view)) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
  CHECK(low >= -1);
  CHECK(low < -0.999);
  CHECK(high < 1);
  CHECK(high > 0.999);
  t.filled({FillKind::outliers, 1, 0, 1.0, 0, 0});
  int large = 0;
  for (double x : values(t.view)) large += std::fabs(x) > 8;
  CHECK(large > n / 256 / 2);
  CHECK(large < n / 256 * 2);
  Tensor s(DType::s8, {1000});
  s.filled({FillKind::integers, 1, 0, 1.0, -3, 5});
  std::set<double> seen;
  for (double x : values(s.view)) seen.insert(x);
  CHECK(seen.size() == 9);
  CHECK(*seen.begin() == -3);
  CHECK(*seen.rbegin() == 5);
}

TEST_CASE("exact integers: r fits and r + 1 does not", "[ops][fill]") {
  for (DType accumulator : {DType::f16, DType::f32, DType::f64, DType::s32})
    for (std::int64_t k : {1, 7, 64, 4096}) {
      const auto r = exact_integer_limit(DType::f32, accumulator, k);
      const double limit =
          accumulator == DType::s32 ? 2147483647.0 : std::ldexp(1.0, dd::core::info(accumulator).mantissa_bits + 1);
      CHECK(static_cast<double>(k) * static_cast<double>(r * r) <= limit);
      if (r < 1 << 24) CHECK(static_cast<double>(k) * static_cast<double>((r + 1) * (r + 1)) > limit);
    }
  CHECK(exact_integer_limit(DType::f8_e4m3, DType::f32, 1) == 16);
  CHECK(exact_integer_limit(DType::f8_e5m2, DType::f32, 1) == 8);
  CHECK(exact_integer_limit(DType::s4, DType::s32, 1) == 7);
  CHECK(exact_integer_limit(DType::f16, DType::f16, 4096) == 0);
}

TEST_CASE("dropout keeps about 1 - p, any window of it alike", "[ops][fill]") {
  for (double p : {0.0, 0.1, 0.5, 1.0}) {
    std::vector<std::uint8_t> all(40000), part(101);
    dropout_keep(5, 1, 2, 3, 0, static_cast<std::int64_t>(all.size()), p, all.data());
    double kept = 0;
    for (auto k : all) kept += k;
    CHECK(std::fabs(kept / static_cast<double>(all.size()) - (1 - p)) < 0.01);
    for (std::int64_t first : {0, 1, 2, 3, 777}) {
      dropout_keep(5, 1, 2, 3, first, 101, p, part.data());
      CHECK(std::equal(part.begin(), part.end(), all.begin() + first));
    }
    if (p > 0 && p < 1) {
      dropout_keep(6, 1, 2, 3, 0, 101, p, part.data());
      CHECK_FALSE(std::equal(part.begin(), part.end(), all.begin()));
      dropout_keep(5, 1, 2, 4, 0, 101, p, part.data());
      CHECK_FALSE(std::equal(part.begin(), part.end(), all.begin()));
    }
  }
}

TEST_CASE("names of fills round-trip", "[ops][fill]") {
  for (FillKind kind : {FillKind::normal, FillKind::uniform, FillKind::integers, FillKind::outliers})
    CHECK(fill_kind_from(name_of(kind)) == kind);
  CHECK_FALSE(fill_kind_from("gaussian"));
}
