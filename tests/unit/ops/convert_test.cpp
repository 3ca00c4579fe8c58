#include <bit>
#include <limits>
#include <map>

#include "helpers.hpp"
#include "support/catch.hpp"

using namespace dd::ops;
using namespace dd::ops::test;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// The neighbour rule, stated independently of the code: walk all finite values of a format in order; a real number
// rounds to the nearer neighbour, and to the one with the even code when both are equally near.
void check_rounding(DType dtype, int bits) {
  std::map<double, std::uint64_t> finite;
  const std::uint64_t sign = std::uint64_t{1} << (bits - 1);
  for (std::uint64_t code = 0; code < sign; ++code) {
    const double value = decode(code, dtype);
    if (std::isfinite(value)) finite[value] = code;
  }
  std::size_t wrong = 0;
  for (auto it = finite.begin(); std::next(it) != finite.end(); ++it) {
    const auto above = std::next(it);
    const double middle = it->first + (above->first - it->first) / 2;
    const std::uint64_t even = it->second % 2 == 0 ? it->second : above->second;
    wrong += encode(middle, dtype) != even;
    wrong += encode(-middle, dtype) != (even | sign);
    wrong += encode(std::nextafter(middle, -infinity), dtype) != it->second;
    wrong += encode(std::nextafter(middle, infinity), dtype) != above->second;
    wrong += encode(it->first, dtype) != it->second;
    wrong += encode(-it->first, dtype) != (it->second | sign);
  }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("every 8- and 16-bit float code survives decoding and encoding", "[ops][convert]") {
  for (const auto& [dtype, bits] :
       {std::pair{DType::f16, 16}, {DType::bf16, 16}, {DType::f8_e4m3, 8}, {DType::f8_e5m2, 8}, {DType::f4_e2m1, 4}}) {
    INFO(dd::core::to_text(dtype));
    std::size_t wrong = 0;
    for (std::uint64_t code = 0; code < std::uint64_t{1} << bits; ++code) {
      const double value = decode(code, dtype);
      if (std::isnan(value))
        wrong += !std::isnan(decode(encode(value, dtype), dtype));
      else
        wrong += encode(value, dtype) != code;
    }
    CHECK(wrong == 0);
    check_rounding(dtype, bits);
  }
}

TEST_CASE("bf16 is the upper half of f32", "[ops][convert]") {
  std::size_t wrong = 0;
  for (std::uint32_t code = 0; code < 65536; ++code) {
    const auto expected = static_cast<double>(std::bit_cast<float>(code << 16));
    wrong += !near(decode(code, DType::bf16), expected, 0.0);
  }
  CHECK(wrong == 0);
}

TEST_CASE("known values of the narrow formats", "[ops][convert]") {
  CHECK(decode(0x3c00, DType::f16) == 1.0);
  CHECK(decode(0x0001, DType::f16) == 0x1p-24);
  CHECK(decode(0x7bff, DType::f16) == 65504.0);
  CHECK(decode(0x7c00, DType::f16) == infinity);
  CHECK(decode(0x38, DType::f8_e4m3) == 1.0);
  CHECK(decode(0x7e, DType::f8_e4m3) == 448.0);
  CHECK(std::isnan(decode(0x7f, DType::f8_e4m3)));
  CHECK(std::isnan(decode(0xff, DType::f8_e4m3)));
  CHECK(decode(0x01, DType::f8_e4m3) == 0x1p-9);
  CHECK(decode(0x3c, DType::f8_e5m2) == 1.0);
  CHECK(decode(0x7b, DType::f8_e5m2) == 57344.0);
  CHECK(decode(0x7c, DType::f8_e5m2) == infinity);
  CHECK(decode(0x01, DType::f8_e5m2) == 0x1p-16);
  CHECK(decode(127, DType::f8_e8m0) == 1.0);
  CHECK(decode(0, DType::f8_e8m0) == 0x1p-127);
  CHECK(std::isnan(decode(255, DType::f8_e8m0)));
  CHECK(decode(0x7, DType::f4_e2m1) == 6.0);
  CHECK(decode(0x1, DType::f4_e2m1) == 0.5);
  CHECK(decode(0xf, DType::s4) == -1.0);
  CHECK(decode(0x8, DType::s4) == -8.0);
  CHECK(decode(0xf, DType::u4) == 15.0);
}

TEST_CASE("overflow gives infinity, NaN or the greatest finite value", "[ops][convert]") {
  // Half of the last place above the greatest value still rounds down (ties to even), the next number does not.
  CHECK(encode(65519.99, DType::f16) == 0x7bff);
  CHECK(encode(65520.0, DType::f16) == 0x7c00);
  CHECK(encode(464.0, DType::f8_e4m3) == 0x7e);
  CHECK(encode(std::nextafter(464.0, infinity), DType::f8_e4m3) == 0x7f);
  CHECK(encode(61440.0, DType::f8_e5m2) == 0x7c);
  CHECK(encode(std::nextafter(61440.0, 0), DType::f8_e5m2) == 0x7b);
  for (DType dtype : {DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2, DType::f32}) {
    INFO(dd::core::to_text(dtype));
    const double greatest = dd::core::info(dtype).max_finite;
    CHECK(round_to(1e300, dtype, Overflow::saturate) == greatest);
    CHECK(round_to(-infinity, dtype, Overflow::saturate) == -greatest);
    CHECK(std::isnan(round_to(std::nan(""), dtype, Overflow::saturate)));
    if (dtype == DType::f8_e4m3)
      CHECK(std::isnan(round_to(infinity, dtype)));
    else
      CHECK(round_to(-1e300, dtype) == -infinity);
  }
}

TEST_CASE("integers round to even, saturate and map NaN to zero", "[ops][convert]") {
  CHECK(round_to(2.5, DType::s8) == 2.0);
  CHECK(round_to(3.5, DType::s8) == 4.0);
  CHECK(round_to(-128.4, DType::s8) == -128.0);
  CHECK(round_to(1e9, DType::s8) == 127.0);
  CHECK(round_to(-1e9, DType::u8) == 0.0);
  CHECK(round_to(infinity, DType::s4) == 7.0);
  CHECK(round_to(-infinity, DType::s4) == -8.0);
  CHECK(round_to(15.6, DType::u4) == 15.0);
  CHECK(round_to(std::nan(""), DType::s8) == 0.0);
  CHECK(round_to(3e9, DType::s32) == 2147483647.0);
  CHECK(round_to(0.75, DType::f8_e8m0) == 0.5);  // exactly between 2^-1 (code 126) and 2^0 (code 127): the even code
  CHECK(round_to(1.5, DType::f8_e8m0) == 2.0);   // between codes 127 and 128
  CHECK(round_to(1e300, DType::f8_e8m0) == 0x1p127);
}

TEST_CASE("nibbles: low first, neighbours untouched", "[ops][convert]") {
  unsigned char bytes[2] = {0xff, 0xff};
  store(bytes, DType::u4, 0, 1);
  CHECK(bytes[0] == 0xf1);
  store(bytes, DType::u4, 1, 2);
  CHECK(bytes[0] == 0x21);
  CHECK(bytes[1] == 0xff);
  CHECK(load(bytes, DType::u4, 1) == 2.0);
  CHECK(load(bytes, DType::s4, 2) == -1.0);
}

TEST_CASE("rows agree with single elements in every dtype, stride, length and instruction set", "[ops][convert]") {
  each_isa([](std::string_view isa) {
    INFO(isa);
    for (DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16, DType::f8_e4m3, DType::f8_e5m2, DType::s32,
                        DType::s8, DType::u8, DType::s4, DType::u4, DType::boolean, DType::f8_e8m0, DType::f4_e2m1}) {
      INFO(dd::core::to_text(dtype));
      // Every byte value at every place: all 8-bit codes, all 16-bit codes, and arbitrary wider ones.
      std::vector<unsigned char> bytes(65536 * 2);
      for (std::size_t i = 0; i < bytes.size(); i += 2) {
        bytes[i] = static_cast<unsigned char>(i / 2);
        bytes[i + 1] = static_cast<unsigned char>(i / 512);
      }
      const std::int64_t total = static_cast<std::int64_t>(bytes.size()) * 8 / dd::core::info(dtype).bits;
      std::size_t wrong = 0;
      std::vector<double> wide(static_cast<std::size_t>(total));
      load_row(bytes.data(), dtype, 0, 1, total, wide.data());
      for (std::int64_t i = 0; i < total; ++i)
        wrong += !near(wide[static_cast<std::size_t>(i)], load(bytes.data(), dtype, i), 0.0);
      for (std::int64_t stride : {1, 2, 3, 0})
        for (std::int64_t first : {0, 1, 5})
          for (std::int64_t n : {0, 1, 2, 7, 33}) {
            std::vector<float> narrow(static_cast<std::size_t>(n) + 1, -77.0f);
            load_row(bytes.data(), dtype, first, stride, n, narrow.data());
            for (std::int64_t i = 0; i < n; ++i)
              wrong += !near(narrow[static_cast<std::size_t>(i)],
                             static_cast<float>(load(bytes.data(), dtype, first + i * stride)), 0.0);
            wrong += narrow.back() != -77.0f;
          }
      CHECK(wrong == 0);
    }
  });
}

TEST_CASE("whole views in logical order, through gaps and permuted axes", "[ops][convert]") {
  for (DType dtype : {DType::f32, DType::f16, DType::s4}) {
    Tensor t(dtype, {2, 3, 4}, {2, 0, 1}, 3, 5);
    std::vector<double> in(24), out(24);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<double>(i % 15) - 7;
    write_all(t.view, in.data(), Overflow::ieee, 3);
    read_all(t.view, out.data(), 2);
    CHECK(in == out);
    CHECK(t.at(23) == in[23]);
  }
  Tensor empty(DType::f32, {2, 0, 4});
  double untouched = 5;
  read_all(empty.view, &untouched);
  CHECK(untouched == 5);
}
