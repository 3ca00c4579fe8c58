// What only a GPU can show: that the kernels give on a device what they give in the simulation, that recording, capture and
// timing work with the real driver, and the first experiment of this project. Without a device every case says SKIPPED and
// the program ends with 77; so does a case whose tool is missing (CUPTI not permitted, a backend that this build lacks).
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "../unit/backends/cases.hpp"
#include "backends/common/recorded.hpp"
#include "backends/cuda_runtime/driver.hpp"
#include "backends/cuda_runtime/nvml.hpp"
#include "facts/derive.hpp"
#include "ops/tensor/convert.hpp"

namespace dd::test {
extern bool something_was_skipped;  // main.cpp makes an exit code of it
}

namespace {

using namespace dd;
using core::DType;

void skipped(const std::string& why) {
  test::something_was_skipped = true;
  std::printf("SKIPPED: %s\n", why.c_str());
}

bool no_device() {
  const auto device = cuda::describe_device(0);
  if (!device) skipped("no CUDA device: " + core::to_text(device.problems().front()));
  return !device;
}

spec::OpSpec attention(DType type, std::int64_t heads, std::int64_t kv_heads, std::int64_t queries, std::int64_t keys, std::int64_t dim, bool causal = false) {
  spec::OpSpec s;
  spec::Attention a;
  a.q = {{1, heads, queries, dim}, type, {}, 0, {}};
  a.k = a.v = {{1, kv_heads, keys, dim}, type, {}, 0, {}};
  a.enable_gqa = heads != kv_heads;
  a.is_causal = causal;
  s.op = a;
  s.context.target = "cuda:0";
  return s;
}

spec::OpSpec product(DType type, std::int64_t m, std::int64_t n, std::int64_t k) {
  spec::OpSpec s;
  spec::Gemm g;
  g.x = {{m, k}, type, {}, 0, {}};
  g.w = {{k, n}, type, {}, 0, {}};
  s.op = g;
  s.context.target = "cuda:0";
  return s;
}

spec::OpSpec quantized(int bits, std::int64_t group, std::int64_t m, std::int64_t n, std::int64_t k) {
  spec::OpSpec s = product(DType::f16, m, n, k);
  spec::Quant q;
  q.bits = bits;
  q.group_size = group;
  q.scale_dtype = DType::f16;
  std::get<1>(s.op).quant = q;
  std::get<1>(s.op).w.dtype = bits == 4 ? DType::s4 : DType::s8;
  return s;
}

const backends::Backend& backend_of(const char* name, const spec::OpSpec& s) {
  const backends::Backend* b = backends::find_backend(name, s.is_attention() ? spec::Op::sdpa : spec::Op::gemm);
  REQUIRE(b);
  return *b;
}

// As the cases elsewhere do it, but a backend that is not there is a skip.
void check_close(const char* name, const spec::OpSpec& s) {
  if (const auto there = backend_of(name, s).probe(); !there.available) return skipped(std::string(name) + ": " + there.detail);
  test::check_close(name, s);
}

// One attempt and its result as numbers.
struct Ran {
  backends::RunResult result;
  std::vector<double> values;
};
Ran run(const backends::Backend& backend, const spec::OpSpec& s, const report::BenchPlan* bench = nullptr) {
  auto inputs = ops::cases::make_inputs(s);
  REQUIRE(inputs.ok());
  std::shared_ptr<std::byte> area;
  std::int64_t bytes = 0;
  core::Tensor out = test::poisoned_output(s, area, bytes);
  backends::RunRequest request{s, *inputs, out, s.mode, 0};
  request.bench = bench;
  Ran ran{backends::run_recorded(backend, request), {}};
  for (std::int64_t i = 0; i < bytes * 8 / core::info(out.dtype).bits; ++i) ran.values.push_back(ops::load(out.storage.get(), out.dtype, i));
  return ran;
}

std::vector<std::string> names(const report::Evidence& e) {
  std::vector<std::string> out;
  for (const report::Operation& k : e.kernels) out.push_back(k.name);
  std::sort(out.begin(), out.end());
  return out;
}

std::string list(const report::Evidence& e) {
  std::string out;
  for (const report::Operation& k : e.kernels) out += fmt::format("\n    {} [{}] {}", k.name, k.origin, k.detail);
  return out;
}

}  // namespace

