// Costs of paths from sizes: exact figures for small cases.
#include "diagnosed.hpp"
#include "frameworks/gemm/cost.hpp"

using namespace dd;
using frameworks::gemm::cost_of;

TEST_CASE("a plain product costs its operands once") {
  const auto f = test::facts_of(test::spec_of("gemm --x 8x16 --w 16x32 --dtype f16 --target sm_90 --framework torch"));
  const auto cost = cost_of("torch-mm", {}, f);
  CHECK(cost.flops == 2.0 * 8 * 16 * 32);
  CHECK(cost.bytes == 2 * (8 * 16 + 16 * 32 + 8 * 32));
  CHECK(cost.hidden.empty());
  CHECK(cost.traffic() == cost.bytes);
}

TEST_CASE("a dequantized weight is written in 16 bit and read again") {
  const auto f = test::facts_of(test::spec_of("gemm --x 32x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=64:packing=nf4 --framework bitsandbytes --target sm_90"));
  const auto cost = cost_of("bnb-dequantize", {}, f);
  CHECK(cost.hidden_bytes() == 2LL * 4096 * 4096);
  CHECK(cost.bytes == 2 * 32 * 4096 + 4096LL * 4096 / 2 + 2 * 32 * 4096);
  CHECK(cost.traffic() == cost.bytes + 2 * cost.hidden_bytes());
}

TEST_CASE("copies follow the findings, each once") {
  const auto f = test::facts_of(test::spec_of("gemm --x 64x64 --w 64x64 --x-strides 256x2 --dtype bf16 --target sm_90 --framework torch"));
  CHECK(cost_of("torch-mm", {"TMM023", "TMM023"}, f).hidden_bytes() == 2 * 64 * 64);
  CHECK(cost_of("torch-mm", {}, f).hidden_bytes() == 0);
}

TEST_CASE("sizes near 63 bits do not wrap") {
  const auto f = test::facts_of(test::spec_of("gemm --m 144115188075855872 --n 1 --k 1 --dtype f32 --target sm_90"));
  const auto cost = cost_of("torch-mm", {}, f);
  CHECK(cost.bytes > 0);
  CHECK(cost.traffic() > 0);
}

TEST_CASE("the bound is the longer of arithmetic and traffic; unknown limits give none") {
  frameworks::gemm::Cost cost;
  cost.flops = 1e12;
  cost.bytes = 1'000'000'000;
  CHECK(frameworks::gemm::roofline_seconds(cost, 1e12, 1e12) == 1.0);
  CHECK(frameworks::gemm::roofline_seconds(cost, 1e15, 1e9) == 1.0);
  CHECK(frameworks::gemm::roofline_seconds(cost, 0, 0) == 0.0);
}
