// Attempts under watch over the fake driver: what CUPTI hands over becomes the evidence of the attempt and of no other, and
// what keeps it from doing so becomes a status with advice. Captured mode and device timing, with their faults.
#include <algorithm>

#include "../backends/cases.hpp"
#include "backends/common/recorded.hpp"
#include "backends/cuda_runtime/nvml.hpp"

namespace {

using namespace dd;

spec::OpSpec attention(spec::Mode mode = spec::Mode::eager) {
  spec::OpSpec s;
  spec::Attention a;
  for (spec::TensorSpec* t : {&a.q, &a.k, &a.v}) *t = {{1, 2, 40, 64}, core::DType::f16, {}, 0, {}};
  s.op = a;
  s.context.target = "cuda:0";
  s.mode = mode;
  return s;
}


backends::RunResult watched(const spec::OpSpec& s, const report::BenchPlan* bench = nullptr, report::Comparison* comparison = nullptr) {
  const backends::Backend* backend = backends::find_backend("cuda-flash", spec::Op::sdpa);
  REQUIRE(backend);
  auto inputs = ops::cases::make_inputs(s);
  REQUIRE(inputs.ok());
  std::shared_ptr<std::byte> area;
  std::int64_t bytes = 0;
  core::Tensor out = test::poisoned_output(s, area, bytes);
  backends::RunRequest request{s, *inputs, out, s.mode, 0};
  request.bench = bench;
  backends::RunResult result = backends::run_recorded(*backend, request);
  if (comparison && !result.error) {
    const auto reference = ops::cases::run_reference(s, *inputs);
    REQUIRE(reference.ok());
    const compare::Wanted wanted{reference->values, reference->bound, reference->shape, reference->rows, reference->masked_rows, reference->bound_text, reference->mistrust};
    *comparison = compare::compare({out.storage.get(), bytes * 8 / core::info(out.dtype).bits, out.dtype, out.strides, out.offset, 0}, wanted, {}, {});
  }
  return result;
}

bool says(const std::vector<std::string>& notes, std::string_view what) {
  return std::any_of(notes.begin(), notes.end(), [&](const std::string& n) { return n.find(what) != std::string::npos; });
}

}  // namespace

TEST_CASE("a recorded kernel takes the place of the worker's word, with geometry, registers and time", "[recorded]") {
  for (int round = 0; round < 3; ++round) {  // a worker serves many attempts: none may see another's records
    const auto r = watched(attention());
    REQUIRE_FALSE(r.error);
    CHECK(r.evidence.recording == "recorded");
    REQUIRE(r.evidence.kernels.size() == 1);
    const report::Operation& k = r.evidence.kernels.front();
    CHECK(k.name == "dd_flash_plain_f16_64");
    CHECK(k.origin == "CUPTI");
    CHECK(k.count == 1);
    CHECK(k.seconds.value_or(0) == Approx(2e-6));
    for (const char* part : {"dispatchdoctor, tensor cores yes", "grid ", "block ", "40 registers", "bytes of shared memory", "stream 7"}) CHECK(k.detail.find(part) != std::string::npos);
    // Inputs, poison and result are this tool's own traffic: q, k, v, the output area, and the result back.
    CHECK(says(r.evidence.notes, "moved by this tool itself, not counted: 5 copies"));
    CHECK(r.evidence.conversions.empty());
    CHECK(r.evidence.syncs.empty());
  }
}

TEST_CASE("captured mode lists the graph, replays it over fresh poison and finds the kernel again", "[recorded]") {
  report::Comparison c;
  const auto r = watched(attention(spec::Mode::captured), nullptr, &c);
  REQUIRE_FALSE(r.error);
  CHECK(c.verdict == "close");
  REQUIRE(r.evidence.kernels.size() == 1);
  CHECK(r.evidence.kernels.front().origin == "CUPTI");
  CHECK(r.evidence.kernels.front().count == 1);  // the run before the capture is not counted
  CHECK(r.evidence.kernels.front().detail.find("replayed from a graph") != std::string::npos);
  CHECK(says(r.evidence.notes, "graph of 1 node"));
}

