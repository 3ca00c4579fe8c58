#include "session/bench.hpp"

#include <chrono>

namespace dd::session {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

report::Timing measure(const std::function<bool()>& call, const report::BenchPlan& plan) {
  const auto timed = [&]() -> std::optional<double> {
    const double start = now();
    if (!call()) return std::nullopt;
    return now() - start;
  };
  report::Timing t = report::summarize(report::repeat(timed, plan));
  t.method = "host clock around the whole call";
  return t;
}

}  // namespace dd::session
