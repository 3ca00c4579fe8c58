#include "frameworks/bitsandbytes/rules.hpp"

namespace dd::frameworks::bitsandbytes {
namespace {

// Row limits of the fused kernel on Hopper: the library's warp-group product overtakes it early.
std::int64_t hopper_rows(std::int64_t blocks, std::int64_t sms, std::int64_t n, std::int64_t k) {
  if (blocks >= 3 * sms) return 64;
  if (blocks >= 2 * sms) return 48;
  if (blocks >= sms) return 32;
  if (blocks >= sms / 2 && !(k >= n && 4 * blocks < 3 * sms)) return 16;
  return 7;  // from 8 rows on never
}

std::int64_t ampere_rows(std::int64_t blocks, std::int64_t sms, std::int64_t n, std::int64_t k) {
  if (blocks >= 3 * sms) return 128;
  if (blocks >= sms) return k < n ? 64 : 32;
  if (k >= 3 * n && 4 * blocks > sms) return 7;
  if (k == n && blocks >= 48 && 5 * blocks < 3 * sms) return 7;
  if (2 * blocks < sms) {
    if (k <= n) return 128;
    if (3 * blocks >= sms) return 7;
  }
  if (blocks >= sms / 2 && k < n) return 128;
  return 16;
}

std::int64_t blackwell_rows(std::int64_t blocks, std::int64_t sms, std::int64_t n, std::int64_t k) {
  if (blocks >= 3 * sms) return 32;
  if (blocks >= sms && k < n) return 8;
  return 4;
}

}  // namespace

Fused fused_limits(std::int64_t n, std::int64_t k, std::int64_t cc, std::int64_t sms) {
  const std::int64_t usual = cc == 90 ? 132 : cc == 100 || cc == 103 ? 148 : 108;
  if (sms <= 0) sms = usual;
  const std::int64_t blocks = (n + 63) / 64;
  Fused fused;
  if (cc == 90) fused.rows = hopper_rows(blocks, sms, n, k);
  if (cc == 80) fused.rows = ampere_rows(blocks, sms, n, k);
  if (cc == 100 || cc == 103) fused.rows = blackwell_rows(blocks, sms, n, k);
  const bool wide = (cc == 90 && blocks >= 36) || (cc == 80 && blocks >= 48);
  if (wide && k > n) fused.narrow_band = 4 * blocks < 3 * sms;
  if (wide && k == n) fused.narrow_band = cc == 90 ? 5 * blocks >= 3 * sms && 4 * blocks < 3 * sms : 5 * blocks < 3 * sms;
  return fused;
}

}  // namespace dd::frameworks::bitsandbytes
