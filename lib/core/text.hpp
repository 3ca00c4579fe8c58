// Enum text tables: the printable name is the accepted name everywhere.
// Specialise EnumText<E> with `static constexpr std::array<std::pair<E, std::string_view>, N> names`; the first
// entry of a value is its printed name, further entries for the same value are accepted aliases.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace dd::core {

template <class E>
struct EnumText;

template <class E>
constexpr std::string_view to_text(E value) {
  for (const auto& [key, name] : EnumText<E>::names)
    if (key == value) return name;
  return "?";
}

template <class E>
constexpr std::optional<E> from_text(std::string_view text) {
  for (const auto& [key, name] : EnumText<E>::names)
    if (name == text) return key;
  return std::nullopt;
}

// "a|b|c" of the printed names (aliases left out), for messages and help.
template <class E>
std::string choices(std::string_view separator = "|") {
  std::string out;
  std::optional<E> last;
  for (const auto& [key, name] : EnumText<E>::names) {
    if (last && *last == key) continue;
    if (last) out += separator;
    out += name;
    last = key;
  }
  return out;
}

}  // namespace dd::core

// Defines the table of an enum in one line: DD_ENUM_TEXT(Color, {Color::red, "red"}, {Color::blue, "blue"})
#define DD_ENUM_TEXT(E, ...)                                                                  \
  template <>                                                                                 \
  struct dd::core::EnumText<E> {                                                              \
    static constexpr auto names = std::to_array<std::pair<E, std::string_view>>({__VA_ARGS__}); \
  };
