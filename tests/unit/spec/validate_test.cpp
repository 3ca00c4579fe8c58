// Each row: a spec that is wrong in one or several ways, and exactly the fields that must be named.
#include <algorithm>

#include "spec/parse.hpp"
#include "spec/validate.hpp"
#include "support/catch.hpp"

using namespace dd;

namespace {

std::vector<std::string> fields_of(const std::string& json) {
  const auto spec = spec::parse_json(json, "specs.json");
  std::vector<std::string> out;
  if (spec) return out;
  for (const core::Problem& p : spec.problems()) {
    INFO(to_text(p));
    CHECK_FALSE(p.message.empty());
    CHECK_FALSE(p.seen.empty());
    CHECK_FALSE(p.wanted.empty());
    CHECK(p.file == "specs.json");
    CHECK(p.line >= 1);
    out.push_back(p.field);
  }
  std::sort(out.begin(), out.end());
  return out;
}

using Fields = std::vector<std::string>;
struct Row {
  const char* json;
  Fields fields;
};

const char* const base = R"("op":"sdpa","q":{"shape":[2,4,8,16]})";
std::string sdpa(const std::string& rest) { return "{" + std::string(base) + (rest.empty() ? "" : ",") + rest + "}"; }
std::string gemm(const std::string& rest) { return R"({"op":"gemm","x":{"shape":[4,32]},"w":{"shape":[32,8]})" + (rest.empty() ? std::string() : "," + rest) + "}"; }

}  // namespace

