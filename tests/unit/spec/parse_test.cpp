#include <algorithm>

#include "spec/canonical.hpp"
#include "spec/options.hpp"
#include "spec/parse.hpp"
#include "support/catch.hpp"

using namespace dd;

namespace {
core::Problem only(const core::Result<spec::OpSpec>& result) {
  REQUIRE_FALSE(result);
  for (const core::Problem& p : result.problems()) UNSCOPED_INFO(to_text(p));
  REQUIRE(result.problems().size() == 1);
  return result.problems()[0];
}
}  // namespace

TEST_CASE("JSON: unknown fields are named, with the line and the nearest name", "[spec]") {
  const auto p = only(spec::parse_json("{\"op\": \"sdpa\",\n \"q\": {\"shape\": [1,2,3,4]},\n \"is_casual\": true}", "a.json"));
  CHECK(p.field == "is_casual");
  CHECK(p.wanted == "is_causal?");
  CHECK(p.line == 3);
  CHECK(p.file == "a.json");
  CHECK(only(spec::parse_json(R"({"op":"sdpa","q":{"shape":[1,2,3,4],"stride":[1,1,1,1]}})")).field == "q.stride");
  CHECK(only(spec::parse_json(R"({"op":"sdpa","q":{"shape":[1,2,3,4]},"flags":{"enabled":{"flsh":true}}})")).wanted == "flash?");
  CHECK(only(spec::parse_json(R"({"op":"sdpa","q":{"shape":[1,2,3,4]},"x":{}})")).field == "x");
  CHECK(only(spec::parse_json(R"({"op":"sdpa","q":{"shape":[1,2,3,4]},"extra":{"no_such":1}})")).field == "extra.no_such");
}

TEST_CASE("JSON: wrong types and duplicate keys are named", "[spec]") {
  const auto field = [](const char* rest) { return only(spec::parse_json(std::string(R"({"op":"sdpa","q":{"shape":[1,2,3,4]},)") + rest + "}")).field; };
  CHECK(field(R"("is_causal":"yes")") == "is_causal");
  CHECK(field(R"("is_causal":null)") == "is_causal");
  CHECK(field(R"("scale":"big")") == "scale");
  CHECK(field(R"("dropout_p":"0")") == "dropout_p");
  CHECK(field(R"("k":[1,2])") == "k");
  CHECK(field(R"("k":{"shape":"1x2"})") == "k.shape");
  CHECK(field(R"("k":{"shape":[1,2.5,3,4]})") == "k.shape");
  CHECK(field(R"("k":{"shape":[]})") == "k.shape");
  CHECK(field(R"("k":{"dtype":"f17"})") == "k.dtype");
  CHECK(field(R"("policy":{"allow":"cpu"})") == "policy.allow");
  CHECK(field(R"("policy":{"allow":["a,b"]})") == "policy.allow");
  CHECK(field(R"("context":{"env":{"A":1}})") == "context.env.A");
  CHECK(field(R"("context":{"build":{"flash":"no"}})") == "context.build.flash");
  CHECK(field(R"("seed":-1)") == "seed");
  CHECK(field(R"("seed":1.5)") == "seed");
  CHECK(field(R"("seed":18446744073709551616)") == "seed");
  CHECK(field(R"("mode":"fast")") == "mode");
  CHECK(field(R"("data":"normal","data":"uniform")") == "data");
  CHECK(field(R"("k":{"shape":[1,2,99999999999999999999,4]})") == "k.shape");
}

TEST_CASE("JSON: a zero byte ends nothing, and is placed", "[spec]") {
  using namespace std::string_view_literals;
  const auto p = only(spec::parse_json("{\"op\":\"sdpa\",\n\"q\":{\"shape\":[1,2,3,4]}}\0{}"sv, "a.json"));
  CHECK(p.line == 2);
  CHECK(p.seen == "column 25: a zero byte, 3 bytes before the end");
  CHECK(p.message == "the text is not JSON");
  CHECK(only(spec::parse_json("\0"sv)).seen == "column 1: a zero byte, 1 bytes before the end");
}

TEST_CASE("spec files: past a number of specs the rest is left out, and said", "[spec]") {
  std::string lines, list = "[";
  for (std::size_t i = 0; i < spec::most_specs + 2; ++i) {
    lines += "3\n";
    list += i ? ",3" : "3";
  }
  for (const auto& entries : {spec::parse_jsonl(lines, "a.jsonl"), spec::parse_json_document(list + "]", "a.json")}) {
    REQUIRE(entries.size() == spec::most_specs + 1);
    CHECK(only(entries.back().spec).seen == "more than 100000 specs");
  }
}

