// How a Timing comes about, whatever the clock: warm-up until three runs in a row agree, then measured runs until both a
// count and a time are reached; median, interquartile spread and a verdict on the noise. Pure but for the calls.
#pragma once
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "report/report.hpp"

namespace dd::report {

struct BenchPlan {
  int min_runs = 10;
  double min_seconds = 0.2;  // of measured runs
  double max_seconds = 5.0;  // warm-up included, by the host's clock
  bool operator==(const BenchPlan&) const = default;
};

// Spread (interquartile range over median) up to which a timing is called quiet, and beyond which it ranks nothing.
constexpr double quiet_spread = 0.05;
constexpr double noisy_spread = 0.20;

std::string_view noise_of(double spread, int runs);
Timing summarize(std::vector<double> seconds);
// Seconds of the measured runs. `timed` makes one call and says how long it took; nullopt ends it with what there is, and
// with nothing when that happens in the warm-up.
std::vector<double> repeat(const std::function<std::optional<double>()>& timed, const BenchPlan& plan);

}  // namespace dd::report
