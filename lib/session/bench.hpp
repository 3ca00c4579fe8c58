// Timing of one call: warm-up until three runs in a row agree, then measured runs until both a count and a time are
// reached. The statistics are a pure function, so that they can be tested without a clock.
#pragma once
#include <functional>
#include <string_view>
#include <vector>

#include "report/report.hpp"
#include "session/protocol.hpp"

namespace dd::session {

// Spread (interquartile range over median) up to which a timing is called quiet, and beyond which it ranks nothing.
constexpr double quiet_spread = 0.05;
constexpr double noisy_spread = 0.20;

std::string_view noise_of(double spread, int runs);
report::Timing summarize(std::vector<double> seconds);
// Calls until the plan is fulfilled; stops early (with what it has) when `call` returns false.
report::Timing measure(const std::function<bool()>& call, const BenchPlan& plan);

}  // namespace dd::session
