// Specs from files: JSON (one object, or a list) and JSON lines. Every record gives its own result, so that a bad one
// does not lose the others. (Command lines, also those of batch files, are read by app/cli/options.hpp.)
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "spec/spec.hpp"

namespace dd::spec {

struct Entry {
  std::string file;
  int line = 0;  // where the record starts
  core::Result<OpSpec> spec;
};

// Past so many a file is cut with an error: what a case keeps in memory is some kilobytes.
constexpr std::size_t most_specs = 100000;
core::Problem too_many_specs(const std::string& file, int line);

// One object; problems carry the file and the line of the field.
core::Result<OpSpec> parse_json(std::string_view text, const std::string& file = {}, int first_line = 1);
// One object or a list of objects. Text that is no JSON gives a last entry that says so.
std::vector<Entry> parse_json_document(std::string_view text, const std::string& file);
// One object a line; empty lines are skipped.
std::vector<Entry> parse_jsonl(std::string_view text, const std::string& file);

// The names of the JSON fields of an operator ("q.shape", "flags.tf32", ...), for tests against the schema.
struct JsonFieldName {
  std::string path;
  bool nullable = false;
};
std::vector<JsonFieldName> json_field_names(Op op);

}  // namespace dd::spec
