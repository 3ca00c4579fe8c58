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

TEST_CASE("the result of attention may lie in any way", "[works]") {
  for (const auto& [strides, offset] : {std::pair{Dims{}, 1}, std::pair{Dims{4224, 2112, 33, 1}, 0}, std::pair{Dims{4096, 2048, 1, 64}, 0}, std::pair{Dims{8192, 4096, 64, 2}, 0}}) {
    auto s = attention(DType::f16, 1, 2, 2, 64, 64, 32, 32);
    if (!strides.empty()) of(s).out.strides = strides;
    of(s).out.offset = offset;
    test::check_close("cuda-flash", s);
  }
}

// A forced or a blocked call goes past the rules; what would be a fault on a device is refused by the run itself, and the
// context serves the next call.
TEST_CASE("what the kernels cannot take is refused, not launched", "[works]") {
  const auto refused = [](const char* backend, const spec::OpSpec& s, const std::string& text) {
    const auto r = run(backend, s);
    INFO(backend << ": " << (r.error ? r.error->text : "served"));
    CHECK(r.outcome == report::Outcome::refused);
    REQUIRE(r.error);
    CHECK(r.error->code == "form");
    CHECK(contains(r.error->text, text));
  };
  refused("cuda-flash", attention(DType::f16, 1, 2, 2, 40, 40, 100, 64), "q.shape[3] is 100; the kernel takes multiples of 8");
  refused("cuda-flash", attention(DType::f16, 1, 2, 2, 40, 40, 64, 36), "v.shape[3] is 36;");
  const auto plain = attention(DType::f16, 2, 2, 2, 64, 64, 32, 32);
  for (const auto& [name, tensor] : {std::pair{"q", &spec::Attention::q}, std::pair{"k", &spec::Attention::k}, std::pair{"v", &spec::Attention::v}}) {
    auto s = plain;
    (of(s).*tensor).offset = 1;
    refused("cuda-flash", s, std::string(name) + " starts 2 bytes past a multiple of 16 bytes");
    s = plain;
    (of(s).*tensor).strides = Dims{4096, 2048, 1, 64};
    refused("cuda-flash", s, std::string(name) + ".strides[2] is 1 elements");
    s = plain;
    (of(s).*tensor).strides = Dims{8192, 4096, 64, 2};
    refused("cuda-flash", s, std::string(name) + ".strides[3] is 2; the kernel takes 1");
    s = plain;
    (of(s).*tensor).strides = Dims{4228, 2112, 32, 1};
    refused("cuda-flash", s, std::string(name) + ".strides[0] is 4228 elements; the kernel takes multiples of 8");
  }
  for (const char* backend : {"cuda-flash", "cuda-naive"}) {
    auto s = plain;
    of(s).k.dtype = DType::f8_e4m3;
    refused(backend, s, "k.dtype is f8_e4m3; the kernel takes q's type, f16");
    s = plain;
    of(s).v.dtype = DType::f32;
    refused(backend, s, "v.dtype is f32;");
  }
  auto narrow = product(DType::f16, 16, 16, 16);
  gemm(narrow).w.dtype = DType::f8_e4m3;
  refused("cuda-wmma", narrow, "w.dtype is f8_e4m3; the kernel takes x's type, f16");
  refused("cuda-wmma", quantized(4, false, 32, 16, 24, 96), "w.dtype is s4;");
  auto other = quantized(4, false, 32, 1, 24, 96);
  gemm(other).out_dtype = DType::f8_e4m3;
  refused("cuda-packed", other, "out.dtype is f8_e4m3; the kernel writes x's type, f16");
  // An axis of extent 1 may carry any stride.
  auto one = attention(DType::f16, 1, 1, 1, 1, 64, 32, 32);
  of(one).q.strides = Dims{3, 5, 7, 1};
  test::check_close("cuda-flash", one);
  test::check_close("cuda-flash", plain);
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
  for (const Dims& strides : {Dims{1, 40}, Dims{96, 2}, Dims{49, 1}}) {
    auto laid = product(DType::f16, 40, 48, 24);
    gemm(laid).out.strides = strides;
    gemm(laid).out.offset = strides.back() == 1 ? 1 : 0;
    test::check_close("cuda-wmma", laid);
  }
  for (const DType type : {DType::f64, DType::f32, DType::bf16}) test::check_close("cuda-naive", product(type, 9, 7, 33));
  test::check_close("cuda-naive", product(DType::s8, 9, 7, 33));
}

TEST_CASE("quantized products on the device agree with the reference", "[works]") {
  for (int bits : {4, 8}) test::check_close("cuda-packed", quantized(bits, false, 32, 1, 24, 96));
  test::check_close("cuda-packed", quantized(4, true, 32, 3, 24, 128));
  test::check_close("cuda-packed", quantized(4, true, 64, 1, 10, 64));
  test::check_close("cuda-packed", quantized(4, false, -1, 20, 24, 96));
  for (const std::int64_t m : {2, 4, 7, 20})
    for (int bits : {4, 8}) {
      auto s = quantized(bits, bits == 8, 32, m, 24, 128);
      test::check_close("cuda-packed", s);
      gemm(s).out.strides = Dims{1, m};
      test::check_close("cuda-packed", s);
      gemm(s).out.strides = Dims{48, 2};
      test::check_close("cuda-packed", s);
    }
}

TEST_CASE("the kernel that ran is evidence, eager and captured alike", "[works]") {
  auto s = attention(DType::f16, 1, 2, 2, 40, 40, 64, 64);
  const auto eager = run("cuda-flash", s);
  s.mode = spec::Mode::captured;
  const auto captured = run("cuda-flash", s);
  REQUIRE(eager.evidence.kernels.size() == 1);
  REQUIRE(captured.evidence.kernels.size() == 1);
  CHECK(eager.evidence.kernels[0].name == "dd_flash_plain_f16_64");
  CHECK(captured.evidence.kernels[0].name == "dd_flash_plain_f16_64");
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
