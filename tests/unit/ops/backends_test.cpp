// The CPU kernels for attention against the reference, with poisoned, guarded outputs.
#include "helpers.hpp"
#include "support/catch.hpp"

using namespace dd::ops;
using namespace dd::ops::test;

namespace {

constexpr double poison = -12345.0;  // exact in every float type of 16 bits or more that is used here up to rounding

// An output with guard elements in the gaps of its layout.
struct Guarded {
  Tensor tensor;
  std::vector<unsigned char> before;
  explicit Guarded(const AttentionProblem& p, DType dtype, std::vector<int> order = {0, 2, 1, 3}, std::int64_t gap = 3)
      : tensor(dtype, {p.q.shape[0], p.q.shape[1], p.q.shape[2], p.v.shape[3]}, std::move(order), gap, 4) {
    const auto n = static_cast<std::int64_t>(tensor.bytes.size()) * 8 / dd::core::info(dtype).bits;
    for (std::int64_t i = 0; i < n; ++i) store(tensor.bytes.data(), dtype, i, poison);
    before = tensor.bytes;
  }
  // Elements outside the view that changed.
  std::size_t trespasses() const {
    std::vector<unsigned char> now = tensor.bytes;
    TensorView view = tensor.view;
    view.data = now.data();
    for (std::int64_t i = 0; i < element_count(view); ++i)
      store(now.data(), view.dtype, element_index(view, i), poison);
    return now == before ? 0 : 1;
  }
};

void vary(Random& random, Attention& a) {
  AttentionProblem& p = a.problem;
  p.causal = random.chance(50);
  p.align = random.pick({Align::top_left, Align::bottom_right});
  if (random.chance(30)) p.window_left = random.between(0, 30);
  if (random.chance(50)) {
    const DType dtype = random.pick({DType::boolean, DType::f32, DType::bf16});
    a.mask(dtype, {random.pick<std::int64_t>({1, p.q.shape[0]}), 1, random.pick<std::int64_t>({1, p.q.shape[2]}),
                   p.k.shape[2]});
  }
  if (random.chance(30)) p.dropout_p = 0.25;
  if (random.chance(30)) p.kv_lengths.assign(static_cast<std::size_t>(p.q.shape[0]), random.between(0, p.k.shape[2]));
  p.masked_row = random.pick({MaskedRow::zeros, MaskedRow::nan});
}

std::vector<double> rounded(std::vector<double> x, DType dtype) {
  for (double& value : x) value = round_to(value, dtype);
  return x;
}

double tolerance_of(DType out, bool wide) {
  return 40 * std::max(dd::core::info(out).unit_roundoff, wide ? 0x1p-53 : 0x1p-22);
}

}  // namespace

TEST_CASE("cpu-flash, cpu-math and cpu-naive agree with the reference", "[ops][backends]") {
  Random random(5);
  for (int n = 0; n < 120; ++n) {
    const DType dtype = random.pick({DType::f32, DType::f16, DType::bf16});
    const std::int64_t hkv = random.between(1, 2), tq = random.between(1, 60), tk = random.between(1, 230),
                       d = random.between(1, 80);
    Attention a(random.between(1, 2), hkv * random.between(1, 2), hkv, tq, tk, d,
                random.chance(50) ? d : random.between(1, 80), dtype, random.engine(),
                random.pick<std::vector<int>>({{0, 1, 2, 3}, {0, 2, 1, 3}}), random.pick({0, 3}));
    vary(random, a);
    const auto reference = attention_reference(a.problem, {}, {2, nullptr});
    const DType out_dtype = random.pick({dtype, DType::f32, DType::f64});
    const double tolerance = tolerance_of(out_dtype, false);
    each_isa([&](std::string_view isa) {
      INFO("problem " << n << " on " << isa);
      Guarded flash(a.problem, out_dtype), math(a.problem, out_dtype), naive(a.problem, out_dtype);
      const auto flash_run = attention_flash_cpu(a.problem, flash.tensor.view, {2, nullptr});
      const auto math_run = attention_math_cpu(a.problem, math.tensor.view, own_blas(), {2, nullptr});
      const auto naive_run = attention_naive_cpu(a.problem, naive.tensor.view, {2, nullptr});
      REQUIRE(flash_run.error == "");
      REQUIRE(math_run.error == "");
      REQUIRE(naive_run.error == "");
      CHECK(far_apart(values(flash.tensor.view), reference.out, tolerance) == 0);
      CHECK(far_apart(values(math.tensor.view), reference.out, tolerance) == 0);
      CHECK(far_apart(values(naive.tensor.view), reference.out, tolerance) == 0);
      CHECK(flash.trespasses() + math.trespasses() + naive.trespasses() == 0);
      CHECK(math_run.scores_bytes == a.problem.q.shape[0] * a.problem.q.shape[1] * tq * tk * 4);
      CHECK(static_cast<double>(math_run.scratch_bytes) == attention_math_bytes(a.problem));
      CHECK(flash_run.scores_bytes == 0);
    });
  }
}

