// Quantized products: reference, packed kernels and dequantization over bits, signs, groups, zero points, act-order,
// layouts.
#include "helpers.hpp"
#include "support/catch.hpp"

using namespace dd::ops;
using namespace dd::ops::test;

namespace {

struct Quantized {
  std::vector<Tensor> tensors;
  GemmProblem problem;
  Quantized(std::int64_t batch, std::int64_t m, std::int64_t n, std::int64_t k, DType x, DType w, bool transposed,
            std::int64_t gap = 0) {
    tensors.reserve(8);
    tensors.emplace_back(x, std::vector<std::int64_t>{batch, m, k});
    tensors.emplace_back(w, std::vector<std::int64_t>{batch, k, n},
                         transposed ? std::vector<int>{0, 2, 1} : std::vector<int>{0, 1, 2}, gap, gap);
    tensors[0].filled({FillKind::normal, 1, 0, 1.0, 0, 0});
    tensors[1].filled({FillKind::uniform, 1, 1, 1.0, 0, 0});
    problem.x = tensors[0].view;
    problem.w = tensors[1].view;
    problem.w_quant.emplace();
  }
  TensorView table(DType dtype, std::int64_t groups, std::int64_t lines, bool transposed, const Fill& how) {
    tensors.emplace_back(dtype, std::vector<std::int64_t>{groups, lines},
                         transposed ? std::vector<int>{1, 0} : std::vector<int>{0, 1});
    tensors.back().filled(how);
    return tensors.back().view;
  }
};

// group: -1 per tensor, 0 per channel, else along K.
void quantize(Quantized& q, std::int64_t group, DType scale, bool zero, bool act_order, bool transposed,
              Random& random) {
  const std::int64_t k = q.problem.w.shape[1], n = q.problem.w.shape[2];
  const std::int64_t groups = group > 0 ? (k + group - 1) / group : 1, lines = group < 0 ? 1 : n;
  QuantParams& params = *q.problem.w_quant;
  params.scale = q.table(scale, groups, lines, transposed, {FillKind::uniform, 2, 2, 0.1, 0, 0});
  params.group_size = group > 0 ? group : 0;
  if (zero) {
    const DType type = dd::core::info(q.problem.w.dtype).bits == 4 ? DType::u4 : DType::u8;
    params.zero = q.table(random.chance(50) ? type : DType::f16, groups, lines, transposed,
                          {FillKind::integers, 3, 3, 1.0, 0, 15});
  }
  if (act_order && group > 0)
    for (std::int64_t i = 0; i < k; ++i)
      params.group_of.push_back(static_cast<std::int32_t>(random.between(0, groups - 1)));
}

}  // namespace

TEST_CASE("random quantized products: every path agrees with the plain loops", "[ops][quant]") {
  Random random(31);
  int few = 0, direct = 0;
  for (int n = 0; n < 160; ++n) {
    const DType w = random.pick({DType::s4, DType::u4, DType::s8, DType::u8});
    const std::int64_t m = random.pick<std::int64_t>({1, 1, 2, 3, 5, 8, 9, 20}), columns = random.between(1, 300),
                       k = random.between(1, 12) * random.pick<std::int64_t>({1, 8, 32});
    const bool transposed = random.chance(50), act_order = random.chance(15);
    Quantized q(random.between(1, 2), m, columns, k, random.pick({DType::f32, DType::f16, DType::bf16}), w, transposed,
                random.pick({0, 0, 2, 1}));
    quantize(q, random.pick<std::int64_t>({-1, 0, 8, 16, 32, 64, 3}),
             random.pick({DType::f32, DType::f16, DType::bf16, DType::f8_e8m0}), random.chance(50), act_order,
             random.chance(30), random);
    few += m <= 8;
    direct += !act_order;
    const auto slow = gemm_naive(q.problem, true);
    REQUIRE(slow.error == "");
    each_isa([&](std::string_view isa) {
      INFO("product " << n << " on " << isa << ": " << m << " x " << columns << " x " << k << " "
                      << dd::core::to_text(w) << " transposed " << transposed);
      const auto fast = gemm_reference(q.problem, false, {2, nullptr});
      Tensor packed(DType::f32, {q.problem.x.shape[0], m, columns}, {0, 2, 1}, 3, 1),
          dense(DType::f32, {q.problem.x.shape[0], m, columns});
      const auto run = packed_gemm_cpu(q.problem, packed.view, {2, nullptr});
      REQUIRE(run.error == "");
      REQUIRE(dequant_gemm_cpu(q.problem, dense.view, own_blas(), {2, nullptr}).error == "");
      const auto p = values(packed.view), d = values(dense.view);
      std::size_t wrong = 0;
      for (std::size_t i = 0; i < slow.out.size(); ++i) {
        const double magnitude = slow.abs_sum[i] + 1e-30;
        wrong += !near(fast.out[i], slow.out[i], 1e-13 * magnitude);
        wrong += !near(p[i], slow.out[i], 3e-6 * magnitude);
        wrong += !near(d[i], slow.out[i], 3e-6 * magnitude);
      }
      CHECK(wrong == 0);
    });
  }
  CHECK(few > 40);
  CHECK(direct > 40);
}

