#include "facts/derive.hpp"

#include "spec/parse.hpp"
#include "support/catch.hpp"
#include "support/random_spec.hpp"

using namespace dd;
using facts::Id;

namespace {

facts::FactSet facts_of(const char* json) {
  const auto spec = spec::parse_json(json);
  if (!spec)
    for (const core::Problem& p : spec.problems()) UNSCOPED_INFO(to_text(p));
  REQUIRE(spec);
  return facts::derive_facts(*spec);
}
std::string text(const facts::FactSet& facts, Id id) { return to_text(facts.value(id)); }
std::string where(const facts::FactSet& facts, Id id) { return facts[id].where; }

}  // namespace

TEST_CASE("facts of an attention call", "[facts]") {
  const auto f = facts_of(R"({"op":"sdpa","q":{"shape":[2,8,16,64],"dtype":"f16","offset":4},"k":{"shape":[2,4,32,64]},"v":{"shape":[2,4,32,40],"strides":[6144,1536,48,1]},
    "mask":{"dtype":"f32","shape":[16,32],"strides":[0,2],"content":"padding:3"},"enable_gqa":true,"is_causal":true,"dropout_p":0.25,
    "flags":{"tf32":true,"enabled":{"cudnn":false}},"context":{"target":"sm_90","torch":"2.6.0+cu124"}})");
  CHECK(text(f, Id::op) == "sdpa");
  CHECK(text(f, Id::batch) == "2");
  CHECK(text(f, Id::q_heads) == "8");
  CHECK(text(f, Id::kv_heads) == "4");
  CHECK(text(f, Id::v_heads) == "4");
  CHECK(text(f, Id::q_len) == "16");
  CHECK(text(f, Id::kv_len) == "32");
  CHECK(where(f, Id::kv_len) == "k.shape[2]");
  CHECK(text(f, Id::head_dim) == "64");
  CHECK(where(f, Id::head_dim) == "q.shape[3]");
  CHECK(f[Id::head_dim].provenance == facts::Provenance::spec);
  CHECK(text(f, Id::head_dim_v) == "40");
  CHECK(text(f, Id::v_last_stride) == "1");
  CHECK(where(f, Id::v_last_stride) == "v.strides[3]");
  CHECK(text(f, Id::q_align_bytes) == "8");
  CHECK(text(f, Id::k_align_bytes) == "256");
  CHECK(text(f, Id::mask_kind) == "float");
  CHECK(text(f, Id::mask_dtype) == "f32");
  CHECK(text(f, Id::mask_content) == "padding");
  CHECK(text(f, Id::mask_last_stride) == "2");
  CHECK(text(f, Id::score_bytes) == std::to_string(2 * 8 * 16 * 32 * 4));
  // q, k whole; v touches rows of 48 but only 40 of them count as elements; the expanded mask row once, every second element.
  CHECK(text(f, Id::input_bytes) == std::to_string(2 * 8 * 16 * 64 * 2 + 2 * 4 * 32 * 64 * 2 + 2 * 4 * 32 * 40 * 2 + 63 * 4));
  CHECK(text(f, Id::flag_cudnn) == "false");
  CHECK(text(f, Id::tf32) == "true");
  CHECK(text(f, Id::compute_capability) == "90");
  CHECK(text(f, Id::device_type) == "cuda");
  CHECK(text(f, Id::torch_version) == "2.6.0");
  CHECK(text(f, Id::m) == "not applicable");
  CHECK(text(f, Id::quant_bits) == "not applicable");
  CHECK_FALSE(f.known(Id::cuda_version));
  CHECK_FALSE(f.known(Id::cpu_isa));
  CHECK_FALSE(f.known(Id::sm_count));
}

TEST_CASE("what has no meaning is not applicable, what nobody said is unknown", "[facts]") {
  const auto f = facts_of(R"({"op":"sdpa","q":{"shape":[2,3,8]}})");
  CHECK(text(f, Id::mask_kind) == "none");
  CHECK(text(f, Id::mask_dtype) == "not applicable");
  CHECK(text(f, Id::q_rank) == "3");
  CHECK(text(f, Id::batch) == "2");
  CHECK(text(f, Id::q_heads) == "1");
  CHECK(f[Id::q_heads].provenance == facts::Provenance::derived);
  CHECK_FALSE(f.known(Id::target));
  CHECK_FALSE(f.known(Id::device_type));
  CHECK_FALSE(facts_of(R"({"op":"sdpa","q":{"shape":[2,3,8]},"context":{"target":"my-gpu"}})").known(Id::device_type));
  CHECK(text(facts_of(R"({"op":"sdpa","q":{"shape":[2,3,8]},"context":{"target":"host"}})"), Id::device_type) == "cpu");
  const auto file = facts_of(R"({"op":"sdpa","q":{"shape":[2,3,8]},"mask":{"content":"m.npy"}})");
  CHECK_FALSE(file.known(Id::mask_content));
}

