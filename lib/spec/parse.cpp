// One JSON record to a spec: walks the value along the table of fields, then the same finish() as the command line.
#include "spec/parse.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "core/nearest.hpp"
#include "spec/json_fields.hpp"
#include "spec/json_text.hpp"

namespace dd::spec {
namespace {

using core::Problem;
using core::Problems;
using Type = JsonNode::Type;

std::string printable(std::string_view text) { return excerpt(text); }

std::string shown(const JsonNode& node) {
  if (node.type == Type::text) return node.text.empty() ? "an empty text" : fmt::format("\"{}\"", printable(node.text));
  if (node.type == Type::integer || node.type == Type::real) return printable(node.text);
  if (node.type == Type::boolean) return node.on ? "true" : "false";
  if (node.type == Type::array) {
    constexpr std::size_t most = 8;
    std::string out = "[";
    for (std::size_t i = 0; i < std::min(node.items.size(), most); ++i)
      out += (i ? "," : "") + (node.items[i].type == Type::array ? std::string("[...]") : shown(node.items[i]));
    return out + (node.items.size() > most ? ",...]" : "]");
  }
  return std::string(type_name(node.type));
}

std::optional<std::string> joined(const JsonNode& node, Type of, char separator) {
  if (node.type != Type::array) return std::nullopt;
  std::string out;
  for (const JsonNode& item : node.items) {
    if (item.type != of) return std::nullopt;
    if (of == Type::text && (item.text.empty() || item.text.find(separator) != std::string::npos)) return std::nullopt;
    if (&item != &node.items.front()) out += separator;
    out += item.text;
  }
  return out;
}

// The text that the setter of this kind of field takes; nullopt when the value is of another type.
std::optional<std::string> setter_text(JsonKind kind, const JsonNode& node) {
  const auto when = [&](bool fits) { return fits ? std::optional(node.text) : std::nullopt; };
  switch (kind) {
    case JsonKind::dims:
      return joined(node, Type::integer, 'x');
    case JsonKind::ints:
      return joined(node, Type::integer, ',');
    case JsonKind::names:
      return joined(node, Type::text, ',');
    case JsonKind::text_or_names:
      return node.type == Type::text ? when(node.text.find(',') == std::string::npos) : joined(node, Type::text, ',');
    case JsonKind::text:
      return when(node.type == Type::text);
    case JsonKind::integer:
      return when(node.type == Type::integer);
    case JsonKind::number:
      return when(node.type == Type::integer || node.type == Type::real);
    case JsonKind::boolean_or_text:
      if (node.type == Type::text) return node.text;
      [[fallthrough]];
    case JsonKind::boolean:
      return node.type == Type::boolean ? std::optional<std::string>(node.on ? "true" : "false") : std::nullopt;
    default:
      return std::nullopt;
  }
}

class Reader {
 public:
  Reader(Op op, Problems&& problems) : op_(op), draft_(default_draft(op)), problems_(std::move(problems)) {}

  core::Result<OpSpec> read(const JsonNode& record) {
    walk(record, "");
    require_shapes();
    core::Result<OpSpec> result = finish(std::move(draft_), std::move(problems_));
    if (result) return result;
    Problems problems = result.problems();
    for (Problem& problem : problems) place(problem, record.line);
    return problems;
  }

 private:
  void walk(const JsonNode& object, const std::string& prefix) {
    for (const auto& [name, node] : object.members) {
      const std::string path = prefix.empty() ? name : prefix + "." + name;
      lines_.emplace_back(path, node.line);
      const JsonField* field = find_field(path, op_);
      if (field)
        read_field(*field, node, path);
      else
        unknown(name, prefix, node.line);
    }
  }

