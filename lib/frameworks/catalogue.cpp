#include "frameworks/framework.hpp"
#include "frameworks/torch/torch.hpp"

namespace dd::frameworks {

// The one list of frameworks.
std::span<const Framework* const> all_frameworks() {
  static const Framework* const list[] = {&torch_framework()};
  return list;
}

const Framework* find_framework(std::string_view name) {
  for (const Framework* framework : all_frameworks())
    if (framework->name() == name) return framework;
  return nullptr;
}

}  // namespace dd::frameworks
