// The rules of the cudnn backend: examples on both sides, and, where cuDNN can be asked, its own word on calls drawn over
// types, sizes, masks and architectures. A disagreement that no doubt explains fails.
#include <algorithm>
#include <iostream>

#include "backends/backend.hpp"
#include "backends/cudnn/frontend/ask.hpp"
#include "cli/options.hpp"
#include "facts/derive.hpp"
#include "facts/profiles.hpp"
#include "support/catch.hpp"

using namespace dd;
using facts::Id;

namespace {

const backends::Backend& backend() {
  const backends::Backend* found = backends::find_backend("cudnn", spec::Op::sdpa);
  REQUIRE(found);
  return *found;
}

spec::OpSpec read(std::string_view line) {
  const auto spec = cli::parse_batch_line(line);
  INFO(line);
  REQUIRE(spec.ok());
  return *spec;
}

facts::FactSet facts_of(const spec::OpSpec& spec) {
  facts::FactSet f = facts::derive_facts(spec);
  if (const auto profile = facts::find_profile(spec.context.target); profile.ok()) facts::apply(*profile, f);
  if (!f.known(Id::cudnn_version)) f.set(Id::cudnn_version, facts::Version::of(9, 19, 0));
  return f;
}

}  // namespace

TEST_CASE("every rule of cudnn blocks its one example and passes the other") {
  for (const rules::Rule& rule : backend().rules()) {
    INFO(rule.id << ": " << rule.blocked_example << " | " << rule.passing_example);
    CHECK(rules::status(rule, facts_of(read(rule.blocked_example))) == rules::Truth::unmet);
    CHECK(rules::status(rule, facts_of(read(rule.passing_example))) == rules::Truth::met);
  }
}

TEST_CASE("an answer about odd strides, more than memory or a backward pass is marked") {
  report::Asked yes;
  yes.order = {9};
  const auto doubts = [&](const char* line) { return cudnn::doubts(read(line), yes, std::int64_t{1} << 30); };
  CHECK(doubts("sdpa --q 1x8x256x64 --dtype f16").empty());
  CHECK(doubts("sdpa --q 1x8x256x64 --dtype f16 --q-offset 1").size() == 1);
  CHECK(doubts("sdpa --q 1x2x64x32 --q-strides 4224x2112x33x1 --dtype f16").size() == 1);
  CHECK(doubts("sdpa --q 64x8x65536x64 --dtype f16").size() == 1);
  CHECK(doubts("sdpa --q 1x8x256x64 --dtype f16 --train").size() == 1);
  CHECK(doubts("sdpa --q 1x8x256x512 --dtype f16").size() == 1);
  report::Asked no;
  CHECK(cudnn::doubts(read("sdpa --q 1x8x256x64 --dtype f16 --q-offset 1"), no, 0).empty());
  CHECK(cudnn::doubts(read("gemm --m 64 --n 64 --k 64 --dtype f32"), no, 0).size() == 1);
  CHECK(cudnn::doubts(read("gemm --m 64 --n 64 --k 64 --dtype f16"), no, 0).empty());
}

TEST_CASE("what has no form as a question is not asked") {
  const auto profile = facts::find_profile("sm_90");
  const std::string device = *cudnn::device_properties_of(*profile);
  CHECK(cudnn::answer(read("sdpa --b 2 --h 2 --sq 64 --d 64 --dtype f16 --nested 64,32"), device).error->code == "no-question");
  CHECK(cudnn::answer(read("sdpa --q 1x8x256x64 --dtype f8_e4m3"), device).error->code == "no-question");
  auto own = *profile;
  own.cudnn_device = R"({"deviceVer": 900, "cudaDeviceId": 3, "deviceName": "recorded"})";
  CHECK(*cudnn::device_properties_of(own) == R"({"cudaDeviceId":0,"deviceName":"recorded","deviceVer":900})");
  own.cudnn_device = R"({"deviceVer": 1000, "deviceName": "another"})";
  CHECK(*cudnn::device_properties_of(own) == device);
  CHECK_FALSE(cudnn::device_properties_of(*facts::find_profile("gfx942")));
  CHECK_FALSE(cudnn::device_properties_of(*facts::find_profile("cpu")));
}

TEST_CASE("the rules and cuDNN itself agree") {
  if (!cudnn::ask_built()) {
    std::cout << "skipped: this build cannot ask cuDNN\n";
    return;
  }
  std::vector<std::string> lines;
  for (const char* target : {"sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100", "sm_120"})
    for (const char* call : {
             "--q 2x8x128x64 --dtype f16", "--q 2x8x128x64 --dtype bf16", "--q 2x8x128x64 --dtype f32", "--q 2x8x128x64 --dtype f64",
             "--q 2x8x128x100 --dtype f16", "--q 2x8x128x8 --dtype f16", "--q 2x8x128x128 --dtype bf16 --causal", "--q 2x8x128x256 --dtype f16 --causal",
             "--q 2x8x128x192 --v 2x8x128x128 --dtype f16", "--q 2x8x128x64 --k 2x2x256x64 --gqa --dtype f16", 
             "--q 2x8x128x64 --k 2x8x256x64 --dtype f16 --causal --causal-align bottom-right",
             "--q 2x8x256x64 --k 2x8x128x64 --dtype f16 --causal --causal-align bottom-right", "--q 2x8x128x64 --dtype f16 --mask bool",
             "--q 2x8x128x64 --dtype f16 --mask float", "--q 2x8x128x64 --dtype f16 --mask f32", "--q 2x8x128x64 --dtype f16 --mask float:1x1x128x128",
             "--q 2x8x128x64 --dtype f16 --mask float:2x1x1x128", "--q 2x8x128x64 --dtype f16 --mask float:2x8x128x128 --causal",
             "--q 2x8x128x64 --dtype f16 --dropout 0.125", "--q 2x8x128x64 --dtype f16 --dropout 0.125 --causal",
             "--q 2x8x1x64 --k 2x8x256x64 --dtype f16", "--q 2x8x1x64 --k 2x8x256x64 --dtype f16 --causal", "--q 2x8x128x64 --dtype f16 --layout bshd",
             "--q 2x8x100x64 --k 2x8x33x64 --dtype bf16", "--q 8x128x64 --dtype f16"})
      lines.push_back(std::string("sdpa ") + call + " --target " + target);
  int asked = 0;
  for (const std::string& line : lines) {
    const spec::OpSpec spec = read(line);
    const report::Asked a = cudnn::answer(spec, *cudnn::device_properties_of(*facts::find_profile(spec.context.target)));
    if (!a.answered() || a.version.rfind("9.19", 0) != 0) {
      std::cout << "skipped: " << (a.error ? a.error->text : "cuDNN " + a.version) << "\n";
      return;
    }
    if (a.serves() && !a.doubts.empty()) continue;
    ++asked;
    std::string why = a.refusal;
    for (const auto& e : a.engines)
      if (!e.accepted && why.empty() && e.id == 1) why = e.reason;
    INFO(line << ": cuDNN " << (a.serves() ? "accepts" : "declines, " + why));
    CHECK((rules::eligibility(backend().rules(), facts_of(spec)) == rules::Eligibility::eligible) == a.serves());
  }
  CHECK(asked > 150);
}
