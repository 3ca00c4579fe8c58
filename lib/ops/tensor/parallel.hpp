// A loop over numbered tasks on a fixed number of threads. Tasks are handed out in order; callers make results depend
// on the task number only, so output is the same for any thread count. `work` must not throw.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>

namespace dd::ops {

struct RunOptions {
  int threads = 0;                            // 0 = all hardware threads
  const std::atomic<bool>* cancel = nullptr;  // when it becomes true no further task starts; the call then fails
};

// The thread count that `threads` means here (>= 1).
int thread_count(int threads);
// work(task, worker) for task in [0, tasks), worker in [0, thread_count). Returns false when cancelled.
bool parallel_for(std::int64_t tasks, const RunOptions& options, const std::function<void(std::int64_t, int)>& work);

}  // namespace dd::ops
