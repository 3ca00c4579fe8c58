// JSON text to values that know their line. Duplicate keys, depth, size and syntax are reported; nothing is dropped
// silently. Internal to lib/spec and its fuzzers.
#pragma once
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.hpp"

namespace dd::spec {

struct JsonMember;

struct JsonNode {
  enum class Type { null, boolean, integer, real, text, array, object };
  Type type = Type::null;
  bool on = false;
  std::string text;  // of a text; of a number as written
  std::vector<JsonNode> items;
  std::vector<JsonMember> members;
  int line = 0;
};

// Not a pair: clang 14 wants the element of a vector complete where it asks whether a pair of it can be made.
struct JsonMember {
  std::string first;
  JsonNode second;
};

// "an array", "a number", ... for messages.
std::string_view type_name(JsonNode::Type type);

struct JsonLimits {
  std::size_t bytes = 256u << 20;   // of the whole text
  std::size_t values = 400000;      // in one record
  std::size_t depth = 16;
  std::size_t text = 1u << 16;      // bytes of one string
};

// Called for each record with its value and the problems found inside it (a record with problems is complete but not
// to be trusted). The top-level value is one record, or an array of records, delivered as soon as each ends.
using JsonSink = std::function<void(JsonNode&& record, core::Problems&& problems)>;
// Problems of the text itself: syntax, limits. What came before them has been delivered.
core::Problems read_json(std::string_view text, int first_line, const JsonSink& sink, const JsonLimits& limits = {});

}  // namespace dd::spec
