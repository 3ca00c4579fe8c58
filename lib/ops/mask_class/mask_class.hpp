// What is this mask really? A pure look at its content: nothing masked, causal (and which alignment), padding, causal
// with padding, window, blocks, per-head copies, rows without any key, a boolean mask written as floats. One pass over
// the elements, a few words of memory per row. Boolean masks follow the convention "true may be attended to".
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/tensor.hpp"

namespace dd::ops {

enum class MaskShape : std::uint8_t { zeros, closed, causal, causal_padding, padding, window, blocks, causal_blocks, other };

struct MaskAnalysis {
  MaskShape shape = MaskShape::other;
  std::string name;                     // "causal", "padding:12", "window:256,0", "other"; what mask.content would say
  bool boolean = false;                 // element type bool
  bool boolean_in_disguise = false;     // floats, but only 0 and "minus infinity"
  bool zeros_and_ones = false;          // floats of 0 and 1: adds one and masks nothing
  bool biased = false;                  // finite values other than 0: not only a mask
  bool nan = false;
  bool top_left = false, bottom_right = false;  // which triangle fits (both when the mask is square)
  std::int64_t window_left = -1, window_right = -1;  // keys before and after the own position; -1: no limit
  std::int64_t block = 0;               // size of the blocks when all are equal, else 0
  std::vector<std::int64_t> lengths;    // open keys per batch entry, for padding
  bool left_padding = false;
  bool per_head_copies = false;         // several heads, all alike
  bool per_batch_copies = false;        // several batch entries, all alike
  std::int64_t rows = 0, empty_rows = 0, first_empty_row = -1;
  double open_share = 0;                // of all elements
  std::vector<std::string> meaning;     // one sentence per consequence for a backend
};

// The mask has 1 to 4 axes that broadcast to (batch, heads, q_len, kv_len).
MaskAnalysis analyse_mask(const core::Tensor& mask, std::int64_t q_len, std::int64_t kv_len);

}  // namespace dd::ops
