#include "core/nearest.hpp"

#include <algorithm>
#include <numeric>

namespace dd::core {
namespace {

std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

}  // namespace

std::vector<std::string_view> nearest_names(std::string_view text, const std::vector<std::string_view>& names,
                                            std::size_t most) {
  text = text.substr(0, 64);  // hostile input: keep the cost bounded
  const std::size_t limit = text.size() <= 3 ? 1 : std::max<std::size_t>(2, text.size() / 3);
  std::vector<std::pair<std::size_t, std::string_view>> found;
  for (std::string_view name : names) {
    // What begins with the text is what was begun to be written.
    const bool begun = text.size() >= 3 && name.substr(0, text.size()) == text;
    const std::size_t d = begun ? 0 : distance(text, name);
    if (d <= limit) found.emplace_back(d, name);
  }
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<std::string_view> out;
  for (const auto& [d, name] : found)
    if (out.size() < most) out.push_back(name);
  return out;
}

}  // namespace dd::core
