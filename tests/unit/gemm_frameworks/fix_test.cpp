// Proposals for matrix products: each form of change clears what stood in the way and brings nothing new.
#include "session/fix.hpp"

#include <algorithm>

#include "diagnosed.hpp"
#include "frameworks/gemm/scopes.hpp"

using namespace dd;
using rules::Change;
using session::Judged;
using session::Proposal;

namespace {

const Judged::Candidate* of(const Judged& judged, const std::string& name) {
  const auto it = std::find_if(judged.candidates.begin(), judged.candidates.end(), [&](const auto& c) { return c.name == name; });
  return it == judged.candidates.end() ? nullptr : &*it;
}

bool lists(const std::vector<const rules::Rule*>& list, std::string_view id) {
  return std::any_of(list.begin(), list.end(), [&](const rules::Rule* r) { return r->id == id; });
}

struct Proposed {
  std::vector<Proposal> list;
  session::Judge judge;
  Judged before;
};

Proposed propose(const spec::OpSpec& spec) {
  const frameworks::Framework* framework = frameworks::find_framework(spec.context.framework, spec);
  REQUIRE(framework);
  Proposed out;
  out.judge = session::judge_of(*framework, nullptr);
  out.before = out.judge(spec);
  out.list = session::propose(spec, out.judge);
  return out;
}

void check_each_helps(const spec::OpSpec& spec, const Proposed& p) {
  for (const Proposal& proposal : p.list) {
    INFO(proposal.text());
    const Judged after = p.judge(proposal.edits.back().spec);
    const Judged::Candidate *was = of(p.before, proposal.candidate), *now = of(after, proposal.candidate);
    REQUIRE(was);
    REQUIRE(now);
    CHECK(after.selected == std::optional<std::string>(proposal.candidate));
    CHECK_FALSE(after.fails);
    CHECK(now->blockers.empty());
    for (const std::string& id : proposal.clears) CHECK_FALSE(lists(now->slowers, id));
    for (const rules::Rule* rule : now->slowers) CHECK(lists(was->slowers, rule->id));
    CHECK_FALSE(proposal.edits.back().spec == spec);
    CHECK(proposal.chosen_before == (p.before.selected == std::optional<std::string>(proposal.candidate) && !p.before.fails));
  }
}

// The first proposal that starts with this kind of change.
const Proposal* first(const Proposed& p, Change change) {
  for (const Proposal& proposal : p.list)
    if (proposal.edits.size() == 1 && proposal.edits[0].change == change) return &proposal;
  return nullptr;
}

Proposal expect(const std::string& line, Change change, const std::string& candidate, const std::string& cleared) {
  INFO(line);
  const spec::OpSpec spec = test::spec_of(line);
  const Proposed p = propose(spec);
  check_each_helps(spec, p);
  std::string all;
  for (const Proposal& proposal : p.list) all += proposal.text() + "\n";
  INFO(all);
  const Proposal* found = first(p, change);
  REQUIRE(found);
  CHECK(found->candidate == candidate);
  CHECK(std::find(found->clears.begin(), found->clears.end(), cleared) != found->clears.end());
  return *found;
}

}  // namespace

