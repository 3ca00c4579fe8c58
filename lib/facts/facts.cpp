#include "facts/facts.hpp"

#include <fmt/format.h>

#include <charconv>
#include <unordered_map>

namespace dd::facts {
namespace {

constexpr Info table[] = {
#define DD_FACT(id, name, type, unit, text) {#id, name, Type::type, unit, text},
#include "facts/facts.def"
#undef DD_FACT
};

}  // namespace

FactSet::FactSet() : entries_(id_count) {}
FactSet::FactSet(const FactSet&) = default;
FactSet::FactSet(FactSet&&) noexcept = default;
FactSet& FactSet::operator=(const FactSet&) = default;
FactSet& FactSet::operator=(FactSet&&) noexcept = default;
FactSet::~FactSet() = default;

void FactSet::set(Id id, Value value, Provenance provenance, std::string where) {
  Entry& entry = entries_[static_cast<std::size_t>(id)];
  entry.value = std::move(value);
  entry.provenance = provenance;
  entry.where = std::move(where);
}

void FactSet::clear(Id id) { entries_[static_cast<std::size_t>(id)] = Entry{}; }

const Info& info(Id id) { return table[static_cast<std::size_t>(id)]; }

const Id* find(std::string_view name) {
  static const auto index = [] {
    std::unordered_map<std::string_view, Id> map;
    for (std::size_t i = 0; i < id_count; ++i) map.emplace(table[i].name, static_cast<Id>(i));
    return map;
  }();
  const auto it = index.find(name);
  return it == index.end() ? nullptr : &it->second;
}

bool Version::parse(std::string_view text, Version& out) {
  std::int64_t part[3] = {0, 0, 0};
  const char* at = text.data();
  const char* const end = at + text.size();
  if (at != end && (*at == 'v' || *at == 'V')) ++at;
  for (int i = 0; i < 3; ++i) {
    const auto [next, error] = std::from_chars(at, end, part[i]);
    if (error != std::errc{} || part[i] < 0 || part[i] >= 100000) return false;
    at = next;
    if (at == end || *at != '.') break;
    if (i < 2) ++at;
  }
  if (at != end && *at >= '0' && *at <= '9') return false;
  out = of(part[0], part[1], part[2]);
  return true;
}

std::string Version::to_text() const {
  // The greatest part stands for "any": the end of a range such as every 2.6.x.
  const std::int64_t major = code / 10000000000, minor = code / 100000 % 100000, patch = code % 100000;
  if (minor == 99999) return fmt::format("{}.x", major);
  return patch == 99999 ? fmt::format("{}.{}.x", major, minor) : fmt::format("{}.{}.{}", major, minor, patch);
}

std::string to_text(const Value& value) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "unknown"; }
    std::string operator()(NotApplicable) const { return "not applicable"; }
    std::string operator()(bool v) const { return v ? "true" : "false"; }
    std::string operator()(std::int64_t v) const { return fmt::format("{}", v); }
    std::string operator()(double v) const { return fmt::format("{}", v); }
    std::string operator()(Version v) const { return v.to_text(); }
    std::string operator()(const std::string& v) const { return v; }
  };
  return std::visit(Visitor{}, value);
}

}  // namespace dd::facts
