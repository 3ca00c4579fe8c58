// cudnn over a stand-in of the library that computes the very graph on host memory: what is handed over is right when the
// numbers are, every engine's answer comes along, and each way of saying no becomes the right outcome in cuDNN's own words.
#include <cstdlib>

#include "backends/cuda_runtime/libraries.hpp"
#include "specs.hpp"

using namespace dd;
using namespace dd::test;
using report::Outcome;

namespace {

struct Mode {
  explicit Mode(const std::string& text) { ::setenv("DD_FAKE_CUDNN", text.c_str(), 1); }
  ~Mode() { ::unsetenv("DD_FAKE_CUDNN"); }
};

std::string calls() {
  const char* (*tell)() = nullptr;
  REQUIRE(cuda::library(cuda::Library::cudnn).find(tell, "dd_fake_cudnn_calls"));
  return tell();
}
spec::OpSpec fused_call() { return attention(DType::f16, 1, 2, 2, 24, 40, 16, 16); }

backends::RunResult expect_error(const char* mode, Outcome outcome, const std::string& code, const std::string& text) {
  const Mode as(mode);
  auto r = run("cudnn", fused_call());
  INFO(mode << ": " << (r.error ? r.error->code + " " + r.error->text : std::string("no error")));
  CHECK(r.outcome == outcome);
  REQUIRE(r.error);
  CHECK(r.error->code == code);
  CHECK(contains(r.error->text, text));
  return r;
}

bool built() {
  if (backends::find_backend("cudnn", spec::Op::sdpa)->probe().available) return true;
  WARN("skipped: this build has no cudnn-frontend");
  return false;
}

}  // namespace

TEST_CASE("the graph computes attention: types, alignments, groups, masks, layouts", "[cudnn]") {
  if (!built()) return;
  for (const DType type : {DType::f16, DType::bf16, DType::f32}) {
    INFO(core::to_text(type));
    check_close("cudnn", attention(type, 2, 3, 3, 24, 40, 16, 32));
    check_close("cudnn", attention(type, 2, 6, 2, 17, 33, 16, 16));
    auto s = attention(type, 2, 2, 2, 20, 36, 16, 16);
    of(s).scale = 0.3;
    of(s).is_causal = true;
    check_close("cudnn", s);
    of(s).causal_align = spec::CausalAlign::bottom_right;
    check_close("cudnn", s);
    auto masked = attention(type, 2, 2, 2, 20, 20, 16, 16);
    for (const spec::Dims& shape : {Dims{20, 20}, Dims{2, 1, 20, 20}, Dims{1, 1, 1, 20}}) {
      of(masked).mask = spec::MaskSpec{DType::boolean, shape, {}, 0, "random", false};
      check_close("cudnn", masked);
      of(masked).mask = spec::MaskSpec{type, shape, {}, 0, "random", false};
      check_close("cudnn", masked);
    }
    of(masked).mask = spec::MaskSpec{type, {2, 2, 20, 20}, Dims{400, 0, 20, 1}, 0, "random", false};  // repeated by a stride of 0
    check_close("cudnn", masked);
    for (const auto& [strides, offset] : {std::pair{Dims{800, 400, 1, 20}, 0}, {Dims{840, 420, 21, 1}, 0}, {Dims{800, 400, 20, 1}, 1}}) {
      of(masked).mask = spec::MaskSpec{type, {2, 2, 20, 20}, strides, offset, "random", false};
      check_close("cudnn", masked);
      const auto copied = run("cudnn", masked);
      CHECK(std::any_of(copied.evidence.conversions.begin(), copied.evidence.conversions.end(), [](const auto& c) { return c.what == "mask to dense storage"; }));
    }
    auto strided = attention(type, 2, 3, 3, 16, 16, 16, 16);
    for (spec::TensorSpec* t : {&of(strided).q, &of(strided).k, &of(strided).v}) t->strides = Dims{16 * 3 * 16, 16, 3 * 16, 1};
    check_close("cudnn", strided);
    of(strided).q.offset = 8;
    check_close("cudnn", strided);
    auto training = attention(type, 1, 2, 2, 16, 16, 16, 16);
    of(training).requires_grad = true;
    check_close("cudnn", training);
  }
}