TEST_CASE("JSON: text that is no spec", "[spec]") {
  for (const char* text : {"", "   ", "{", "[", "{]", "nul", "{\"op\":\"sdpa\",}", "{\"op\":\"sdpa\" \"q\":1}", "\xff\xfe", "{\"a\":\"\x01\"}", "1e999", "[[]]", "[1,2]", "3", "null", "\"x\"",
                           "{\"op\":\"conv\"}", "{\"q\":{}}", "{\"op\":3}"}) {
    INFO(text);
    const auto result = spec::parse_json(text, "f");
    REQUIRE_FALSE(result);
    for (const core::Problem& p : result.problems()) {
      CHECK(p.file == "f");
      CHECK(p.line >= 1);
      CHECK_FALSE(p.message.empty());
    }
  }
  CHECK(spec::parse_json_document("[]", "f").empty());
}

TEST_CASE("JSON: depth and size are bounded", "[spec]") {
  const std::string deep = std::string(100000, '[') + std::string(100000, ']');
  CHECK(only(spec::parse_json(deep)).message == "the text is past a limit");
  const std::string nested = R"({"op":"sdpa","q":)" + std::string(5000, '[');
  CHECK(only(spec::parse_json(nested)).message == "the text is past a limit");
  CHECK(only(spec::parse_json(R"({"op":")" + std::string(70000, 'x') + "\"}")).message == "the text is past a limit");
  std::string many = R"({"op":"sdpa","q":{"shape":[1)";
  for (int i = 0; i < 500000; ++i) many += ",1";
  CHECK(only(spec::parse_json(many + "]}}")).message == "the text is past a limit");
}

TEST_CASE("a list and JSON lines keep the good records", "[spec]") {
  const std::string good = R"({"op":"gemm","x":{"shape":[2,3]},"w":{"shape":[3,4]}})";
  const auto list = spec::parse_json_document("[" + good + ",\n{\"op\":\"gemm\"},\n" + good + "\n]", "l.json");
  REQUIRE(list.size() == 3);
  CHECK(list[0].spec);
  CHECK_FALSE(list[1].spec);
  CHECK(list[1].line == 2);
  CHECK(list[1].spec.problems().size() == 2);
  CHECK(list[1].spec.problems()[0].line == 2);
  CHECK(list[2].spec);
  const auto cut = spec::parse_json_document("[" + good + "," + good + ",{", "l.json");
  REQUIRE(cut.size() == 3);
  CHECK(cut[1].spec);
  CHECK_FALSE(cut[2].spec);
  const auto lines = spec::parse_jsonl("\xef\xbb\xbf" + good + "\r\n\n{\"op\":\n" + good + "\n", "l.jsonl");
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].spec);
  CHECK_FALSE(lines[1].spec);
  CHECK(lines[1].line == 3);
  CHECK(lines[1].spec.problems()[0].line == 3);
  CHECK(lines[2].line == 4);
}

TEST_CASE("JSON: problems of validation carry the line of their field", "[spec]") {
  const auto p = only(spec::parse_json("{\"op\": \"sdpa\",\n\"q\": {\n\"shape\": [1,2,3,4]\n},\n\"k\": {\n\n\"shape\": [1,2,3,5]\n},\n\"v\": {\"shape\": [1,2,3,4]}}", "f"));
  CHECK(p.field == "k.shape[3]");
  CHECK(p.line == 7);
}

TEST_CASE("the contract's example is read", "[spec]") {
  const auto spec = spec::parse_json(R"({"op": "sdpa",
 "q": {"shape": [1,8,256,64], "dtype": "f16", "strides": null, "offset": 0}, "k": {}, "v": {},
 "mask": {"dtype": "bool", "shape": [256,256], "strides": null, "content": "causal", "requires_grad": false},
 "is_causal": false, "causal_align": "top-left", "scale": null, "dropout_p": 0.0, "enable_gqa": false, "requires_grad": false,
 "nested": null,
 "flags": {"deterministic": false, "tf32": false, "reduced_precision": false, "autocast": null,
           "enabled": {"flash": true, "efficient": true, "cudnn": true, "math": true}},
 "mode": "eager",
 "policy": {"allow": null, "deny": [], "force": null, "order": null},
 "context": {"target": "sm_90", "framework": "torch", "torch": "2.6.0", "cuda": "12.4", "cudnn": "9.1.0", "env": {}, "build": {}}})");
  REQUIRE(spec);
  CHECK(spec->attention().k.shape == spec::Dims{1, 8, 256, 64});
  CHECK(spec->attention().v.dtype == spec::DType::f16);
  CHECK(spec->context.torch == "2.6.0");
  CHECK(spec::repro_line(*spec) ==
        "dispatchdoctor sdpa --q 1x8x256x64 --dtype f16 --mask bool --mask-content causal --target sm_90 --framework torch --torch-version 2.6.0 "
        "--cuda-version 12.4 --cudnn-version 9.1.0");
}

TEST_CASE("the defaults of the table are those of the types", "[spec]") {
  const spec::OpSpec types;
  const spec::Draft table = spec::default_draft(spec::Op::sdpa);
  CHECK(table.spec == types);
  spec::OpSpec gemm;
  gemm.op = spec::Gemm{};
  CHECK(spec::default_draft(spec::Op::gemm).spec == gemm);
  CHECK(table.mask.content == spec::MaskSpec{}.content);
  CHECK(table.default_dtype == spec::TensorSpec{}.dtype);
}
