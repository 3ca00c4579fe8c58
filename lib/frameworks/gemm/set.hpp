// Small helpers of the fact builders: set what is not known yet, read numbers, multiply without overflow.
#pragma once
#include <algorithm>
#include <limits>
#include <optional>
#include <string>

#include "facts/facts.hpp"

namespace dd::frameworks::gemm {

using facts::Id;
using facts::Provenance;

inline void set_new(facts::FactSet& f, Id id, facts::Value value, Provenance p = Provenance::derived, std::string where = {}) {
  if (!f.known(id)) f.set(id, std::move(value), p, std::move(where));
}
inline std::optional<std::int64_t> integer(const facts::FactSet& f, Id id) {
  const auto* v = std::get_if<std::int64_t>(&f.value(id));
  return v ? std::optional(*v) : std::nullopt;
}
inline std::int64_t integer_or(const facts::FactSet& f, Id id, std::int64_t other) { return integer(f, id).value_or(other); }
inline std::string text(const facts::FactSet& f, Id id) {
  const auto* v = std::get_if<std::string>(&f.value(id));
  return v ? *v : std::string();
}
inline std::optional<bool> flag(const facts::FactSet& f, Id id) {
  const auto* v = std::get_if<bool>(&f.value(id));
  return v ? std::optional(*v) : std::nullopt;
}
// Products of extents, held at the greatest value instead of wrapping around.
inline std::int64_t times(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  if (__builtin_mul_overflow(a, b, &out)) return std::numeric_limits<std::int64_t>::max();
  return out;
}

}  // namespace dd::frameworks::gemm
