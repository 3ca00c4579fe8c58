#include "rules/registry.hpp"

#include <algorithm>
#include <cctype>
#include <string>

#include "core/nearest.hpp"

namespace dd::rules {

std::vector<const Rule*> Registry::all() const {
  std::vector<const Rule*> out;
  for (const auto& table : tables_)
    for (const Rule& rule : table) out.push_back(&rule);
  std::stable_sort(out.begin(), out.end(), [](const Rule* a, const Rule* b) { return a->id < b->id; });
  return out;
}

const Rule* Registry::find(std::string_view id_or_name) const {
  std::string upper(id_or_name);
  std::transform(upper.begin(), upper.end(), upper.begin(), [](unsigned char c) { return std::toupper(c); });
  for (const auto& table : tables_)
    for (const Rule& rule : table)
      if (rule.id == upper || rule.name == id_or_name) return &rule;
  return nullptr;
}

std::vector<std::string_view> Registry::near(std::string_view text, std::size_t most) const {
  std::vector<std::string_view> names;
  for (const Rule* rule : all()) {
    names.push_back(rule->id);
    names.push_back(rule->name);
  }
  return core::nearest_names(text, names, most);
}

}  // namespace dd::rules
