// Element types: names, aliases, width, kind. s4 and u4 hold two elements a byte, low nibble first.
// Limits are of the OCP 8-bit formats (f8_e4m3 is the "fn" form: no infinity, greatest finite 448).
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

#include "core/text.hpp"

namespace dd::core {

enum class DType : std::uint8_t { f64, f32, f16, bf16, f8_e4m3, f8_e5m2, s32, s8, u8, s4, u4, boolean, f8_e8m0, f4_e2m1 };

struct DTypeInfo {
  int bits;              // storage bits of one element
  bool is_float;
  bool is_signed;
  int mantissa_bits;     // explicit fraction bits (0 for integers)
  double unit_roundoff;  // 2^-(mantissa_bits+1); 0 for integers
  double max_finite;     // greatest finite value
  std::string_view torch_name;
  std::string_view numpy_name;  // empty when NumPy has no such type
};

const DTypeInfo& info(DType dtype);
inline bool is_float(DType d) { return info(d).is_float; }
// Bytes that n packed elements take.
constexpr std::int64_t bytes_for(std::int64_t n, int bits) { return (n * bits + 7) / 8; }
std::int64_t bytes_of(DType dtype, std::int64_t n);

}  // namespace dd::core

DD_ENUM_TEXT(dd::core::DType, {dd::core::DType::f64, "f64"}, {dd::core::DType::f64, "fp64"}, {dd::core::DType::f64, "float64"},
             {dd::core::DType::f64, "double"}, {dd::core::DType::f32, "f32"}, {dd::core::DType::f32, "fp32"},
             {dd::core::DType::f32, "float32"}, {dd::core::DType::f32, "float"}, {dd::core::DType::f16, "f16"},
             {dd::core::DType::f16, "fp16"}, {dd::core::DType::f16, "half"}, {dd::core::DType::f16, "float16"},
             {dd::core::DType::bf16, "bf16"}, {dd::core::DType::bf16, "bfloat16"}, {dd::core::DType::f8_e4m3, "f8_e4m3"},
             {dd::core::DType::f8_e4m3, "e4m3"}, {dd::core::DType::f8_e4m3, "f8e4m3"}, {dd::core::DType::f8_e4m3, "fp8_e4m3"},
             {dd::core::DType::f8_e4m3, "float8_e4m3fn"}, {dd::core::DType::f8_e5m2, "f8_e5m2"},
             {dd::core::DType::f8_e5m2, "e5m2"}, {dd::core::DType::f8_e5m2, "f8e5m2"}, {dd::core::DType::f8_e5m2, "fp8_e5m2"},
             {dd::core::DType::f8_e5m2, "float8_e5m2"}, {dd::core::DType::s32, "s32"}, {dd::core::DType::s32, "int32"},
             {dd::core::DType::s8, "s8"}, {dd::core::DType::s8, "int8"}, {dd::core::DType::u8, "u8"},
             {dd::core::DType::u8, "uint8"}, {dd::core::DType::s4, "s4"}, {dd::core::DType::s4, "int4"},
             {dd::core::DType::u4, "u4"}, {dd::core::DType::u4, "uint4"}, {dd::core::DType::boolean, "bool"},
             {dd::core::DType::f8_e8m0, "f8_e8m0"}, {dd::core::DType::f8_e8m0, "e8m0"}, {dd::core::DType::f4_e2m1, "f4_e2m1"},
             {dd::core::DType::f4_e2m1, "fp4"})
