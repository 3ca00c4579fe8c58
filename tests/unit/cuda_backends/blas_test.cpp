// cublas, cublaslt, cublaslt-s8, cuda-dequant and cuda-math over stand-ins of the libraries: layouts, strides, batches,
// epilogues, scales and workspaces are right when the numbers are, and the calls are told as they were made.
#include "backends/common/device_blas.hpp"
#include "backends/cuda_runtime/libraries.hpp"
#include "rules/rule.hpp"
#include "specs.hpp"

using namespace dd;
using namespace dd::test;

namespace {

std::string calls_of(cuda::Library library, const char* symbol) {
  const char* (*tell)() = nullptr;
  REQUIRE(cuda::library(library).find(tell, symbol));
  return tell();
}
std::string cublas_calls() { return calls_of(cuda::Library::cublas, "dd_fake_cublas_calls"); }
std::string lt_calls() { return calls_of(cuda::Library::cublaslt, "dd_fake_cublaslt_calls"); }

bool has_copy(const backends::RunResult& r) {
  return std::any_of(r.evidence.conversions.begin(), r.evidence.conversions.end(), [](const report::Conversion& c) { return c.kind == "copy" || c.kind == "cast"; });
}

// x and w in each orientation, as views over padded storage.
spec::OpSpec oriented(DType type, bool xt, bool wt, std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t pad) {
  auto s = product(type, m, n, k);
  gemm(s).x.strides = xt ? Dims{1, m + pad} : Dims{k + pad, 1};
  gemm(s).w.strides = wt ? Dims{1, k + pad} : Dims{n + pad, 1};
  return s;
}
const char* form(bool xt, bool wt) { return wt ? (xt ? "TT" : "TN") : (xt ? "NT" : "NN"); }

spec::OpSpec fp8(DType x, DType w, DType out, std::int64_t m, std::int64_t n, std::int64_t k) {
  auto s = oriented(x, false, true, m, n, k, 0);
  gemm(s).w.dtype = w;
  gemm(s).out_dtype = out;
  return s;
}

spec::OpSpec w8a8(std::int64_t group, DType scale, std::int64_t m, std::int64_t n, std::int64_t k) {
  auto s = quantized(8, false, group, m, n, k);
  gemm(s).x.dtype = DType::s8;
  gemm(s).quant->act_bits = 8;
  gemm(s).quant->scale_dtype = scale;
  gemm(s).w.strides = Dims{1, k};
  return s;
}

}  // namespace

TEST_CASE("every orientation is a layout: no copy, right numbers", "[blas]") {
  for (const char* name : {"cublas", "cublaslt"})
    for (const bool xt : {false, true})
      for (const bool wt : {false, true})
        for (const std::int64_t pad : {0, 8}) {
          const auto s = oriented(DType::f16, xt, wt, 24, 40, 48, pad);
          INFO(name << " " << form(xt, wt) << " pad " << pad);
          check_close(name, s);
          cublas_calls();
          lt_calls();
          const auto r = run(name, s);
          CHECK_FALSE(has_copy(r));
          CHECK(contains(std::string(name) == "cublas" ? cublas_calls() : lt_calls(), std::string(form(xt, wt)) + " 40x24x48 batch 1"));
          REQUIRE(r.evidence.library_calls.size() == 1);
          CHECK(contains(r.evidence.library_calls[0].detail, form(xt, wt)));
        }
}

TEST_CASE("every type row", "[blas]") {
  for (const char* name : {"cublas", "cublaslt"}) {
    for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16}) check_close(name, product(type, 9, 12, 33));
    for (const DType type : {DType::f16, DType::bf16}) {
      auto s = product(type, 9, 12, 33);
      gemm(s).out_dtype = DType::f32;
      check_close(name, s);
    }
    auto half = product(DType::f16, 9, 12, 33);
    gemm(half).compute = spec::Compute::f16;
    check_close(name, half);
    auto tf32 = product(DType::f32, 9, 12, 33);
    tf32.flags.tf32 = true;
    check_close(name, tf32);
    check_close(name, oriented(DType::s8, false, true, 8, 12, 32, 0));
  }
}

TEST_CASE("offsets, single lines and vectors", "[blas]") {
  for (const char* name : {"cublas", "cublaslt"}) {
    auto s = product(DType::f32, 7, 5, 3);
    gemm(s).x.offset = 3;
    gemm(s).w.offset = 1;
    gemm(s).out.offset = 5;
    gemm(s).out.strides = Dims{9, 1};
    check_close(name, s);
    check_close(name, product(DType::f32, 1, 5, 3));
    check_close(name, product(DType::f32, 7, 1, 3));
    check_close(name, product(DType::f32, 7, 5, 1));
    check_close(name, product(DType::f32, 1, 1, 1));
  }
}

