#include "evidence/trace/scan.hpp"

#include <bit>

#if defined(__SSE2__) && defined(__GNUC__)
#include <immintrin.h>
#endif

namespace dd::evidence {

bool scan_to_close_plain(const char*& at, const char* end, ScanState& s) {
  while (at != end) {
    const char c = *at++;
    if (s.in_string) {
      if (s.escaped) s.escaped = false;
      else if (c == '\\') s.escaped = true;
      else if (c == '"') s.in_string = false;
    } else if (c == '"') {
      s.in_string = true;
    } else if (c == '{' || c == '[') {
      ++s.depth;
    } else if (c == '}' || c == ']') {
      if (s.depth <= 1) {
        s.depth = 0;
        return true;
      }
      --s.depth;
    }
  }
  return false;
}

#if defined(__SSE2__) && defined(__GNUC__)
namespace {

struct Masks {
  std::uint64_t quotes, escapes, opens, closes;
};

// '[' and ']' differ from '{' and '}' in one bit, so two comparisons find all four.
inline Masks masks_sse2(const char* at) {
  Masks m{0, 0, 0, 0};
  const __m128i quote = _mm_set1_epi8('"'), escape = _mm_set1_epi8('\\'), bit = _mm_set1_epi8(0x20);
  const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');
  for (int i = 0; i < 4; ++i) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at + 16 * i));
    const __m128i raised = _mm_or_si128(bytes, bit);
    const auto put = [&](std::uint64_t& to, __m128i value) {
      to |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm_movemask_epi8(value))) << (16 * i);
    };
    put(m.quotes, _mm_cmpeq_epi8(bytes, quote));
    put(m.escapes, _mm_cmpeq_epi8(bytes, escape));
    put(m.opens, _mm_cmpeq_epi8(raised, open));
    put(m.closes, _mm_cmpeq_epi8(raised, close));
  }
  return m;
}

[[gnu::target("avx2,popcnt")]] inline Masks masks_avx2(const char* at) {
  Masks m{0, 0, 0, 0};
  const __m256i quote = _mm256_set1_epi8('"'), escape = _mm256_set1_epi8('\\'), bit = _mm256_set1_epi8(0x20);
  const __m256i open = _mm256_set1_epi8('{'), close = _mm256_set1_epi8('}');
  for (int i = 0; i < 2; ++i) {
    const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at + 32 * i));
    const __m256i raised = _mm256_or_si256(bytes, bit);
    m.quotes |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, quote)))) << (32 * i);
    m.escapes |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, escape)))) << (32 * i);
    m.opens |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(raised, open)))) << (32 * i);
    m.closes |= static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(raised, close)))) << (32 * i);
  }
  return m;
}

// One block of 64 bytes. True when the value ends in it; `at` then stands behind the end.
#define DD_SCAN_BODY(MASKS)                                                                              \
  while (end - at >= 64) {                                                                               \
    const Masks m = MASKS(at);                                                                           \
    if (m.escapes != 0 || s.escaped) { /* rare: this block byte by byte */                               \
      if (scan_to_close_plain(at, at + 64, s)) return true;                                              \
      continue;                                                                                          \
    }                                                                                                    \
    std::uint64_t inside = m.quotes;                                                                     \
    for (int shift = 1; shift < 64; shift *= 2) inside ^= inside << shift;                               \
    if (s.in_string) inside = ~inside;                                                                   \
    const std::uint64_t opens = m.opens & ~inside, closes = m.closes & ~inside;                          \
    const auto closing = static_cast<std::uint64_t>(__builtin_popcountll(closes));                       \
    if (closing < s.depth) {                                                                             \
      s.depth += static_cast<std::uint64_t>(__builtin_popcountll(opens)) - closing;                      \
    } else {                                                                                             \
      for (std::uint64_t left = opens | closes; left != 0; left &= left - 1) {                           \
        const int bit = std::countr_zero(left);                                                          \
        if ((opens >> bit) & 1) {                                                                        \
          ++s.depth;                                                                                     \
        } else if (s.depth <= 1) {                                                                       \
          at += bit + 1;                                                                                 \
          s = {};                                                                                        \
          return true;                                                                                   \
        } else {                                                                                         \
          --s.depth;                                                                                     \
        }                                                                                                \
      }                                                                                                  \
    }                                                                                                    \
    s.in_string = (inside >> 63) != 0;                                                                   \
    at += 64;                                                                                            \
  }                                                                                                      \
  return scan_to_close_plain(at, end, s);

bool scan_sse2(const char*& at, const char* end, ScanState& s) { DD_SCAN_BODY(masks_sse2) }
[[gnu::target("avx2,popcnt")]] bool scan_avx2(const char*& at, const char* end, ScanState& s) { DD_SCAN_BODY(masks_avx2) }

}  // namespace

bool scan_to_close(const char*& at, const char* end, ScanState& s) {
  static const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("popcnt");
  return wide ? scan_avx2(at, end, s) : scan_sse2(at, end, s);
}
#else
bool scan_to_close(const char*& at, const char* end, ScanState& s) { return scan_to_close_plain(at, end, s); }
#endif

}  // namespace dd::evidence
