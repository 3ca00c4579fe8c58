#include <optional>

#include "frameworks/bitsandbytes/rules.hpp"

// Row limits of the fused kernel as the library calibrated them chip by chip (_gemm_4bit_use_custom in backends/cuda/ops.py,
// read at commit 0155ecc). A limit of 7 says that from 8 rows on the kernel is passed over.
namespace dd::frameworks::bitsandbytes {
namespace {

struct Shape {
  std::int64_t n, k, cc, sms;
  std::int64_t blocks = (n + 63) / 64;  // tiles of 64 outputs
  bool waves(std::int64_t count) const { return blocks >= count * sms; }
  bool half_wave() const { return blocks >= sms / 2; }
};

std::int64_t hopper_rows(const Shape& s) {
  if (s.waves(3)) return 64;
  if (s.waves(2)) return 48;
  if (s.waves(1)) return 32;
  return s.half_wave() && !(s.k >= s.n && 4 * s.blocks < 3 * s.sms) ? 16 : 7;
}

std::int64_t a100_rows(const Shape& s) {
  if (s.waves(3)) return 128;
  if (s.waves(1)) return s.k < s.n ? 64 : 32;
  if (s.k >= 3 * s.n && 4 * s.blocks > s.sms) return 7;
  if (s.k == s.n && s.blocks >= 48 && 5 * s.blocks < 3 * s.sms) return 7;
  if (2 * s.blocks < s.sms) {
    if (s.k <= s.n) return 128;
    if (3 * s.blocks >= s.sms) return 7;
  }
  return s.half_wave() && s.k < s.n ? 128 : 16;
}

std::int64_t blackwell_rows(const Shape& s) {
  if (s.waves(3)) return 32;
  return s.waves(1) && s.k < s.n ? 8 : 4;
}

std::int64_t turing_rows(const Shape& s) {
  if (s.waves(3)) return s.k < s.n ? 128 : 64;
  return s.half_wave() ? 64 : 32;
}

std::int64_t sm86_rows(const Shape& s) {
  if (s.waves(1)) return 128;
  return s.half_wave() ? 64 : 16;
}

std::int64_t sm120_rows(const Shape& s) {
  if (s.waves(3)) return 256;
  if (s.waves(2)) return 128;
  if (5 * s.blocks >= 4 * s.sms) return s.k >= s.n ? 96 : 64;
  if (s.half_wave()) return 2 * s.k >= s.n && s.blocks >= 128 ? 64 : 8;
  return s.k > 2 * s.n && s.blocks > 64 ? 16 : 8;
}

// 8.9, 12.1 and whatever the library does not know.
std::int64_t other_rows(const Shape& s) {
  const bool tall = s.k > 2 * s.n;
  if (s.waves(3)) return 256;
  if (s.waves(2)) return 128;
  if (5 * s.blocks >= 4 * s.sms) {
    if (tall || s.blocks >= 200) return 128;
    if (s.k < s.n) return 64;
    return s.sms >= 60 ? 128 : 32;
  }
  if (s.half_wave()) {
    if (tall) return 64;
    return s.blocks >= 64 ? 8 : 32;
  }
  if (s.k > s.n && s.blocks <= 48) return s.k >= 3 * s.n ? 12 : 10;
  return tall || s.blocks < 48 ? 16 : 8;
}

// Weights of fewer than 4 Mi elements, where dequantizing costs little. The answer for Turing depends on the rows asked for.
std::int64_t small_rows(const Shape& s, std::int64_t rows) {
  const bool hbm = s.cc == 80 || s.cc == 90, turing = s.cc == 75;
  if (2 * s.k < s.n) {
    const bool few = 3 * s.blocks < s.sms;
    if (s.cc == 80) return few ? 1536 : 512;
    if (s.cc == 90) return few ? 512 : 320;
    if (turing) return s.waves(3) || s.k < 704 ? 320 : s.k >= 1024 ? 64 : 96;
    return s.waves(1) || s.blocks * s.k <= s.sms * 320 ? 320 : 192;
  }
  const bool quarter = 4 * s.blocks <= s.sms;
  if (s.cc == 80 && quarter) return s.k < s.n ? 384 : 8 * s.blocks <= s.sms ? 32 : 128;
  if (turing && !s.waves(1) && rows > 8) return 64;
  if (quarter) return s.k < s.n || hbm ? 32 : 23;
  return 2 * s.blocks <= s.sms ? 16 : 4;
}

std::int64_t large_rows(const Shape& s) {
  switch (s.cc) {
    case 75: return turing_rows(s);
    case 80: return a100_rows(s);
    case 86: return sm86_rows(s);
    case 90: return hopper_rows(s);
    case 120: return sm120_rows(s);
    default: return other_rows(s);
  }
}

// What a bare compute capability stands for; others come with very different numbers of multiprocessors.
std::optional<std::int64_t> usual_sms(std::int64_t cc) {
  if (cc == 80) return 108;
  if (cc == 90) return 132;
  if (cc / 10 == 10) return 148;
  return std::nullopt;
}

}  // namespace

Fused fused_limits(std::int64_t n, std::int64_t k, std::int64_t cc, std::int64_t sms, std::int64_t rows) {
  Fused fused;
  const auto usual = usual_sms(cc);
  fused.known = sms > 0 || usual;
  if (!fused.known) return fused;
  const Shape s{n, k, cc, sms > 0 ? sms : *usual};
  if (cc / 10 == 10) {
    fused.rows = blackwell_rows(s);
    return fused;
  }
  const bool large = k > 0 && n >= (large_weight + k - 1) / k;
  fused.rows = large ? large_rows(s) : small_rows(s, rows);
  const bool wide = (cc == 90 && s.blocks >= 36) || (cc == 80 && s.blocks >= 48);
  if (wide && k > n) fused.narrow_band = 4 * s.blocks < 3 * s.sms;
  if (wide && k == n) fused.narrow_band = cc == 90 ? 5 * s.blocks >= 3 * s.sms && 4 * s.blocks < 3 * s.sms : 5 * s.blocks < 3 * s.sms;
  return fused;
}

}  // namespace dd::frameworks::bitsandbytes
