#include "spec/values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cmath>

namespace dd::spec {
namespace {

template <class T>
std::optional<T> whole(std::string_view text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<Dims> parse_separated(std::string_view text, char separator, std::size_t most) {
  Dims out;
  while (true) {
    const std::size_t at = text.find(separator);
    const auto value = parse_int(text.substr(0, at));
    if (!value || out.size() == most) return std::nullopt;
    out.push_back(*value);
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + 1);
  }
}

}  // namespace

std::optional<std::int64_t> parse_int(std::string_view text) { return whole<std::int64_t>(text); }
std::optional<std::uint64_t> parse_unsigned(std::string_view text) { return whole<std::uint64_t>(text); }

std::optional<int> gpu_ordinal(std::string_view target) {
  if (target == "cuda") return 0;
  if (!target.starts_with("cuda:") || target.substr(5).starts_with('-')) return std::nullopt;
  const auto value = parse_int(target.substr(5));
  return value && *value < most_gpus ? std::optional(static_cast<int>(*value)) : std::nullopt;
}

std::optional<double> parse_real(std::string_view text) {
  const auto value = whole<double>(text);
  if (value && *value == 0.0) return 0.0;  // -0 would print as another text than 0
  return value;
}

std::optional<bool> parse_switch(std::string_view text) {
  if (text == "on" || text == "true" || text == "yes" || text == "1") return true;
  if (text == "off" || text == "false" || text == "no" || text == "0") return false;
  return std::nullopt;
}

std::optional<std::int64_t> parse_bytes(std::string_view text) {
  constexpr std::pair<std::string_view, int> units[] = {{"KiB", 10}, {"MiB", 20}, {"GiB", 30}};
  int shift = 0;
  for (const auto& [unit, bits] : units) {
    if (!text.ends_with(unit)) continue;
    text.remove_suffix(unit.size());
    shift = bits;
    break;
  }
  const auto value = parse_int(text);
  std::int64_t bytes = 0;
  if (!value || __builtin_mul_overflow(*value, std::int64_t{1} << shift, &bytes)) return std::nullopt;
  return bytes;
}

std::optional<Dims> parse_dims(std::string_view text, std::size_t most) {
  return parse_separated(text, text.find('X') != std::string_view::npos ? 'X' : 'x', most);
}

std::optional<Dims> parse_ints(std::string_view text, std::size_t most) {
  return text.empty() ? Dims{} : parse_separated(text, ',', most);
}

std::optional<std::vector<std::string>> parse_names(std::string_view text) {
  std::vector<std::string> out;
  if (text.empty()) return out;
  while (true) {
    const std::size_t at = text.find(',');
    if (at == 0 || text.empty()) return std::nullopt;
    out.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + 1);
  }
}

std::optional<std::pair<std::string, std::string>> parse_pair(std::string_view text) {
  const std::size_t at = text.find('=');
  if (at == 0 || at == std::string_view::npos) return std::nullopt;
  return std::pair{std::string(text.substr(0, at)), std::string(text.substr(at + 1))};
}

std::string format_dims(const Dims& dims, char separator) {
  return fmt::format("{}", fmt::join(dims, std::string_view(&separator, 1)));
}

std::string format_real(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return error == std::errc{} ? std::string(text, end) : std::string("nan");
}

std::string format_names(const std::vector<std::string>& names) { return fmt::format("{}", fmt::join(names, ",")); }

bool is_plain_text(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if (byte < 0x20 || byte == 0x7f) return false;
    const std::size_t length = byte < 0x80 ? 1 : byte >> 5 == 0x6 ? 2 : byte >> 4 == 0xe ? 3 : byte >> 3 == 0x1e ? 4 : 0;
    if (length == 0 || i + length > text.size()) return false;
    std::uint32_t code = length == 1 ? byte : byte & (0x7fu >> length);
    for (std::size_t j = 1; j < length; ++j) {
      const auto next = static_cast<unsigned char>(text[i + j]);
      if (next >> 6 != 0x2) return false;
      code = code << 6 | (next & 0x3f);
    }
    constexpr std::uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    if (code < least[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    i += length;
  }
  return true;
}

std::string excerpt(std::string_view text, std::size_t most) {
  if (text.empty()) return "an empty text";
  if (!is_plain_text(text)) return "a text that cannot be printed";
  if (text.size() <= most) return std::string(text);
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xc0) == 0x80) --most;  // not inside a character
  return std::string(text.substr(0, most)) + "...";
}

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > 64) return false;
  const auto letter_or_digit = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (!letter_or_digit(text.front())) return false;
  for (char c : text)
    if (!letter_or_digit(c) && c != '-' && c != '_' && c != '.') return false;
  return true;
}

}  // namespace dd::spec
