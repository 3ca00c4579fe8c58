#include "cli/predicted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "cli/asking.hpp"
#include "cli/recorded.hpp"
#include "cli/what_if.hpp"
#include "ops/tensor/parallel.hpp"
#include "report/matrix.hpp"
#include "session/interrupt.hpp"
#include "spec/canonical.hpp"

namespace dd::cli {
namespace {

// Where a predicted case was placed, apart from what the call is.
struct Place {
  std::string target, version;
};

// The call alone, without the place.
spec::OpSpec call_of(spec::OpSpec spec) {
  spec.context.target.clear();
  spec.context.torch.reset();
  return spec;
}

std::string words_of(const spec::OpSpec& spec) {
  const std::string line = spec::repro_line(spec);
  return line.substr(line.find(' ') + 1);
}

std::string torch_of(const report::Case& c) {
  for (const report::VersionRead& v : c.versions)
    if (v.name == "torch") return fmt::format(" torch {}{}", v.value, v.assumed ? " (assumed)" : "");
  return {};
}

// One table for all cases of one call, in the order of the first of each.
std::vector<report::Matrix> tables_of(const std::vector<session::BatchItem>& items, const Predicted& predicted,
                                      const std::vector<std::vector<std::string>>& labels) {
  struct Table {
    std::vector<const report::Case*> cases;
    std::vector<Place> places;
    std::size_t item;  // the first
  };
  std::vector<Table> tables;
  std::map<std::string, std::size_t> of_key;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (predicted.of_item[i].empty()) continue;
    const auto [at, fresh] = of_key.emplace(spec::canonical(call_of(*items[i].spec)), tables.size());
    if (fresh) tables.push_back({{}, {}, i});
    Table& table = tables[at->second];
    for (std::size_t j = 0; j < predicted.of_item[i].size(); ++j) {
      table.cases.push_back(&predicted.of_item[i][j]);
      table.places.push_back({labels[i][j], items[i].spec->context.torch.value_or("")});
    }
  }
  std::vector<report::Matrix> out;
  for (const Table& table : tables) {
    if (table.cases.size() < 2) continue;
    const auto differs = [&](std::string Place::*part) {
      return std::any_of(table.places.begin(), table.places.end(), [&](const Place& p) { return p.*part != table.places.front().*part; });
    };
    const bool versions = differs(&Place::version);
    if (!versions && !differs(&Place::target)) continue;  // the same spec twice
    report::Matrix& matrix = out.emplace_back();
    for (std::size_t i = 0; i < table.cases.size(); ++i) {
      const Place& p = table.places[i];
      report::add_row(matrix, *table.cases[i], versions ? p.target + torch_of(*table.cases[i]) : p.target);
    }
    matrix.title = words_of(call_of(*items[table.item].spec));
  }
  return out;
}

}  // namespace

bool answered_by_rules(const session::BatchItem& item) { return item.spec && is_modelled(*item.spec); }

std::vector<session::BatchItem> expanded(std::vector<session::BatchItem> items) {
  std::vector<session::BatchItem> out;
  for (session::BatchItem& item : items) {
    const std::string versions = item.spec ? item.spec->context.torch.value_or("") : "";
    if (versions.find(',') == std::string::npos) {
      out.push_back(std::move(item));
      continue;
    }
    if (!is_modelled(*item.spec)) {
      item.problems = {{"context.torch", versions, "one version, or a --target that is a profile", "several versions can only be predicted", {}, 0}};
      item.spec.reset();
      out.push_back(std::move(item));
      continue;
    }
    for (std::size_t begin = 0; begin <= versions.size();) {
      const std::size_t end = std::min(versions.find(',', begin), versions.size());
      session::BatchItem one = item;
      one.spec->context.torch = versions.substr(begin, end - begin);
      one.id += "/" + *one.spec->context.torch;
      out.push_back(std::move(one));
      begin = end + 1;
    }
  }
  return out;
}

Predicted predict(const std::vector<session::BatchItem>& items, const RunOptions& run, const session::Settings& settings, bool brief, Progress& progress) {
  Predicted out;
  out.of_item.resize(items.size());
  std::vector<std::vector<std::string>> labels(items.size());
  Places places;  // most of a batch names the same
  for (const session::BatchItem& item : items)
    if (answered_by_rules(item) && !places.contains(item.spec->context.target))
      places.emplace(item.spec->context.target, facts::find_profiles(item.spec->context.target));
  Asking asking(items, places, run, settings);
  std::mutex lock;
  std::size_t done = 0;
  // Rules alone disturb no measurement, so that all processors may evaluate them.
  ops::parallel_for(static_cast<std::int64_t>(items.size()), {0, session::stop_flag()}, [&](std::int64_t task, int) {
    const auto i = static_cast<std::size_t>(task);
    if (!answered_by_rules(items[i])) return;
    Modelled modelled = model(items[i], places.at(items[i].spec->context.target), run, settings, brief, asking.for_item(i));
    out.of_item[i] = std::move(modelled.cases);
    labels[i] = std::move(modelled.labels);
    const std::lock_guard<std::mutex> hold(lock);
    progress.update(++done, items.size());
  });
  progress.clear();
  asking.report_left_out(run);
  out.matrices = tables_of(items, out, labels);
  for (std::size_t i = 0; brief && i < items.size(); ++i) {
    if (items[i].spec && is_recorded(*items[i].spec)) continue;  // the summary of a recorded program reads them
    for (report::Case& c : out.of_item[i]) c.candidates = {};
  }
  return out;
}

void merge(const std::vector<session::BatchItem>& items, Predicted& predicted, session::BatchResult& result) {
  std::vector<report::Case> cases;
  std::size_t next = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::vector<report::Case>& own = predicted.of_item[i];
    if (own.empty()) {
      if (answered_by_rules(items[i])) continue;  // interrupted before its turn
      if (next < result.cases.size()) cases.push_back(std::move(result.cases[next++]));
      continue;
    }
    for (report::Case& c : own) cases.push_back(std::move(c));
  }
  result.cases = std::move(cases);
}

}  // namespace dd::cli
