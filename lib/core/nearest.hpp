// "Did you mean": the names closest to a text by edit distance.
#pragma once
#include <string_view>
#include <vector>

namespace dd::core {

// At most `most` names whose edit distance to `text` is at most a third of its length (at least 2), nearest first;
// before them names that begin with the text.
std::vector<std::string_view> nearest_names(std::string_view text, const std::vector<std::string_view>& names,
                                            std::size_t most = 3);

}  // namespace dd::core