TEST_CASE("attention: each mistake is named", "[spec]") {
  const Row rows[] = {
      {"", {}},
      {R"("k":{"shape":[2,4,5,16]})", {}},  // v follows k
      {R"("k":{"shape":[2,4,5,16]},"v":{"shape":[2,4,6,16]})", {"v.shape[2]"}},
      {R"("k":{"shape":[3,4,8,16]})", {"k.shape[0]"}},
      {R"("k":{"shape":[2,4,8,17]},"v":{"shape":[2,4,8,16]})", {"k.shape[3]"}},
      {R"("v":{"shape":[2,4,8,40]})", {}},
      {R"("k":{"shape":[2,2,8,16]})", {"k.shape[1]"}},
      {R"("k":{"shape":[2,1,8,16]})", {}},
      {R"("k":{"shape":[2,2,8,16]},"enable_gqa":true)", {}},
      {R"("k":{"shape":[2,3,8,16]},"enable_gqa":true)", {"k.shape[1]"}},
      {R"("k":{"shape":[2,0,8,16]},"enable_gqa":true)", {"k.shape[1]"}},
      {R"("k":{"shape":[2,4,8,16]},"v":{"shape":[2,2,8,16]})", {"v.shape[1]"}},
      {R"("k":{"shape":[4,8,16]})", {"k.shape"}},
      {R"("k":{"shape":[16]})", {"k.shape"}},
      {R"("k":{"shape":[1,1,1,1,1]},"v":{"shape":[2,4,8,16]})", {"k.shape"}},
      {R"("k":{"shape":[2,4,-8,16]},"v":{"shape":[2,4,8,16]})", {"k.shape[2]"}},
      {R"("scale":0.5,"dropout_p":0.999)", {}},
      {R"("dropout_p":1)", {"dropout_p"}},
      {R"("dropout_p":-0.1)", {"dropout_p"}},
      {R"("mask":{"shape":[8,8]})", {}},
      {R"("mask":{"shape":[1,8]})", {}},
      {R"("mask":{"shape":[2,1,8,8]})", {}},
      {R"("mask":{"shape":[3,1,8,8]})", {"mask.shape[0]"}},
      {R"("mask":{"shape":[7,9]})", {"mask.shape[0]", "mask.shape[1]"}},
      {R"("mask":{"shape":[1,1,1,8,8]})", {"mask.shape"}},
      {R"("mask":{"dtype":"s8"})", {"mask.dtype"}},
      {R"("mask":{"dtype":"f16"})", {}},
      {R"("mask":{"content":"padding:8"})", {}},
      {R"("mask":{"content":"padding:9"})", {"mask.content"}},
      {R"("mask":{"content":"padding:-1"})", {"mask.content"}},
      {R"("mask":{"content":"window:1"})", {}},
      {R"("mask":{"content":"window:0"})", {"mask.content"}},
      {R"("mask":{"content":"circular"})", {"mask.content"}},
      {R"("mask":{"content":"a/b.npy"})", {}},
      {R"("mask":{"requires_grad":true})", {"mask.requires_grad"}},
      {R"("mask":{"strides":[8]})", {"mask.strides"}},
      {R"("mask":{"strides":[0,1]})", {}},
      {R"("mask":{"content":"causal"},"is_causal":true)", {}},
      {R"("is_causal":true,"causal_align":"bottom-right")", {}},
      {R"("mask":{"shape":[1,8],"content":"causal"})", {"mask.shape"}},
      {R"("mask":{"shape":[8],"content":"window:2"})", {"mask.shape"}},
      {R"("mask":{"shape":[8,1],"content":"causal"})", {"mask.shape"}},
      {R"("mask":{"shape":[8,1],"content":"padding:2"})", {"mask.shape"}},
      {R"("mask":{"shape":[8],"content":"padding:2"})", {}},
      {R"("mask":{"shape":[1,8],"content":"random"})", {}},
      {R"("nested":{"q_lengths":[8,3]})", {}},
      {R"("nested":{"q_lengths":[8,3],"kv_lengths":[0,8]})", {}},
      {R"("nested":{"q_lengths":[8,9]})", {"nested.kv_lengths[1]", "nested.q_lengths[1]"}},
      {R"("nested":{"q_lengths":[8,1,1],"kv_lengths":[8,8]})", {"nested.q_lengths"}},
      {R"("nested":{"kv_lengths":[8,8]})", {"nested.q_lengths"}},
      {R"("out":{"strides":[512,128,16,1]})", {}},
      {R"("out":{"strides":[512,128,8,1]})", {"out.strides"}},
      {R"("out":{"strides":[0,128,16,1]})", {"out.strides"}},
      {R"("out":{"strides":[512,16,64,1]})", {}},
      {R"("out":{"strides":[128,16,1]})", {"out.strides"}},
      {R"("rtol":-1,"atol":-0.5)", {"atol", "rtol"}},
      {R"("policy":{"allow":[]})", {"policy.allow"}},
      {R"("policy":{"allow":["a","a"]})", {"policy.allow[1]"}},
      {R"("policy":{"allow":["a"],"deny":["a"]})", {"policy.deny"}},
      {R"("policy":{"allow":["a"],"force":"b"})", {"policy.force"}},
      {R"("policy":{"deny":["b"],"force":"b"})", {"policy.force"}},
      {R"("policy":{"order":["b","C"]})", {"policy.order[1]"}},
      {R"("mode":["eager","eager"])", {"mode"}},
      {R"("context":{"framework":"jax"})", {"context.framework"}},
      {R"("context":{"torch":"2.6.0+cu124","cuda":"12.4","cudnn":"9.1.0.70"})", {}},
      {R"("context":{"torch":"latest"})", {"context.torch"}},
      {R"("context":{"target":"sm_80,,sm_90"})", {"context.target"}},
      {R"("context":{"target":"cuda:1023"})", {}},
      {R"("context":{"target":"cuda:1024"})", {"context.target"}},
      {R"("context":{"target":"cuda:-1"})", {"context.target"}},
      {R"("context":{"target":"cuda:"})", {"context.target"}},
      {R"("context":{"env":{"9A":"x"}})", {"context.env.9A"}},
      {R"("flags":{"autocast":"f32"})", {"flags.autocast"}},
  };
  for (const Row& row : rows) {
    INFO(row.json);
    CHECK(fields_of(sdpa(row.json)) == row.fields);
  }
}

