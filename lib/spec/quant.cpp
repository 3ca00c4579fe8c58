// Quantization schemes as text.
#include <fmt/format.h>

#include "spec/values.hpp"

namespace dd::spec {
namespace {

bool parse_widths(std::string_view text, Quant& out) {
  if (!text.starts_with('w')) return false;
  const std::size_t at = text.find('a');
  if (at == std::string_view::npos) return false;
  const auto bits = parse_int(text.substr(1, at - 1));
  const auto act_bits = parse_int(text.substr(at + 1));
  if (!bits || !act_bits || *bits < 1 || *bits > 64 || *act_bits < 1 || *act_bits > 64) return false;
  out.bits = static_cast<int>(*bits);
  out.act_bits = static_cast<int>(*act_bits);
  return true;
}

bool parse_part(std::string_view part, Quant& out) {
  if (part == "zero") return out.zero_point = true;
  if (part == "act-order") return out.act_order = true;
  if (part == "group=channel") return out.group_size = -1, true;
  if (part == "group=tensor") return out.group_size = 0, true;
  if (part.starts_with("group=")) {
    const auto size = parse_int(part.substr(6));
    if (!size || *size <= 0) return false;
    out.group_size = *size;
    return true;
  }
  if (part.starts_with("packing=")) {
    out.packing = part.substr(8);
    return is_name(out.packing);
  }
  if (part.starts_with("scale=")) {
    const auto type = core::from_text<DType>(part.substr(6));
    if (type) out.scale_dtype = *type;
    return type.has_value();
  }
  return false;
}

}  // namespace

std::optional<Quant> parse_quant(std::string_view text) {
  Quant out;
  std::size_t at = text.find(':');
  if (!parse_widths(text.substr(0, at), out)) return std::nullopt;
  while (at != std::string_view::npos) {
    text.remove_prefix(at + 1);
    at = text.find(':');
    if (!parse_part(text.substr(0, at), out)) return std::nullopt;
  }
  out.scheme = format_quant(out);
  return out;
}

std::string format_quant(const Quant& q) {
  std::string out = fmt::format("w{}a{}", q.bits, q.act_bits);
  if (q.group_size == 0) out += ":group=tensor";
  if (q.group_size > 0) out += fmt::format(":group={}", q.group_size);
  if (q.zero_point) out += ":zero";
  if (q.act_order) out += ":act-order";
  if (!q.packing.empty()) out += ":packing=" + q.packing;
  if (q.scale_dtype != Quant{}.scale_dtype) out += fmt::format(":scale={}", core::to_text(q.scale_dtype));
  return out;
}

DType weight_dtype(const Quant& q) {
  if (q.bits <= 4) return q.zero_point ? DType::u4 : DType::s4;
  return q.zero_point ? DType::u8 : DType::s8;
}

DType activation_dtype(const Quant& q) {
  return q.act_bits >= 32 ? DType::f32 : q.act_bits >= 16 ? DType::f16 : q.act_bits >= 8 ? DType::s8 : DType::s4;
}

}  // namespace dd::spec
