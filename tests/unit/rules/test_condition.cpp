#include "rules/condition.hpp"
#include "support/catch.hpp"

using namespace dd::rules;
using dd::facts::FactSet;
using dd::facts::Id;
using dd::facts::NotApplicable;
using dd::facts::Value;
using dd::facts::Version;

namespace {

FactSet with(Id id, Value value) {
  FactSet f;
  f.set(id, std::move(value), dd::facts::Provenance::spec, "q.shape[3]");
  return f;
}

Truth of(const Condition& c, Id id, Value value) { return evaluate(c, with(id, std::move(value))); }

}  // namespace

TEST_CASE("limits are tested on both sides and at the boundary") {
  struct Row {
    Condition condition;
    Truth below, at, above;
  };
  const Row rows[] = {
      {at_most(Id::head_dim, 128), Truth::met, Truth::met, Truth::unmet},
      {at_least(Id::head_dim, 128), Truth::unmet, Truth::met, Truth::met},
      {below(Id::head_dim, 128), Truth::met, Truth::unmet, Truth::unmet},
      {above(Id::head_dim, 128), Truth::unmet, Truth::unmet, Truth::met},
      {between(Id::head_dim, 128, 128), Truth::unmet, Truth::met, Truth::unmet},
      {multiple_of(Id::head_dim, 64), Truth::unmet, Truth::met, Truth::unmet},
      {equals(Id::head_dim, 128), Truth::unmet, Truth::met, Truth::unmet},
      {differs(Id::head_dim, 128), Truth::met, Truth::unmet, Truth::met},
  };
  for (const Row& r : rows) {
    CHECK(of(r.condition, Id::head_dim, std::int64_t{127}) == r.below);
    CHECK(of(r.condition, Id::head_dim, std::int64_t{128}) == r.at);
    CHECK(of(r.condition, Id::head_dim, std::int64_t{129}) == r.above);
    CHECK(evaluate(r.condition, FactSet{}) == Truth::unknown);
  }
}

TEST_CASE("unknown never counts as fine, and a known answer wins over it") {
  const Condition known_bad = at_most(Id::head_dim, 10), unknown = at_most(Id::q_len, 10), good = at_least(Id::head_dim, 1);
  const FactSet f = with(Id::head_dim, std::int64_t{64});
  CHECK(evaluate(all({known_bad, unknown}), f) == Truth::unmet);
  CHECK(evaluate(all({good, unknown}), f) == Truth::unknown);
  CHECK(evaluate(any({good, unknown}), f) == Truth::met);
  CHECK(evaluate(any({known_bad, unknown}), f) == Truth::unknown);
  CHECK(evaluate(unless(unknown), f) == Truth::unknown);
  CHECK(evaluate(unless(known_bad), f) == Truth::met);
}

TEST_CASE("a fact without meaning equals nothing and breaks no limit") {
  const FactSet f = with(Id::mask_dtype, NotApplicable{});
  CHECK(evaluate(equals(Id::mask_dtype, "f32"), f) == Truth::unmet);
  CHECK(evaluate(differs(Id::mask_dtype, "f32"), f) == Truth::met);
  CHECK(evaluate(one_of(Id::mask_dtype, {"bool", "f32"}), f) == Truth::unmet);
  CHECK(evaluate(none_of(Id::mask_dtype, {"bool", "f32"}), f) == Truth::met);
  CHECK(evaluate(applicable(Id::mask_dtype), f) == Truth::unmet);
  CHECK(evaluate(at_most(Id::mask_rank, 4), with(Id::mask_rank, NotApplicable{})) == Truth::met);
}

TEST_CASE("facts are compared with each other") {
  FactSet f = with(Id::q_heads, std::int64_t{8});
  f.set(Id::kv_heads, std::int64_t{2});
  CHECK(evaluate(multiple_of(Id::q_heads, Id::kv_heads), f) == Truth::met);
  CHECK(evaluate(equals(Id::q_heads, Id::kv_heads), f) == Truth::unmet);
  CHECK(evaluate(at_most(Id::kv_heads, Id::q_heads), f) == Truth::met);
  f.set(Id::kv_heads, std::int64_t{0});
  CHECK(evaluate(multiple_of(Id::q_heads, Id::kv_heads), f) == Truth::unknown);  // nothing divides by zero
}

TEST_CASE("version ranges include both ends") {
  const Condition c = version_in(Id::torch_version, "2.2", "2.6.1");
  const auto at = [&](const char* text) {
    Version v;
    REQUIRE(Version::parse(text, v));
    return of(c, Id::torch_version, v);
  };
  CHECK(at("2.1.99") == Truth::unmet);
  CHECK(at("2.2.0") == Truth::met);
  CHECK(at("2.6.1+cu124") == Truth::met);
  CHECK(at("2.6.2") == Truth::unmet);
  CHECK(at("2.10") == Truth::unmet);  // ten is above six
}

TEST_CASE("versions are parsed or refused") {
  Version v;
  CHECK(Version::parse("v2.6", v));
  CHECK(v.to_text() == "2.6.0");
  CHECK(Version::parse("2.6.0a0+git1234", v));
  for (const char* bad : {"", "x", "2.", ".6", "-1.0", "2.100000.0", "99999999999999999999"}) CHECK_FALSE(Version::parse(bad, v));
}

TEST_CASE("seen and required name the fact, its value and where it came from") {
  const Condition c = multiple_of(Id::head_dim, 8);
  CHECK(required_text(c) == "head_dim multiple of 8");
  CHECK(seen_text(c, with(Id::head_dim, std::int64_t{100})) == "head_dim = 100 (spec, q.shape[3])");
  CHECK(seen_text(c, FactSet{}) == "head_dim = unknown");
  CHECK(required_text(one_of(Id::dtype, {"f16", "bf16"})) == "dtype one of f16, bf16");
  CHECK(required_text(unless(equals(Id::dtype, "f64"))) == "dtype not f64");
  CHECK(required_text(unless(all({is_true(Id::is_causal), differs(Id::q_len, Id::kv_len)}))) == "is_causal off or q_len equal to kv_len");
}

TEST_CASE("a conjunction reports every part that fails, a passing part never") {
  FactSet f = with(Id::head_dim, std::int64_t{100});
  f.set(Id::q_len, std::int64_t{7});
  f.set(Id::kv_len, std::int64_t{7});
  const Condition c = all({multiple_of(Id::head_dim, 8), at_least(Id::q_len, 8), at_most(Id::kv_len, 8)});
  const std::string seen = seen_text(c, f);
  CHECK(seen.find("head_dim = 100") != std::string::npos);
  CHECK(seen.find("q_len = 7") != std::string::npos);
  CHECK(seen.find("kv_len") == std::string::npos);
}

TEST_CASE("edges lie on the two sides that they claim") {
  for (const Condition& c : {at_most(Id::head_dim, 128), at_least(Id::q_len, 3), below(Id::dropout_p, 0.5), above(Id::m, 16), multiple_of(Id::k, 32),
                             one_of(Id::dtype, {"f16", "bf16"}), none_of(Id::m, std::vector<std::int64_t>{1, 2}), is_true(Id::is_causal),
                             version_in(Id::torch_version, "2.2", "2.6")}) {
    const auto list = edges(c);
    CHECK(list.size() >= 2);
    bool holds = false, fails = false;
    for (const Edge& e : list) {
      CHECK((of(c, e.fact, e.value) == Truth::met) == e.holds);
      (e.holds ? holds : fails) = true;
    }
    CHECK(holds);
    CHECK(fails);
  }
}