TEST_CASE("cuDNN's answer comes with the result: every engine, the plan, its workspace", "[cudnn]") {
  if (!built()) return;
  calls();
  const auto r = run("cudnn", fused_call());
  CHECK(contains(calls(), "engine 2 operations 1 workspace 4096"));  // without a mask it is one operation
  REQUIRE(r.asked);
  const report::Asked& a = *r.asked;
  CHECK(a.version == "9.19.0");
  CHECK(a.device == "simulated device");
  CHECK(a.order == std::vector<std::int64_t>{2, 1});
  REQUIRE(a.engines.size() == 3);
  CHECK_FALSE(a.engines[0].accepted);
  CHECK(a.engines[0].code == "CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE");
  CHECK(a.engines[0].reason == "engine 0 of the stand-in takes no such tensors");
  CHECK((a.engines[2].accepted && a.engines[2].offered));
  CHECK(a.engines[2].workspace == 4096);
  CHECK(a.engines[2].notes == std::vector<std::string>{"runtime-compilation"});
  CHECK(noted(r, "candidate 1: eng2_k24=6, Hopper, composite graph, built, workspace 4096 bytes"));
  CHECK(noted(r, "candidate 2: eng1_k24=5"));
  REQUIRE(r.evidence.library_calls.size() == 1);
  CHECK(r.evidence.library_calls[0].detail == "plan eng2_k24=6, workspace 4096 bytes");
  auto causal = fused_call();
  of(causal).is_causal = true;
  run("cudnn", causal);
  CHECK_FALSE(contains(calls(), "operations 1 "));  // the composite graph
  auto masked = fused_call();
  of(masked).mask = spec::MaskSpec{DType::boolean, {24, 40}, {}, 0, "random", false};
  const auto written = run("cudnn", masked);
  REQUIRE(written.evidence.conversions.size() == 1);
  CHECK(written.evidence.conversions[0].bytes == 24 * 40 * 2);
}

TEST_CASE("captured: the replay computes the same, and the work is a node", "[cudnn]") {
  if (!built()) return;
  auto s = fused_call();
  s.mode = spec::Mode::captured;
  check_close("cudnn", s);
  const auto r = run("cudnn", s);
  REQUIRE(r.evidence.kernels.size() == 1);
  CHECK(r.evidence.kernels[0].origin == "graph");
  CHECK(r.asked);
  s.mode = spec::Mode::compiled;
  CHECK(run("cudnn", s).outcome == Outcome::refused);
}

TEST_CASE("refusals by cuDNN, in its own words", "[cudnn]") {
  if (!built()) return;
  const auto graph = expect_error("graph-refused", Outcome::refused, "CUDNN_STATUS_BAD_PARAM", "told to refuse the graph");
  REQUIRE(graph.asked);
  CHECK_FALSE(graph.asked->refusal.empty());
  const auto none = expect_error("no-engine", Outcome::refused, "no-engine", "takes no such tensors (CUDNN_STATUS_NOT_SUPPORTED_DATA_TYPE)");
  REQUIRE(none.asked);
  CHECK(none.asked->engines.size() == 3);
  CHECK_FALSE(none.asked->serves());
  // The frontend's own check, before cuDNN sees anything.
  const auto odd = run("cudnn", attention(DType::f16, 1, 2, 2, 24, 40, 20, 20));
  CHECK(odd.outcome == Outcome::refused);
  REQUIRE(odd.error);
  CHECK(contains(odd.error->text, "multiple of 8"));
  check_close("cudnn", fused_call());  // and the next call works
}

