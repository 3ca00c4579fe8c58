#include "rules/condition.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace dd::rules {
namespace {

using facts::FactSet;
using facts::Value;

Truth of(bool holds) { return holds ? Truth::met : Truth::unmet; }
Truth negate(Truth t) { return t == Truth::unknown ? t : of(t == Truth::unmet); }

std::optional<double> number(const Value& v) {
  if (const auto* i = std::get_if<std::int64_t>(&v)) return static_cast<double>(*i);
  if (const auto* d = std::get_if<double>(&v)) return *d;
  return std::nullopt;
}

bool same(const Value& a, const Value& b) {
  if (a.index() == b.index()) return a == b;
  const auto x = number(a), y = number(b);
  return x && y && *x == *y;
}

// Ordering of a fact against a literal or another fact; a not-applicable side makes the requirement void (met).
Truth compare(Kind kind, const Value& seen, const Value& wanted) {
  if (const auto* i = std::get_if<std::int64_t>(&seen); i && kind == Kind::multiple_of) {
    const auto* f = std::get_if<std::int64_t>(&wanted);
    if (!f || *f == 0) return Truth::unknown;
    return of(*i % *f == 0);
  }
  const auto x = number(seen), y = number(wanted);
  if (!x || !y) return Truth::unknown;
  switch (kind) {
    case Kind::at_most: return of(*x <= *y);
    case Kind::at_least: return of(*x >= *y);
    case Kind::below: return of(*x < *y);
    case Kind::above: return of(*x > *y);
    default: return Truth::unknown;
  }
}

Truth version_truth(const Condition& c, const Value& seen) {
  const auto* v = std::get_if<facts::Version>(&seen);
  if (!v) return Truth::unknown;
  const auto* low = std::get_if<facts::Version>(&c.literals[0]);
  const auto* high = std::get_if<facts::Version>(&c.literals[1]);
  return of((!low || *v >= *low) && (!high || *v <= *high));
}

Truth leaf_truth(const Condition& c, const FactSet& facts) {
  const Value& seen = facts.value(c.fact);
  if (c.kind == Kind::stated) return of(seen.index() != 0);
  if (std::holds_alternative<std::monostate>(seen)) return Truth::unknown;
  const bool absent = std::holds_alternative<facts::NotApplicable>(seen);
  if (c.kind == Kind::applicable) return of(!absent);
  const Value* other = c.has_other ? &facts.value(c.other) : nullptr;
  if (other && std::holds_alternative<std::monostate>(*other)) return Truth::unknown;
  const bool other_absent = other && std::holds_alternative<facts::NotApplicable>(*other);
  const auto in_list = [&] { return std::any_of(c.literals.begin(), c.literals.end(), [&](const Value& l) { return same(l, seen); }); };
  switch (c.kind) {
    // Membership and equality are decided for a fact without meaning too: it equals nothing.
    case Kind::one_of: return of(!absent && in_list());
    case Kind::none_of: return of(absent || !in_list());
    case Kind::equals: return of(!absent && !other_absent && same(seen, other ? *other : c.literals[0]));
    case Kind::differs: return of(absent || other_absent || !same(seen, other ? *other : c.literals[0]));
    default: break;
  }
  // A limit on something that does not exist is kept.
  if (absent || other_absent) return Truth::met;
  if (c.kind == Kind::version_in) return version_truth(c, seen);
  return compare(c.kind, seen, other ? *other : c.literals[0]);
}

void collect(const Condition& c, const FactSet& facts, bool negated, std::vector<Leaf>& out) {
  switch (c.kind) {
    case Kind::all:
    case Kind::any:
      for (const Condition& part : c.parts) {
        const Truth t = negated ? negate(evaluate(part, facts)) : evaluate(part, facts);
        if (t != Truth::met) collect(part, facts, negated, out);
      }
      break;
    case Kind::unless: collect(c.parts[0], facts, !negated, out); break;
    case Kind::always:
    case Kind::never: break;
    default: out.push_back({&c, negated});
  }
}

void add_reads(const Condition& c, std::vector<facts::Id>& out) {
  const auto add = [&](facts::Id id) {
    if (std::find(out.begin(), out.end(), id) == out.end()) out.push_back(id);
  };
  switch (c.kind) {
    case Kind::all:
    case Kind::any:
    case Kind::unless:
      for (const Condition& part : c.parts) add_reads(part, out);
      break;
    case Kind::always:
    case Kind::never: break;
    case Kind::custom:
      for (facts::Id id : c.reads) add(id);
      break;
    default:
      add(c.fact);
      if (c.has_other) add(c.other);
  }
}

}  // namespace