TEST_CASE("tensors: overflow, strides and place in the storage", "[spec]") {
  const Row rows[] = {
      {R"({"op":"sdpa","q":{"shape":[4294967296,4294967296,2,2]}})", {"q.shape"}},
      {R"({"op":"sdpa","q":{"shape":[1,1,1152921504606846976,4],"dtype":"f64"}})", {"q.shape"}},
      {R"({"op":"sdpa","q":{"shape":[1,1,2,4],"strides":[8,8,4]}})", {"q.strides"}},
      {R"({"op":"sdpa","q":{"shape":[1,1,2,4],"strides":[8,8,-4,1]}})", {"q.strides[2]"}},
      {R"({"op":"sdpa","q":{"shape":[1,1,2,4],"strides":[8,8,9223372036854775807,1]}})", {"q.strides"}},
      {R"({"op":"sdpa","q":{"shape":[1,1,2,4],"offset":-1}})", {"q.offset"}},
      {R"({"op":"sdpa","q":{"shape":[1,1,2,4],"offset":2,"storage":10}})", {}},
      {R"({"op":"sdpa","q":{"shape":[1,1,2,4],"offset":3,"storage":10}})", {"q.offset"}},
      {R"({"op":"sdpa","q":{"shape":[1,1,2,4],"storage":-1}})", {"q.storage"}},
      {R"({"op":"sdpa","q":{"shape":[1,1,2,4],"strides":[0,0,0,0],"storage":1}})", {}},
      {R"({"op":"sdpa","q":{"shape":[0,1,2,4]}})", {}},
      {R"({"op":"sdpa","q":{"shape":[1,1,0,4]},"k":{"shape":[1,1,5,4]}})", {}},
      {R"({"op":"sdpa","q":{"shape":[1,1,5,4]},"k":{"shape":[1,1,0,4]}})", {}},
      {R"({"op":"sdpa","q":{"shape":[1,1,5,0]}})", {"q.shape[3]"}},
      {R"({"op":"sdpa","q":{"shape":[5,4]}})", {}},
      {R"({"op":"sdpa","q":{"shape":[4]}})", {"q.shape"}},
      {R"({"op":"sdpa","q":{"shape":[1,1,5,4],"dtype":"bool"},"k":{"dtype":"f32"}})", {"q.dtype"}},
      {R"({"op":"sdpa","q":{"dtype":"f16"}})", {"q.shape"}},
      {R"({"op":"gemm","x":{"shape":[4,4],"dtype":"s4","offset":3},"w":{"shape":[4,4]}})", {"x.offset"}},
  };
  for (const Row& row : rows) {
    INFO(row.json);
    CHECK(fields_of(row.json) == row.fields);
  }
}

