#include "ops/mask_class/mask_class.hpp"

#include <algorithm>
#include <cmath>

#include "ops/mask_class/matrix.hpp"
#include "ops/tensor/convert.hpp"

namespace dd::ops {
namespace {

struct Axes {
  std::int64_t extent[4] = {1, 1, 1, 1}, stride[4] = {0, 0, 0, 0};
};

// Right-aligned to four axes; those of extent 1 do not move.
std::optional<Axes> axes_of(const core::Tensor& mask) {
  Axes axes;
  const std::size_t rank = mask.shape.size();
  if (rank > 4 || mask.strides.size() != rank) return std::nullopt;
  for (std::size_t i = 0; i < rank; ++i) {
    axes.extent[4 - rank + i] = mask.shape[i];
    axes.stride[4 - rank + i] = mask.shape[i] > 1 ? mask.strides[i] : 0;
  }
  return axes;
}

// What the values say beyond open and closed.
struct Values {
  bool boolean = false, other = false, ones = false, nan = false, closed = false, zeros = false;

  bool open(double value) {
    if (boolean) {
      (value != 0 ? zeros : closed) = true;
      return value != 0;
    }
    if (std::isnan(value)) {
      nan = true;
      return false;
    }
    // Frameworks write "minus infinity" as -inf, the lowest finite value of the type, -1e9 or -10000.
    if (value <= -9999.0) {
      closed = true;
      return false;
    }
    if (value == 0) zeros = true;
    else if (value == 1) ones = true;
    else other = true;
    return true;
  }
};

struct Scan {
  std::vector<Matrix> matrices;  // batch * heads
  Values values;
  std::int64_t open = 0, total = 0;
};

Scan scan(const core::Tensor& mask, const Axes& axes, std::int64_t q_len, std::int64_t kv_len) {
  Scan out;
  out.values.boolean = mask.dtype == core::DType::boolean;
  const std::int64_t columns = axes.extent[3];
  std::vector<double> row(static_cast<std::size_t>(columns));
  std::vector<char> open(static_cast<std::size_t>(columns));
  for (std::int64_t b = 0; b < axes.extent[0]; ++b)
    for (std::int64_t h = 0; h < axes.extent[1]; ++h) {
      Matrix matrix(q_len, kv_len);
      for (std::int64_t i = 0; i < axes.extent[2]; ++i) {
        const std::int64_t at = mask.offset + b * axes.stride[0] + h * axes.stride[1] + i * axes.stride[2];
        load_row(mask.storage.get(), mask.dtype, at, axes.stride[3], columns, row.data());
        for (std::int64_t j = 0; j < columns; ++j) {
          open[j] = out.values.open(row[j]);
          out.open += open[j];
        }
        out.total += columns;
        // A row or a column axis of size 1 stands for all of them.
        const bool all_rows = axes.extent[2] == 1 && q_len != 1;
        matrix.add_row(all_rows ? -1 : i, open, columns == 1 && kv_len != 1, row);
      }
      out.matrices.push_back(std::move(matrix));
    }
  return out;
}

void set_values(const Values& v, MaskAnalysis& a) {
  a.boolean = v.boolean;
  a.nan = v.nan;
  if (v.boolean) return;
  a.zeros_and_ones = v.ones && !v.other && !v.closed;
  a.biased = v.other || (v.ones && v.closed);
  a.boolean_in_disguise = !v.other && !v.ones && !v.nan && v.closed;
}

void set_copies(const Scan& s, const Axes& axes, MaskAnalysis& a) {
  const std::int64_t batches = axes.extent[0], heads = axes.extent[1];
  const auto same = [&](std::int64_t x, std::int64_t y) { return s.matrices[x].fingerprint() == s.matrices[y].fingerprint(); };
  bool heads_alike = heads > 1, batches_alike = batches > 1;
  for (std::int64_t b = 0; b < batches; ++b)
    for (std::int64_t h = 0; h < heads; ++h) {
      heads_alike = heads_alike && same(b * heads, b * heads + h);
      batches_alike = batches_alike && same(h, b * heads + h);
    }
  a.per_head_copies = heads_alike;
  a.per_batch_copies = batches_alike;
}

void set_rows(const Scan& s, MaskAnalysis& a) {
  for (const Matrix& m : s.matrices) {
    a.rows += m.rows();
    for (std::int64_t i = 0; i < m.rows(); ++i) {
      if (!m.row(i).empty()) continue;
      if (a.first_empty_row < 0) a.first_empty_row = i;
      ++a.empty_rows;
    }
  }
}

// One shape for all matrices, or `other`; parameters that differ between batch entries are listed.
void set_shape(const Scan& s, std::int64_t heads, MaskAnalysis& a) {
  MatrixShape first = s.matrices.front().classify();
  bool one = true, same_length = true;
  for (std::size_t i = 0; i < s.matrices.size(); ++i) {
    const MatrixShape m = s.matrices[i].classify();
    // An unpadded entry of a padded batch has all keys open, or the plain triangle.
    const bool padded = m.shape == MaskShape::padding || first.shape == MaskShape::padding;
    const bool causal = m.shape == MaskShape::causal_padding || first.shape == MaskShape::causal_padding;
    const auto fits = [&](MaskShape plain, MaskShape with) {
      return (m.shape == plain || m.shape == with) && (first.shape == plain || first.shape == with);
    };
    if (padded && fits(MaskShape::zeros, MaskShape::padding)) first.shape = MaskShape::padding;
    else if (causal && fits(MaskShape::causal, MaskShape::causal_padding)) first.shape = MaskShape::causal_padding;
    else one = one && m.shape == first.shape && m.left == first.left && m.right == first.right;
    first.top_left = first.top_left && m.top_left;
    first.bottom_right = first.bottom_right && m.bottom_right;
    first.left_padding = first.left_padding || m.left_padding;
    same_length = same_length && m.length == first.length;
    if (static_cast<std::int64_t>(i) % heads == 0) a.lengths.push_back(m.length);
  }
  a.shape = one ? first.shape : MaskShape::other;
  a.top_left = first.top_left && one;
  a.bottom_right = first.bottom_right && one;
  a.left_padding = first.left_padding;
  if (a.shape == MaskShape::window) {
    a.window_left = first.left;
    a.window_right = first.right;
  }
  a.block = one ? first.block : 0;
  if (a.shape != MaskShape::padding && a.shape != MaskShape::causal_padding) a.lengths.clear();
}

std::string name_of(const MaskAnalysis& a, std::int64_t kv_len) {
  const auto padding = [&] {
    const auto [low, high] = std::minmax_element(a.lengths.begin(), a.lengths.end());
    return a.lengths.empty() ? std::string() : *low == *high ? ":" + std::to_string(kv_len - *low) : std::string(":varying");
  };
  switch (a.shape) {
    case MaskShape::zeros: return "zeros";
    case MaskShape::closed: return "closed";
    case MaskShape::causal: return "causal";
    case MaskShape::causal_padding: return "causal+padding" + padding();
    case MaskShape::padding: return "padding" + padding();
    case MaskShape::window: return "window:" + std::to_string(a.window_left) + "," + std::to_string(a.window_right);
    case MaskShape::blocks: return a.block ? "blocks:" + std::to_string(a.block) : "blocks";
    case MaskShape::causal_blocks: return a.block ? "causal-blocks:" + std::to_string(a.block) : "causal-blocks";
    case MaskShape::other: break;
  }
  return "other";
}

}  // namespace

MaskAnalysis analyse_mask(const core::Tensor& mask, std::int64_t q_len, std::int64_t kv_len) {
  MaskAnalysis a;
  const auto axes = axes_of(mask);
  if (!axes) {
    a.name = "other";
    a.meaning.push_back("a mask has one to four axes");
    return a;
  }
  const std::int64_t rows = axes->extent[2], columns = axes->extent[3];
  if ((rows != 1 && rows != q_len) || (columns != 1 && columns != kv_len) || q_len < 1 || kv_len < 1 || axes->extent[0] < 1 || axes->extent[1] < 1) {
    a.name = "other";
    a.meaning.push_back("the mask does not broadcast to q_len and kv_len");
    return a;
  }
  const Scan s = scan(mask, *axes, q_len, kv_len);
  set_values(s.values, a);
  set_copies(s, *axes, a);
  set_rows(s, a);
  set_shape(s, axes->extent[1], a);
  a.open_share = s.total ? static_cast<double>(s.open) / static_cast<double>(s.total) : 0;
  a.name = name_of(a, kv_len);
  add_meaning(a, q_len, kv_len);
  return a;
}

}  // namespace dd::ops