TEST_CASE("the device describes itself, and memory comes back as it went", "[device]") {
  if (no_device()) return;
  auto device = cuda::Device::get(0);
  REQUIRE(device);
  const cuda::DeviceInfo& info = (*device)->info();
  std::printf("device: %s, compute capability %d, %d multiprocessors, %lld bytes, L2 %d, driver %d, pci %s\n", info.name.c_str(), info.compute_capability, info.sm_count,
              static_cast<long long>(info.memory_bytes), info.l2_bytes, info.driver_version, info.pci.c_str());
  std::printf("clocks: %s; NVML: %s\n", cuda::clock_state(info.pci).to_text().c_str(), cuda::nvml_problem().empty() ? "works" : cuda::nvml_problem().c_str());
  CHECK(info.compute_capability >= 50);
  CHECK(info.sm_count > 0);
  CHECK(info.memory_free > 0);
  CHECK(info.l2_bytes > 0);
  std::vector<unsigned char> out(1 << 20), back(out.size(), 0);
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<unsigned char>(i * 7 + i / 256);
  cuda::Memory memory(**device);
  REQUIRE_FALSE(memory.allocate(static_cast<std::int64_t>(out.size())));
  REQUIRE_FALSE((*device)->upload(memory.address(), out.data(), static_cast<std::int64_t>(out.size())));
  REQUIRE_FALSE((*device)->download(back.data(), memory.address(), static_cast<std::int64_t>(back.size())));
  CHECK(out == back);
}

TEST_CASE("our own kernels are right on the device", "[own-kernels]") {
  if (no_device()) return;
  for (const DType type : {DType::f16, DType::bf16})
    for (const std::int64_t dim : {16, 64, 104, 128}) {
      INFO("head size " << dim);
      check_close("cuda-flash", attention(type, 4, 4, 130, 130, dim, true));
      check_close("cuda-flash", attention(type, 4, 2, 33, 257, dim));
      auto masked = attention(type, 4, 4, 130, 130, dim);  // the kernel that reads masks
      std::get<0>(masked.op).mask = spec::MaskSpec{DType::boolean, {130, 130}, {}, 0, "random", false};
      check_close("cuda-flash", masked);
    }
  for (const auto& [strides, offset] : {std::pair{spec::Dims{4096, 2048, 32, 1}, 1}, std::pair{spec::Dims{4224, 2112, 33, 1}, 0}, std::pair{spec::Dims{4096, 2048, 1, 64}, 0},
                                        std::pair{spec::Dims{8192, 4096, 64, 2}, 0}}) {
    auto laid = attention(DType::f16, 2, 2, 64, 64, 32);
    std::get<0>(laid.op).out.strides = strides;
    std::get<0>(laid.op).out.offset = offset;
    check_close("cuda-flash", laid);
  }
  for (const DType type : {DType::f64, DType::f32, DType::f16, DType::bf16}) check_close("cuda-naive", attention(type, 2, 1, 19, 37, 24, true));
  for (const DType type : {DType::f16, DType::bf16}) {
    check_close("cuda-wmma", product(type, 128, 192, 256));
    check_close("cuda-wmma", product(type, 133, 65, 97));
  }
  for (const DType type : {DType::f64, DType::f32, DType::s8}) check_close("cuda-naive", product(type, 33, 65, 97));
  for (const int bits : {4, 8})
    for (const std::int64_t m : {1, 2, 3, 40}) check_close("cuda-packed", quantized(bits, 32, m, 128, 256));
  auto laid = product(DType::f16, 133, 65, 97);
  std::get<1>(laid.op).out.strides = spec::Dims{1, 133};
  check_close("cuda-wmma", laid);
  laid = quantized(4, 32, 40, 128, 256);
  std::get<1>(laid.op).out.strides = spec::Dims{1, 40};
  check_close("cuda-packed", laid);
}