TEST_CASE("batches: strided, broadcast, and folded into rows", "[blas]") {
  for (const char* name : {"cublas", "cublaslt"}) {
    INFO(name);
    const auto calls = [&] { return std::string(name) == "cublas" ? cublas_calls() : lt_calls(); };
    auto each = product(DType::f16, 8, 24, 16);
    gemm(each).x.shape = {3, 8, 16};
    gemm(each).w.shape = {3, 16, 24};
    check_close(name, each);
    CHECK(contains(calls(), "NN 24x8x16 batch 3"));
    auto shared = product(DType::f16, 8, 24, 16);
    gemm(shared).x.shape = {3, 8, 16};
    check_close(name, shared);
    CHECK(contains(calls(), "NN 24x24x16 batch 1"));  // one w: the batch continues the rows
    gemm(shared).x.strides = Dims{200, 16, 1};
    check_close(name, shared);
    CHECK(contains(calls(), "NN 24x8x16 batch 3"));  // with a gap it cannot
    auto repeated = product(DType::f16, 8, 24, 16);
    gemm(repeated).x.shape = {1, 8, 16};
    gemm(repeated).w.shape = {3, 16, 24};
    check_close(name, repeated);
    CHECK(contains(calls(), "NN 24x8x16 batch 3"));
    gemm(each).x.strides = Dims{0, 16, 1};
    check_close(name, each);
  }
}

TEST_CASE("epilogues of cublasLt, with the bias in its own type", "[blas]") {
  using spec::Epilogue;
  const std::pair<Epilogue, const char*> all[] = {{Epilogue::bias, "epilogue 4"},      {Epilogue::relu, "epilogue 2"},  {Epilogue::gelu, "epilogue 32"},
                                                  {Epilogue::bias_relu, "epilogue 6"}, {Epilogue::bias_gelu, "epilogue 36"}};
  for (const DType type : {DType::f16, DType::f32})
    for (const auto& [epilogue, text] : all) {
      auto s = product(type, 10, 24, 16);
      gemm(s).epilogue = epilogue;
      if (epilogue == Epilogue::bias || epilogue == Epilogue::bias_relu || epilogue == Epilogue::bias_gelu) gemm(s).bias = spec::TensorSpec{{24}, type, {}, 0, {}};
      check_close("cublaslt", s);
      CHECK(contains(lt_calls(), text));
      const auto r = run("cublas", s);
      CHECK(r.outcome == report::Outcome::refused);
    }
  auto wide = product(DType::bf16, 10, 24, 16);
  gemm(wide).out_dtype = DType::f32;
  gemm(wide).epilogue = Epilogue::bias;
  gemm(wide).bias = spec::TensorSpec{{24}, DType::f32, {}, 0, {}};
  check_close("cublaslt", wide);
}

TEST_CASE("FP8 with each scale mode", "[blas]") {
  const std::pair<const char*, const char*> modes[] = {{"", "modes 0,0"}, {"SCALAR_32F", "modes 0,0"}, {"OUTER_VEC_32F", "modes 3,3"}, {"VEC128_32F", "modes 4,4"},
                                                       {"BLK128x128_32F", "modes 5,4"}, {"VEC32_UE8M0", "modes 2,2"}};
  for (const auto& [mode, text] : modes) {
    INFO(mode);
    auto s = fp8(DType::f8_e4m3, DType::f8_e4m3, DType::bf16, 16, 32, 272);
    if (*mode) gemm(s).extra["scale_mode"] = mode;
    check_close("cublaslt", s);
    const std::string made = lt_calls();
    CHECK(contains(made, text));
    // A row-major result is computed as its transpose: w is the library's A and x its B, so w's scales are A's.
    CHECK(contains(made, "first scales 2.0,0.5"));
    CHECK(noted(run("cublaslt", s), "2 for w, 1/2 for x"));
  }
  lt_calls();
  auto fast = fp8(DType::f8_e5m2, DType::f8_e4m3, DType::f32, 16, 32, 64);
  gemm(fast).extra["fast_accum"] = "true";
  check_close("cublaslt", fast);
  CHECK(contains(lt_calls(), "fast 1"));
  check_close("cublaslt", fp8(DType::f8_e4m3, DType::f8_e4m3, DType::f8_e4m3, 16, 32, 64));
  // What the library refuses comes back in its own words.
  const auto refused = run("cublaslt", fp8(DType::f8_e5m2, DType::f8_e5m2, DType::f32, 16, 32, 64));
  CHECK(refused.outcome == report::Outcome::refused);
  REQUIRE(refused.error);
  CHECK(refused.error->code == "CUBLAS_STATUS_NOT_SUPPORTED");
  CHECK(refused.error->source == "cuBLASLt");
  CHECK(contains(refused.error->text, "cublasLtMatmulAlgoGetHeuristic: the stand-in does not offer this"));
}

