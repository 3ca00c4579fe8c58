// Costs of paths from sizes: exact figures for small cases.
#include <algorithm>

#include "diagnosed.hpp"
#include "frameworks/gemm/cost.hpp"
#include "session/roofline.hpp"
#include "session/what_if.hpp"

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

TEST_CASE("ggml: block formats as they are stored, expanded to 16 bit where the chip is fast in it") {
  const std::string line = "gemm --x 512x4096 --w 4096x4096 --dtype f32 --extra quant_type=Q4_K --framework ggml --target ";
  const auto volta = test::facts_of(test::spec_of(line + "sm_70"));
  const auto cost = cost_of("ggml-cublas", {"GGM040"}, volta);
  CHECK(cost.hidden_bytes() == 4096LL * 4096 * 2);
  CHECK(cost.bytes == 4LL * 512 * 4096 + 4096LL * 4096 / 256 * 144 + 4LL * 512 * 4096);
  CHECK(cost_of("ggml-cublas", {"GGM040"}, test::facts_of(test::spec_of(line + "sm_61"))).hidden_bytes() == 4096LL * 4096 * 4);
}

TEST_CASE("torchao: a layer that was left as it was reads its weight in 16 bit") {
  const auto facts = test::facts_of(test::spec_of("gemm --x 1x4100 --w 4100x4096 --dtype bf16 --quant w4a16:group=128 --framework torchao --target a100-80"));
  CHECK(cost_of("torchao-unquantized", {}, facts).bytes == 2LL * 4100 + 2LL * 4100 * 4096 + 2LL * 4096);
  CHECK(cost_of("torchao-int4", {}, facts).bytes < 4100LL * 4096);
}

TEST_CASE("narrow activations: packed weights are expanded to 16 bit, not to the width of x") {
  const auto f = test::facts_of(test::spec_of("gemm --x 64x4096 --w 4096x4096 --dtype s8 --quant w4a8:group=128 --framework vllm --target sm_80"));
  CHECK(cost_of("bnb-dequantize", {}, f).hidden_bytes() == 4096LL * 4096 * 2);
}

TEST_CASE("the report says what each path costs, labelled as a bound") {
  const auto spec = test::spec_of("gemm --x 512x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=64:packing=nf4 --framework bitsandbytes --target h100-sxm");
  const auto target = facts::find_profile("h100-sxm");
  session::WhatIfOptions options;
  options.repro = [](const spec::OpSpec&) { return std::string("dispatchdoctor gemm"); };
  const auto c = session::what_if(spec, "1", *frameworks::find_framework("bitsandbytes"), &*target, options);
  const auto says = [&](const std::string& part) {
    return std::any_of(c.verdict.because.begin(), c.verdict.because.end(), [&](const std::string& line) { return line.find(part) != std::string::npos; });
  };
  std::string all;
  for (const std::string& line : c.verdict.because) all += line + "\n";
  INFO(all);
  CHECK(says("bnb-4bit: 17.2 GFLOP, 16.0 MiB moved at least, extra memory none"));
  CHECK(says("bnb-dequantize: 17.2 GFLOP, 80.0 MiB moved at least, extra memory 32.0 MiB (dequantized weight 32.0 MiB); not below"));
  CHECK(says("(bound from its peaks)"));
  CHECK(says("bitsandbytes 0.50.0 is assumed; name one with --package-version bitsandbytes="));
}

TEST_CASE("a hidden copy keeps a product off the fast path") {
  const auto spec = test::spec_of("gemm --x 64x64 --w 64x64 --x-strides 256x2 --dtype bf16 --target sm_90 --framework torch --torch-version 2.6.0");
  session::WhatIfOptions options;
  options.repro = [](const spec::OpSpec&) { return std::string("dispatchdoctor gemm"); };
  const auto c = session::what_if(spec, "1", *frameworks::find_framework("torch", spec), nullptr, options);
  CHECK(c.verdict.status == report::Status::fallback);
  CHECK(c.verdict.summary.find("TMM023") != std::string::npos);
  const auto plain = test::spec_of("gemm --x 64x64 --w 64x64 --dtype bf16 --target sm_90 --framework torch --torch-version 2.6.0");
  CHECK(session::what_if(plain, "1", *frameworks::find_framework("torch", plain), nullptr, options).verdict.status == report::Status::fast_path);
}