TEST_CASE("every backend whose rules allow a call serves it, and is right", "[all-backends]") {
  if (no_device()) return;
  const spec::OpSpec specs[] = {attention(DType::f16, 8, 8, 256, 256, 64, true), attention(DType::f64, 2, 2, 40, 40, 32), attention(DType::bf16, 8, 2, 65, 300, 128),
                                product(DType::f16, 128, 192, 256), product(DType::f32, 64, 64, 64), product(DType::f64, 40, 24, 16), product(DType::bf16, 128, 128, 512),
                                product(DType::s8, 64, 64, 64), quantized(4, 128, 1, 256, 512), quantized(8, 128, 32, 256, 512)};
  int tried = 0;
  for (const spec::OpSpec& s : specs)
    for (const backends::Backend& b : backends::all_backends()) {
      const bool op = b.op == (s.is_attention() ? spec::Op::sdpa : spec::Op::gemm);
      const bool quant = !s.is_attention() && s.gemm().quant.has_value();
      if (b.device != "cuda" || !op || !b.run || !(quant ? b.quantized : b.dense)) continue;
      if (b.probe && !b.probe().available) {
        std::printf("not there: %s: %s\n", std::string(b.name).c_str(), b.probe().detail.c_str());
        continue;
      }
      facts::FactSet facts = facts::derive_facts(s);
      if (b.add_facts) b.add_facts(facts);
      if (b.add_call_facts) b.add_call_facts(s, facts);
      if (rules::eligibility(b.judged_by(), facts) == rules::Eligibility::blocked) continue;
      const test::Judged judged = test::run_and_compare(b, s);
      INFO(b.name << (judged.run.error ? ": " + judged.run.error->code + ": " + judged.run.error->text : ""));
      CHECK_FALSE(judged.run.error);
      if (!judged.run.error) CHECK(judged.comparison.verdict == "close");
      ++tried;
    }
  CHECK(tried > 0);
}

TEST_CASE("CUPTI records the kernel of an attempt, with registers and time", "[recorded]") {
  if (no_device()) return;
  const auto s = attention(DType::f16, 8, 8, 256, 256, 64, true);
  for (int round = 0; round < 2; ++round) {
    const auto r = run(backend_of("cuda-flash", s), s).result;
    REQUIRE_FALSE(r.error);
    if (r.evidence.recording != "recorded") {
      skipped("recording " + r.evidence.recording + (r.evidence.notes.empty() ? "" : ": " + r.evidence.notes.back()));
      return;
    }
    std::printf("recorded:%s\n", list(r.evidence).c_str());
    REQUIRE(r.evidence.kernels.size() == 1);
    CHECK(r.evidence.kernels.front().name == "dd_flash_plain_f16_64");
    CHECK(r.evidence.kernels.front().origin == "CUPTI");
    CHECK(r.evidence.kernels.front().seconds.value_or(0) > 0);
    CHECK(r.evidence.kernels.front().detail.find("registers") != std::string::npos);
    CHECK(r.evidence.conversions.empty());
  }
}

TEST_CASE("a captured call replays to the same numbers and the same kernels", "[captured]") {
  if (no_device()) return;
  for (const auto& [name, s] : {std::pair<const char*, spec::OpSpec>{"cuda-flash", attention(DType::f16, 8, 8, 256, 256, 64, true)},
                                {"cuda-wmma", product(DType::f16, 128, 192, 256)}}) {
    const Ran eager = run(backend_of(name, s), s);
    spec::OpSpec replayed = s;
    replayed.mode = spec::Mode::captured;
    const Ran captured = run(backend_of(name, s), replayed);
    INFO(name << (captured.result.error ? ": " + captured.result.error->text : ""));
    REQUIRE_FALSE(eager.result.error);
    REQUIRE_FALSE(captured.result.error);
    CHECK(names(eager.result.evidence) == names(captured.result.evidence));
    CHECK(eager.values == captured.values);
    check_close(name, replayed);
  }
}

TEST_CASE("device timing repeats itself", "[timed]") {
  if (no_device()) return;
  const auto s = product(DType::f16, 1024, 1024, 1024);
  const report::BenchPlan plan{50, 0.02, 5.0};
  const auto first = run(backend_of("cuda-wmma", s), s, &plan).result, second = run(backend_of("cuda-wmma", s), s, &plan).result;
  REQUIRE(first.timing);
  REQUIRE(second.timing);
  for (const auto& r : {first, second})
    std::printf("timed: median %.3e s, spread %.3f, %d runs, %s; %s; clocks %s -> %s; throttled %s\n", r.timing->median, r.timing->spread, r.timing->runs, r.timing->noise.c_str(),
                r.timing->method.c_str(), r.timing->clocks_before.c_str(), r.timing->clocks_after.c_str(), r.timing->throttle.c_str());
  CHECK(first.timing->runs >= 50);
  CHECK(first.timing->median > 0);
  CHECK(first.timing->method.find("cache emptied") != std::string::npos);
}