TEST_CASE("a timed run is timed by events, with clocks before and after, and is not recorded", "[recorded]") {
  const report::BenchPlan plan{12, 0.0, 20.0};
  for (const auto mode : {spec::Mode::eager, spec::Mode::captured}) {
    const auto r = watched(attention(mode), &plan);
    REQUIRE_FALSE(r.error);
    REQUIRE(r.timing);
    CHECK(r.timing->runs == 12);
    CHECK(r.timing->median == Approx(0.001));  // the fake's events are a millisecond apart
    CHECK(r.timing->noise == "quiet");
    CHECK(r.timing->method.find("device events") == 0);
    CHECK(r.timing->method.find("cache emptied") != std::string::npos);
    CHECK(r.timing->clocks_before == "SM 1755 MHz, memory 2619 MHz, 41 C, 120 W");
    CHECK(r.timing->throttle == "none");  // idling is no throttle
    CHECK(r.evidence.recording.empty());
  }
}

TEST_CASE("clocks that are lowered are named", "[throttled]") {
  const report::BenchPlan plan{3, 0.0, 20.0};
  const auto r = watched(attention(), &plan);
  REQUIRE(r.timing);
  CHECK(r.timing->throttle == "power cap, thermal slowdown by the driver");
  const auto modes = cuda::device_modes("0000:01:00.0");
  CHECK(modes.driver == "580.65.06");
  CHECK(modes.mig == false);
  CHECK(modes.memory_free == 3ll << 28);
  CHECK(cuda::clock_state("0000:99:00.0").to_text() == "unknown");
}

TEST_CASE("without CUPTI the run is as good, and captured mode still names the kernels", "[works]") {
  const auto eager = watched(attention());
  REQUIRE_FALSE(eager.error);
  CHECK(eager.evidence.recording == "missing");
  CHECK(says(eager.evidence.notes, "kernels not recorded, missing: "));
  CHECK(says(eager.evidence.notes, "--lib-dir"));
  const auto captured = watched(attention(spec::Mode::captured));
  REQUIRE(captured.evidence.kernels.size() == 1);
  CHECK(captured.evidence.kernels.front().name == "dd_flash_plain_f16_64");
  CHECK(captured.evidence.kernels.front().origin == "graph");
  CHECK(captured.evidence.kernels.front().detail.find("40 registers") != std::string::npos);
}

TEST_CASE("recording that is not permitted says what to allow", "[not-permitted]") {
  const auto r = watched(attention());
  REQUIRE_FALSE(r.error);
  CHECK(r.evidence.recording == "not-permitted");
  CHECK(says(r.evidence.notes, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"));
  CHECK(says(r.evidence.notes, "NVreg_RestrictProfilingToAdminUsers=0"));
  REQUIRE(r.evidence.kernels.size() == 1);
  CHECK(r.evidence.kernels.front().origin == "worker");
}

TEST_CASE("another profiler in the way is a failed recording, not a failed attempt", "[busy]") {
  const auto r = watched(attention());
  REQUIRE_FALSE(r.error);
  CHECK(r.evidence.recording == "failed");
  CHECK(says(r.evidence.notes, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"));
}

TEST_CASE("without external ids everything counts, and that is said", "[no-correlation]") {
  const auto r = watched(attention());
  CHECK(r.evidence.recording == "recorded");
  CHECK(says(r.evidence.notes, "recorded without correlation"));
  CHECK(std::any_of(r.evidence.kernels.begin(), r.evidence.kernels.end(), [](const report::Operation& k) { return k.name == "[copy host to device]" && k.origin == "CUPTI"; }));
}

TEST_CASE("a kernel that was not seen stays the worker's word", "[blind]") {
  const auto r = watched(attention());
  CHECK(r.evidence.recording == "recorded");
  REQUIRE(r.evidence.kernels.size() == 1);
  CHECK(r.evidence.kernels.front().origin == "worker");
}

TEST_CASE("records that CUPTI lost are counted", "[dropped]") {
  CHECK(says(watched(attention()).evidence.notes, "3 GPU activities were not recorded"));
}

TEST_CASE("work that cannot be captured is refused in that mode alone, with the driver's words", "[no-capture]") {
  report::Comparison c;
  CHECK_FALSE(watched(attention(), nullptr, &c).error);
  CHECK(c.verdict == "close");
  const auto r = watched(attention(spec::Mode::captured));
  CHECK(r.outcome == report::Outcome::refused);
  REQUIRE(r.error);
  CHECK(r.error->code == "cannot-capture");
  CHECK(r.error->text.find("cuLaunchKernel") != std::string::npos);
  // The stream is whole again: the next attempt in this process works.
  CHECK_FALSE(watched(attention()).error);
}

TEST_CASE("a result that was written while capturing, not by the replay, is not taken", "[escapes]") {
  report::Comparison c;
  const auto r = watched(attention(spec::Mode::captured), nullptr, &c);
  REQUIRE_FALSE(r.error);
  CHECK(c.verdict == "off");
  CHECK(c.unwritten > 0);
}
