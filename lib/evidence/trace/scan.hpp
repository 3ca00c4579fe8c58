// Finds where a JSON value ends, resumable across windows: tracks depth, strings and escapes, nothing else.
// Sixteen bytes at a time where SSE2 is there, byte by byte elsewhere; both give the same answer.
#pragma once
#include <cstdint>
#include <cstddef>
namespace dd::evidence {

struct ScanState {
  std::uint64_t depth = 0;
  bool in_string = false;
  bool escaped = false;
};

// Advances from `at` until just behind the bracket that brings the depth to zero, or to `end`.
// Returns true when the value is complete. The first byte must be the opening bracket when depth is zero.
bool scan_to_close(const char*& at, const char* end, ScanState& state);
// The plain way, as the reference in tests.
bool scan_to_close_plain(const char*& at, const char* end, ScanState& state);

}  // namespace dd::evidence