TEST_CASE("product fixes: extents are padded, layouts kept") {
  const auto k = expect("gemm --x 64x4095 --w 4095x4096 --trans-w --dtype f16 --framework torch --target sm_80", Change::pad_k, "torch-mm", "TMM029");
  CHECK(k.edits[0].spec.gemm().x.shape == spec::Dims{64, 4096});
  CHECK(k.edits[0].spec.gemm().w.shape == spec::Dims{4096, 4096});
  CHECK(k.edits[0].spec.gemm().trans_w);
  CHECK(k.bytes == 2.0 * (64 * 4096 + 4096.0 * 4096));
  CHECK(k.text().find("pad k from 4095 to 4096") != std::string::npos);
  const auto n = expect("gemm --x 64x4096 --w 4096x1000 --trans-w --dtype f8_e4m3 --out-dtype bf16 --extra call=scaled_mm --framework torch --torch-version 2.6.0 --target sm_90", Change::pad_n, "torch-scaled-mm", "TSM004");
  CHECK(n.edits[0].spec.gemm().w.shape == spec::Dims{4096, 1008});
  CHECK(n.flops_percent == Approx(0.8));
  const auto m = expect("gemm --x 16x64 --w 64x64 --trans-w --dtype s8 --out-dtype s32 --extra call=int_mm --framework torch --target sm_80", Change::pad_m, "torch-int-mm", "TIM001");
  CHECK(m.edits[0].spec.gemm().x.shape == spec::Dims{32, 64});
}

TEST_CASE("product fixes: transposed views, contiguous operands, aligned offsets") {
  const auto view = expect("gemm --x 64x4096 --w 4096x4096 --dtype f8_e4m3 --out-dtype bf16 --extra call=scaled_mm --framework torch --torch-version 2.6.0 --target sm_90", Change::transpose_view, "torch-scaled-mm", "TSM010");
  CHECK(view.edits[0].spec.gemm().trans_w);
  CHECK(view.bytes == 0);
  const auto copy = expect("gemm --x 64x64 --w 64x64 --x-strides 256x2 --dtype bf16 --framework torch --target sm_90", Change::make_contiguous, "torch-mm", "TMM023");
  CHECK(copy.chosen_before);
  CHECK_FALSE(copy.edits[0].spec.gemm().x.strides);
  CHECK(copy.bytes == 2.0 * 64 * 64);
  const auto aligned = expect("gemm --x 64x1024 --x-offset 1 --w 1024x1024 --trans-w --dtype f16 --framework torch --target sm_80", Change::align_offset, "torch-mm", "TMM030");
  CHECK(aligned.edits[0].spec.gemm().x.offset == 0);
}

TEST_CASE("product fixes: types, settings, versions, ranks") {
  const auto cast = expect("gemm --x 1x4096 --w 4096x4096 --dtype f16 --quant w4a16:group=128 --extra call=weight_int4pack_mm --framework torch --target sm_80", Change::cast_dtype, "torch-tinygemm-int4", "TIG001");
  CHECK(cast.edits[0].spec.gemm().x.dtype == core::DType::bf16);
  CHECK(cast.keeps == rules::Keeps::precision);
  const auto variable = expect("gemm --x 64x4096 --w 4096x4096 --trans-w --bias --dtype bf16 --env DISABLE_ADDMM_CUDA_LT=1 --framework torch --target sm_90", Change::change_setting, "torch-addmm-lt", "TAD001");
  CHECK_FALSE(variable.edits[0].spec.context.env.contains("DISABLE_ADDMM_CUDA_LT"));
  expect("gemm --x 16x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=128:packing=gptq --env VLLM_DISABLED_KERNELS=MacheteLinearKernel --framework vllm --target sm_90", Change::change_setting, "vllm-machete", "VLM001");
  const auto version = expect("gemm --x 2x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=64:packing=nf4 --framework bitsandbytes --package-version bitsandbytes=0.49.0 --target sm_89", Change::change_version, "bnb-4bit", "BNB003");
  CHECK(version.edits[0].spec.context.versions.at("bitsandbytes") == "0.50.0");
  const auto ranks = expect("gemm --x 16x11008 --w 11008x4096 --dtype f16 --quant w4a16:group=128:packing=gptq --extra k_full=11008 --extra k_part=1376 --framework vllm --built-with conch=off --target sm_80", Change::change_setting, "vllm-marlin", "VLM044");
  CHECK(ranks.edits[0].spec.gemm().extra.at("k_part") != "1376");
  const auto group = expect("gemm --x 16x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=32:packing=gptq --framework vllm --target sm_90", Change::regroup, "vllm-machete", "VLM013");
  CHECK(group.edits[0].spec.gemm().quant->group_size == 128);
  const auto tf32 = expect("gemm --x 4096x4096 --w 4096x4096 --dtype f32 --framework torch --target sm_80", Change::enable_flag, "torch-mm", "TMM025");
  CHECK(tf32.keeps == rules::Keeps::precision);
}

