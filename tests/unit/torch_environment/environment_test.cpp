// What the torch worker says of itself, and the one finding that follows.
#include "frameworks/torch/environment.hpp"
#include "support/catch.hpp"

using namespace dd;
using frameworks::torch::environment_findings;
using frameworks::torch::WorkerState;

namespace {

std::string ids(const WorkerState& state) {
  std::string out;
  for (const rules::Finding& f : environment_findings(state)) {
    CHECK_FALSE(f.seen.empty());
    CHECK_FALSE(f.required.empty());
    out += (out.empty() ? "" : " ") + std::string(f.rule->id);
  }
  return out;
}

WorkerState healthy() {
  WorkerState s;
  s.started = true;
  s.torch = facts::Version::of(2, 8);
  return s;
}

}  // namespace

TEST_CASE("torch environment: one cause, one finding") {
  CHECK(ids(healthy()).empty());
  WorkerState s;
  CHECK(ids(s) == "ENV040");
  s.started = true;
  CHECK(ids(s) == "ENV042");
  s.missing = true;
  CHECK(ids(s) == "ENV041");
  s = healthy();
  s.torch = facts::Version::of(1, 13, 1);
  CHECK(ids(s) == "ENV043");
}

TEST_CASE("torch environment: a call for a GPU") {
  WorkerState s = healthy();
  s.wants_gpu = true;
  CHECK(ids(s) == "ENV044");
  s.built_for_gpu = true;
  CHECK(ids(s) == "ENV045");
  s.sees_gpu = true;
  CHECK(ids(s).empty());
}

TEST_CASE("torch environment: the worker's own words are kept") {
  WorkerState s;
  s.started = true;
  s.detail = "ImportError: libcudart.so.12";
  const auto found = environment_findings(s);
  REQUIRE(found.size() == 1);
  CHECK(found[0].seen.find("libcudart.so.12") != std::string::npos);
}

TEST_CASE("torch environment: torchao is no part of torch's health, and has findings of its own") {
  using frameworks::torch::torchao_finding;
  CHECK_FALSE(torchao_finding(true, ""));
  REQUIRE(torchao_finding(false, ""));
  CHECK(torchao_finding(false, "")->rule->id == "ENV046");
  const auto misfit = torchao_finding(true, "torchao 0.18.0 cannot be imported beside torch 2.8.0");
  REQUIRE(misfit);
  CHECK(misfit->rule->id == "ENV047");
  CHECK(misfit->seen.find("beside torch 2.8.0") != std::string::npos);
}

TEST_CASE("torch environment: the layer of torchao follows the scheme") {
  const auto layer = [](core::DType x, core::DType w, std::int64_t bits) {
    spec::Gemm g;
    g.x.shape = {4, 128};
    g.w.shape = {128, 64};
    g.x.dtype = x;
    g.w.dtype = w;
    g.quant.emplace();
    g.quant->bits = static_cast<decltype(g.quant->bits)>(bits);
    return std::string(frameworks::torch::torchao_layer(g));
  };
  using core::DType;
  CHECK(layer(DType::bf16, DType::u4, 4) == "torchao-int4");
  CHECK(layer(DType::bf16, DType::s8, 8) == "torchao-int8");
  CHECK(layer(DType::s8, DType::s8, 8) == "torchao-int8");
  CHECK(layer(DType::f8_e4m3, DType::f8_e4m3, 8) == "torchao-float8");
  CHECK(layer(DType::bf16, DType::f8_e4m3, 8).empty());  // it has no kernel for weights alone
  CHECK(layer(DType::s8, DType::s4, 4).empty());
  CHECK(frameworks::torch::torchao_layer(spec::Gemm{}).empty());
}
