#include "rules/condition.hpp"

namespace dd::rules {
namespace {

using facts::Id;
using facts::Value;

Condition leaf(Kind kind, Id fact, std::vector<Value> literals) {
  Condition c;
  c.kind = kind;
  c.fact = fact;
  c.literals = std::move(literals);
  return c;
}

Condition pair(Kind kind, Id fact, Id other) {
  Condition c = leaf(kind, fact, {});
  c.other = other;
  c.has_other = true;
  return c;
}

Condition tree(Kind kind, std::vector<Condition> parts) {
  Condition c;
  c.kind = kind;
  c.parts = std::move(parts);
  return c;
}

template <class T>
std::vector<Value> values(std::vector<T> list) {
  return {std::make_move_iterator(list.begin()), std::make_move_iterator(list.end())};
}

Value version_or_open(std::string_view text) {
  facts::Version version;
  if (text.empty() || !facts::Version::parse(text, version)) return {};
  return version;
}

}  // namespace

Condition always() { return {}; }
Condition never() { return tree(Kind::never, {}); }
Condition at_most(Id fact, double limit) { return leaf(Kind::at_most, fact, {limit}); }
Condition at_least(Id fact, double limit) { return leaf(Kind::at_least, fact, {limit}); }
Condition below(Id fact, double limit) { return leaf(Kind::below, fact, {limit}); }
Condition above(Id fact, double limit) { return leaf(Kind::above, fact, {limit}); }
Condition between(Id fact, double low, double high) { return all({at_least(fact, low), at_most(fact, high)}); }
Condition at_most(Id fact, Id other) { return pair(Kind::at_most, fact, other); }
Condition at_least(Id fact, Id other) { return pair(Kind::at_least, fact, other); }
Condition multiple_of(Id fact, std::int64_t factor) { return leaf(Kind::multiple_of, fact, {factor}); }
Condition multiple_of(Id fact, Id other) { return pair(Kind::multiple_of, fact, other); }
Condition one_of(Id fact, std::initializer_list<const char*> names) { return one_of(fact, std::vector<std::string>(names.begin(), names.end())); }
Condition one_of(Id fact, std::initializer_list<std::int64_t> n) { return one_of(fact, std::vector<std::int64_t>(n)); }
Condition none_of(Id fact, std::initializer_list<const char*> names) { return none_of(fact, std::vector<std::string>(names.begin(), names.end())); }
Condition none_of(Id fact, std::initializer_list<std::int64_t> n) { return none_of(fact, std::vector<std::int64_t>(n)); }
Condition one_of(Id fact, std::vector<std::string> names) { return leaf(Kind::one_of, fact, values(std::move(names))); }
Condition one_of(Id fact, std::vector<std::int64_t> n) { return leaf(Kind::one_of, fact, values(std::move(n))); }
Condition none_of(Id fact, std::vector<std::string> names) { return leaf(Kind::none_of, fact, values(std::move(names))); }
Condition none_of(Id fact, std::vector<std::int64_t> n) { return leaf(Kind::none_of, fact, values(std::move(n))); }
Condition equals(Id fact, std::string name) { return leaf(Kind::equals, fact, {std::move(name)}); }
Condition equals(Id fact, const char* name) { return equals(fact, std::string(name)); }
Condition equals(Id fact, std::int64_t number) { return leaf(Kind::equals, fact, {number}); }
Condition equals(Id fact, int number) { return equals(fact, std::int64_t{number}); }
Condition equals(Id fact, Id other) { return pair(Kind::equals, fact, other); }
Condition differs(Id fact, std::string name) { return leaf(Kind::differs, fact, {std::move(name)}); }
Condition differs(Id fact, const char* name) { return differs(fact, std::string(name)); }
Condition differs(Id fact, std::int64_t number) { return leaf(Kind::differs, fact, {number}); }
Condition differs(Id fact, int number) { return differs(fact, std::int64_t{number}); }
Condition differs(Id fact, Id other) { return pair(Kind::differs, fact, other); }
Condition is_true(Id fact) { return leaf(Kind::equals, fact, {true}); }
Condition is_false(Id fact) { return leaf(Kind::equals, fact, {false}); }
Condition version_in(Id fact, std::string_view from, std::string_view until) {
  return leaf(Kind::version_in, fact, {version_or_open(from), version_or_open(until)});
}
Condition applicable(Id fact) { return leaf(Kind::applicable, fact, {}); }
Condition stated(Id fact) { return leaf(Kind::stated, fact, {}); }
Condition all(std::vector<Condition> parts) { return tree(Kind::all, std::move(parts)); }
Condition any(std::vector<Condition> parts) { return tree(Kind::any, std::move(parts)); }
Condition unless(Condition part) { return tree(Kind::unless, {std::move(part)}); }
Condition custom(CustomFn fn, std::vector<Id> reads) {
  Condition c;
  c.kind = Kind::custom;
  c.custom = fn;
  c.reads = std::move(reads);
  return c;
}

}  // namespace dd::rules
