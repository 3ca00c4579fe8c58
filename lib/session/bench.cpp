#include "session/bench.hpp"

#include "core/clock.hpp"

namespace dd::session {

report::Timing measure(const std::function<bool()>& call, const report::BenchPlan& plan) {
  const auto timed = [&]() -> std::optional<double> {
    const double start = core::now();
    if (!call()) return std::nullopt;
    return core::now() - start;
  };
  report::Timing t = report::summarize(report::repeat(timed, plan));
  t.method = "host clock around the whole call";
  return t;
}

}  // namespace dd::session