TEST_CASE("memory that the device does not have is out-of-memory, and the next call works", "[faults]") {
  if (no_device()) return;
  auto device = cuda::Device::get(0);
  REQUIRE(device);
  std::uint64_t address = 0;
  const auto error = (*device)->allocate((*device)->info().memory_bytes * 2, address);
  REQUIRE(error);
  CHECK(error->name == "CUDA_ERROR_OUT_OF_MEMORY");
  check_close("cuda-wmma", product(DType::f16, 40, 24, 48));
}

// Attention in f16, Q, K and V of [1,8,256,64], causal: the default and forced math give the same within the tolerance of
// f16. In f64 no fused backend serves the call. A product in f16 names its operator, its library call and its kernels.
TEST_CASE("the seed experiment", "[seed]") {
  if (no_device()) return;
  const auto half = attention(DType::f16, 8, 8, 256, 256, 64, true);
  const Ran flash = run(backend_of("cuda-flash", half), half);
  REQUIRE_FALSE(flash.result.error);
  const backends::Backend* math = backends::find_backend("cuda-math", spec::Op::sdpa);
  const bool with_math = math && math->run && (!math->probe || math->probe().available);
  const Ran other = run(with_math ? *math : backend_of("cuda-naive", half), half);
  REQUIRE_FALSE(other.result.error);
  double greatest = 0;
  for (std::size_t i = 0; i < flash.values.size(); ++i) greatest = std::max(greatest, std::abs(flash.values[i] - other.values[i]));
  std::printf("seed: greatest difference of cuda-flash and %s in f16: %.3e%s%s\n", with_math ? "cuda-math" : "cuda-naive", greatest, list(flash.result.evidence).c_str(),
              list(other.result.evidence).c_str());
  CHECK(greatest <= 1e-3 + 1e-3 * 4);  // the usual tolerance of f16 for values of this size
  const auto wide = attention(DType::f64, 8, 8, 256, 256, 64, true);
  for (const backends::Backend& b : backends::all_backends()) {
    if (b.device != "cuda" || b.op != spec::Op::sdpa || !b.fast || !b.run) continue;
    if (const auto there = b.probe ? b.probe() : backends::Availability{}; !there.available) {
      skipped(fmt::format("{} could not refuse f64: {}", b.name, there.detail));  // its absence is no refusal
      continue;
    }
    const auto r = run(b, wide).result;
    std::printf("seed: %s forced in f64: %s\n", std::string(b.name).c_str(), r.error ? (r.error->code + ": " + r.error->text).c_str() : "served");
    CHECK(r.error);
  }
  const auto gemm = product(DType::f16, 128, 192, 256);
  for (const backends::Backend& b : backends::all_backends()) {
    if (b.device != "cuda" || b.op != spec::Op::gemm || !b.dense || !b.run || (b.probe && !b.probe().available)) continue;
    const auto r = run(b, gemm).result;
    std::string calls;
    for (const report::Operation& c : r.evidence.library_calls) calls += fmt::format("\n    call {} [{}]", c.name, c.origin);
    std::printf("seed: gemm 128x256 by 256x192 on %s: %s%s%s\n", std::string(b.name).c_str(), r.error ? r.error->text.c_str() : "ran", calls.c_str(), list(r.evidence).c_str());
    if (!r.error) CHECK_FALSE(r.evidence.kernels.empty());
  }
  if (!with_math) skipped("this build has no cuda-math to force; cuda-naive stood in for it");
}

// Runs only when it is asked for by this tag, by the test of the exit code: what fails must not end as a skip.
TEST_CASE("a skip and a failure", "[.skip-and-failure]") {
  skipped("on purpose");
  FAIL_CHECK("on purpose");
}
TEST_CASE("a skip alone", "[.skip-alone]") { skipped("on purpose"); }
