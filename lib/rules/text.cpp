#include <fmt/format.h>

#include "rules/condition.hpp"

namespace dd::rules {
namespace {

using facts::Value;

std::string list(const std::vector<Value>& values) {
  std::string out;
  for (const Value& v : values) out += (out.empty() ? "" : ", ") + facts::to_text(v);
  return out;
}

std::string versions(const Condition& c, bool negated) {
  const bool low = c.literals[0].index() != 0, high = c.literals[1].index() != 0;
  const std::string from = facts::to_text(c.literals[0]), until = facts::to_text(c.literals[1]);
  if (low && high) return fmt::format("{}from {} to {}", negated ? "outside " : "", from, until);
  if (low) return fmt::format(fmt::runtime(negated ? "below {}" : "{} or newer"), from);
  return fmt::format(fmt::runtime(negated ? "above {}" : "{} or older"), until);
}

std::string leaf_text(const Condition& c, bool negated) {
  const std::string_view name = facts::info(c.fact).name;
  const std::string_view unit = c.has_other ? "" : facts::info(c.fact).unit;
  const std::string other = c.has_other ? std::string(facts::info(c.other).name) : c.literals.empty() ? "" : facts::to_text(c.literals[0]);
  const auto phrase = [&](std::string_view plain, std::string_view inverse) {
    return fmt::format("{} {} {}{}{}", name, negated ? inverse : plain, other, unit.empty() ? "" : " ", unit);
  };
  switch (c.kind) {
    case Kind::at_most: return phrase("at most", "above");
    case Kind::at_least: return phrase("at least", "below");
    case Kind::below: return phrase("below", "at least");
    case Kind::above: return phrase("above", "at most");
    case Kind::multiple_of: return fmt::format("{} {}multiple of {}", name, negated ? "not a " : "", other);
    case Kind::one_of:
    case Kind::none_of: {
      const bool in = (c.kind == Kind::one_of) != negated;
      if (c.literals.size() == 1) return fmt::format("{} {}{}", name, in ? "" : "not ", other);
      return fmt::format("{} {} {}", name, in ? "one of" : "none of", list(c.literals));
    }
    case Kind::equals:
    case Kind::differs: {
      const bool equal = (c.kind == Kind::equals) != negated;
      if (c.has_other) return fmt::format("{} {} {}", name, equal ? "equal to" : "different from", other);
      if (const auto* b = std::get_if<bool>(&c.literals[0])) return fmt::format("{} {}", name, *b == equal);
      return fmt::format("{} {}{}", name, equal ? "" : "not ", other);
    }
    case Kind::version_in: return fmt::format("{} {}", name, versions(c, negated));
    case Kind::applicable: return fmt::format("{} {}", name, negated ? "absent" : "present");
    case Kind::stated: return fmt::format("{} {}", name, negated ? "not known" : "known");
    default: return {};
  }
}

std::string render(const Condition& c, bool negated, const facts::FactSet* facts, bool nested) {
  switch (c.kind) {
    case Kind::always: return negated ? "never" : "nothing";
    case Kind::never: return negated ? "nothing" : "never offered";
    case Kind::unless: return render(c.parts[0], !negated, facts, nested);
    case Kind::custom: {
      static const facts::FactSet empty;
      const std::string text = c.custom(facts ? *facts : empty).required;
      return negated ? "not (" + text + ")" : text;
    }
    case Kind::all:
    case Kind::any: {
      const char* word = (c.kind == Kind::all) != negated ? " and " : " or ";
      std::string out;
      for (const Condition& part : c.parts) out += (out.empty() ? "" : word) + render(part, negated, facts, true);
      return nested && c.parts.size() > 1 ? "(" + out + ")" : out;
    }
    default: return leaf_text(c, negated);
  }
}

std::string seen_fact(facts::Id id, const facts::FactSet& facts) {
  const facts::Entry& e = facts[id];
  const facts::Info& i = facts::info(id);
  std::string out = fmt::format("{} = {}", i.name, facts::to_text(e.value));
  const bool numeric = std::holds_alternative<std::int64_t>(e.value) || std::holds_alternative<double>(e.value);
  if (numeric && i.unit == "bytes") out += " bytes";
  if (e.value.index() == 0) return out;
  return e.where.empty() ? fmt::format("{} ({})", out, core::to_text(e.provenance))
                         : fmt::format("{} ({}, {})", out, core::to_text(e.provenance), e.where);
}

}  // namespace

std::string required_text(const Condition& condition) { return render(condition, false, nullptr, false); }

std::string seen_text(const Condition& condition, const facts::FactSet& facts) {
  std::string out;
  const auto add = [&](const std::string& text) {
    if (out.find(text) == std::string::npos) out += (out.empty() ? "" : ", ") + text;
  };
  auto leaves = deciding_leaves(condition, facts);
  if (leaves.empty()) {
    for (facts::Id id : facts_read(condition)) add(seen_fact(id, facts));
    return out;
  }
  for (const Leaf& leaf : leaves) {
    if (leaf.condition->kind == Kind::custom) {
      add(leaf.condition->custom(facts).seen);
      continue;
    }
    add(seen_fact(leaf.condition->fact, facts));
    if (leaf.condition->has_other) add(seen_fact(leaf.condition->other, facts));
  }
  return out;
}

}  // namespace dd::rules
