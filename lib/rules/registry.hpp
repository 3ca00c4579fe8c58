// The one catalogue of rules. Each owner (backend, framework, spec, environment) hands over its table once, through
// the list in lib/backends/catalogue.cpp; explain, the generated catalogue and the table tests loop over all of them.
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "rules/rule.hpp"

namespace dd::rules {

class Registry {
 public:
  void add(std::span<const Rule> table) { tables_.push_back(table); }
  std::vector<const Rule*> all() const;                  // sorted by id
  const Rule* find(std::string_view id_or_name) const;   // exact id (any case) or exact name
  std::vector<std::string_view> near(std::string_view text, std::size_t most = 3) const;  // for "did you mean"

 private:
  std::vector<std::span<const Rule>> tables_;
};

}  // namespace dd::rules
