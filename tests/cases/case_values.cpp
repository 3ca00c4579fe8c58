#include "case_values.hpp"

#include <charconv>
#include <cmath>
#include <stdexcept>

namespace dd::cases {

using nlohmann::json;

namespace {

[[noreturn]] void refuse(const std::string& name, const char* what, const json& value) {
  throw std::runtime_error(name + " is no " + what + ": " + value.dump());
}

}  // namespace

std::int64_t figure(const json& value, const std::string& name) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX) refuse(name, "number of this size", value);
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number()) {
    const double real = value.get<double>();
    if (std::abs(real) < 9e18) return static_cast<std::int64_t>(real);
    refuse(name, "number of this size", value);
  }
  if (value.is_string()) {
    const std::string& digits = value.get_ref<const std::string&>();
    std::int64_t out = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    if (error == std::errc{} && end == digits.data() + digits.size()) return out;
  }
  refuse(name, "number", value);
}

double fraction(const json& value, const std::string& name) {
  if (value.is_number()) return value.get<double>();
  if (value.is_string()) {
    const std::string& digits = value.get_ref<const std::string&>();
    double out = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    if (error == std::errc{} && end == digits.data() + digits.size()) return out;
  }
  refuse(name, "number", value);
}

std::string text_of(const json& value, const std::string& name) {
  if (!value.is_string()) refuse(name, "word", value);
  return value.get<std::string>();
}

spec::Dims extents(const json& value, const std::string& name) {
  if (!value.is_array()) refuse(name, "list", value);
  spec::Dims out;
  for (const json& one : value) out.push_back(figure(one, name));
  return out;
}

bool truth(const json& value, const std::string& name) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>() != 0;
  if (!value.is_string()) throw std::runtime_error(name + " is neither true nor false: " + value.dump());
  const std::string& text = value.get_ref<const std::string&>();
  for (const char* yes : {"true", "True", "TRUE", "on", "yes", "1", "strict"})
    if (text == yes) return true;
  return false;
}

}  // namespace dd::cases
