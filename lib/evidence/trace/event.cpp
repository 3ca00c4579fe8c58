#include "evidence/trace/event.hpp"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

namespace dd::evidence {
namespace {

std::string_view unquote(std::string_view text) {
  while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\r' || text.back() == '\t')) text.remove_suffix(1);
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') return text.substr(1, text.size() - 2);
  return text;
}

// Where an argument goes; null for the many that nobody needs. Spellings of all eras.
std::string_view* argument_slot(std::string_view key, EventView& out) {
  if (key.empty()) return nullptr;
  switch (key.front()) {
    case 'c': return key == "correlation" ? &out.correlation : nullptr;
    case 'e': return key == "external id" ? &out.external_id : nullptr;
    case 'E': return key == "External id" ? &out.external_id : nullptr;
    case 'S': return key == "Sequence number" ? &out.sequence : nullptr;
    case 'd': return key == "device" ? &out.device : nullptr;
    case 's': return key == "stream" ? &out.stream : nullptr;
    case 'b': return key == "bytes" ? &out.bytes : nullptr;
    case 'g': return key == "grid" ? &out.grid : nullptr;
    case 'C': return key == "Concrete Inputs" ? &out.concrete : nullptr;
    case 'I':
      if (key == "Input Dims" || key == "Input dims") return &out.dims;
      if (key == "Input type") return &out.types;
      return key == "Input Strides" ? &out.strides : nullptr;
    default: return nullptr;
  }
}

}  // namespace

struct EventParser::Impl {
  simdjson::ondemand::parser parser;
};

EventParser::EventParser() : impl_(std::make_unique<Impl>()) {}
EventParser::~EventParser() = default;

namespace {

using simdjson::ondemand::json_type;

// Raw text of any value. Objects and lists are skipped, not checked in depth: what is used of them is checked later.
simdjson::error_code raw_of(simdjson::ondemand::value value, std::string_view& out) {
  json_type type;
  if (const auto error = value.type().get(type)) return error;
  if (type == json_type::array) {
    simdjson::ondemand::array list;
    if (const auto error = value.get_array().get(list)) return error;
    return list.raw_json().get(out);
  }
  if (type == json_type::object) {
    simdjson::ondemand::object object;
    if (const auto error = value.get_object().get(object)) return error;
    return object.raw_json().get(out);
  }
  out = unquote(value.raw_json_token());
  return simdjson::SUCCESS;
}

simdjson::error_code text_of(simdjson::ondemand::value value, std::string_view& out) {
  json_type type;
  if (const auto error = value.type().get(type)) return error;
  if (type == json_type::string) return value.get_string().get(out);
  return raw_of(value, out);
}

simdjson::error_code read_arguments(simdjson::ondemand::value value, EventView& out) {
  json_type type;
  if (const auto error = value.type().get(type)) return error;
  if (type != json_type::object) return simdjson::SUCCESS;  // wrong type: the event is used without arguments
  simdjson::ondemand::object args;
  if (const auto error = value.get_object().get(args)) return error;
  for (auto field : args) {
    simdjson::ondemand::raw_json_string key;
    if (const auto error = field.key().get(key)) return error;
    const char* begin = key.raw();
    std::size_t size = 0;
    while (begin[size] != '"' && size < 32) ++size;
    if (std::string_view* slot = argument_slot({begin, size}, out)) {
      simdjson::ondemand::value inner;
      if (const auto error = field.value().get(inner)) return error;
      if (const auto error = raw_of(inner, *slot)) return error;
    }
  }
  return simdjson::SUCCESS;
}

}  // namespace

bool EventParser::parse(std::string_view text, EventView& out) {
  simdjson::ondemand::document document;
  const simdjson::padded_string_view view(text.data(), text.size(), text.size() + simdjson::SIMDJSON_PADDING);
  if (impl_->parser.iterate(view).get(document)) return false;
  simdjson::ondemand::object event;
  if (document.get_object().get(event)) return false;
  for (auto field : event) {
    simdjson::ondemand::raw_json_string key;
    if (field.key().get(key)) return false;
    simdjson::ondemand::value value;
    if (field.value().get(value)) return false;
    simdjson::error_code error = simdjson::SUCCESS;
    // The keys differ in their first letters; a key of two letters is told by the quote behind it.
    const char* k = key.raw();
    const auto two = [&](char x, char y) { return k[0] == x && k[1] == y && k[2] == '"'; };
    const auto three = [&](char x, char y, char z) { return k[0] == x && k[1] == y && k[2] == z && k[3] == '"'; };
    if (two('p', 'h')) error = text_of(value, out.phase);
    else if (three('c', 'a', 't')) error = text_of(value, out.category);
    else if (k[0] == 'n' && std::string_view(k, 5) == "name\"") error = text_of(value, out.name);
    else if (three('p', 'i', 'd')) error = raw_of(value, out.pid);
    else if (three('t', 'i', 'd')) error = raw_of(value, out.tid);
    else if (two('t', 's')) error = raw_of(value, out.start);
    else if (three('d', 'u', 'r')) error = raw_of(value, out.duration);
    else if (k[0] == 'a' && std::string_view(k, 5) == "args\"") error = read_arguments(value, out);
    if (error) return false;
  }
  return true;
}

// Walks the scalars at the front of the event; anything it does not understand is left to the parser.
bool only_counted(std::string_view text, std::string_view& kind) {
  static constexpr std::array<std::string_view, 8> dropped = {"python_function", "ac2g", "fwdbwd", "cpu_instant_event", "async_cpu_to_gpu", "async_gpu", "async", "overhead"};
  const auto blank = [](char c) { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; };
  const char* at = text.data() + 1;
  const char* const end = text.data() + std::min<std::size_t>(text.size(), 400);
  while (true) {
    while (at < end && (blank(*at) || *at == ',')) ++at;
    if (at >= end || *at != '"') return false;
    const char* const key = ++at;
    while (at < end && *at != '"' && *at != '\\') ++at;
    const std::string_view name(key, static_cast<std::size_t>(at - key));
    if (at >= end || *at++ != '"') return false;
    while (at < end && (blank(*at) || *at == ':')) ++at;
    if (at >= end || *at == '{' || *at == '[') return false;
    const bool quoted = *at == '"';
    const char* const value = quoted ? ++at : at;
    if (quoted) {
      while (at < end && *at != '"' && *at != '\\') ++at;
      if (at >= end || *at != '"') return false;
    } else {
      while (at < end && *at != ',' && *at != '}' && !blank(*at)) ++at;
    }
    const std::string_view content(value, static_cast<std::size_t>(at - value));
    if (quoted) ++at;
    if (name == "ph" && content.size() == 1 && (content[0] == 's' || content[0] == 'f' || content[0] == 't')) return kind = "flow", true;
    if (name == "ph" && content == "M") return kind = "metadata", true;
    if (name != "cat") continue;
    for (const std::string_view each : dropped)
      if (content == each) return kind = each, true;
    return false;
  }
}

bool read_integer(std::string_view text, long long& value) {
  text = unquote(text);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

bool read_time(std::string_view text, long long& nanoseconds) {
  text = unquote(text);
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  long long whole = 0;
  std::size_t at = 0;
  for (; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at) {
    if (whole > 9'000'000'000'000'000 / 10) return false;
    whole = whole * 10 + (text[at] - '0');
  }
  if (at == 0) return false;
  long long fraction = 0;
  if (at < text.size() && text[at] == '.') {
    int digits = 0;
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at)
      if (digits < 3) fraction = fraction * 10 + (text[at] - '0'), ++digits;
    for (; digits < 3; ++digits) fraction *= 10;
  }
  if (at != text.size()) {  // an exponent, or no number at all
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(value) || value > 9e15) return false;
    nanoseconds = static_cast<long long>(value * 1000.0);
    if (negative) nanoseconds = -nanoseconds;
    return true;
  }
  nanoseconds = whole * 1000 + fraction;
  if (negative) nanoseconds = -nanoseconds;
  return true;
}

}  // namespace dd::evidence
