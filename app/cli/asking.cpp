#include "cli/asking.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/output.hpp"
#include "cli/services.hpp"
#include "session/diagnose.hpp"

namespace dd::cli {

Asking::Asking(const std::vector<session::BatchItem>& items, const Places& places, const RunOptions& run, const session::Settings& settings) : asked_(items.size(), false) {
  if (run.ask == Ask::none) return;
  std::size_t room = run.ask ? SIZE_MAX : 64;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].spec || !is_modelled(*items[i].spec) || !items[i].spec->is_attention()) continue;
    const auto& targets = places.at(items[i].spec->context.target);
    const std::size_t questions = targets ? targets->size() : 0;
    asked_[i] = questions <= room;
    if (asked_[i]) room -= questions;
    else left_out_ += questions;
  }
  if (std::none_of(asked_.begin(), asked_.end(), [](bool b) { return b; })) return;
  session::WorkerLimits limits = session::limits_of(settings);
  constexpr double patience = 30;  // seconds; the first answer takes about one
  limits.timeout = std::min(limits.timeout, patience);
  asker_.emplace(ask_service(run), limits);
}

session::Asker* Asking::for_item(std::size_t index) { return asker_ && asked_[index] ? &*asker_ : nullptr; }

void Asking::report_left_out(const RunOptions& run) const {
  const std::size_t given_up = asker_ ? asker_->left_out() : 0;
  if (run.quiet) return;
  if (left_out_ > 0) complain(fmt::format("cuDNN was not asked about {} calls; --ask cudnn asks about all", left_out_));
  if (given_up > 0) complain(fmt::format("cuDNN was not asked about {} calls after one that it did not answer", given_up));
}

}  // namespace dd::cli
