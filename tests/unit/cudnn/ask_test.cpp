// cuDNN itself, asked here without a GPU. Where this build or this machine cannot ask, the test says so and stops.
#include <algorithm>
#include <iostream>

#include "backends/cudnn/frontend/ask.hpp"
#include "support/catch.hpp"

using namespace dd;
using cudnn::Answer;
using cudnn::AttentionQuestion;

namespace {

cudnn::AskTensor dense(core::DType dtype, std::vector<std::int64_t> dim) { return {dtype, dim, spec::contiguous_strides(dim)}; }

AttentionQuestion question(std::int64_t head_dim, core::DType dtype = core::DType::f16, int causal = 0) {
  AttentionQuestion out;
  out.q = out.k = out.v = out.out = dense(dtype, {2, 8, 1024, head_dim});
  out.causal = causal;
  out.scale = 0.125;
  return out;
}

Answer ask(const AttentionQuestion& q, int capability) {
  cudnn::AskDevice device;
  device.compute_capability = capability;
  return cudnn::ask(q, cudnn::device_properties(device));
}

const cudnn::EngineAnswer& engine(const Answer& a, std::int64_t id) {
  const auto at = std::find_if(a.engines.begin(), a.engines.end(), [&](const auto& e) { return e.id == id; });
  REQUIRE(at != a.engines.end());
  return *at;
}

// Expectations below are those of cuDNN 9.19; on another release only that an answer comes is checked.
bool can_ask() {
  const Answer a = ask(question(64), 90);
  if (a.answered() && a.version.rfind("9.19", 0) == 0) return true;
  const std::string why = a.error ? a.error->text : "it is " + a.version;
  std::cout << "skipped: cuDNN 9.19 cannot be asked here: " << why << "\n";
  WARN("skipped: cuDNN 9.19 cannot be asked here: " << why);
  return false;
}

}  // namespace

TEST_CASE("a mask goes to cuDNN as it lies, or dense where its kernels could not read it") {
  using core::DType;
  const auto form = [](DType dtype, std::vector<std::int64_t> dim, std::vector<std::int64_t> stride, std::int64_t start = 0) {
    return cudnn::bias_form({dtype, std::move(dim), std::move(stride)}, DType::f16, start);
  };
  const auto dense_mask = form(DType::f16, {1, 1, 64, 255}, {16320, 16320, 255, 1});
  CHECK_FALSE(dense_mask.written_out);  // odd rows are no matter where they follow each other
  CHECK_FALSE(form(DType::f16, {1, 1, 64, 64}, {8192, 8192, 128, 1}, 32).written_out);
  CHECK(form(DType::f16, {1, 1, 64, 64}, {4160, 4160, 65, 1}).written_out);
  CHECK(form(DType::f16, {1, 1, 64, 64}, {4096, 4096, 64, 1}, 2).written_out);
  CHECK(form(DType::f32, {1, 1, 64, 64}, {4096, 4096, 1, 64}).written_out);
  const auto boolean = form(DType::boolean, {2, 8, 64, 64}, {4096, 0, 64, 1});
  CHECK(boolean.written_out);
  CHECK(boolean.form.dtype == DType::f16);
  CHECK(boolean.form.dim == std::vector<std::int64_t>{2, 1, 64, 64});
  CHECK(boolean.form.stride == std::vector<std::int64_t>{4096, 4096, 64, 1});
  const auto repeated = form(DType::f32, {2, 8, 1, 64}, {64, 0, 0, 1});
  CHECK_FALSE(repeated.written_out);
  CHECK(repeated.form.dim == std::vector<std::int64_t>{2, 1, 1, 64});
  CHECK(repeated.form.dtype == DType::f32);
}

TEST_CASE("Hopper serves plain and causal f16 attention, each decliner gives its reason") {
  if (!can_ask()) return;
  const Answer plain = ask(question(64), 90);
  INFO(plain.refusal);
  REQUIRE(plain.serves());
  CHECK(plain.order.front() == 9);
  CHECK(engine(plain, 9).offered);
  CHECK(engine(plain, 8).accepted);
  for (const auto& e : plain.engines) {
    INFO("engine " << e.id);
    CHECK((e.accepted || (!e.reason.empty() && !e.code.empty())));
  }
  const Answer causal = ask(question(64, core::DType::bf16, 1), 90);
  REQUIRE(causal.serves());
  CHECK(causal.order.front() == 2);
  CHECK(engine(causal, 1).accepted);
}

TEST_CASE("the architecture decides: Ampere, Blackwell, Turing") {
  if (!can_ask()) return;
  CHECK(ask(question(64), 80).order.front() == 8);
  CHECK(ask(question(64), 100).order.front() == 10);
  const Answer turing = ask(question(64), 75);
  CHECK_FALSE(turing.serves());
  CHECK((!turing.refusal.empty() || !turing.engines.empty()));
}

TEST_CASE("what cuDNN does not take is refused with its own words") {
  if (!can_ask()) return;
  const Answer odd = ask(question(100), 90);
  CHECK_FALSE(odd.serves());
  CHECK(odd.refusal.find("multiple of 8") != std::string::npos);
  const Answer wide = ask(question(264), 90);
  REQUIRE(wide.serves());
  CHECK_FALSE(engine(wide, 9).accepted);
  CHECK(engine(wide, 9).reason.find("256") != std::string::npos);
  const Answer f64 = ask(question(64, core::DType::f64), 90);
  CHECK_FALSE(f64.serves());
  CHECK((!f64.refusal.empty() || !f64.engines.empty()));
}

TEST_CASE("what may crash cuDNN is not asked") {
  if (!cudnn::ask_built()) return;
  AttentionQuestion empty = question(64);
  empty.q.dim[2] = 0;
  const Answer a = ask(empty, 90);
  CHECK_FALSE(a.answered());
  CHECK_FALSE(cudnn::ask(question(64), "not json").answered());
  CHECK(cudnn::ask(question(64), "{\"deviceVer\": 900}").serves() == false);
}

TEST_CASE("a product is answered per engine as well") {
  if (!can_ask()) return;
  cudnn::ProductQuestion q;
  q.x = dense(core::DType::f16, {1, 512, 512});
  q.w = dense(core::DType::f16, {1, 512, 512});
  q.out = dense(core::DType::f16, {1, 512, 512});
  cudnn::AskDevice device;
  const Answer a = cudnn::ask(q, cudnn::device_properties(device));
  INFO(a.refusal);
  REQUIRE(a.serves());
  CHECK(std::any_of(a.engines.begin(), a.engines.end(), [](const auto& e) { return !e.accepted && !e.reason.empty(); }));
}

TEST_CASE("the same question gives the same answer") {
  if (!can_ask()) return;
  const Answer a = ask(question(128, core::DType::f16, 2), 90), b = ask(question(128, core::DType::f16, 2), 90);
  CHECK(a.order == b.order);
  REQUIRE(a.engines.size() == b.engines.size());
  for (std::size_t i = 0; i < a.engines.size(); ++i) CHECK(a.engines[i].reason == b.engines[i].reason);
}
