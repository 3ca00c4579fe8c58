#include "evidence/logs/torch_lines.hpp"

#include <algorithm>
#include <charconv>

#include "evidence/answer/inputs.hpp"
#include "frameworks/torch/messages.hpp"
#include "frameworks/torch/torch.hpp"

namespace dd::evidence {
namespace {

using facts::Id;

bool digits_at(std::string_view text, std::size_t at, std::int64_t& out) {
  while (at < text.size() && text[at] == ' ') ++at;
  const auto [end, error] = std::from_chars(text.data() + std::min(at, text.size()), text.data() + text.size(), out);
  return error == std::errc{} && end != text.data() + at;
}

// The number behind the first `mark`.
bool number_behind(std::string_view text, std::string_view mark, std::int64_t& out) {
  const auto at = text.find(mark);
  return at != std::string_view::npos && digits_at(text, at + mark.size(), out);
}

void said_is(facts::FactSet& to, Id id, std::int64_t value) { to.set(id, value, facts::Provenance::trace, "the line"); }

// "Query dtype: float", "key.dtype: c10::Half"
void read_dtype(std::string_view line, std::initializer_list<std::string_view> names, Id id, facts::FactSet& to) {
  for (const std::string_view name : names)
    for (const std::string_view mark : {" dtype: ", ".dtype: ", " data type: "}) {
      const std::string key = std::string(name) + std::string(mark);
      const auto at = line.find(key);
      if (at == std::string_view::npos) continue;
      const std::string_view rest = line.substr(at + key.size());
      const std::string dtype = spec_dtype(rest.substr(0, rest.find_first_of(" ,")));
      if (!dtype.empty()) to.set(id, dtype, facts::Provenance::trace, "the line");
      return;
    }
}

// "[sm80, sm90]. Attempting to run on a sm 7.5 gpu."
void read_gpu(std::string_view line, facts::FactSet& to) {
  const auto at = line.find(" on a sm ");
  std::int64_t major = 0, minor = 0;
  if (at == std::string_view::npos || !digits_at(line, at + 9, major)) return;
  const auto dot = line.find('.', at + 9);
  if (dot == std::string_view::npos || !digits_at(line, dot + 1, minor) || major < 1 || major > 99 || minor < 0 || minor > 9) return;
  said_is(to, Id::compute_capability, major * 10 + minor);
}

const rules::Rule* torch_rule(std::string_view id) {
  for (const auto& table : frameworks::torch_framework().tables())
    for (const rules::Rule& row : table)
      if (row.id == id) return &row;
  return nullptr;
}

// Torch's texts are told by parts of sentences; a log of something else may hold the short ones by chance.
bool may_be_torch(std::string_view text) {
  for (const std::string_view mark : {"Warning", "Error", "sdp_utils", "ttention", "sdpa", "fused kernel", "query", "attn_mask", "head_dim"})
    if (text.find(mark) != std::string_view::npos) return true;
  return false;
}

}  // namespace

facts::FactSet facts_in(std::string_view line) {
  facts::FactSet out;
  std::int64_t value = 0;
  for (const auto& [mark, id] : {std::pair<std::string_view, Id>{"Query.size(-1): ", Id::head_dim}, {"Key.size(-1): ", Id::head_dim_k}, {"Value.size(-1): ", Id::head_dim_v},
                                 {"divisible by ", Id::efficient_align_elements}})
    if (number_behind(line, mark, value) && value >= 0) said_is(out, id, value);
  read_dtype(line, {"Query", "query"}, Id::dtype, out);
  read_dtype(line, {"Key", "key"}, Id::dtype_k, out);
  read_dtype(line, {"Value", "value"}, Id::dtype_v, out);
  read_gpu(line, out);
  return out;
}

std::vector<const rules::Rule*> rules_behind(std::string_view line, std::string_view backend) {
  std::vector<const rules::Rule*> unmet, open, all;
  if (!may_be_torch(line)) return all;
  const facts::FactSet said = facts_in(line);
  for (const std::string_view id : frameworks::torch::rules_of(line, backend)) {
    const rules::Rule* rule = torch_rule(id);
    if (rule == nullptr) continue;
    all.push_back(rule);
    const rules::Truth truth = rules::evaluate(rule->requires_that, said);
    if (truth == rules::Truth::unmet) unmet.push_back(rule);
    if (truth == rules::Truth::unknown) open.push_back(rule);
  }
  if (unmet.empty() && open.empty()) return all;
  unmet.insert(unmet.end(), open.begin(), open.end());
  return unmet;
}

}  // namespace dd::evidence