  void unknown(const std::string& name, const std::string& prefix, int line) {
    std::vector<std::string_view> siblings;
    for (const JsonField& field : json_fields()) {
      if (!(field.ops & mask_of(op_))) continue;
      std::string_view path = field.path;
      if (!prefix.empty()) {
        if (!path.starts_with(prefix + ".")) continue;
        path.remove_prefix(prefix.size() + 1);
      }
      if (path.find('.') == std::string_view::npos) siblings.push_back(path);
    }
    const auto near = core::nearest_names(name, siblings, 1);
    std::string wanted = near.empty() ? fmt::format("{}", fmt::join(siblings, ", ")) : fmt::format("{}?", near[0]);
    const std::string shown_name = printable(name);
    problems_.push_back({prefix.empty() ? shown_name : prefix + "." + shown_name, shown_name, std::move(wanted),
                         fmt::format("{} has no such field", prefix.empty() ? core::to_text(op_) : std::string_view(prefix)), {}, line});
  }

  void wrong(const std::string& path, const JsonField& field, const JsonNode& node, std::string wanted) {
    draft_.bad.insert(std::string(field.option));
    problems_.push_back({path, shown(node), std::move(wanted), "the value is not understood", {}, node.line});
  }

  void read_field(const JsonField& field, const JsonNode& node, const std::string& path) {
    if (node.type == Type::null && field.nullable) return;
    const std::string option(field.option);
    if (field.kind == JsonKind::object) {
      if (node.type != Type::object) return wrong(path, field, node, std::string(kind_text(field.kind)));
      field.apply(draft_, {});
      if (path == "quant" && node.members.empty()) wrong(path, field, node, "scheme, or bits and the rest, or null");
      return walk(node, path);
    }
    if (field.kind == JsonKind::text_map || field.kind == JsonKind::boolean_map || field.kind == JsonKind::extra_map)
      return read_map(field, node, path);
    const auto text = setter_text(field.kind, node);
    if (!text) return wrong(path, field, node, std::string(kind_text(field.kind)));
    if (text->empty() && field.kind == JsonKind::names && path == "policy.deny") return;
    draft_.given.insert(option);
    std::string wanted = apply(field, *text);
    if (!wanted.empty()) wrong(path, field, node, std::move(wanted));
  }

  std::string apply(const JsonField& field, std::string_view text) {
    return field.apply ? field.apply(draft_, text) : find_option(field.option, mask_of(op_))->apply(draft_, text);
  }

  void read_map(const JsonField& field, const JsonNode& node, const std::string& path) {
    if (node.type != Type::object) return wrong(path, field, node, std::string(kind_text(field.kind)));
    for (const auto& [name, value] : node.members) {
      const std::string at = path + "." + printable(name);
      lines_.emplace_back(at, value.line);
      const auto text = map_text(field.kind, name, value);
      if (name.empty() || name.find('=') != std::string::npos || !text) {
        wrong(at, field, value, std::string(kind_text(field.kind)));
        continue;
      }
      std::string wanted = apply(field, name + "=" + *text);
      if (!wanted.empty()) wrong(at, field, value, std::move(wanted));
    }
  }

  std::optional<std::string> map_text(JsonKind kind, const std::string& name, const JsonNode& value) {
    if (kind == JsonKind::text_map) return setter_text(JsonKind::text, value);
    if (kind == JsonKind::boolean_map) return setter_text(JsonKind::boolean, value);
    const ExtraField* field = find_extra(name, op_);
    if (!field) return "";  // the setter names what is wrong
    constexpr JsonKind kinds[] = {JsonKind::integer, JsonKind::number, JsonKind::boolean, JsonKind::text, JsonKind::names};
    return setter_text(kinds[static_cast<int>(field->type)], value);
  }

  void require_shapes() {
    const auto require = [&](const TensorDraft& tensor, const char* path, const char* option) {
      if (tensor.shape || draft_.failed(option)) return;
      problems_.push_back({path, "nothing", "an array of extents", "the shape is missing", {}, 0});
      draft_.bad.insert(option);
    };
    if (op_ == Op::sdpa) return require(draft_.q, "q.shape", "--q");
    require(draft_.x, "x.shape", "--x");
    require(draft_.w, "w.shape", "--w");
  }