TEST_CASE("packed products are exact on small integers, for any thread count", "[ops][quant]") {
  for (DType w : {DType::s4, DType::u4, DType::s8, DType::u8})
    for (const bool transposed : {false, true})
      for (std::int64_t m : {1, 2, 3, 9})
        for (std::int64_t n : {31, 32, 33, 64, 65, 255, 257, 600}) {
          Quantized q(1, m, n, 96, DType::f32, w, transposed, transposed ? 0 : n % 2);
          q.tensors[0].filled({FillKind::integers, 5, 0, 1.0, -3, 3});
          q.problem.w_quant->scale = q.table(DType::f32, 3, n, false, {FillKind::integers, 5, 1, 1.0, 1, 4});
          q.problem.w_quant->zero = q.table(DType::u4, 3, n, false, {FillKind::uniform, 5, 2, 1.0, 0, 0});
          q.problem.w_quant->group_size = 32;
          const auto expected = gemm_naive(q.problem).out;
          each_isa([&](std::string_view isa) {
            INFO(isa << " " << dd::core::to_text(w) << " transposed " << transposed << " m " << m << " n " << n);
            Tensor one(DType::f32, {1, m, n}), many(DType::f32, {1, m, n});
            REQUIRE(packed_gemm_cpu(q.problem, one.view, {1, nullptr}).ok());
            REQUIRE(packed_gemm_cpu(q.problem, many.view, {4, nullptr}).ok());
            CHECK(values(one.view) == expected);
            CHECK(one.bytes == many.bytes);
          });
        }
}

TEST_CASE("packed products never allocate the dense weights", "[ops][quant]") {
  constexpr std::int64_t n = 1024, k = 1024;
  for (std::int64_t m : {1, 16}) {
    Quantized q(1, m, n, k, DType::f32, DType::s4, false);
    q.problem.w_quant->scale = q.table(DType::f16, 8, n, false, {FillKind::uniform, 2, 2, 1.0, 0, 0});
    q.problem.w_quant->group_size = 128;
    Tensor out(DType::f32, {1, m, n});
    const auto packed = packed_gemm_cpu(q.problem, out.view, {1, nullptr});
    const auto dense = dequant_gemm_cpu(q.problem, out.view, own_blas(), {1, nullptr});
    CHECK(packed.ok());
    CHECK(packed.scratch_bytes < n * k * 4 / 2);
    CHECK(dense.scratch_bytes >= n * k * 4);
  }
}

TEST_CASE("dequantize gives (code - zero) * scale in both layouts", "[ops][quant]") {
  for (const bool transposed : {false, true}) {
    Quantized q(1, 1, 37, 300, DType::f32, DType::u4, transposed);
    q.problem.w_quant->scale = q.table(DType::f16, 10, 37, false, {FillKind::uniform, 2, 2, 1.0, 0, 0});
    q.problem.w_quant->zero = q.table(DType::u4, 10, 37, false, {FillKind::uniform, 2, 3, 1.0, 0, 0});
    q.problem.w_quant->group_size = 32;
    std::vector<float> dense(300 * 37 + 1, -1.0f);
    REQUIRE(dequantize(q.problem, dense.data(), {3, nullptr}) == "");
    std::size_t wrong = 0;
    for (std::int64_t k = 0; k < 300; ++k)
      for (std::int64_t n = 0; n < 37; ++n) {
        const std::int64_t at = k / 32 * 37 + n;
        const double expected = (q.tensors[1].at(k * 37 + n) - q.tensors[3].at(at)) * q.tensors[2].at(at);
        wrong += static_cast<double>(dense[static_cast<std::size_t>(k * 37 + n)]) !=
                 static_cast<double>(static_cast<float>(expected));
      }
    CHECK(wrong == 0);
    CHECK(dense.back() == -1.0f);
  }
}

