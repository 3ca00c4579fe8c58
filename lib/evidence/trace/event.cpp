#include "evidence/trace/event.hpp"

#include <simdjson.h>

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
    const char* k = key.raw();
    simdjson::error_code error = simdjson::SUCCESS;
    const auto is = [&](std::string_view name) { return std::string_view(k, name.size()) == name && k[name.size()] == '"'; };
    if (is("ph")) error = text_of(value, out.phase);
    else if (is("cat")) error = text_of(value, out.category);
    else if (is("name")) error = text_of(value, out.name);
    else if (is("pid")) error = raw_of(value, out.pid);
    else if (is("tid")) error = raw_of(value, out.tid);
    else if (is("ts")) error = raw_of(value, out.start);
    else if (is("dur")) error = raw_of(value, out.duration);
    else if (is("args")) error = read_arguments(value, out);
    if (error) return false;
  }
  return true;
}

bool only_counted(std::string_view text, std::string_view& kind) {
  const std::string_view head = text.substr(0, 160);
  const auto inner = head.find('{', 1);  // fields of inner objects do not count
  const auto value_of = [&](std::string_view key) -> std::string_view {
    auto at = head.find(key);
    if (at == std::string_view::npos || at > inner) return {};
    at += key.size();
    while (at < head.size() && (head[at] == ' ' || head[at] == ':')) ++at;
    if (at >= head.size() || head[at] != '"') return {};
    const auto end = head.find('"', at + 1);
    return end == std::string_view::npos ? std::string_view{} : head.substr(at + 1, end - at - 1);
  };
  const std::string_view category = value_of("\"cat\"");
  static constexpr std::array<std::string_view, 8> dropped = {"python_function", "ac2g", "fwdbwd", "cpu_instant_event", "async_cpu_to_gpu", "async_gpu", "async", "overhead"};
  for (const std::string_view each : dropped)
    if (category == each) return kind = each, true;
  if (value_of("\"ph\"") == "M" && category.empty()) return kind = "metadata", true;
  return false;
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