TEST_CASE("facts of a matrix product", "[facts]") {
  const auto f = facts_of(R"({"op":"gemm","x":{"shape":[3,1,64],"dtype":"bf16","offset":1},"w":{"shape":[64,24]},"trans_w":true,"bias":{},
    "quant":{"scheme":"w4a16:group=32:zero:packing=awq"},"workspace":1024,"extra":{"k_full":128,"fast_accum":true,"alpha":0.5,"call":"linear"}})");
  CHECK(text(f, Id::m) == "1");
  CHECK(text(f, Id::n) == "24");
  CHECK(text(f, Id::k) == "64");
  CHECK(text(f, Id::gemm_batch) == "3");
  CHECK(text(f, Id::dtype_w) == "u4");
  CHECK(text(f, Id::dtype_out) == "bf16");
  CHECK(text(f, Id::dtype_bias) == "bf16");
  CHECK(text(f, Id::compute) == "f32");
  CHECK(text(f, Id::x_layout) == "row");
  CHECK(text(f, Id::w_layout) == "column");
  CHECK(text(f, Id::x_align_bytes) == "2");
  CHECK(text(f, Id::epilogue) == "bias");
  CHECK(text(f, Id::workspace_bytes) == "1024");
  CHECK(text(f, Id::quant_group) == "32");
  CHECK(text(f, Id::quant_packing) == "awq");
  CHECK(text(f, Id::dequantized_bytes) == std::to_string(64 * 24 * 2));
  CHECK(text(f, Id::input_bytes) == std::to_string(3 * 64 * 2 + 64 * 24 / 2 + 24 * 2));
  CHECK(text(f, Id::k_full) == "128");
  CHECK(where(f, Id::k_full) == "extra.k_full");
  CHECK(text(f, Id::fast_accum) == "true");
  CHECK(text(f, Id::call) == "linear");
  CHECK(text(f, Id::head_dim) == "not applicable");
  const auto plain = facts_of(R"({"op":"gemm","x":{"shape":[4,64],"strides":[1,4]},"w":{"shape":[64,1],"strides":[2,3]}})");
  CHECK(text(plain, Id::quant_bits) == "not applicable");
  CHECK(text(plain, Id::dtype_bias) == "not applicable");
  CHECK(text(plain, Id::x_layout) == "column");
  CHECK(text(plain, Id::w_layout) == "strided");
  CHECK_FALSE(plain.known(Id::workspace_bytes));
}

TEST_CASE("facts of specs that validation would refuse", "[facts]") {
  spec::OpSpec wrong;
  facts::derive_facts(wrong);  // no shapes at all
  spec::Attention a;
  a.q.shape = a.k.shape = {INT64_MAX, 3, INT64_MAX, 5};
  a.v.shape = {7};
  a.q.offset = -3;
  a.k.offset = INT64_MAX;
  a.q.strides = spec::Dims{1};
  wrong.op = a;
  const auto f = facts::derive_facts(wrong);
  CHECK_FALSE(f.known(Id::score_bytes));
  CHECK_FALSE(f.known(Id::input_bytes));
  CHECK(text(f, Id::v_heads) == "not applicable");
  CHECK(text(f, Id::q_align_bytes) == "1");
  wrong.op = spec::Gemm{};
  CHECK_FALSE(facts::derive_facts(wrong).known(Id::m));
}

TEST_CASE("every fact of a random spec has a place and the type of its id", "[facts]") {
  test::RandomSpec random(5);
  for (int i = 0; i < 2000; ++i) {
    const facts::FactSet f = facts::derive_facts(random.next());
    for (std::size_t at = 0; at < facts::id_count; ++at) {
      const Id id = static_cast<Id>(at);
      if (!f.known(id)) continue;
      INFO(facts::info(id).name << " = " << text(f, id));
      REQUIRE_FALSE(where(f, id).empty());
      const std::size_t kind = f.value(id).index();  // 2 bool, 3 integer, 4 real, 5 version, 6 text
      REQUIRE((kind == 1 || kind == 2 + static_cast<std::size_t>(facts::info(id).type)));
    }
  }
}
