// Facts: typed values with a unit and a provenance, addressed by an id from facts.def (and the framework lists it
// includes). A fact that nobody stated is *unknown*; that never counts as fine. Not-applicable is a value of its own.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/text.hpp"

namespace dd::facts {

enum class Id : std::uint16_t {
#define DD_FACT(id, name, type, unit, text) id,
#include "facts/facts.def"
#undef DD_FACT
  count_
};
constexpr std::size_t id_count = static_cast<std::size_t>(Id::count_);

// A version as an ordered number: major.minor.patch, each below 100000.
struct Version {
  std::int64_t code = 0;
  static Version of(std::int64_t major, std::int64_t minor = 0, std::int64_t patch = 0) {
    return {(major * 100000 + minor) * 100000 + patch};
  }
  static bool parse(std::string_view text, Version& out);  // "2.6.0+cu124" -> 2.6.0
  std::string to_text() const;
  auto operator<=>(const Version&) const = default;
};

struct NotApplicable {
  bool operator==(const NotApplicable&) const = default;
};

// monostate = unknown. Text values are names (dtypes, backends, layouts).
using Value = std::variant<std::monostate, NotApplicable, bool, std::int64_t, double, Version, std::string>;

enum class Type { boolean, integer, real, version, name };
enum class Provenance { spec, derived, measured, library, profile, trace, assumed };

struct Info {
  std::string_view id;    // the C++ enumerator
  std::string_view name;  // printable name, e.g. head_dim
  Type type;
  std::string_view unit;  // elements, bytes, … or empty
  std::string_view text;  // one sentence: what it is
};

const Info& info(Id id);
const Id* find(std::string_view name);  // by printable name; nullptr when there is none
std::string to_text(const Value& value);

struct Entry {
  Value value;
  Provenance provenance = Provenance::spec;
  std::string where;  // "q.shape[3]", "cudaDeviceProp", … ; may be empty
};

class FactSet {
 public:
  // Out of line: a set is copied for every target of a batch, and filled from hundreds of places.
  FactSet();
  FactSet(const FactSet&);
  FactSet(FactSet&&) noexcept;
  FactSet& operator=(const FactSet&);
  FactSet& operator=(FactSet&&) noexcept;
  ~FactSet();
  void set(Id id, Value value, Provenance provenance = Provenance::derived, std::string where = {});
  void clear(Id id);
  const Entry& operator[](Id id) const { return entries_[static_cast<std::size_t>(id)]; }
  const Value& value(Id id) const { return (*this)[id].value; }
  bool known(Id id) const { return value(id).index() != 0; }

 private:
  std::vector<Entry> entries_;
};

}  // namespace dd::facts

DD_ENUM_TEXT(dd::facts::Type, {dd::facts::Type::boolean, "boolean"}, {dd::facts::Type::integer, "integer"},
             {dd::facts::Type::real, "real"}, {dd::facts::Type::version, "version"}, {dd::facts::Type::name, "name"})
DD_ENUM_TEXT(dd::facts::Provenance, {dd::facts::Provenance::spec, "spec"}, {dd::facts::Provenance::derived, "derived"},
             {dd::facts::Provenance::measured, "measured"}, {dd::facts::Provenance::library, "library"},
             {dd::facts::Provenance::profile, "profile"}, {dd::facts::Provenance::trace, "trace"},
             {dd::facts::Provenance::assumed, "assumed"})
