#include "spec/canonical.hpp"
#include "spec/parse.hpp"
#include "support/catch.hpp"
#include "support/random_spec.hpp"

using namespace dd;

namespace {
std::string all(const core::Problems& problems) {
  std::string out;
  for (const core::Problem& p : problems) out += to_text(p) + "\n";
  return out;
}
}  // namespace

TEST_CASE("random specs are valid and their canonical form is a fixed point", "[spec]") {
  test::RandomSpec random(1);
  for (int i = 0; i < 5000; ++i) {
    const spec::OpSpec spec = random.next();
    const std::string text = spec::canonical(spec);
    INFO(i << ": " << text);
    const core::Problems problems = spec::validate(spec);
    INFO(all(problems));
    REQUIRE(problems.empty());
    const auto again = spec::parse_json(text);
    INFO((again ? std::string() : all(again.problems())));
    REQUIRE(again);
    REQUIRE(spec::canonical(*again) == text);
    REQUIRE(*again == spec);
  }
}

TEST_CASE("the canonical form has the fields of the contract in order", "[spec]") {
  const auto spec = spec::parse_json(R"({"op":"sdpa","q":{"shape":[1,8,256,64],"dtype":"f16"},"mask":{"dtype":"bool","content":"causal"}})");
  REQUIRE(spec);
  CHECK(spec::canonical(*spec) ==
        R"({"op":"sdpa","q":{"shape":[1,8,256,64],"dtype":"f16","strides":null,"offset":0,"storage":null},)"
        R"("k":{"shape":[1,8,256,64],"dtype":"f16","strides":null,"offset":0,"storage":null},)"
        R"("v":{"shape":[1,8,256,64],"dtype":"f16","strides":null,"offset":0,"storage":null},)"
        R"("out":{"strides":null,"offset":0,"storage":null},)"
        R"("mask":{"dtype":"bool","shape":[256,256],"strides":null,"offset":0,"content":"causal","requires_grad":false},)"
        R"("is_causal":false,"causal_align":"top-left","scale":null,"dropout_p":0.0,"enable_gqa":false,"requires_grad":false,"nested":null,"extra":{},)"
        R"("flags":{"deterministic":false,"tf32":false,"reduced_precision":false,"autocast":null,"enabled":{"flash":true,"efficient":true,"cudnn":true,"math":true}},)"
        R"("mode":"eager","policy":{"allow":null,"deny":[],"force":null,"order":null},)"
        R"("context":{"target":null,"framework":"native","torch":null,"cuda":null,"cudnn":null,"versions":{},"env":{},"build":{}},)"
        R"("seed":1,"data":"normal","rtol":null,"atol":null})");
}

TEST_CASE("strides of size-1 axes are kept, contiguous strides are dropped", "[spec]") {
  const auto odd = spec::parse_json(R"({"op":"gemm","x":{"shape":[1,64],"strides":[7,1]},"w":{"shape":[64,8],"strides":[8,1]}})");
  REQUIRE(odd);
  REQUIRE(odd->gemm().x.strides == spec::Dims{7, 1});
  CHECK_FALSE(odd->gemm().w.strides);
  CHECK(spec::repro_line(*odd) == "dispatchdoctor gemm --x 1x64 --w 64x8 --x-strides 7x1");
}

TEST_CASE("shell quoting", "[spec]") {
  CHECK(spec::shell_quote("1x8x256x64") == "1x8x256x64");
  CHECK(spec::shell_quote("") == "''");
  CHECK(spec::shell_quote("a b") == "'a b'");
  CHECK(spec::shell_quote("it's") == R"('it'\''s')");
  CHECK(spec::shell_quote("$x;`y`") == "'$x;`y`'");
}
