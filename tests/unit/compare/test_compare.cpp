#include "compare/compare.hpp"

#include <cmath>
#include <cstring>
#include <limits>

#include "compare/guard.hpp"
#include "ops/tensor/convert.hpp"
#include "support/catch.hpp"

using namespace dd;
using compare::Got;
using compare::Wanted;
using core::DType;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
constexpr double inf = std::numeric_limits<double>::infinity();

struct Area {
  std::vector<std::byte> bytes;
  std::int64_t data_bytes;
  DType dtype;
  Area(DType d, std::int64_t n) : data_bytes(core::bytes_of(d, n)), dtype(d) {
    bytes.resize(static_cast<std::size_t>(compare::area_bytes(data_bytes)));
    compare::poison_area(bytes, d, data_bytes);
  }
  std::byte* data() { return bytes.data() + compare::guard_bytes; }
  void put(std::int64_t i, double v) { ops::store(data(), dtype, i, v); }
  Got got(std::int64_t n) { return {data(), n, dtype, {}, 0, compare::guard_damage(bytes, data_bytes)}; }
};

report::Comparison run(const std::vector<double>& want, const std::vector<double>& seen, DType dtype = DType::f32,
                       std::optional<double> rtol = {}, std::optional<double> atol = {}) {
  const auto n = static_cast<std::int64_t>(want.size());
  Area area(dtype, n);
  for (std::int64_t i = 0; i < n; ++i) area.put(i, seen[static_cast<std::size_t>(i)]);
  Wanted w;
  w.values = want;
  w.shape = {n};
  return compare::compare(area.got(n), w, rtol, atol);
}

}  // namespace

TEST_CASE("the limit is inclusive, one step past it is off") {
  CHECK(run({1.0, 2.0}, {1.0, 2.5}, DType::f64, 0.0, 0.5).verdict == "close");
  const auto off = run({1.0, 2.0}, {1.0, 2.5 + 1e-9}, DType::f64, 0.0, 0.5);
  CHECK(off.verdict == "off");
  CHECK(off.mismatched == 1);
  CHECK(off.total == 2);
  CHECK(off.absolute.index == std::vector<std::int64_t>{1});
  CHECK(off.absolute.want == 2.0);
}

TEST_CASE("not-a-number and infinity are compared, never ignored") {
  CHECK(run({1.0, not_a_number}, {1.0, not_a_number}).verdict == "close");
  CHECK(run({1.0, inf}, {1.0, inf}).verdict == "close");
  CHECK(run({1.0, 2.0}, {1.0, not_a_number}).verdict == "off");
  CHECK(run({1.0, not_a_number}, {1.0, 2.0}).verdict == "off");
  CHECK(run({1.0, inf}, {1.0, -inf}).verdict == "off");
  CHECK(run({1.0, 2.0}, {1.0, inf}).verdict == "off");
  const auto c = run({1.0, 0.0, inf}, {not_a_number, 0.0, 3.0});
  CHECK(c.nan_got == 1);
  CHECK(c.nan_want == 0);
  CHECK(c.inf_want == 1);
  CHECK(c.zero_got == 1);
  CHECK(c.absolute.value == inf);
}

TEST_CASE("an error-model bound widens the constants but a user tolerance replaces both") {
  const std::vector<double> want{1.0, 2.0}, bound{0.25, 0.25};
  Area area(DType::f64, 2);
  area.put(0, 1.2);
  area.put(1, 2.0);
  Wanted w;
  w.values = want;
  w.bound = bound;
  w.shape = {2};
  CHECK(compare::compare(area.got(2), w, {}, {}).verdict == "close");
  CHECK(compare::compare(area.got(2), w, {}, 0.1).verdict == "off");
}

TEST_CASE("elements that nobody wrote and bytes written outside are caught") {
  for (DType d : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::s32, DType::f8_e5m2}) {
    CAPTURE(core::to_text(d));
    const std::vector<double> want{1, 2, 3};
    Wanted w;
    w.values = want;
    w.shape = {3};
    Area area(d, 3);
    area.put(0, 1);
    area.put(2, 3);
    auto c = compare::compare(area.got(3), w, {}, {});
    CHECK(c.unwritten == 1);
    CHECK(c.verdict == "off");
    area.put(1, 2);
    CHECK(compare::compare(area.got(3), w, {}, {}).verdict == "close");
    area.data()[core::bytes_of(d, 3)] ^= std::byte{1};
    area.data()[-1] ^= std::byte{1};
    c = compare::compare(area.got(3), w, {}, {});
    CHECK(c.guard_damaged == 2);
    CHECK(c.verdict == "off");
  }
}

TEST_CASE("data that cannot tell right from wrong is mistrusted") {
  CHECK(run({0, 0, 0}, {0, 0, 0}).verdict == "mistrusted");
  CHECK(run({2, 2, 2}, {2, 2, 2}).verdict == "mistrusted");
  CHECK(run({not_a_number, not_a_number}, {not_a_number, not_a_number}).verdict == "mistrusted");
  CHECK(run({2, 2, 2.5}, {2, 2, 2.5}).verdict == "close");
  CHECK(run({0, 0, 0}, {0, 0, 1}).verdict == "off");  // wrong stays wrong
}

TEST_CASE("a strided output is read where it lies, and only the rows that were computed") {
  const std::vector<double> want{5, 6};
  Area area(DType::f32, 12);
  area.put(1 + 2 * 4, 5);  // row 2 of a [3, 2] output with strides (4, 1) and offset 1
  area.put(2 + 2 * 4, 6);
  Wanted w;
  w.values = want;
  w.shape = {3, 2};
  w.rows = {2};
  Got got = area.got(12);
  got.strides = {4, 1};
  got.offset = 1;
  const auto c = compare::compare(got, w, {}, {});
  CHECK(c.verdict == "close");
  CHECK(c.sampled == "1 of 3 rows");
  area.put(1 + 2 * 4, 7);
  const auto off = compare::compare(got, w, {}, {});
  CHECK(off.absolute.index == std::vector<std::int64_t>{2, 0});
}

TEST_CASE("compare: beyond the range of its arithmetic a result proves nothing, unless memory is wrong") {
  Area area(DType::f32, 2);
  area.put(0, not_a_number);
  area.put(1, 1.0);
  const std::vector<double> wanted = {0.5, 1.0};
  Wanted w;
  w.values = wanted;
  w.shape = {2};
  const auto plain = compare::compare(area.got(2), w, {}, {});
  CHECK(plain.verdict == "off");
  w.beyond_range = "scores reach 1e+300";
  const auto beyond = compare::compare(area.got(2), w, {}, {});
  CHECK(beyond.verdict == "mistrusted");
  CHECK(beyond.mistrust == "scores reach 1e+300");
  Area unwritten(DType::f32, 2);
  unwritten.put(1, 1.0);
  CHECK(compare::compare(unwritten.got(2), w, {}, {}).verdict == "off");
  area.put(0, 0.5);
  CHECK(compare::compare(area.got(2), w, {}, {}).verdict == "close");
}
