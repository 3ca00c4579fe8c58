#include "report/timing.hpp"

#include <algorithm>

#include "core/clock.hpp"

namespace dd::report {
namespace {

// Linear interpolation between the ranks of sorted values.
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

bool settled(const std::vector<double>& runs) {
  if (runs.size() < 3) return false;
  const auto [low, high] = std::minmax_element(runs.end() - 3, runs.end());
  return *high - *low <= quiet_spread * *low;
}

}  // namespace

std::string_view noise_of(double spread, int runs) {
  if (runs < 3) return "too few runs";
  if (spread <= quiet_spread) return "quiet";
  return spread <= noisy_spread ? "noisy" : "too noisy to rank";
}

Timing summarize(std::vector<double> seconds) {
  Timing t;
  t.runs = static_cast<int>(seconds.size());
  if (seconds.empty()) {
    t.noise = noise_of(0, 0);
    return t;
  }
  std::sort(seconds.begin(), seconds.end());
  t.median = quantile(seconds, 0.5);
  t.minimum = seconds.front();
  t.spread = t.median > 0 ? (quantile(seconds, 0.75) - quantile(seconds, 0.25)) / t.median : 0;
  t.noise = noise_of(t.spread, t.runs);
  return t;
}

std::vector<double> repeat(const std::function<std::optional<double>()>& timed, const BenchPlan& plan) {
  const double begin = core::now();
  std::vector<double> warm, runs;
  while (!settled(warm) && core::now() - begin < 0.25 * plan.max_seconds) {
    const auto seconds = timed();
    if (!seconds) return {};
    warm.push_back(*seconds);
  }
  double measured = 0;  // by the clock of `timed`: what it does between its runs (emptying a cache) is no measurement
  while (static_cast<int>(runs.size()) < plan.min_runs || measured < plan.min_seconds) {
    if (!runs.empty() && core::now() - begin > plan.max_seconds) break;
    const auto seconds = timed();
    if (!seconds) break;
    runs.push_back(*seconds);
    measured += *seconds;
  }
  return runs;
}

}  // namespace dd::report
