#include "ops/mask_class/matrix.hpp"

#include <algorithm>
#include <cstring>

namespace dd::ops {
namespace {

OpenRow reduce(const std::vector<char>& open, bool broadcast, std::int64_t kv_len) {
  if (broadcast) return open[0] ? OpenRow{0, kv_len, false} : OpenRow{0, 0, false};
  const auto first = std::find(open.begin(), open.end(), char{1});
  if (first == open.end()) return {};
  const auto last = std::find(open.rbegin(), open.rend(), char{1}).base();
  return {first - open.begin(), last - open.begin(), std::find(first, last, char{0}) != last};
}

}  // namespace

void Matrix::add_row(std::int64_t i, const std::vector<char>& open, bool broadcast, const std::vector<double>& values) {
  const OpenRow row = reduce(open, broadcast, kv_len_);
  if (i < 0) {
    std::fill(rows_.begin(), rows_.end(), row);
  } else {
    rows_[static_cast<std::size_t>(i)] = row;
  }
  for (double value : values) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    fingerprint_ = (fingerprint_ ^ bits) * 1099511628211ull;
    fingerprint_ ^= fingerprint_ >> 29;
  }
}

// Row i sees the keys up to i + shift.
bool Matrix::triangle(std::int64_t shift) const {
  for (std::int64_t i = 0; i < rows(); ++i) {
    const std::int64_t high = std::clamp<std::int64_t>(i + shift + 1, 0, kv_len_);
    const OpenRow& r = row(i);
    if (high == 0 ? !r.empty() : r.low != 0 || r.high != high) return false;
  }
  return true;
}

// A triangle whose keys from `length` on (or before `low`) are closed. Rows of padded queries may be empty.
bool Matrix::padded_triangle(std::int64_t shift, MatrixShape& out) const {
  std::int64_t low = -1, high = 0;
  for (std::int64_t i = 0; i < rows(); ++i) {
    if (row(i).empty()) continue;
    if (low < 0) low = row(i).low;
    if (row(i).low != low) return false;
    high = std::max(high, row(i).high);
  }
  if (low < 0 || (low == 0 && high == kv_len_)) return false;
  if (low > 0 && high < kv_len_) return false;
  for (std::int64_t i = 0; i < rows(); ++i) {
    const std::int64_t end = std::min(high, i + shift + 1);
    if (end <= low ? !row(i).empty() : row(i).high != end && !(row(i).empty() && i + shift >= high)) return false;
  }
  out.left_padding = low > 0;
  out.length = high - low;
  return true;
}

// Row i sees the keys from i + shift - left to i + shift + right.
bool Matrix::window(std::int64_t shift, MatrixShape& out) const {
  std::int64_t left = -1, right = -1;
  for (std::int64_t i = 0; i < rows(); ++i) {
    const OpenRow& r = row(i);
    if (r.empty()) return false;
    if (r.low > 0) left = std::max(left, i + shift - r.low);
    if (r.high < kv_len_) right = std::max(right, r.high - 1 - i - shift);
  }
  if (left < 0 && right < 0) return false;
  for (std::int64_t i = 0; i < rows(); ++i) {
    const std::int64_t low = left < 0 ? 0 : std::max<std::int64_t>(0, i + shift - left);
    const std::int64_t high = right < 0 ? kv_len_ : std::min(kv_len_, i + shift + right + 1);
    if (row(i).low != low || row(i).high != high) return false;
  }
  out.left = left;
  out.right = right;
  return true;
}

// Sequences packed after each other: row i belongs to the block that it lies in and sees that block (up to itself).
bool Matrix::blocks(bool causal, MatrixShape& out) const {
  if (rows() != kv_len_) return false;
  std::vector<std::int64_t> starts;
  for (std::int64_t i = 0; i < rows(); ++i) {
    const OpenRow& r = row(i);
    if (r.empty() || r.low > i || r.high <= i) return false;
    if (r.low == i && (starts.empty() || starts.back() != i)) starts.push_back(i);
    if (starts.empty() || r.low != starts.back()) return false;
    if (causal && r.high != i + 1) return false;
    if (!causal && r.low < i && r.high != row(i - 1).high) return false;
    if (!causal && r.low == i && i > 0 && row(i - 1).high != i) return false;
  }
  if (starts.size() < 2) return false;
  const std::int64_t size = starts[1] - starts[0];
  bool equal = rows() - starts.back() == size;
  for (std::size_t b = 1; b < starts.size(); ++b) equal = equal && starts[b] - starts[b - 1] == size;
  out.block = equal ? size : 0;
  return true;
}

MatrixShape Matrix::classify() const {
  MatrixShape out;
  const auto every = [&](auto&& holds) { return std::all_of(rows_.begin(), rows_.end(), holds); };
  if (every([](const OpenRow& r) { return r.empty(); })) {
    out.shape = MaskShape::closed;
    return out;
  }
  const bool gaps = !every([](const OpenRow& r) { return !r.gaps; });
  const std::int64_t shift = kv_len_ - rows();
  out.length = kv_len_;
  const auto set = [&](MaskShape shape, std::int64_t of) {
    out.shape = shape;
    out.top_left = out.top_left || of == 0;
    out.bottom_right = out.bottom_right || of == shift;
    return out;
  };
  if (gaps) return out;
  if (every([&](const OpenRow& r) { return r.low == 0 && r.high == kv_len_; })) {
    out.shape = MaskShape::zeros;
    return out;
  }
  for (std::int64_t of : {std::int64_t{0}, shift})
    if (triangle(of)) return set(MaskShape::causal, of);
  const OpenRow& first = rows_.front();
  if (every([&](const OpenRow& r) { return r.low == first.low && r.high == first.high; }) && (first.low == 0 || first.high == kv_len_)) {
    out.shape = MaskShape::padding;
    out.left_padding = first.low > 0;
    out.length = first.high - first.low;
    return out;
  }
  for (std::int64_t of : {std::int64_t{0}, shift})
    if (padded_triangle(of, out)) return set(MaskShape::causal_padding, of);
  if (blocks(false, out)) return set(MaskShape::blocks, 0);
  if (blocks(true, out)) return set(MaskShape::causal_blocks, 0);
  for (std::int64_t of : {std::int64_t{0}, shift})
    if (window(of, out)) return set(MaskShape::window, of);
  out.length = kv_len_;
  return out;
}

}  // namespace dd::ops
