#include "backends/cuda_runtime/timing.hpp"

#include <algorithm>

#include "backends/cuda_runtime/nvml.hpp"

namespace dd::cuda {
namespace {

// Twice the cache, so that nothing of the operands is left in it whatever its replacement does.
class CacheFlush {
 public:
  explicit CacheFlush(Device& device) : device_(device), memory_(device) {
    if (!device.api().fill || device.info().l2_bytes <= 0) return;
    bytes_ = 2 * std::int64_t{device.info().l2_bytes};
    if (memory_.allocate(bytes_)) bytes_ = 0;
  }
  bool works() const { return bytes_ > 0; }
  std::optional<CallError> operator()() {
    if (!works()) return std::nullopt;
    return device_.check(device_.api().fill(memory_.address(), ++value_, static_cast<std::size_t>(bytes_), device_.stream()), "cuMemsetD8Async");
  }

 private:
  Device& device_;
  Memory memory_;
  std::int64_t bytes_ = 0;
  unsigned char value_ = 0;
};

}  // namespace

std::optional<CallError> time_on_device(Device& device, bool captured, const Work& work, const report::BenchPlan& plan, report::Timing& timing) {
  Graph graph(device.api());
  if (captured) {
    if (auto e = graph.capture(device.stream(), work)) return e;
    if (auto e = graph.instantiate()) return e;
  }
  CacheFlush flush(device);
  const Work once = captured ? Work([&] { return graph.launch(device.stream()); }) : work;
  std::optional<CallError> error;
  const auto timed = [&]() -> std::optional<double> {
    double seconds = 0;
    error = flush();
    // Nobody waits here: the first event is reached when the flush is over, and what it takes to launch the work passes
    // behind the flush instead of inside the measurement.
    if (!error) error = device.between_events(once, seconds);
    return error ? std::nullopt : std::optional(seconds);
  };
  const ClockState before = clock_state(device.info().pci);
  timing = report::summarize(report::repeat(timed, plan));
  if (error) return error;
  const ClockState after = clock_state(device.info().pci);
  timing.method = std::string(captured ? "device events around the replay of a graph" : "device events around the launches") +
                  (flush.works() ? ", second-level cache emptied before each run" : ", cache not emptied: no room or the driver cannot");
  timing.clocks_before = before.to_text();
  timing.clocks_after = after.to_text();
  timing.throttle = joined_throttle(before, after);
  return std::nullopt;
}

}  // namespace dd::cuda
