#include <algorithm>

#include "backends/libraries/onednn.hpp"
#include "cases.hpp"

namespace {

using namespace dd;
using core::DType;
using spec::Dims;

spec::OpSpec product(DType x, DType w, std::int64_t m, std::int64_t n, std::int64_t k) {
  spec::OpSpec s;
  spec::Gemm g;
  g.x = {{m, k}, x, {}, 0, {}};
  g.w = {{k, n}, w, {}, 0, {}};
  s.op = g;
  return s;
}

spec::Gemm& gemm(spec::OpSpec& s) { return std::get<1>(s.op); }

void with_epilogue(spec::OpSpec& s, spec::Epilogue e, DType bias) {
  gemm(s).epilogue = e;
  if (e == spec::Epilogue::bias || e == spec::Epilogue::bias_relu || e == spec::Epilogue::bias_gelu)
    gemm(s).bias = spec::TensorSpec{{gemm(s).w.shape.back()}, bias, {}, 0, {}};
}

spec::OpSpec quantized(DType x, int bits, bool zero, std::int64_t group, std::int64_t m, std::int64_t n, std::int64_t k) {
  const DType w = bits == 4 ? (zero ? DType::u4 : DType::s4) : (zero ? DType::u8 : DType::s8);
  spec::OpSpec s = product(x, w, m, n, k);
  spec::Quant q;
  q.bits = bits;
  q.act_bits = core::info(x).bits == 8 ? 8 : 16;
  q.group_size = group;
  q.zero_point = zero;
  gemm(s).quant = q;
  return s;
}

bool converts(const test::Judged& judged, const std::string& kind, std::int64_t bytes) {
  const auto& list = judged.run.evidence.conversions;
  return std::any_of(list.begin(), list.end(), [&](const report::Conversion& c) { return c.kind == kind && c.bytes == bytes; });
}

}  // namespace

TEST_CASE("dense products agree with the reference") {
  for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16})
    for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1}, {17, 33, 65}, {64, 48, 128}, {1, 40, 7}, {5, 1, 300}}) {
      CAPTURE(core::to_text(type), m, n, k);
      const auto s = product(type, type, m, n, k);
      test::check_close("cpu-naive", s);
      test::check_close("cpu-blas", s);
      if (type == DType::f32) test::check_close("cpu-onednn", s);
    }
}

TEST_CASE("transposed, strided, batched and broadcast operands") {
  for (const char* backend : {"cpu-naive", "cpu-blas", "cpu-onednn"}) {
    auto s = product(DType::f32, DType::f32, 12, 20, 16);
    gemm(s).x.strides = Dims{1, 12};
    test::check_close(backend, s);
    gemm(s).w.strides = Dims{1, 16};
    test::check_close(backend, s);
    gemm(s).w.strides = Dims{64, 3};
    test::check_close(backend, s);
    gemm(s).w.strides = Dims{0, 1};  // one row for all: not a matrix for a BLAS
    test::check_close(backend, s);
    auto batched = product(DType::f32, DType::f32, 6, 10, 9);
    gemm(batched).x.shape = {3, 2, 6, 9};
    test::check_close(backend, batched);
    gemm(batched).w.shape = {3, 2, 9, 10};
    test::check_close(backend, batched);
    gemm(batched).w.shape = {2, 9, 10};
    test::check_close(backend, batched);
    auto padded_out = product(DType::f32, DType::f32, 6, 10, 9);
    gemm(padded_out).out.strides = Dims{16, 1};
    test::check_close(backend, padded_out);
    gemm(padded_out).out.strides = Dims{1, 6};
    test::check_close(backend, padded_out);
    auto offset = product(DType::f32, DType::f32, 6, 10, 9);
    gemm(offset).x.offset = 3;
    gemm(offset).w.offset = 1;
    test::check_close(backend, offset);
  }
}

TEST_CASE("every epilogue") {
  for (const spec::Epilogue e : {spec::Epilogue::bias, spec::Epilogue::relu, spec::Epilogue::gelu, spec::Epilogue::bias_relu, spec::Epilogue::bias_gelu})
    for (const char* backend : {"cpu-naive", "cpu-blas", "cpu-onednn"}) {
      CAPTURE(core::to_text(e));
      auto s = product(DType::f32, DType::f32, 12, 20, 16);
      with_epilogue(s, e, DType::f32);
      test::check_close(backend, s);
      with_epilogue(s, e, DType::bf16);
      test::check_close(backend, s);
      gemm(s).x.shape = {4, 12, 16};
      test::check_close(backend, s);
    }
}

TEST_CASE("8-bit integers are exact, over their whole range") {
  for (const DType x : {DType::s8, DType::u8})
    for (const DType out : {DType::s32, DType::f32})
      for (const spec::Data data : {spec::Data::normal, spec::Data::uniform})
        for (const auto& [m, n, k] : {std::array<std::int64_t, 3>{4, 4, 4}, {33, 65, 129}, {1, 64, 256}, {64, 64, 1000}}) {
          auto s = product(x, DType::s8, m, n, k);
          s.data = data;
          gemm(s).out_dtype = out;
          CAPTURE(core::to_text(x), core::to_text(out), core::to_text(data), m, n, k);
          test::check_close("cpu-naive", s);
          // Without 8-bit dot products the library clips sums of pairs (rule ODN013): only small values can be exact there.
          if (backends::onednn().isa.find("vnni") == std::string::npos && backends::onednn().isa.find("avx512_core_") == std::string::npos)
            s.data = spec::Data::integers;
          test::check_close("cpu-onednn", s);
          gemm(s).w.strides = Dims{1, k};
          test::check_close("cpu-onednn", s);
        }
}

