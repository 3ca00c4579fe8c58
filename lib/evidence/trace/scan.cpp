#include "evidence/trace/scan.hpp"

#include <bit>

#if defined(__SSE2__)
#include <emmintrin.h>
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

#if defined(__SSE2__)
namespace {

struct Masks {
  std::uint64_t quotes, escapes, opens, closes;
};

Masks masks_of(const char* at) {
  Masks m{0, 0, 0, 0};
  const __m128i quote = _mm_set1_epi8('"'), escape = _mm_set1_epi8('\\'), bit = _mm_set1_epi8(0x20);
  const __m128i open = _mm_set1_epi8('{'), close = _mm_set1_epi8('}');  // '[' and ']' differ from them in one bit
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

std::uint64_t running_xor(std::uint64_t x) {
  for (int shift = 1; shift < 64; shift *= 2) x ^= x << shift;
  return x;
}

}  // namespace

bool scan_to_close(const char*& at, const char* end, ScanState& s) {
  while (end - at >= 64) {
    const Masks m = masks_of(at);
    if (m.escapes != 0 || s.escaped) {  // rare: walk this block byte by byte
      if (scan_to_close_plain(at, at + 64, s)) return true;
      continue;
    }
    const std::uint64_t inside = running_xor(m.quotes) ^ (s.in_string ? ~0ull : 0ull);
    const std::uint64_t opens = m.opens & ~inside;
    const std::uint64_t closes = m.closes & ~inside;
    const auto closing = static_cast<std::uint64_t>(std::popcount(closes));
    if (closing < s.depth) {
      s.depth += static_cast<std::uint64_t>(std::popcount(opens)) - closing;
    } else {
      for (std::uint64_t left = opens | closes; left != 0; left &= left - 1) {
        const int bit = std::countr_zero(left);
        if ((opens >> bit) & 1) {
          ++s.depth;
        } else if (s.depth <= 1) {
          at += bit + 1;
          s = {};
          return true;
        } else {
          --s.depth;
        }
      }
    }
    s.in_string = (inside >> 63) != 0;
    at += 64;
  }
  return scan_to_close_plain(at, end, s);
}
#else
bool scan_to_close(const char*& at, const char* end, ScanState& s) { return scan_to_close_plain(at, end, s); }
#endif

}  // namespace dd::evidence