TEST_CASE("cpu-flash gives the same bits for any thread count", "[ops][backends]") {
  Attention a(1, 3, 3, 500, 300, 40, 24, DType::bf16);
  a.problem.causal = true;
  each_isa([&](std::string_view isa) {
    INFO(isa);
    Guarded one(a.problem, DType::f32), many(a.problem, DType::f32);
    REQUIRE(attention_flash_cpu(a.problem, one.tensor.view, {1, nullptr}).ok());
    REQUIRE(attention_flash_cpu(a.problem, many.tensor.view, {6, nullptr}).ok());
    CHECK(one.tensor.bytes == many.tensor.bytes);
  });
}

TEST_CASE("cpu-flash memory does not grow with the product of the lengths", "[ops][backends]") {
  std::int64_t bytes[2] = {};
  for (int n = 0; n < 2; ++n) {
    Attention a(1, 1, 1, 400 << n, 400 << n, 8, 8);
    Guarded out(a.problem, DType::f32);
    bytes[n] = attention_flash_cpu(a.problem, out.tensor.view, {1, nullptr}).scratch_bytes;
  }
  CHECK(bytes[0] > 0);
  CHECK(bytes[1] <= 2 * bytes[0]);
}

TEST_CASE("f64 attention stays in f64 in cpu-naive and cpu-math", "[ops][backends]") {
  Attention a(1, 2, 2, 20, 30, 16, 16, DType::f64);
  const auto reference = attention_reference(a.problem);
  Guarded math(a.problem, DType::f64), naive(a.problem, DType::f64), flash(a.problem, DType::f64);
  REQUIRE(attention_math_cpu(a.problem, math.tensor.view, own_blas()).ok());
  REQUIRE(attention_naive_cpu(a.problem, naive.tensor.view).ok());
  CHECK(far_apart(values(math.tensor.view), reference.out, 1e-14) == 0);
  CHECK(far_apart(values(naive.tensor.view), reference.out, 1e-14) == 0);
  CHECK_FALSE(attention_flash_cpu(a.problem, flash.tensor.view).ok());
  CHECK(flash.tensor.bytes == flash.before);
}

TEST_CASE("cpu-naive takes every dtype", "[ops][backends]") {
  for (DType dtype : {DType::f8_e4m3, DType::f8_e5m2, DType::s8, DType::u8, DType::s4, DType::u4, DType::f4_e2m1}) {
    INFO(dd::core::to_text(dtype));
    Attention a(1, 2, 1, 6, 9, 8, 8, dtype);
    const auto reference = attention_reference(a.problem);
    Guarded out(a.problem, DType::f32);
    REQUIRE(attention_naive_cpu(a.problem, out.tensor.view).ok());
    std::vector<double> scaled = values(out.tensor.view);
    CHECK(far_apart(scaled, reference.out, 2e-3) == 0);
  }
}