TEST_CASE("product fixes: two extents off the grid take two changes") {
  const spec::OpSpec spec = test::spec_of("gemm --x 64x4095 --w 4095x1001 --dtype f16 --framework torch --target sm_80");
  const Proposed p = propose(spec);
  check_each_helps(spec, p);
  REQUIRE(!p.list.empty());
  REQUIRE(p.list.front().edits.size() == 2);
  CHECK(p.list.front().edits.back().spec.gemm().w.shape == spec::Dims{4096, 1008});
}

TEST_CASE("product fixes: nothing is proposed for a call that has no fault") {
  CHECK(propose(test::spec_of("gemm --x 64x4096 --w 4096x4096 --trans-w --dtype bf16 --framework torch --target sm_90")).list.empty());
}

// Every row's own blocked example: whatever is proposed for it holds.
TEST_CASE("product fixes: proposals for the example of every rule clear it and add none") {
  int proposals = 0, specs = 0;
  for (const frameworks::gemm::Scope& scope : frameworks::gemm::all_scopes())
    for (const rules::Rule& rule : scope.rules()) {
      if (rule.blocked_example.empty() || !rule.blocked_example.starts_with("gemm") || rule.blocked_example.find("--framework") == std::string_view::npos) continue;
      INFO(rule.id << ": " << rule.blocked_example);
      const spec::OpSpec spec = test::spec_of(std::string(rule.blocked_example));
      const Proposed p = propose(spec);
      check_each_helps(spec, p);
      ++specs;
      proposals += static_cast<int>(p.list.size());
    }
  CHECK(specs > 150);
  CHECK(proposals > 80);
}

TEST_CASE("product fixes: original and changed call on the reference with the same data") {
  const auto tried = [](const std::string& line, Change change) {
    const spec::OpSpec spec = test::spec_of(line);
    const auto edits = session::edits_for(change, spec, "torch-mm");
    REQUIRE(!edits.empty());
    return session::try_on_reference(spec, edits.front().spec);
  };
  CHECK(tried("gemm --x 5x33 --w 33x7 --trans-w --dtype f16 --framework torch --target sm_80", Change::pad_k) == "the reference gives the same bits");
  CHECK(tried("gemm --x 5x32 --w 32x7 --bias --dtype f32 --framework torch --target sm_80", Change::pad_n) == "the reference gives the same bits");
  CHECK(tried("gemm --x 4x5x32 --w 32x7 --dtype bf16 --framework torch --target sm_80", Change::pad_m) == "the reference gives the same bits");
  CHECK(tried("gemm --x 5x32 --w 32x7 --x-strides 128x2 --dtype bf16 --framework torch --target sm_80", Change::make_contiguous) == "the reference gives the same bits");
  CHECK(tried("gemm --x 5x32 --w 32x7 --dtype f32 --framework torch --target sm_80", Change::cast_dtype).starts_with("greatest difference on the reference"));
}

TEST_CASE("two paddings of one operand copy it once") {
  const auto spec = test::spec_of("gemm --x 16x4095 --w 4095x4097 --dtype f16 --framework torch --target sm_90");
  const Proposed p = propose(spec);
  const auto both = std::find_if(p.list.begin(), p.list.end(), [](const Proposal& one) {
    return one.edits.size() == 2 && one.edits[0].change == Change::pad_k && one.edits[1].change == Change::pad_n;
  });
  REQUIRE(both != p.list.end());
  CHECK(both->bytes == 2.0 * (16 * 4096 + 4096 * 4104));
}
