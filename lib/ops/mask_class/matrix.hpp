// One (q_len, kv_len) matrix of a mask, reduced to the interval of open keys of each row, and the shape of those
// intervals. Internal to mask_class.
#pragma once
#include <cstdint>
#include <vector>

#include "ops/mask_class/mask_class.hpp"

namespace dd::ops {

struct OpenRow {
  std::int64_t low = 0, high = 0;  // open keys are low <= j < high
  bool gaps = false;               // some key between is closed
  bool empty() const { return low >= high; }
};

struct MatrixShape {
  MaskShape shape = MaskShape::other;
  bool top_left = false, bottom_right = false, left_padding = false;
  std::int64_t length = 0;             // open keys of a padded matrix
  std::int64_t left = -1, right = -1;  // window
  std::int64_t block = 0;
};

class Matrix {
 public:
  Matrix(std::int64_t q_len, std::int64_t kv_len) : kv_len_(kv_len), rows_(static_cast<std::size_t>(q_len)) {}

  // Row i, or every row when i < 0; `broadcast` says that the one key stands for all. Values go into the fingerprint.
  void add_row(std::int64_t i, const std::vector<char>& open, bool broadcast, const std::vector<double>& values);

  std::int64_t rows() const { return static_cast<std::int64_t>(rows_.size()); }
  const OpenRow& row(std::int64_t i) const { return rows_[static_cast<std::size_t>(i)]; }
  std::uint64_t fingerprint() const { return fingerprint_; }
  MatrixShape classify() const;

 private:
  bool triangle(std::int64_t shift) const;
  bool window(std::int64_t shift, MatrixShape& out) const;
  bool padded_triangle(std::int64_t shift, MatrixShape& out) const;
  bool blocks(bool causal, MatrixShape& out) const;

  std::int64_t kv_len_;
  std::vector<OpenRow> rows_;
  std::uint64_t fingerprint_ = 1469598103934665603ull;
};

// Fills MaskAnalysis::meaning from the rest.
void add_meaning(MaskAnalysis& a, std::int64_t q_len, std::int64_t kv_len);

}  // namespace dd::ops
