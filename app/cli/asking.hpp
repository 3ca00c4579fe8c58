// Which of the predicted calls a library is asked about (--ask), and the one who asks. Rules judge thousands of calls a
// second, a library hundreds: without being told to, it is asked about the first calls only.
#pragma once
#include <optional>
#include <vector>

#include "cli/options.hpp"
#include "cli/what_if.hpp"
#include "session/ask.hpp"
#include "session/batch.hpp"

namespace dd::cli {

class Asking {
 public:
  Asking(const std::vector<session::BatchItem>& items, const Places& places, const RunOptions& run, const session::Settings& settings);
  session::Asker* for_item(std::size_t index);  // nullptr: nobody is asked about this one; may be called from several threads
  // Says on standard error what was left out.
  void report_left_out(const RunOptions& run) const;

 private:
  std::optional<session::Asker> asker_;
  std::vector<bool> asked_;
  std::size_t left_out_ = 0;
};

}  // namespace dd::cli
