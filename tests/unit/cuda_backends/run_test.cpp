// cuda-flash, cuda-naive, cuda-wmma and cuda-packed from request to result over the simulated driver: what they hand over is
// right (results are close to the reference, guards are whole), and each of the driver's faults becomes the right outcome.
#include "specs.hpp"

using namespace dd;
using namespace dd::test;

TEST_CASE("attention on the device agrees with the reference", "[works]") {
  for (const DType type : {DType::f16, DType::bf16}) {
    test::check_close("cuda-flash", attention(type, 1, 2, 2, 40, 70, 64, 64));
    auto s = attention(type, 2, 4, 2, 33, 70, 24, 40);
    test::check_close("cuda-flash", s);
    of(s).is_causal = true;
    test::check_close("cuda-flash", s);
    of(s).causal_align = spec::CausalAlign::bottom_right;
    test::check_close("cuda-flash", s);
    auto masked = attention(type, 2, 2, 2, 40, 40, 32, 32);
    of(masked).mask = spec::MaskSpec{DType::boolean, {40, 40}, {}, 0, "random", false};
    test::check_close("cuda-flash", masked);
    of(masked).mask = spec::MaskSpec{type, {2, 1, 1, 40}, {}, 0, "padding:5", false};
    test::check_close("cuda-flash", masked);
    of(masked).mask = spec::MaskSpec{DType::f32, {1, 2, 40, 40}, {}, 0, "random", false};
    test::check_close("cuda-flash", masked);
    auto dropped = attention(type, 1, 2, 2, 40, 48, 16, 16);
    of(dropped).dropout_p = 0.25;
    of(dropped).scale = 0.5;
    test::check_close("cuda-flash", dropped);
    auto strided = attention(type, 2, 3, 3, 20, 20, 16, 16);
    for (spec::TensorSpec* t : {&of(strided).q, &of(strided).k, &of(strided).v}) t->strides = Dims{20 * 3 * 16, 16, 3 * 16, 1};
    test::check_close("cuda-flash", strided);
  }
  for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    auto s = attention(type, 2, 4, 2, 13, 21, 9, 5);
    of(s).q.offset = 3;
    test::check_close("cuda-naive", s);
    of(s).is_causal = true;
    of(s).causal_align = spec::CausalAlign::bottom_right;
    test::check_close("cuda-naive", s);
  }
}

TEST_CASE("products on the device agree with the reference", "[works]") {
  test::check_close("cuda-wmma", product(DType::f16, 70, 72, 40));
  test::check_close("cuda-wmma", product(DType::f16, 33, 17, 65));
  auto s = product(DType::f16, 40, 24, 48);
  gemm(s).epilogue = spec::Epilogue::bias_relu;
  gemm(s).bias = spec::TensorSpec{{24}, DType::f16, {}, 0, {}};
  test::check_close("cuda-wmma", s);
  auto transposed = product(DType::f16, 24, 40, 48);
  gemm(transposed).w.strides = Dims{1, 48};
  test::check_close("cuda-wmma", transposed);
  auto batched = product(DType::f16, 24, 40, 48);
  gemm(batched).x.shape = {3, 24, 48};
  test::check_close("cuda-wmma", batched);
  for (const DType type : {DType::f64, DType::f32, DType::bf16}) test::check_close("cuda-naive", product(type, 9, 7, 33));
  test::check_close("cuda-naive", product(DType::s8, 9, 7, 33));
}

TEST_CASE("quantized products on the device agree with the reference", "[works]") {
  for (int bits : {4, 8}) test::check_close("cuda-packed", quantized(bits, false, 32, 1, 24, 96));
  test::check_close("cuda-packed", quantized(4, true, 32, 3, 24, 128));
  test::check_close("cuda-packed", quantized(4, true, 64, 1, 10, 64));
  test::check_close("cuda-packed", quantized(4, false, -1, 20, 24, 96));
}

TEST_CASE("the kernel that ran is evidence, eager and captured alike", "[works]") {
  auto s = attention(DType::f16, 1, 2, 2, 40, 40, 64, 64);
  const auto eager = run("cuda-flash", s);
  s.mode = spec::Mode::captured;
  const auto captured = run("cuda-flash", s);
  REQUIRE(eager.evidence.kernels.size() == 1);
  REQUIRE(captured.evidence.kernels.size() == 1);
  CHECK(eager.evidence.kernels[0].name == "dd_flash_f16_64");
  CHECK(captured.evidence.kernels[0].name == "dd_flash_f16_64");
  CHECK(captured.evidence.kernels[0].origin == "graph");
  test::check_close("cuda-flash", s);
  s.mode = spec::Mode::compiled;
  CHECK(run("cuda-flash", s).outcome == report::Outcome::refused);
}

TEST_CASE("no device is unavailable, with the finding", "[no-device]") {
  const auto r = run("cuda-flash", attention(DType::f16, 1, 1, 1, 8, 8, 64, 64));
  CHECK(r.outcome == report::Outcome::unavailable);
  REQUIRE(r.error);
  CHECK(r.error->code == "ENV022");
  const auto there = backends::find_backend("cuda-wmma", spec::Op::gemm)->probe();
  CHECK_FALSE(there.available);
  CHECK(there.finding_ids == std::vector<std::string>{"ENV022"});
}

TEST_CASE("memory that cannot be had is out-of-memory", "[oom]") {
  const auto r = run("cuda-wmma", product(DType::f16, 8, 8, 8));
  CHECK(r.outcome == report::Outcome::out_of_memory);
  REQUIRE(r.error);
  CHECK(r.error->code == "CUDA_ERROR_OUT_OF_MEMORY");
}

TEST_CASE("an illegal address fails this attempt and the ones after it in the same process", "[illegal]") {
  const auto first = run("cuda-flash", attention(DType::f16, 1, 1, 1, 8, 8, 64, 64));
  CHECK(first.outcome == report::Outcome::failed);
  REQUIRE(first.error);
  CHECK(first.error->code == "CUDA_ERROR_ILLEGAL_ADDRESS");
  CHECK(run("cuda-wmma", product(DType::f16, 8, 8, 8)).outcome == report::Outcome::failed);
}

TEST_CASE("a write before the result is caught on the device", "[scribble]") {
  const auto r = run("cuda-flash", attention(DType::f16, 1, 1, 1, 8, 8, 64, 64));
  CHECK(r.outcome == report::Outcome::failed);
  REQUIRE(r.error);
  CHECK(r.error->code == "outside-write");
}