TEST_CASE("w8a8: scales of both sides", "[ops][quant]") {
  Quantized q(1, 12, 30, 64, DType::s8, DType::s8, false);
  q.tensors[0].filled({FillKind::uniform, 6, 0, 1.0, 0, 0});
  q.problem.w_quant->scale = q.table(DType::f32, 1, 30, false, {FillKind::uniform, 2, 2, 1.0, 0, 0});
  q.problem.x_quant.emplace();
  q.problem.x_quant->scale = q.table(DType::f32, 1, 12, false, {FillKind::uniform, 2, 3, 1.0, 0, 0});
  q.problem.x_quant->zero = q.table(DType::s8, 1, 1, false, {FillKind::integers, 2, 4, 1.0, 3, 4});
  const auto x = values(q.problem.x), w = values(q.problem.w), sw = values(q.tensors[2].view),
             sx = values(q.tensors[3].view);
  const double zero = q.tensors[4].at(0);
  const auto result = gemm_reference(q.problem);
  Tensor out(DType::f32, {1, 12, 30});
  REQUIRE(packed_gemm_cpu(q.problem, out.view).error == "");
  for (std::size_t m = 0; m < 12; ++m)
    for (std::size_t n = 0; n < 30; ++n) {
      double sum = 0, magnitude = 0;
      for (std::size_t k = 0; k < 64; ++k) {
        sum += (x[m * 64 + k] - zero) * w[k * 30 + n];
        magnitude += std::fabs((x[m * 64 + k] - zero) * w[k * 30 + n]);
      }
      REQUIRE(near(result.out[m * 30 + n], sum * sx[m] * sw[n], 1e-14 * magnitude));
      REQUIRE(near(out.at(static_cast<std::int64_t>(m * 30 + n)), sum * sx[m] * sw[n], 1e-6 * magnitude));
    }
}

TEST_CASE("Freivalds' check sees through quantization", "[ops][quant]") {
  Quantized q(1, 10, 20, 64, DType::f32, DType::u4, true);
  q.problem.w_quant->scale = q.table(DType::f16, 2, 20, false, {FillKind::uniform, 2, 2, 1.0, 0, 0});
  q.problem.w_quant->group_size = 32;
  Tensor y(DType::f64, {1, 10, 20});
  write_all(y.view, gemm_reference(q.problem).out.data());
  for (const auto& row : freivalds(q.problem, y.view, 1).rows) CHECK(row.difference <= 1e-13 * row.magnitude);
  y.set(45, y.at(45) + 1e-6);
  const auto rows = freivalds(q.problem, y.view, 1).rows;
  CHECK(rows[2].difference > 1e-13 * rows[2].magnitude);
}

TEST_CASE("quantized problems that do not fit are refused", "[ops][quant]") {
  Quantized q(1, 2, 8, 64, DType::f32, DType::u4, false);
  q.problem.w_quant->scale = q.table(DType::f32, 2, 8, false, {FillKind::uniform, 2, 2, 1.0, 0, 0});
  q.problem.w_quant->group_size = 32;
  CHECK(gemm_errors(q.problem).empty());
  q.problem.w_quant->group_size = 16;  // needs 4 groups
  CHECK_FALSE(gemm_errors(q.problem).empty());
  q.problem.w_quant->group_size = -1;
  CHECK_FALSE(gemm_errors(q.problem).empty());
  q.problem.w_quant->group_size = 32;
  q.problem.w_quant->group_of.assign(64, 2);  // group 2 of 2
  CHECK_FALSE(gemm_errors(q.problem).empty());
  q.problem.w_quant->group_of.assign(63, 1);
  CHECK_FALSE(gemm_errors(q.problem).empty());
  q.problem.w_quant->group_of.assign(64, -1);
  CHECK_FALSE(gemm_errors(q.problem).empty());
  q.problem.w_quant->group_of.clear();
  Tensor out(DType::f32, {1, 2, 8});
  CHECK(packed_gemm_cpu(q.problem, out.view).ok());
  auto plain = q.problem;
  plain.w_quant.reset();
  CHECK_FALSE(packed_gemm_cpu(plain, out.view).ok());
  auto floats = q.problem;
  floats.w.dtype = DType::f32;
  CHECK_FALSE(packed_gemm_cpu(floats, out.view).ok());
}