TEST_CASE("the heuristic's answers are told, and the true alignment is what it is asked with", "[blas]") {
  auto s = product(DType::f16, 16, 32, 64);
  const auto r = run("cublaslt", s);
  CHECK(noted(r, "candidate 1: algorithm 66, tile 128x128, stages 64x3, split-k 3, reduction scheme 2, workspace 0 bytes, waves 0.50, tensor cores"));
  CHECK(noted(r, "candidate 2: algorithm 67"));
  CHECK(noted(r, "candidate 3: algorithm 21"));
  CHECK(contains(lt_calls(), "alignment 256"));
  gemm(s).x.offset = 1;
  check_close("cublaslt", s);
  CHECK(contains(lt_calls(), "alignment 2 "));
  gemm(s).workspace = 0;
  const auto without = run("cublaslt", s);
  CHECK_FALSE(noted(without, "algorithm 67"));
  CHECK(noted(without, "candidate 2: algorithm 21"));
  gemm(s).extra["requested_algo_count"] = "1";
  CHECK_FALSE(noted(run("cublaslt", s), "candidate 2"));
}

TEST_CASE("parts of a split reduction are added in the result's type only where that is allowed", "[blas]") {
  for (const bool allowed : {false, true}) {
    auto s = product(DType::f16, 16, 32, 64);
    s.flags.reduced_precision = allowed;
    run("cublaslt", s);
    CHECK(contains(lt_calls(), allowed ? "reductions 7" : "reductions 2"));
    run("cublas", s);
    CHECK(contains(cublas_calls(), allowed ? " math 0\n" : " math 16\n"));
  }
}

TEST_CASE("the workspace of the handle API is the call's own", "[blas]") {
  auto s = product(DType::f16, 16, 32, 64);
  cublas_calls();
  run("cublas", s);
  CHECK(contains(cublas_calls(), " stream workspace 33554432"));
  gemm(s).workspace = 4096;
  run("cublas", s);
  CHECK(contains(cublas_calls(), "workspace 4096"));
  gemm(s).workspace = 0;
  run("cublas", s);
  CHECK(contains(cublas_calls(), "no-workspace"));
}

TEST_CASE("integer products with scales", "[blas]") {
  for (const DType scale : {DType::f16, DType::bf16, DType::f32})
    for (const std::int64_t group : {std::int64_t{-1}, std::int64_t{0}}) check_close("cublaslt-s8", w8a8(group, scale, 10, 24, 64));
  auto batched = w8a8(-1, DType::f32, 8, 16, 32);
  gemm(batched).x.shape = {2, 8, 32};
  check_close("cublaslt-s8", batched);
  const auto r = run("cublaslt-s8", w8a8(-1, DType::f16, 10, 24, 64));
  CHECK(noted(r, "integer sums written and read again: 960 bytes"));
  CHECK(noted(r, "integer product: "));
  CHECK(noted(r, "rescale: "));
  CHECK(run("cublaslt-s8", quantized(8, true, -1, 8, 16, 32)).outcome == report::Outcome::refused);
}

TEST_CASE("dequantize, then multiply: bytes and both halves are told", "[blas]") {
  for (const int bits : {4, 8}) {
    check_close("cuda-dequant", quantized(bits, false, 32, 3, 24, 96));
    check_close("cuda-dequant", quantized(bits, true, 32, 20, 24, 96));
    check_close("cuda-dequant", quantized(bits, false, -1, 1, 10, 50));
  }
  auto s = quantized(4, true, 32, 3, 24, 96);
  gemm(s).x.dtype = DType::bf16;
  gemm(s).out_dtype = DType::f32;
  check_close("cuda-dequant", s);
  auto batched = quantized(8, false, 32, 3, 24, 64);
  gemm(batched).x.shape = {2, 3, 64};
  gemm(batched).w.shape = {2, 64, 24};
  check_close("cuda-dequant", batched);
  const auto r = run("cuda-dequant", quantized(4, false, 32, 3, 24, 96));
  REQUIRE(r.evidence.conversions.size() == 2);
  CHECK(r.evidence.conversions[1].kind == "dequantize");
  CHECK(r.evidence.conversions[1].bytes == 24 * 96 * 2);
  CHECK(noted(r, "dequantize: "));
  CHECK(noted(r, "product: "));
  REQUIRE(r.evidence.kernels.size() == 1);
  CHECK(r.evidence.kernels[0].name == "dd_dequantize_f16_4");
}

