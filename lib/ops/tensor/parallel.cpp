#include "ops/tensor/parallel.hpp"

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace dd::ops {

int thread_count(int threads) {
  if (threads > 0) return std::min(threads, 1024);
  const unsigned n = std::thread::hardware_concurrency();
  return n == 0 ? 1 : static_cast<int>(n);
}

bool parallel_for(std::int64_t tasks, const RunOptions& options, const std::function<void(std::int64_t, int)>& work) {
  const auto cancelled = [&] { return options.cancel && options.cancel->load(std::memory_order_relaxed); };
  std::atomic<std::int64_t> next{0};
  const auto loop = [&](int worker) {
    while (!cancelled()) {
      const std::int64_t task = next.fetch_add(1, std::memory_order_relaxed);
      if (task >= tasks) return;
      work(task, worker);
    }
  };
  const auto workers = static_cast<int>(std::min<std::int64_t>(thread_count(options.threads), tasks));
  std::vector<std::thread> threads;
  // A machine that refuses more threads only makes this slower: the caller's thread always takes part.
  try {
    for (int worker = 1; worker < workers; ++worker) threads.emplace_back(loop, worker);
  } catch (const std::system_error&) {
  }
  loop(0);
  for (auto& thread : threads) thread.join();
  return !cancelled();
}

}  // namespace dd::ops