TEST_CASE("outputs are rounded once, to nearest", "[ops][backends]") {
  // One key: the output is the value itself, whatever the output type.
  Attention a(1, 1, 1, 1, 1, 4, 4, DType::f32);
  for (DType dtype : {DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2}) {
    Guarded flash(a.problem, dtype), math(a.problem, dtype);
    REQUIRE(attention_flash_cpu(a.problem, flash.tensor.view).ok());
    REQUIRE(attention_math_cpu(a.problem, math.tensor.view, own_blas()).ok());
    const auto expected = rounded(values(a.problem.v), dtype);
    CHECK(values(flash.tensor.view) == expected);
    CHECK(values(math.tensor.view) == expected);
  }
}

TEST_CASE("NaN in the inputs reaches the outputs of every kernel", "[ops][backends]") {
  Attention a(1, 1, 1, 3, 5, 4, 4, DType::f32);
  a.tensors[0].set(4, std::nan(""));
  Guarded flash(a.problem, DType::f32), math(a.problem, DType::f32), naive(a.problem, DType::f32);
  REQUIRE(attention_flash_cpu(a.problem, flash.tensor.view).ok());
  REQUIRE(attention_math_cpu(a.problem, math.tensor.view, own_blas()).ok());
  REQUIRE(attention_naive_cpu(a.problem, naive.tensor.view).ok());
  for (const auto* out : {&flash, &math, &naive}) {
    CHECK(std::isfinite(out->tensor.at(0)));
    CHECK(std::isnan(out->tensor.at(4)));
    CHECK(std::isnan(out->tensor.at(7)));
    CHECK(std::isfinite(out->tensor.at(8)));
  }
}

TEST_CASE("f16 inputs at the end of their range do not overflow the f32 arithmetic", "[ops][backends]") {
  Attention a(1, 1, 1, 4, 50, 128, 8, DType::f16);
  for (std::int64_t i = 0; i < 4 * 128; ++i) a.tensors[0].set(i, i % 2 ? 65504 : -65504);
  for (std::int64_t i = 0; i < 50 * 128; ++i) a.tensors[1].set(i, i % 3 ? 65504 : -65504);
  Guarded flash(a.problem, DType::f32);
  REQUIRE(attention_flash_cpu(a.problem, flash.tensor.view).ok());
  CHECK(far_apart(values(flash.tensor.view), attention_reference(a.problem).out, 1e-5) == 0);
}

TEST_CASE("kernels refuse what they do not cover", "[ops][backends]") {
  Attention a(1, 1, 1, 2, 3, 4, 4);
  Tensor wrong(DType::f32, {1, 1, 2, 5}), integers(DType::s8, {1, 1, 2, 4});
  for (const Tensor* out : {&wrong, &integers}) {
    CHECK_FALSE(attention_flash_cpu(a.problem, out->view).ok());
    CHECK_FALSE(attention_math_cpu(a.problem, out->view, own_blas()).ok());
    CHECK_FALSE(attention_naive_cpu(a.problem, out->view).ok());
  }
  Tensor good(DType::f32, {1, 1, 2, 4});
  CHECK_FALSE(attention_math_cpu(a.problem, good.view, BlasTable{}).ok());
  Attention wide(1, 1, 1, 1, 1, flash_max_head_dim + 1, 1), widest(1, 1, 1, 1, 1, flash_max_head_dim, 1);
  Tensor one(DType::f32, {1, 1, 1, 1});
  CHECK_FALSE(attention_flash_cpu(wide.problem, one.view).ok());
  CHECK(attention_flash_cpu(widest.problem, one.view).ok());
  BlasTable broken = own_blas();
  broken.sgemm = [](void*, bool, bool, std::int64_t, std::int64_t, std::int64_t, float, const float*, std::int64_t,
                    const float*, std::int64_t, float, float*, std::int64_t) { return false; };
  CHECK(attention_math_cpu(a.problem, good.view, broken).error == "the matrix product failed");
}