TEST_CASE("casts and copies are reported with their bytes") {
  const auto* blas = backends::find_backend("cpu-blas", spec::Op::gemm);
  if (!blas->probe().available) {
    WARN("skipped: no OpenBLAS");
    return;
  }
  auto s = product(DType::f16, DType::f16, 8, 16, 32);
  auto judged = test::run_and_compare(*blas, s);
  CHECK(converts(judged, "cast", 8 * 32 * 4));
  CHECK(converts(judged, "cast", 32 * 16 * 4));
  CHECK(converts(judged, "cast", 8 * 16 * 4));
  CHECK(blas->extra_bytes(s) == 4 * (8 * 32 + 32 * 16 + 8 * 16));
  auto strided = product(DType::f32, DType::f32, 8, 16, 32);
  gemm(strided).x.strides = Dims{128, 2};
  judged = test::run_and_compare(*blas, strided);
  CHECK(judged.run.evidence.conversions.size() == 1);
  CHECK(converts(judged, "copy", 8 * 32 * 4));
  CHECK(blas->extra_bytes(strided) == 8 * 32 * 4);
  auto plain = product(DType::f32, DType::f32, 8, 16, 32);
  judged = test::run_and_compare(*blas, plain);
  CHECK(judged.run.evidence.conversions.empty());
  CHECK(blas->extra_bytes(plain) == 0);
  REQUIRE(judged.run.evidence.library_calls.size() == 1);
  CHECK(judged.run.evidence.library_calls[0].name == "cblas_sgemm");
  CHECK(judged.run.evidence.library_calls[0].count == 1);
  auto wide = product(DType::f32, DType::f32, 8, 16, 32);
  gemm(wide).compute = spec::Compute::f64;
  judged = test::run_and_compare(*blas, wide);
  CHECK(judged.run.evidence.library_calls[0].name == "cblas_dgemm");
  CHECK(judged.comparison.verdict == "close");
  test::check_close("cpu-naive", wide);
}

TEST_CASE("quantized products agree with the reference") {
  for (const DType x : {DType::f32, DType::f16, DType::bf16, DType::s8})
    for (const int bits : {4, 8})
      for (const bool zero : {false, true})
        for (const std::int64_t group : {std::int64_t{-1}, std::int64_t{0}, std::int64_t{32}}) {
          CAPTURE(core::to_text(x), bits, zero, group);
          auto s = quantized(x, bits, zero, group, 1, 48, 96);
          if (x == DType::s8) gemm(s).out_dtype = DType::f32;
          for (const char* backend : {"cpu-naive", "cpu-dequant", "cpu-packed"}) test::check_close(backend, s);
          gemm(s).x.shape = {17, 96};
          for (const char* backend : {"cpu-naive", "cpu-dequant", "cpu-packed"}) test::check_close(backend, s);
        }
  auto ordered = quantized(DType::f16, 4, true, 32, 3, 48, 96);
  gemm(ordered).quant->act_order = true;
  with_epilogue(ordered, spec::Epilogue::bias_gelu, DType::f16);
  for (const char* backend : {"cpu-naive", "cpu-dequant", "cpu-packed"}) test::check_close(backend, ordered);
}

TEST_CASE("the dequantized matrix is reported, and only by the backend that writes it") {
  const auto s = quantized(DType::f32, 4, false, 32, 1, 64, 128);
  const auto dequant = test::run_and_compare(*backends::find_backend("cpu-dequant", spec::Op::gemm), s);
  CHECK(converts(dequant, "dequantize", 64 * 128 * 4));
  const auto packed = test::run_and_compare(*backends::find_backend("cpu-packed", spec::Op::gemm), s);
  CHECK(packed.run.evidence.conversions.empty());
}

TEST_CASE("oneDNN names its implementation from its own log") {
  const auto* backend = backends::find_backend("cpu-onednn", spec::Op::gemm);
  if (!backend->probe().available) {
    WARN("skipped: no oneDNN");
    return;
  }
  auto s = product(DType::f32, DType::f32, 64, 64, 64);
  with_epilogue(s, spec::Epilogue::bias_relu, DType::f32);
  const auto judged = test::run_and_compare(*backend, s);
  REQUIRE(judged.run.evidence.kernels.size() == 1);
  CHECK(judged.run.evidence.kernels[0].origin == "library log");
  CHECK_FALSE(judged.run.evidence.kernels[0].name.empty());
  CHECK(judged.run.evidence.kernels[0].seconds.has_value());
  // A refusal carries the library's own status.
  const auto refused = test::run_and_compare(*backend, product(DType::f64, DType::f64, 8, 8, 8));
  REQUIRE(refused.run.error);
  CHECK(refused.run.outcome == report::Outcome::refused);
}

TEST_CASE("a mode that the processor does not have is refused, not run") {
  auto s = product(DType::f32, DType::f32, 8, 8, 8);
  s.mode = spec::Mode::captured;
  const auto judged = test::run_and_compare(*backends::find_backend("cpu-naive", spec::Op::gemm), s);
  REQUIRE(judged.run.error);
  CHECK(judged.run.outcome == report::Outcome::refused);
}
