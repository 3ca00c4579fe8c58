// The cases of a batch that rules alone answer (targets that are not here), and the table over the targets and versions
// of one call. Everything else is left for a session.
#pragma once
#include <vector>

#include "cli/options.hpp"
#include "cli/progress.hpp"
#include "report/report.hpp"
#include "session/batch.hpp"

namespace dd::cli {

bool answered_by_rules(const session::BatchItem& item);
// A spec that names several PyTorch versions stands for one spec a version.
std::vector<session::BatchItem> expanded(std::vector<session::BatchItem> items);

struct Predicted {
  std::vector<std::vector<report::Case>> of_item;  // empty: to be run
  std::vector<report::Matrix> matrices;            // one for each call with several targets or versions
};
// `brief`: only what a line in a list and a table need.
Predicted predict(const std::vector<session::BatchItem>& items, const RunOptions& run, const session::Settings& settings, bool brief, Progress& progress);
// Predicted and run cases in the order of the items.
void merge(const std::vector<session::BatchItem>& items, Predicted& predicted, session::BatchResult& result);

}  // namespace dd::cli
