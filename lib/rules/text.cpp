#include <fmt/format.h>

#include "rules/condition.hpp"

namespace dd::rules {
namespace {

using facts::Value;

std::string versions(const Condition& c, bool negated) {
  const bool low = c.literals[0].index() != 0, high = c.literals[1].index() != 0;
  const std::string from = facts::to_text(c.literals[0]), until = facts::to_text(c.literals[1]);
  if (low && high) {
    // 2.6.0 to 2.6.x is every 2.6.x.
    const bool one = from == until || (until.ends_with('x') && from == until.substr(0, until.size() - 1) + "0");
    if (one) return (negated ? "not " : "") + until;
    return fmt::format("{} {} to {}", negated ? "outside" : "from", from, until);
  }
  if (low) return fmt::format(fmt::runtime(negated ? "below {}" : "{} or newer"), from);
  return fmt::format(fmt::runtime(negated ? "above {}" : "{} or older"), until);
}

// See facts/words.def.
struct Words {
  std::string_view phrase, no;    // `no`: of a yes-or-no fact
  std::string_view divisor = {};  // of a remainder: what `phrase` is divided by
};
struct ValueWords {
  facts::Id fact;
  std::string_view value, equal, different;
};

const Words* words_of(facts::Id id) {
#define DD_IS(fact, value, equal, different)
#define DD_WORD(fact, phrase) \
  case facts::Id::fact: { static constexpr Words words{phrase, {}}; return &words; }
#define DD_YES(fact, yes, no) \
  case facts::Id::fact: { static constexpr Words words{yes, no}; return &words; }
#define DD_REST(fact, phrase, divisor) \
  case facts::Id::fact: { static constexpr Words words{phrase, {}, divisor}; return &words; }
  switch (id) {
#include "facts/words.def"
    default: return nullptr;
  }
#undef DD_IS
#undef DD_WORD
#undef DD_YES
#undef DD_REST
}

const ValueWords* value_words(facts::Id id, std::string_view value) {
#define DD_WORD(fact, phrase)
#define DD_YES(fact, yes, no)
#define DD_REST(fact, phrase, divisor)
#define DD_IS(fact, value, equal, different) {facts::Id::fact, value, equal, different},
  static constexpr ValueWords table[] = {
#include "facts/words.def"
  };
#undef DD_IS
#undef DD_WORD
#undef DD_YES
#undef DD_REST
  for (const ValueWords& row : table)
    if (row.fact == id && row.value == value) return &row;
  return nullptr;
}

std::string_view spoken(facts::Id id) {
  const Words* words = words_of(id);
  return words ? words->phrase : facts::info(id).name;
}

// Architectures are written as everywhere else: sm_90.
std::string value_text(facts::Id id, const Value& value) {
  const bool number = std::holds_alternative<std::int64_t>(value) || std::holds_alternative<double>(value);
  const bool architecture = id == facts::Id::compute_capability && number;
  return (architecture ? "sm_" : "") + facts::to_text(value);
}

std::string values_text(const Condition& c) {
  std::string out;
  for (const Value& v : c.literals) out += (out.empty() ? "" : ", ") + value_text(c.fact, v);
  return out;
}

std::string leaf_text(const Condition& c, bool negated) {
  const std::string_view name = spoken(c.fact);
  const bool worded = words_of(c.fact) != nullptr;
  // "rows at most 8", not "rows at most 8 rows".
  const std::string_view unit = c.has_other || facts::info(c.fact).unit == name ? "" : facts::info(c.fact).unit;
  const std::string other = c.has_other ? std::string(spoken(c.other)) : c.literals.empty() ? "" : value_text(c.fact, c.literals[0]);
  const auto phrase = [&](std::string_view plain, std::string_view inverse) {
    return fmt::format("{} {} {}{}{}", name, negated ? inverse : plain, other, unit.empty() ? "" : " ", unit);
  };
  const auto is = [&](bool equal) {
    if (const ValueWords* words = value_words(c.fact, other)) return std::string(equal ? words->equal : words->different);
    return fmt::format("{} {}{}{}", name, worded && c.fact != facts::Id::compute_capability ? "is " : "", equal ? "" : "not ", other);
  };
  const auto yes_or_no = [&](bool yes) {
    const Words* words = words_of(c.fact);
    if (words && !words->no.empty()) return std::string(yes ? words->phrase : words->no);
    return fmt::format("{} {}", name, yes);
  };
  switch (c.kind) {
    case Kind::at_most: return phrase("at most", "above");
    case Kind::at_least: return phrase("at least", "below");
    case Kind::below: return phrase("below", "at least");
    case Kind::above: return phrase("above", "at most");
    case Kind::multiple_of: return fmt::format("{} {}multiple of {}{}", name, negated ? "not a " : "", other, unit == "bytes" ? " bytes" : "");
    case Kind::one_of:
    case Kind::none_of: {
      const bool in = (c.kind == Kind::one_of) != negated;
      if (c.literals.size() == 1) return is(in);
      return fmt::format("{} {} {}", name, in ? "one of" : "none of", values_text(c));
    }
    case Kind::equals:
    case Kind::differs: {
      const bool equal = (c.kind == Kind::equals) != negated;
      if (c.has_other) return fmt::format("{} {} {}", name, equal ? "equal to" : "different from", other);
      if (const auto* b = std::get_if<bool>(&c.literals[0])) return yes_or_no(*b == equal);
      if (const Words* words = words_of(c.fact); words && !words->divisor.empty() && other == "0")
        return fmt::format("{} {}multiple of {}", name, equal ? "" : "not a ", words->divisor);
      return is(equal);
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
  const Words* words = words_of(id);
  const bool* yes = std::get_if<bool>(&e.value);
  std::string out = words && yes && !words->no.empty() ? std::string(*yes ? words->phrase : words->no)
                                                       : fmt::format("{}{} = {}", spoken(id), words && !words->divisor.empty() ? fmt::format(" modulo {}", words->divisor) : std::string(), value_text(id, e.value));
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
