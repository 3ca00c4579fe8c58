#include <algorithm>

#include "cases.hpp"

namespace {

using namespace dd;
using core::DType;
using spec::Dims;

spec::OpSpec attention(DType type, std::int64_t b, std::int64_t h, std::int64_t hkv, std::int64_t tq, std::int64_t tk, std::int64_t d,
                       std::int64_t dv) {
  spec::OpSpec s;
  spec::Attention a;
  a.q = {{b, h, tq, d}, type, {}, 0, {}};
  a.k = {{b, hkv, tk, d}, type, {}, 0, {}};
  a.v = {{b, hkv, tk, dv}, type, {}, 0, {}};
  a.enable_gqa = h != hkv;
  s.op = a;
  return s;
}

spec::Attention& of(spec::OpSpec& s) { return std::get<0>(s.op); }

void check_all(const spec::OpSpec& s) {
  const DType type = s.attention().q.dtype;
  test::check_close("cpu-naive", s);
  test::check_close("cpu-math", s);
  if (type == DType::f32 || type == DType::f16 || type == DType::bf16) test::check_close("cpu-flash", s);
}

}  // namespace

TEST_CASE("attention agrees with the reference") {
  for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    CAPTURE(core::to_text(type));
    check_all(attention(type, 2, 4, 2, 33, 70, 24, 40));
    auto causal = attention(type, 1, 2, 2, 50, 80, 16, 16);
    of(causal).is_causal = true;
    check_all(causal);
    of(causal).causal_align = spec::CausalAlign::bottom_right;
    check_all(causal);
    auto masked = attention(type, 2, 2, 2, 40, 40, 32, 32);
    of(masked).mask = spec::MaskSpec{DType::boolean, {40, 40}, {}, 0, "random", false};
    check_all(masked);
    of(masked).mask = spec::MaskSpec{type, {2, 1, 1, 40}, {}, 0, "padding:5", false};
    check_all(masked);
    auto dropped = attention(type, 1, 2, 2, 40, 48, 16, 16);
    of(dropped).dropout_p = 0.25;
    of(dropped).scale = 0.5;
    check_all(dropped);
    auto strided = attention(type, 2, 3, 3, 20, 20, 16, 16);
    for (spec::TensorSpec* t : {&of(strided).q, &of(strided).k, &of(strided).v}) t->strides = Dims{20 * 3 * 16, 16, 3 * 16, 1};
    check_all(strided);
  }
}

TEST_CASE("attention of lower rank") {
  auto s = attention(DType::f32, 1, 1, 1, 20, 20, 16, 16);
  for (spec::TensorSpec* t : {&of(s).q, &of(s).k, &of(s).v}) t->shape = {3, 20, 16};
  check_all(s);
  for (spec::TensorSpec* t : {&of(s).q, &of(s).k, &of(s).v}) t->shape = {20, 16};
  check_all(s);
}

TEST_CASE("math reports its scores and copies, flash has none") {
  const auto s = attention(DType::f16, 2, 4, 4, 64, 64, 32, 32);
  const auto math = test::run_and_compare(*backends::find_backend("cpu-math", spec::Op::sdpa), s);
  const auto& notes = math.run.evidence.notes;
  CHECK(std::find(notes.begin(), notes.end(), "scores materialised: 131072 bytes") != notes.end());
  CHECK(math.run.evidence.conversions.size() == 3);
  CHECK(backends::find_backend("cpu-math", spec::Op::sdpa)->extra_bytes(s) > 131072);
  const auto flash = test::run_and_compare(*backends::find_backend("cpu-flash", spec::Op::sdpa), s);
  CHECK(flash.run.evidence.conversions.empty());
  CHECK_FALSE(flash.run.evidence.kernels.empty());
}

TEST_CASE("sizes beyond the kernel's limit are refused by the kernel as well") {
  const auto s = attention(DType::f32, 1, 1, 1, 4, 4, 520, 16);
  const auto judged = test::run_and_compare(*backends::find_backend("cpu-flash", spec::Op::sdpa), s);
  REQUIRE(judged.run.error);
  CHECK(judged.run.outcome == report::Outcome::refused);
}