  // Says options by the name of their field, and the line of the nearest enclosing field.
  void place(Problem& problem, int record_line) {
    if (problem.field.starts_with("--"))
      for (const JsonField& field : json_fields())
        if ((field.ops & mask_of(op_)) && field.option == problem.field) {
          problem.field = field.path;
          break;
        }
    if (problem.line != 0) return;
    problem.line = record_line;
    std::size_t best = 0;
    for (const auto& [path, line] : lines_) {
      const bool encloses = problem.field.starts_with(path) &&
                            (problem.field.size() == path.size() || problem.field[path.size()] == '.' || problem.field[path.size()] == '[');
      if (encloses && path.size() > best) {
        best = path.size();
        problem.line = line;
      }
    }
  }

  Op op_;
  Draft draft_;
  Problems problems_;
  std::vector<std::pair<std::string, int>> lines_;
};

core::Result<OpSpec> read_record(const JsonNode& record, Problems&& problems) {
  if (record.type != Type::object) {
    problems.push_back({"", shown(record), "an object with op, and q or x and w", "a spec is an object", {}, record.line});
    return problems;
  }
  const auto member = std::find_if(record.members.begin(), record.members.end(), [](const auto& m) { return m.first == "op"; });
  if (member == record.members.end()) {
    problems.push_back({"op", "nothing", core::choices<Op>(), "the operator is missing", {}, record.line});
    return problems;
  }
  const auto op = member->second.type == Type::text ? core::from_text<Op>(member->second.text) : std::nullopt;
  if (!op) {
    problems.push_back({"op", shown(member->second), core::choices<Op>(), "this operator is not known", {}, member->second.line});
    return problems;
  }
  return Reader(*op, std::move(problems)).read(record);
}

core::Result<OpSpec> with_file(core::Result<OpSpec> result, const std::string& file) {
  if (result) return result;
  Problems problems = result.problems();
  for (Problem& problem : problems) problem.file = file;
  return problems;
}

std::vector<Entry> read_all(std::string_view text, const std::string& file, int first_line) {
  std::vector<Entry> out;
  Problems broken = read_json(text, first_line, [&](JsonNode&& record, Problems&& problems) {
    const int line = record.line;
    if (out.size() > most_specs) return;
    if (out.size() == most_specs) {
      out.push_back({file, line, too_many_specs(file, line)});
      return;
    }
    out.push_back({file, line, with_file(read_record(record, std::move(problems)), file)});
  });
  if (!broken.empty()) out.push_back({file, broken.front().line, with_file(std::move(broken), file)});
  return out;
}

}  // namespace

core::Problem too_many_specs(const std::string& file, int line) {
  return {"", fmt::format("more than {} specs", most_specs), "several smaller files", "the file is past a limit; what follows is left out", file, line};
}

core::Result<OpSpec> parse_json(std::string_view text, const std::string& file, int first_line) {
  std::vector<Entry> entries = read_all(text, file, first_line);
  for (Entry& entry : entries)
    if (!entry.spec || entries.size() == 1) return std::move(entry.spec);
  return Problem{"", fmt::format("{} records", entries.size()), "one object", "this is not one spec", file, first_line};
}

std::vector<Entry> parse_json_document(std::string_view text, const std::string& file) { return read_all(text, file, 1); }

std::vector<Entry> parse_jsonl(std::string_view text, const std::string& file) {
  std::vector<Entry> out;
  int line = 0;
  while (!text.empty()) {
    ++line;
    const std::size_t end = text.find('\n');
    std::string_view record = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line == 1 && record.starts_with("\xef\xbb\xbf")) record.remove_prefix(3);
    if (record.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (out.size() == most_specs) {
      out.push_back({file, line, too_many_specs(file, line)});
      break;
    }
    out.push_back({file, line, parse_json(record, file, line)});
  }
  return out;
}

std::vector<JsonFieldName> json_field_names(Op op) {
  std::vector<JsonFieldName> out;
  for (const JsonField& field : json_fields())
    if (field.ops & mask_of(op)) out.push_back({std::string(field.path), field.nullable});
  return out;
}

}  // namespace dd::spec
