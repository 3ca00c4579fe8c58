// The table of JSON fields: path, type and the setter (most are the setters of options, see options.hpp).
// Internal to lib/spec.
#pragma once
#include <span>
#include <string_view>

#include "spec/options.hpp"

namespace dd::spec {

enum class JsonKind {
  dims,             // array of whole numbers, a shape or strides
  ints,             // array of whole numbers
  names,            // array of texts
  text,
  text_or_names,
  number,
  integer,
  boolean,
  boolean_or_text,
  object,           // fields below it are rows of their own
  text_map,         // object with free names and texts
  boolean_map,      // object with free names and true or false
  extra_map,        // object with the names of extra_fields.def
};
std::string_view kind_text(JsonKind kind);

struct JsonField {
  unsigned ops;
  std::string_view path;
  JsonKind kind;
  bool nullable;
  std::string_view option;  // the option that says the same; empty when there is none
  // Like SpecOption::apply; null: the option's own. For an object: called when it is there.
  std::string (*apply)(Draft&, std::string_view value);
};

std::span<const JsonField> json_fields();
const JsonField* find_field(std::string_view path, Op op);

}  // namespace dd::spec
