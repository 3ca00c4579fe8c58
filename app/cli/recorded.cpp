#include "cli/recorded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace dd::cli {
namespace {

using report::Status;

const std::map<std::string, std::string>& extra_of(const spec::OpSpec& spec) {
  return spec.is_attention() ? spec.attention().extra : spec.gemm().extra;
}

double product(const spec::Dims& dims, std::size_t from_end) {
  double out = 1;
  for (std::size_t i = 0; i + from_end < dims.size(); ++i) out *= static_cast<double>(dims[i]);
  return out;
}

// Multiplications and additions of one call, the masked part included.
double work_of(const spec::OpSpec& spec) {
  if (spec.is_attention()) {
    const spec::Attention& a = spec.attention();
    const spec::AttentionDims q = spec::attention_dims(a.q.shape), k = spec::attention_dims(a.k.shape), v = spec::attention_dims(a.v.shape);
    return 2.0 * static_cast<double>(q.batch) * static_cast<double>(q.heads) * static_cast<double>(q.length) * static_cast<double>(k.length) *
           static_cast<double>(q.size + v.size);
  }
  const spec::Gemm& g = spec.gemm();
  if (g.x.shape.empty() || g.w.shape.empty()) return 0;
  const double batch = std::max(product(g.x.shape, 2), product(g.w.shape, 2));
  const double rows = g.x.shape.size() < 2 ? 1 : static_cast<double>(g.x.shape[g.x.shape.size() - 2]);
  return 2.0 * batch * rows * static_cast<double>(g.x.shape.back()) * static_cast<double>(g.w.shape.back());
}

struct Row {
  double calls = 0, work = 0;
  Status status = Status::undetermined;
  std::string where, title, why;
};

double share(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

}  // namespace

std::string recorded_summary(const std::vector<session::BatchItem>& items, std::span<const report::Case> cases) {
  std::map<std::string, const session::BatchItem*> by_id;
  for (const session::BatchItem& item : items) by_id[item.id] = &item;
  std::vector<Row> rows;
  double calls = 0, work = 0, missed = 0, missed_work = 0, open = 0;
  for (const report::Case& c : cases) {
    const auto it = by_id.find(c.id);
    if (it == by_id.end() || !it->second->spec) continue;
    const auto& extra = extra_of(*it->second->spec);
    const auto count = extra.find("count");
    if (count == extra.end()) continue;
    Row row;
    std::int64_t n = 0;
    std::from_chars(count->second.data(), count->second.data() + count->second.size(), n);
    row.calls = static_cast<double>(n);
    row.work = row.calls * work_of(*it->second->spec);
    row.status = c.verdict.status;
    if (const auto site = extra.find("call_site"); site != extra.end()) row.where = site->second;
    row.title = c.title;
    row.why = c.verdict.because.empty() ? c.verdict.summary : c.verdict.because.front();
    calls += row.calls;
    work += row.work;
    if (row.status == Status::undetermined) open += row.calls;
    if (row.status == Status::fast_path || row.status == Status::undetermined) continue;
    missed += row.calls;
    missed_work += row.work;
    rows.push_back(std::move(row));
  }
  if (calls <= 0) return {};
  std::string out = fmt::format("recorded program: {:.0f} calls; {:.0f} ({:.1f} %) miss the fast path, with {:.1f} % of the arithmetic\n", calls, missed,
                                share(missed, calls), share(missed_work, work));
  if (open > 0) out += fmt::format("  {:.0f} calls ({:.1f} %) could not be told\n", open, share(open, calls));
  std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.work > b.work; });
  constexpr std::size_t most = 10;
  for (std::size_t i = 0; i < rows.size() && i < most; ++i)
    out += fmt::format("  {:.0f} calls, {:.1f} % of the arithmetic, at {}\n    {}\n    {}\n", rows[i].calls, share(rows[i].work, work),
                       rows[i].where.empty() ? "an unknown place" : rows[i].where, rows[i].title, rows[i].why);
  if (rows.size() > most) out += fmt::format("  and {} further specs\n", rows.size() - most);
  return out;
}

}  // namespace dd::cli
