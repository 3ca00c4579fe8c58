#include "spec/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>

namespace dd::spec {
namespace {

using core::Problem;
using core::Problems;

// Counts lines while the library reads ahead. A number is known only after the character behind it was read, so the
// line before that character is kept as well.
struct Position {
  int line = 1;
  int line_before = 1;
};

class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, Position* position) : at_(at), position_(position) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    position_->line_before = position_->line;
    if (*at_ == '\n') ++position_->line;
    ++at_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator old = *this;
    ++*this;
    return old;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

 private:
  const char* at_;
  Position* position_;
};

// The library's message without its prefix, printable and short.
std::string cleaned(std::string_view what) {
  const std::size_t prefix = what.find("] ");
  if (prefix != std::string_view::npos) what.remove_prefix(prefix + 2);
  const std::size_t column = what.find("column ");
  if (what.starts_with("parse error at line") && column != std::string_view::npos) what = what.substr(column);
  std::string out;
  for (char c : what.substr(0, 200)) out += c >= 0x20 && c < 0x7f ? c : '?';
  return out;
}

class Handler : public nlohmann::json_sax<nlohmann::json> {
 public:
  Handler(const JsonSink& sink, const JsonLimits& limits, const Position& position)
      : sink_(sink), limits_(limits), position_(position) {}

  bool null() override { return add(make(JsonNode::Type::null, position_.line)); }
  bool boolean(bool value) override {
    JsonNode node = make(JsonNode::Type::boolean, position_.line);
    node.on = value;
    return add(std::move(node));
  }
  bool number_integer(number_integer_t value) override { return number(JsonNode::Type::integer, fmt::format("{}", value)); }
  bool number_unsigned(number_unsigned_t value) override { return number(JsonNode::Type::integer, fmt::format("{}", value)); }
  bool number_float(number_float_t, const string_t& text) override {
    const bool whole = text.find_first_of(".eE") == std::string::npos;  // past 64 bits: kept as written
    return number(whole ? JsonNode::Type::integer : JsonNode::Type::real, text);
  }
  bool string(string_t& value) override {
    if (value.size() > limits_.text) return limit(fmt::format("a text of {} bytes", value.size()), limits_.text, "bytes");
    JsonNode node = make(JsonNode::Type::text, position_.line);
    node.text = std::move(value);
    return add(std::move(node));
  }
  bool binary(binary_t&) override { return false; }  // never called for JSON text
  bool start_object(std::size_t) override { return open(JsonNode::Type::object); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override {
    if (stack_.empty() && !listed_) return listed_ = true;
    return open(JsonNode::Type::array);
  }
  bool end_array() override { return stack_.empty() || close(); }
  bool key(string_t& value) override {
    if (value.size() > 256) return limit(fmt::format("a name of {} bytes", value.size()), 256, "bytes");
    Open& top = stack_.back();
    if (!top.keys.insert(value).second)
      inner_.push_back({value, "the name twice in one object", "each name once", "a field is given twice", {}, position_.line});
    top.key = value;
    top.key_line = position_.line;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception& error) override {
    problems_.push_back({"", cleaned(error.what()), "JSON", "the text is not JSON", {}, position_.line});
    return false;
  }

  Problems take_problems() { return std::move(problems_); }

 private:
  struct Open {
    JsonNode node;
    std::set<std::string> keys;
    std::string key;
    int key_line = 0;
  };

  static JsonNode make(JsonNode::Type type, int line) {
    JsonNode node;
    node.type = type;
    node.line = line;
    return node;
  }
  bool number(JsonNode::Type type, std::string text) {
    if (text.size() > 400) return limit(fmt::format("a number of {} digits", text.size()), 400, "digits");
    JsonNode node = make(type, position_.line_before);
    node.text = std::move(text);
    return add(std::move(node));
  }
  bool limit(std::string seen, std::size_t most, const char* unit) {
    problems_.push_back({"", std::move(seen), fmt::format("at most {} {}", most, unit), "the text is past a limit", {}, position_.line});
    return false;
  }
  bool open(JsonNode::Type type) {
    if (stack_.size() >= limits_.depth) return limit("deeper nesting", limits_.depth, "levels");
    stack_.push_back({make(type, position_.line), {}, {}, 0});
    return true;
  }
  bool close() {
    JsonNode node = std::move(stack_.back().node);
    stack_.pop_back();
    return add(std::move(node));
  }
  bool add(JsonNode&& node) {
    if (++values_ > limits_.values) return limit("more values in one record", limits_.values, "values");
    if (stack_.empty()) {
      sink_(std::move(node), std::move(inner_));
      inner_ = {};
      values_ = 0;
      return true;
    }
    Open& top = stack_.back();
    if (top.node.type == JsonNode::Type::array)
      top.node.items.push_back(std::move(node));
    else
      top.node.members.push_back({top.key, std::move(node)});
    return true;
  }

  const JsonSink& sink_;
  const JsonLimits& limits_;
  const Position& position_;
  std::vector<Open> stack_;
  Problems problems_, inner_;
  std::size_t values_ = 0;
  bool listed_ = false;
};

}  // namespace

std::string_view type_name(JsonNode::Type type) {
  switch (type) {
    case JsonNode::Type::null:
      return "null";
    case JsonNode::Type::boolean:
      return "true or false";
    case JsonNode::Type::integer:
      return "a whole number";
    case JsonNode::Type::real:
      return "a number";
    case JsonNode::Type::text:
      return "a text";
    case JsonNode::Type::array:
      return "an array";
    case JsonNode::Type::object:
      return "an object";
  }
  return "?";
}

Problems read_json(std::string_view text, int first_line, const JsonSink& sink, const JsonLimits& limits) {
  if (text.size() > limits.bytes)
    return {{"", fmt::format("{} bytes", text.size()), fmt::format("at most {} bytes", limits.bytes), "the text is past a limit", {}, first_line}};
  // The library takes a zero byte for the end of the text and would accept whatever follows it.
  if (const std::size_t zero = text.find('\0'); zero != std::string_view::npos) {
    const std::string_view before = text.substr(0, zero);
    const std::size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    const auto line = first_line + static_cast<int>(std::count(before.begin(), before.end(), '\n'));
    return {{"", fmt::format("column {}: a zero byte, {} bytes before the end", zero - line_start + 1, text.size() - zero), "JSON", "the text is not JSON", {}, line}};
  }
  Position position{first_line, first_line};
  Handler handler(sink, limits, position);
  nlohmann::json::sax_parse(CountingIterator(text.data(), &position), CountingIterator(text.data() + text.size(), &position), &handler);
  return handler.take_problems();
}

}  // namespace dd::spec
