// Condition: a requirement as data, evaluated over a FactSet in three values (Kleene logic).
// From one condition come the verdict, the "seen" and "required" texts, the edge cases for tests and nearest_ok.
// A custom leaf is the escape hatch: it names the facts it reads and must return its own seen and required texts.
#pragma once
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "facts/facts.hpp"

namespace dd::rules {

enum class Truth : std::uint8_t { met, unmet, unknown };

enum class Kind : std::uint8_t {
  always, never,
  at_most, at_least, below, above,   // fact <op> literal, or fact <op> other fact when `other` is set
  multiple_of,                       // fact % literal == 0, or fact % other fact == 0
  one_of, none_of,                   // fact in list of literals
  equals, differs,                   // fact == literal or other fact
  version_in,                        // literals[0] <= fact <= literals[1], each end may be unknown (open)
  applicable,                        // the fact has a meaning for this spec (is not NotApplicable)
  stated,                            // the fact is known at all; never itself unknown
  all, any, unless,
  custom
};

struct CustomResult {
  Truth truth;
  std::string seen, required;
};
using CustomFn = CustomResult (*)(const facts::FactSet&);

struct Condition {
  Kind kind = Kind::always;
  facts::Id fact{};
  facts::Id other{};
  bool has_other = false;
  std::vector<facts::Value> literals;
  std::vector<Condition> parts;
  CustomFn custom = nullptr;
  std::vector<facts::Id> reads;  // of a custom leaf
};

// Builders; the tables are written with these.
Condition always();
Condition never();
Condition at_most(facts::Id fact, double limit);
Condition at_least(facts::Id fact, double limit);
Condition below(facts::Id fact, double limit);
Condition above(facts::Id fact, double limit);
Condition between(facts::Id fact, double low, double high);  // both ends included
Condition at_most(facts::Id fact, facts::Id other);
Condition at_least(facts::Id fact, facts::Id other);
Condition multiple_of(facts::Id fact, std::int64_t factor);
Condition multiple_of(facts::Id fact, facts::Id other);
// The list forms take braces: a vector alone would read {"a", "b"} as a pair of iterators.
Condition one_of(facts::Id fact, std::initializer_list<const char*> names);
Condition one_of(facts::Id fact, std::initializer_list<std::int64_t> numbers);
Condition none_of(facts::Id fact, std::initializer_list<const char*> names);
Condition none_of(facts::Id fact, std::initializer_list<std::int64_t> numbers);
Condition one_of(facts::Id fact, std::vector<std::string> names);
Condition one_of(facts::Id fact, std::vector<std::int64_t> numbers);
Condition none_of(facts::Id fact, std::vector<std::string> names);
Condition none_of(facts::Id fact, std::vector<std::int64_t> numbers);
Condition equals(facts::Id fact, std::string name);
Condition equals(facts::Id fact, const char* name);
Condition equals(facts::Id fact, std::int64_t number);
Condition equals(facts::Id fact, int number);
Condition equals(facts::Id fact, facts::Id other);
Condition differs(facts::Id fact, std::string name);
Condition differs(facts::Id fact, const char* name);
Condition differs(facts::Id fact, std::int64_t number);
Condition differs(facts::Id fact, int number);
Condition differs(facts::Id fact, facts::Id other);
Condition is_true(facts::Id fact);
Condition is_false(facts::Id fact);
Condition version_in(facts::Id fact, std::string_view from, std::string_view until);  // "" = open end
Condition applicable(facts::Id fact);
Condition stated(facts::Id fact);
Condition all(std::vector<Condition> parts);
Condition any(std::vector<Condition> parts);
Condition unless(Condition part);
Condition custom(CustomFn fn, std::vector<facts::Id> reads);

Truth evaluate(const Condition& condition, const facts::FactSet& facts);

// One deciding fact of an evaluated condition.
struct Leaf {
  const Condition* condition;
  bool negated;  // below an odd number of unless()
};
// The leaves that made the condition unmet or unknown (all of them for `any`).
std::vector<Leaf> deciding_leaves(const Condition& condition, const facts::FactSet& facts);

// "head_dim multiple of 8"; "dtype one of f16, bf16"; parts joined with "and" / "or".
std::string required_text(const Condition& condition);
// "head_dim = 100 (from the spec, q.shape[3])" for the deciding facts.
std::string seen_text(const Condition& condition, const facts::FactSet& facts);

// Every fact that the condition reads, without repeats.
std::vector<facts::Id> facts_read(const Condition& condition);

// Fact assignments on each side of each boundary of the condition, for table tests: value and whether the leaf holds.
struct Edge {
  facts::Id fact;
  facts::Value value;
  bool holds;
};
std::vector<Edge> edges(const Condition& leaf);

}  // namespace dd::rules

DD_ENUM_TEXT(dd::rules::Truth, {dd::rules::Truth::met, "met"}, {dd::rules::Truth::unmet, "unmet"},
             {dd::rules::Truth::unknown, "unknown"})