Truth evaluate(const Condition& c, const FactSet& facts) {
  switch (c.kind) {
    case Kind::always: return Truth::met;
    case Kind::never: return Truth::unmet;
    case Kind::all: {
      Truth result = Truth::met;
      for (const Condition& part : c.parts) {
        const Truth t = evaluate(part, facts);
        if (t == Truth::unmet) return t;
        if (t == Truth::unknown) result = t;
      }
      return result;
    }
    case Kind::any: {
      Truth result = Truth::unmet;
      for (const Condition& part : c.parts) {
        const Truth t = evaluate(part, facts);
        if (t == Truth::met) return t;
        if (t == Truth::unknown) result = t;
      }
      return result;
    }
    case Kind::unless: return negate(evaluate(c.parts[0], facts));
    case Kind::custom: return c.custom(facts).truth;
    default: return leaf_truth(c, facts);
  }
}

std::vector<Leaf> deciding_leaves(const Condition& condition, const FactSet& facts) {
  std::vector<Leaf> out;
  collect(condition, facts, false, out);
  return out;
}

std::vector<facts::Id> facts_read(const Condition& condition) {
  std::vector<facts::Id> out;
  add_reads(condition, out);
  return out;
}

std::vector<Edge> edges(const Condition& leaf) {
  std::vector<Edge> out;
  const auto add = [&](Value value, bool holds) { out.push_back({leaf.fact, std::move(value), holds}); };
  if (leaf.has_other || leaf.kind >= Kind::applicable) return out;
  if (leaf.kind == Kind::version_in) {
    if (const auto* low = std::get_if<facts::Version>(&leaf.literals[0])) {
      add(*low, true);
      if (low->code > 0) add(facts::Version{low->code - 1}, false);
    }
    if (const auto* high = std::get_if<facts::Version>(&leaf.literals[1])) {
      add(*high, true);
      add(facts::Version{high->code + 1}, false);
    }
    return out;
  }
  const bool listed_holds = leaf.kind == Kind::one_of || leaf.kind == Kind::equals;
  if (listed_holds || leaf.kind == Kind::none_of || leaf.kind == Kind::differs) {
    for (const Value& v : leaf.literals) add(v, listed_holds);
    const Value& first = leaf.literals[0];
    if (std::holds_alternative<std::string>(first)) add(std::string("something-else"), !listed_holds);
    if (const auto* b = std::get_if<bool>(&first)) add(!*b, !listed_holds);
    if (std::holds_alternative<std::int64_t>(first)) add(std::int64_t{1} << 40, !listed_holds);
    return out;
  }
  if (leaf.kind == Kind::multiple_of) {
    const auto factor = std::get<std::int64_t>(leaf.literals[0]);
    for (std::int64_t step : {std::int64_t{0}, std::int64_t{1}, factor - 1}) add(3 * factor + step, step % factor == 0);
    return out;
  }
  const double limit = *number(leaf.literals[0]);
  const bool integral = facts::info(leaf.fact).type == facts::Type::integer && limit == std::floor(limit);
  const auto at = [&](double v) { return integral ? Value(static_cast<std::int64_t>(v)) : Value(v); };
  const double step = integral ? 1.0 : std::max(1e-9, std::fabs(limit) * 1e-9);
  add(at(limit - step), leaf.kind == Kind::at_most || leaf.kind == Kind::below);
  add(at(limit), leaf.kind == Kind::at_most || leaf.kind == Kind::at_least);
  add(at(limit + step), leaf.kind == Kind::at_least || leaf.kind == Kind::above);
  return out;
}

}  // namespace dd::rules