TEST_CASE("matrix product: each mistake is named", "[spec]") {
  const Row rows[] = {
      {"", {}},
      {R"("bias":{})", {}},
      {R"("bias":{"shape":[8]},"epilogue":"bias+relu")", {}},
      {R"("bias":{"shape":[4,1]})", {}},
      {R"("bias":{"shape":[7]})", {"bias.shape[0]"}},
      {R"("bias":{"shape":[2,4,8]})", {"bias.shape"}},
      {R"("bias":{"dtype":"bool"})", {"bias.dtype"}},
      {R"("bias":{},"epilogue":"relu")", {"epilogue"}},
      {R"("bias":{},"epilogue":"none")", {"epilogue"}},
      {R"("epilogue":"bias+gelu")", {"epilogue"}},
      {R"("compute":"s32")", {"compute"}},
      {R"("workspace":-1)", {"workspace"}},
      {R"("out_dtype":"s4")", {"out_dtype"}},
      {R"("trans_x":true,"trans_w":true)", {}},
      {R"("out":{"strides":[4,1]})", {"out.strides"}},
      {R"("out":{"strides":[1,4]})", {}},
      {R"("quant":{"scheme":"w4a16:group=16"})", {"x.dtype"}},  // x is f32 in this base
  };
  for (const Row& row : rows) {
    INFO(row.json);
    if (std::string(row.json).find("w4a16") == std::string::npos) CHECK(fields_of(gemm(row.json)) == row.fields);
  }
  const Row whole[] = {
      {R"({"op":"gemm","x":{"shape":[4,32]},"w":{"shape":[31,8]}})", {"w.shape[0]"}},
      {R"({"op":"gemm","x":{"shape":[2,4,32]},"w":{"shape":[3,32,8]}})", {"w.shape[0]"}},
      {R"({"op":"gemm","x":{"shape":[2,4,32]},"w":{"shape":[1,32,8]}})", {}},
      {R"({"op":"gemm","x":{"shape":[2,4,32]},"w":{"shape":[32,8]}})", {}},
      {R"({"op":"gemm","x":{"shape":[32]},"w":{"shape":[32,8]}})", {"x.shape"}},
      {R"({"op":"gemm","x":{"shape":[4,32]}})", {"w.shape"}},
      {R"({"op":"gemm","x":{"shape":[0,32]},"w":{"shape":[32,0]}})", {}},
      {R"({"op":"gemm","x":{"shape":[4,0]},"w":{"shape":[0,8]}})", {}},
      {R"({"op":"gemm","x":{"shape":[4,32],"dtype":"s8"},"w":{"shape":[32,8],"dtype":"u8"}})", {}},
      {R"({"op":"gemm","x":{"shape":[4,32],"dtype":"f16"},"w":{"shape":[32,8],"dtype":"s8"}})", {"w.dtype"}},
      {R"({"op":"gemm","x":{"shape":[4,32],"dtype":"f16"},"w":{"shape":[32,8]},"quant":{"scheme":"w4a16:group=16"}})", {}},
      {R"({"op":"gemm","x":{"shape":[4,32]},"w":{"shape":[32,8]},"quant":{"scheme":"w4a16:group=16"}})", {}},
      {R"({"op":"gemm","x":{"shape":[4,32],"dtype":"f32"},"w":{"shape":[32,8]},"quant":{"scheme":"w4a16:group=16"}})", {"x.dtype"}},
      {R"({"op":"gemm","x":{"shape":[4,32]},"w":{"shape":[32,8]},"quant":{"scheme":"w4a16:group=24"}})", {"quant.group_size"}},
      // What a framework's layer does with groups that do not divide K is for its rules to say.
      {R"({"op":"gemm","x":{"shape":[4,32]},"w":{"shape":[32,8]},"quant":{"scheme":"w4a16:group=24"},"context":{"framework":"vllm","target":"sm_80"}})", {}},
      {R"({"op":"gemm","x":{"shape":[4,32]},"w":{"shape":[32,8]},"quant":{"scheme":"w4a16:group=24"},"context":{"framework":"torch","target":"sm_80"}})", {"quant.group_size"}},
      {R"({"op":"gemm","x":{"shape":[4,32]},"w":{"shape":[32,8]},"quant":{"scheme":"w7a16"}})", {"quant.bits"}},
      {R"({"op":"gemm","x":{"shape":[4,32]},"w":{"shape":[32,8]},"quant":{"scheme":"w4a9"}})", {"quant.act_bits"}},
      {R"({"op":"gemm","x":{"shape":[4,32]},"w":{"shape":[32,8],"dtype":"s8"},"quant":{"scheme":"w4a16"}})", {"w.dtype"}},
      {R"({"op":"gemm","x":{"shape":[4,32]},"w":{"shape":[32,8]},"quant":{"scheme":"w4a16","bits":8}})", {"quant.bits"}},
      {R"({"op":"gemm","x":{"shape":[4,32]},"w":{"shape":[32,8]},"quant":{"bits":8,"act_bits":8,"group_size":-3,"scale_dtype":"s8"}})", {"quant.group_size", "quant.scale_dtype"}},
      {R"({"op":"gemm","x":{"shape":[4,32],"strides":[33,1]},"w":{"shape":[32,8]},"trans_x":true})", {"trans_x"}},
      {R"({"op":"gemm","x":{"shape":[4,32],"strides":[1,4]},"w":{"shape":[32,8]},"trans_x":true})", {}},
  };
  for (const Row& row : whole) {
    INFO(row.json);
    CHECK(fields_of(row.json) == row.fields);
  }
}

TEST_CASE("three mistakes are three problems", "[spec]") {
  CHECK(fields_of(sdpa(R"("k":{"shape":[2,3,8,16]},"dropout_p":2,"mask":{"shape":[9,8]},"rtol":-1)")) ==
        Fields{"dropout_p", "k.shape[1]", "mask.shape[0]", "rtol"});
}

TEST_CASE("NaN tolerances and scales set by a program are refused", "[spec]") {
  auto spec = spec::parse_json(sdpa(""));
  REQUIRE(spec);
  spec::OpSpec wrong = *spec;
  wrong.rtol = __builtin_nan("");
  wrong.atol = __builtin_inf();
  std::get<spec::Attention>(wrong.op).scale = __builtin_nan("");
  std::get<spec::Attention>(wrong.op).dropout_p = __builtin_nan("");
  CHECK(spec::validate(wrong).size() == 4);
}
