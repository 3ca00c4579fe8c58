#include "session/batch.hpp"

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

#include "ops/tensor/parallel.hpp"
#include "session/diagnose.hpp"
#include "session/estimate.hpp"
#include "session/memory.hpp"
#include "session/interrupt.hpp"
#include "session/save.hpp"
#include "session/verdict.hpp"

namespace dd::session {
namespace {

report::Case unreadable(const BatchItem& item) {
  report::Case c;
  c.id = item.id;
  for (const core::Problem& p : item.problems) c.problems.push_back(core::to_text(p));
  if (c.problems.empty()) c.problems.emplace_back("no spec");
  c.verdict.summary = c.problems.front();
  c.exit_code = 2;
  return c;
}

class Batch {
 public:
  Batch(const std::vector<BatchItem>& items, const Services& services, Settings settings, int jobs,
        const std::function<void(const BatchProgress&)>& progress)
      : items_(items), services_(services), settings_(std::move(settings)), jobs_(jobs), progress_(progress), slots_(items.size()) {
    if (!settings_.save_folder) return;
    std::vector<std::string> ids;
    for (const BatchItem& item : items) ids.push_back(item.id);
    prefixes_ = file_prefixes(ids);
    remove_saved(*settings_.save_folder, prefixes_);
  }

  BatchResult run() {
    if (jobs_ == 1) {
      serve();
    } else {
      std::vector<std::thread> threads;
      for (int i = 0; i < jobs_; ++i) threads.emplace_back([this] { serve(); });
      for (std::thread& t : threads) t.join();
    }
    BatchResult result;
    result.interrupted = stop_signal() != 0;
    for (auto& slot : slots_)
      if (slot) result.cases.push_back(std::move(*slot));
    return result;
  }

 private:
  void serve() {
    Supervisor supervisor(limits_of(settings_));
    for (std::size_t i = next_++; i < items_.size() && stop_signal() == 0; i = next_++) {
      report::Case c = items_[i].spec ? one(i, supervisor) : unreadable(items_[i]);
      finish(i, std::move(c));
    }
  }

  report::Case one(std::size_t index, Supervisor& supervisor) {
    const BatchItem& item = items_[index];
    const auto scratch = shared_scratch(*item.spec);
    if (!scratch) {
      BatchItem failed{item.id, std::nullopt, scratch.problems()};
      return unreadable(failed);
    }
    if (prefixes_.empty()) return diagnose(*item.spec, item.id, services_, settings_, supervisor, *scratch);
    Settings own = settings_;
    own.save_prefix = prefixes_[index];
    return diagnose(*item.spec, item.id, services_, own, supervisor, *scratch);
  }

  // One folder for all, unless a case does not fit where it is.
  core::Result<std::shared_ptr<Scratch>> shared_scratch(const spec::OpSpec& spec) {
    const Estimate e = estimate(spec);
    const double wanted = e.inputs + e.output + (1 << 16);
    const auto bytes = static_cast<std::int64_t>(std::min(wanted, 4e18));
    constexpr std::int64_t usual = 64 << 20;
    // A call that memory cannot hold is refused by its own estimate, with the figures; it needs no room here.
    const auto available = memory_available();
    const bool fits = !available || e.common() <= static_cast<double>(*available);
    if (bytes > usual && fits) return Scratch::make(bytes);
    const std::lock_guard guard(mutex_);
    if (!scratch_) {
      auto made = Scratch::make(usual * jobs_);
      if (!made) return made.problems();
      scratch_ = *made;
    }
    return scratch_;
  }

  void finish(std::size_t index, report::Case c) {
    const std::lock_guard guard(mutex_);
    slots_[index] = std::move(c);
    ++done_;
    while (told_ < slots_.size() && slots_[told_]) {
      const std::size_t at = told_++;
      if (progress_) progress_({done_, items_.size(), &*slots_[at]});
    }
  }

  const std::vector<BatchItem>& items_;
  const Services& services_;
  Settings settings_;
  int jobs_;
  const std::function<void(const BatchProgress&)>& progress_;
  std::atomic<std::size_t> next_{0};
  std::mutex mutex_;
  std::vector<std::optional<report::Case>> slots_;
  std::vector<std::string> prefixes_;  // of the files that --save-tensors writes
  std::shared_ptr<Scratch> scratch_;
  std::size_t done_ = 0, told_ = 0;
};

}  // namespace

BatchResult run_batch(const std::vector<BatchItem>& items, const Services& services, const Settings& settings, int jobs,
                      const std::function<void(const BatchProgress&)>& progress) {
  Settings own = settings;
  jobs = std::clamp<int>(jobs, 1, static_cast<int>(std::clamp<std::size_t>(items.size(), 1, 256)));
  // Jobs side by side share the processors.
  if (jobs > 1) own.threads = std::max(1, ops::thread_count(own.threads) / jobs);
  if (jobs > 1 && !own.memory_limit)
    if (const auto limit = limits_of(own).memory_bytes) own.memory_limit = *limit / jobs;
  return Batch(items, services, std::move(own), jobs, progress).run();
}

void fill_report(report::Report& report, BatchResult result) {
  report.cases = std::move(result.cases);
  report.interrupted = result.interrupted;
  report.summary = summarize(report.cases);
  report.exit_code = result.interrupted ? 128 + stop_signal() : exit_code_of(report.cases);
}

}  // namespace dd::session
