#include "facts/cpuid.hpp"

#include <cstdint>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace dd::facts {

#if defined(__x86_64__)
namespace {

struct Bit {
  const char* name;
  int leaf, subleaf;
  char reg;    // a, b, c, d
  int bit;
  unsigned state;  // XCR0 bits that the system must have set
};
constexpr unsigned ymm = 0x6, zmm = 0xe6, tile = 0x60000;

// Order: weakest first, as printed.
constexpr Bit bits[] = {
    {"sse4.2", 1, 0, 'c', 20, 0},          {"avx", 1, 0, 'c', 28, ymm},           {"f16c", 1, 0, 'c', 29, ymm},
    {"fma", 1, 0, 'c', 12, ymm},           {"avx2", 7, 0, 'b', 5, ymm},           {"avx_vnni", 7, 1, 'a', 4, ymm},
    {"avx_vnni_int8", 7, 1, 'd', 4, ymm},  {"avx_ne_convert", 7, 1, 'd', 5, ymm}, {"avx512f", 7, 0, 'b', 16, zmm},
    {"avx512dq", 7, 0, 'b', 17, zmm},      {"avx512bw", 7, 0, 'b', 30, zmm},      {"avx512vl", 7, 0, 'b', 31, zmm},
    {"avx512_vnni", 7, 0, 'c', 11, zmm},   {"avx512_bf16", 7, 1, 'a', 5, zmm},    {"avx512_fp16", 7, 0, 'd', 23, zmm},
    {"amx_tile", 7, 0, 'd', 24, tile},     {"amx_int8", 7, 0, 'd', 25, tile},     {"amx_bf16", 7, 0, 'd', 22, tile},
};

std::uint64_t enabled_state() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & (1u << 27))) return 0;
  unsigned low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

}  // namespace

std::vector<std::string> vector_extensions() {
  const std::uint64_t state = enabled_state();
  std::vector<std::string> out;
  for (const Bit& bit : bits) {
    unsigned r[4] = {};
    if (bit.subleaf > 0) {
      unsigned most = 0, b, c, d;
      if (!__get_cpuid_count(bit.leaf, 0, &most, &b, &c, &d) || most < unsigned(bit.subleaf)) continue;
    }
    if (!__get_cpuid_count(bit.leaf, bit.subleaf, &r[0], &r[1], &r[2], &r[3])) continue;
    if ((r[bit.reg - 'a'] >> bit.bit & 1u) && (state & bit.state) == bit.state) out.emplace_back(bit.name);
  }
  return out;
}
#else
std::vector<std::string> vector_extensions() { return {}; }
#endif

}  // namespace dd::facts