TEST_CASE("a plan that cannot be built is passed over, and said", "[cudnn]") {
  if (!built()) return;
  {
    const Mode as("first-plan-fails");
    check_close("cudnn", fused_call());
    const auto r = run("cudnn", fused_call());
    CHECK(noted(r, "candidate 1: eng2_k24=6, Hopper, composite graph, could not be built: "));
    CHECK(noted(r, "the stand-in cannot compile this plan"));
    CHECK(r.evidence.library_calls.at(0).detail == "plan eng1_k24=5, workspace 0 bytes");
  }
  expect_error("no-plan", Outcome::unavailable, "CUDNN_STATUS_NOT_SUPPORTED_RUNTIME_PREREQUISITE_MISSING", "cannot compile this plan");
}

TEST_CASE("what goes wrong when it runs", "[cudnn]") {
  if (!built()) return;
  expect_error("no-handle", Outcome::unavailable, "CUDNN_STATUS_NOT_INITIALIZED", "cudnnCreate");
  expect_error("huge-workspace", Outcome::out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory");
  expect_error("execute=5000", Outcome::failed, "CUDNN_STATUS_EXECUTION_FAILED", "told to fail");
  expect_error("execute=4004", Outcome::out_of_memory, "CUDNN_STATUS_INTERNAL_ERROR_DEVICE_ALLOCATION_FAILED", "told to fail");
  expect_error("execute=3000", Outcome::refused, "CUDNN_STATUS_NOT_SUPPORTED", "told to fail");
  const Mode as("leaves");
  const auto judged = run_and_compare(*backends::find_backend("cudnn", spec::Op::sdpa), fused_call());
  CHECK(judged.comparison.unwritten == 1 * 2 * 24 * 16);
}

TEST_CASE("dropout has no reference, so it is not run", "[cudnn]") {
  if (!built()) return;
  auto s = fused_call();
  of(s).dropout_p = 0.25;
  const auto r = run("cudnn", s);
  CHECK(r.outcome == Outcome::unavailable);
  REQUIRE(r.error);
  CHECK(r.error->code == "dropout");
}

TEST_CASE("a release without device properties runs all the same", "[cudnn-old]") {
  if (!built()) return;
  check_close("cudnn", fused_call());
  const auto r = run("cudnn", fused_call());
  REQUIRE(r.asked);
  CHECK(r.asked->version == "9.1.0");
  CHECK(r.asked->engines.size() == 3);
}

TEST_CASE("a release before these graphs is unavailable", "[cudnn-ancient]") {
  if (!built()) return;
  expect_error("ancient", Outcome::unavailable, "ENV025", "8.9.7 is older");
}

TEST_CASE("a library that is not there is unavailable, with the finding", "[cudnn-missing]") {
  const auto there = backends::find_backend("cudnn", spec::Op::sdpa)->probe();
  CHECK_FALSE(there.available);
  REQUIRE(there.finding_ids.size() == 1);
  CHECK((there.finding_ids[0] == "ENV025" || there.finding_ids[0] == "RUL013"));
  CHECK(run("cudnn", fused_call()).outcome == Outcome::unavailable);
}

TEST_CASE("an error that spoils the context is found when it is waited for", "[cudnn-illegal]") {
  if (!built()) return;
  const auto r = run("cudnn", fused_call());
  CHECK(r.outcome == Outcome::failed);
  REQUIRE(r.error);
  CHECK(r.error->code == "CUDA_ERROR_ILLEGAL_ADDRESS");
  CHECK(run("cudnn", fused_call()).outcome == Outcome::failed);
}

TEST_CASE("work that cannot be captured says so", "[cudnn-no-capture]") {
  if (!built()) return;
  check_close("cudnn", fused_call());
  auto s = fused_call();
  s.mode = spec::Mode::captured;
  const auto r = run("cudnn", s);
  CHECK(r.outcome == Outcome::refused);
  REQUIRE(r.error);
  CHECK(r.error->code == "cannot-capture");
}
