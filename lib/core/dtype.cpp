#include "core/dtype.hpp"

#include <cmath>

namespace dd::core {
namespace {

// bits, float, signed, mantissa, unit roundoff, max finite, torch, numpy
constexpr DTypeInfo table[] = {
    {64, true, true, 52, 0x1p-53, 0x1.fffffffffffffp+1023, "float64", "float64"},
    {32, true, true, 23, 0x1p-24, 0x1.fffffep+127, "float32", "float32"},
    {16, true, true, 10, 0x1p-11, 65504.0, "float16", "float16"},
    {16, true, true, 7, 0x1p-8, 0x1.fep+127, "bfloat16", ""},
    {8, true, true, 3, 0x1p-4, 448.0, "float8_e4m3fn", ""},
    {8, true, true, 2, 0x1p-3, 57344.0, "float8_e5m2", ""},
    {32, false, true, 0, 0.0, 2147483647.0, "int32", "int32"},
    {8, false, true, 0, 0.0, 127.0, "int8", "int8"},
    {8, false, false, 0, 0.0, 255.0, "uint8", "uint8"},
    {4, false, true, 0, 0.0, 7.0, "", ""},
    {4, false, false, 0, 0.0, 15.0, "", ""},
    {8, false, false, 0, 0.0, 1.0, "bool", "bool"},
    {8, true, false, 0, 0x1p-1, 0x1p+127, "float8_e8m0fnu", ""},
    {4, true, true, 1, 0x1p-2, 6.0, "float4_e2m1fn_x2", ""},
};

}  // namespace

const DTypeInfo& info(DType dtype) { return table[static_cast<int>(dtype)]; }

std::int64_t bytes_of(DType dtype, std::int64_t n) { return bytes_for(n, info(dtype).bits); }

}  // namespace dd::core
