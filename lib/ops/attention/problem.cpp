#include <set>

#include "ops/attention/geometry.hpp"
#include "ops/tensor/philox.hpp"

namespace dd::ops {
namespace {

using Errors = std::vector<std::string>;

void check_tensor(const TensorView& t, const char* name, Errors& errors) {
  if (t.rank != 4) errors.push_back(std::string(name) + " must have rank 4 [B, H, T, D]");
  for (int axis = 0; axis < std::min(t.rank, max_rank); ++axis)
    if (t.shape[axis] < 0) errors.push_back(std::string(name) + " has a negative size");
  const bool empty = t.rank == 4 && element_count(t) == 0;
  if (!t.data && !empty) errors.push_back(std::string(name) + " has no data");
  if (t.dtype == DType::boolean) errors.push_back(std::string(name) + " is boolean");
}

void check_lengths(const std::vector<std::int64_t>& lengths, std::int64_t batch, std::int64_t full, const char* name,
                   Errors& errors) {
  if (lengths.empty()) return;
  if (static_cast<std::int64_t>(lengths.size()) != batch)
    errors.push_back(std::string(name) + " needs one entry per batch");
  for (std::int64_t length : lengths)
    if (length < 0 || length > full) {
      errors.push_back(std::string(name) + " has an entry outside [0, length]");
      break;
    }
}

void check_mask(const AttentionProblem& p, Errors& errors) {
  if (!p.mask) return;
  const TensorView& m = *p.mask;
  if (m.rank != 4) {
    errors.push_back("mask must have rank 4");
    return;
  }
  if (m.dtype != DType::boolean && !core::is_float(m.dtype)) errors.push_back("mask must be boolean or a float type");
  const std::int64_t full[4] = {p.q.shape[0], p.q.shape[1], p.q.shape[2], p.k.shape[2]};
  for (int axis = 0; axis < 4; ++axis)
    if (m.shape[axis] != full[axis] && m.shape[axis] != 1)
      errors.push_back("mask does not broadcast to [B, Hq, Tq, Tk]");
  if (!m.data && element_count(m) > 0) errors.push_back("mask has no data");
}

}  // namespace

double default_scale(std::int64_t head_dim) {
  return head_dim > 0 ? 1.0 / std::sqrt(static_cast<double>(head_dim)) : 1.0;
}

std::vector<std::string> attention_errors(const AttentionProblem& p) {
  Errors errors;
  check_tensor(p.q, "q", errors);
  check_tensor(p.k, "k", errors);
  check_tensor(p.v, "v", errors);
  if (!errors.empty()) return errors;
  if (p.k.shape[0] != p.q.shape[0] || p.v.shape[0] != p.q.shape[0]) errors.push_back("q, k and v differ in batch size");
  if (p.k.shape[1] != p.v.shape[1]) errors.push_back("k and v differ in heads");
  if (p.k.shape[1] == 0 ? p.q.shape[1] != 0 : p.q.shape[1] % p.k.shape[1] != 0)
    errors.push_back("query heads are not a multiple of key heads");
  if (p.k.shape[2] != p.v.shape[2]) errors.push_back("k and v differ in length");
  if (p.k.shape[3] != p.q.shape[3]) errors.push_back("q and k differ in head size");
  if (!std::isfinite(p.scale)) errors.push_back("scale is not finite");
  if (!(p.dropout_p >= 0 && p.dropout_p <= 1)) errors.push_back("dropout probability is outside [0, 1]");
  if (p.window_left < -1 || p.window_right < -1) errors.push_back("window below -1");
  check_lengths(p.q_lengths, p.q.shape[0], p.q.shape[2], "q_lengths", errors);
  check_lengths(p.kv_lengths, p.q.shape[0], p.k.shape[2], "kv_lengths", errors);
  check_mask(p, errors);
  return errors;
}

namespace {

// Sum over the rows of one batch of the number of keys that take part by position. That number is linear in the row
// between a few places where a limit sets in, so a huge length costs no more than a short one.
double keys_of_batch(const AttentionProblem& p, std::int64_t b) {
  const std::int64_t rows = detail::length_of(p.q_lengths, b, p.q.shape[2]),
                     keys = detail::length_of(p.kv_lengths, b, p.k.shape[2]);
  const std::int64_t shift = p.align == Align::bottom_right ? keys - rows : 0;
  std::set<std::int64_t> cuts{0, rows};
  const auto cut = [&](std::int64_t place) {
    for (std::int64_t row = place - shift - 1; row <= place - shift + 2; ++row)
      if (row > 0 && row < rows) cuts.insert(row);
  };
  for (const std::int64_t reach : {p.causal ? std::int64_t{0} : std::int64_t{-1}, p.window_right, p.window_left}) {
    if (reach < 0 || reach > rows + keys) continue;
    for (const std::int64_t end : {std::int64_t{0}, keys}) {
      cut(end - reach - 1);
      cut(end + reach);
    }
  }
  double sum = 0;
  const auto count = [&](std::int64_t i) {
    const auto range = detail::key_range(p, b, i);
    return static_cast<double>(std::max<std::int64_t>(range.high - range.low, 0));
  };
  for (auto it = cuts.begin(); it != cuts.end() && std::next(it) != cuts.end(); ++it) {
    const std::int64_t first = *it, last = *std::next(it) - 1;
    sum += (count(first) + count(last)) * static_cast<double>(last - first + 1) / 2;
  }
  return sum;
}

}  // namespace

double attention_work(const AttentionProblem& p) {
  if (!attention_errors(p).empty()) return 0;
  const detail::Geometry g(p);
  const bool ragged = !p.q_lengths.empty() || !p.kv_lengths.empty();
  double keys = 0;
  for (std::int64_t b = 0; b < (ragged ? g.batch : std::min<std::int64_t>(g.batch, 1)); ++b)
    keys += keys_of_batch(p, b);
  if (!ragged) keys *= static_cast<double>(g.batch);
  return keys * static_cast<double>(g.heads) * static_cast<double>(g.d + g.dv);
}

std::vector<RowIndex> sample_rows(const AttentionProblem& p, std::int64_t count, std::uint64_t seed) {
  std::vector<RowIndex> rows;
  if (!attention_errors(p).empty()) return rows;
  const detail::Geometry g(p);
  const std::int64_t total = g.rows();
  count = std::min(count, total);
  if (count <= 0) return rows;
  std::set<std::int64_t> picked{0};
  if (count > 1) picked.insert(total - 1);
  // One draw in each of count strata spreads rows over heads and positions; repeats move on to the next free row.
  for (std::int64_t n = 0; static_cast<std::int64_t>(picked.size()) < count; ++n) {
    const auto word = philox({static_cast<std::uint32_t>(n), 0, 0, 0x726f7773u}, seed)[0];
    const double stratum = static_cast<double>(total) / static_cast<double>(count);
    auto flat = static_cast<std::int64_t>((static_cast<double>(n % count) + word * 0x1p-32) * stratum) % total;
    while (picked.count(flat)) flat = (flat + 1) % total;
    picked.insert(flat);
  }
  for (std::int64_t flat : picked)
    rows.push_back({flat / g.queries / g.heads, flat / g.queries % g.heads, flat % g.queries});
  return rows;
}

}  // namespace dd::ops