TEST_CASE("decomposed attention: masks, alignments, heads, layouts", "[blas]") {
  for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16}) {
    INFO(core::to_text(type));
    auto s = attention(type, 2, 4, 4, 13, 21, 9, 5);
    check_close("cuda-math", s);
    CHECK(contains(cublas_calls(), "batch 8"));
    of(s).is_causal = true;
    check_close("cuda-math", s);
    of(s).causal_align = spec::CausalAlign::bottom_right;
    of(s).scale = 0.7;
    check_close("cuda-math", s);
    auto grouped = attention(type, 2, 6, 2, 13, 21, 8, 16);
    check_close("cuda-math", grouped);
    auto masked = attention(type, 2, 2, 2, 20, 20, 16, 16);
    of(masked).mask = spec::MaskSpec{DType::boolean, {20, 20}, {}, 0, "random", false};
    check_close("cuda-math", masked);
    of(masked).mask = spec::MaskSpec{DType::f32, {1, 2, 20, 20}, {}, 0, "random", false};
    check_close("cuda-math", masked);
    auto dropped = attention(type, 1, 2, 2, 12, 18, 8, 8);
    of(dropped).dropout_p = 0.25;
    check_close("cuda-math", dropped);
  }
  // (batch, length, heads, size) in memory: heads and batches are walked by different strides, so a call a batch element.
  auto strided = attention(DType::f16, 2, 3, 3, 10, 10, 16, 16);
  for (spec::TensorSpec* t : {&of(strided).q, &of(strided).k, &of(strided).v}) t->strides = Dims{10 * 3 * 16, 16, 3 * 16, 1};
  cublas_calls();
  check_close("cuda-math", strided);
  CHECK(contains(cublas_calls(), "batch 3"));
  auto grouped = attention(DType::f16, 2, 6, 2, 10, 10, 16, 16);
  of(grouped).q.strides = Dims{10 * 6 * 16, 16, 6 * 16, 1};
  for (spec::TensorSpec* t : {&of(grouped).k, &of(grouped).v}) t->strides = Dims{10 * 2 * 16, 16, 2 * 16, 1};
  check_close("cuda-math", grouped);
  for (const auto& [heads, kv] : {std::pair<int, int>{1, 1}, {4, 1}}) check_close("cuda-math", attention(DType::f32, 3, heads, kv, 1, 7, 8, 8));
  const auto r = run("cuda-math", attention(DType::f16, 2, 4, 4, 13, 21, 16, 16));
  CHECK(noted(r, "scores materialised: 8736 bytes"));
  CHECK(noted(r, "probabilities materialised: 4368 bytes"));
  CHECK(noted(r, "softmax: "));
}

TEST_CASE("captured mode asks for algorithms before the capture, so the release that cannot be asked during one serves", "[blas]") {
  const auto found = [](spec::OpSpec s) {
    s.mode = spec::Mode::captured;
    facts::FactSet f;
    f.set(facts::Id::cublas_version, facts::Version::of(13, 5, 1), facts::Provenance::library);
    backends::add_blas_facts(s, f);
    for (const rules::Rule& rule : backends::find_backend("cublaslt", spec::Op::gemm)->judged_by())
      if (rule.id == "CLT024") return rules::evaluate(rule, f).status;
    return rules::Truth::unknown;
  };
  CHECK(found(product(DType::f16, 16, 32, 64)) == rules::Truth::met);
  auto told = product(DType::f16, 16, 32, 64);
  gemm(told).extra["capturing"] = "true";  // what the user says of a program stands
  CHECK(found(told) == rules::Truth::unmet);
}

TEST_CASE("captured: the same numbers from the replay, library work among the nodes", "[blas]") {
  const auto captured = [](spec::OpSpec s) {
    s.mode = spec::Mode::captured;
    return s;
  };
  for (const char* name : {"cublas", "cublaslt"}) {
    const auto s = captured(product(DType::f16, 16, 32, 64));
    check_close(name, s);
    const auto r = run(name, s);
    REQUIRE(r.evidence.kernels.size() == 1);
    CHECK(r.evidence.kernels[0].origin == "graph");
    CHECK(r.evidence.library_calls.size() == 1);
  }
  check_close("cuda-math", captured(attention(DType::f16, 1, 2, 2, 10, 10, 16, 16)));
  CHECK(run("cuda-math", captured(attention(DType::f16, 1, 2, 2, 10, 10, 16, 16))).evidence.kernels.size() == 3);
  check_close("cuda-dequant", captured(quantized(4, false, 32, 3, 24, 96)));
}
