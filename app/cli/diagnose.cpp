// sdpa, gemm and run: the main job. Also the hidden verb behind which the native worker lives.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>

#include "backends/backend.hpp"
#include "backends/catalogue.hpp"
#include "backends/common/recorded.hpp"
#include "backends/cudnn/frontend/ask.hpp"
#include "cli/asking.hpp"
#include "cli/output.hpp"
#include "cli/recorded.hpp"
#include "cli/services.hpp"
#include "cli/verbs.hpp"
#include "cli/what_if.hpp"
#include "core/nearest.hpp"
#include "ops/tensor/parallel.hpp"
#include "report/matrix.hpp"
#include "report/render/format.hpp"
#include "session/batch.hpp"
#include "session/interrupt.hpp"
#include "session/worker.hpp"
#include "spec/canonical.hpp"
#include "spec/parse.hpp"
#include "spec/values.hpp"

namespace dd::cli {
namespace {

// Progress on standard error: a bar on a terminal, else a line every ten seconds.
class Progress {
 public:
  explicit Progress(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO)), last_(std::chrono::steady_clock::now()) {}
  ~Progress() { clear(); }

  void clear() {
    if (shown_) std::fputs("\r\033[K", stderr);
    shown_ = false;
  }

  void update(std::size_t done, std::size_t total) {
    if (quiet_ || total < 2) return;
    const auto now = std::chrono::steady_clock::now();
    const auto interval = terminal_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(10000);
    if (now - last_ < interval) return;
    last_ = now;
    if (!terminal_) {
      fmt::print(stderr, "dispatchdoctor: {} of {} cases\n", done, total);
      return;
    }
    constexpr std::size_t width = 30;
    const std::size_t filled = done * width / total;
    fmt::print(stderr, "\r\033[K[{}{}] {}/{}", std::string(filled, '#'), std::string(width - filled, ' '), done, total);
    std::fflush(stderr);
    shown_ = true;
  }

 private:
  bool quiet_, terminal_, shown_ = false;
  std::chrono::steady_clock::time_point last_;
};

bool answered_by_rules(const session::BatchItem& item) { return item.spec && is_modelled(*item.spec); }

// Answers those cases that rules alone can answer, in place; the rest is left for a session.
struct Predicted {
  std::vector<std::vector<report::Case>> of_item;  // empty: to be run
  std::vector<report::Matrix> matrices;            // one for each call with several targets or versions
};

// Where a predicted case was placed, apart from what the call is.
struct Place {
  std::string target, version;
};

// A spec that names several PyTorch versions stands for one spec a version.
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
      report::add_row(matrix, *table.cases[i], versions ? fmt::format("{} torch {}", p.target, p.version.empty() ? "assumed" : p.version) : p.target);
    }
    matrix.title = words_of(call_of(*items[table.item].spec));
  }
  return out;
}

Predicted predict(const std::vector<session::BatchItem>& items, const RunOptions& run, const session::Settings& settings, bool brief,
                  Progress& progress) {
  Predicted out;
  out.of_item.resize(items.size());
  std::vector<std::vector<std::string>> labels(items.size());
  Asking asking(items, run, settings);
  std::mutex lock;
  std::size_t done = 0;
  // Rules alone disturb no measurement, so that all processors may evaluate them.
  ops::parallel_for(static_cast<std::int64_t>(items.size()), {0, session::stop_flag()}, [&](std::int64_t task, int) {
    const auto i = static_cast<std::size_t>(task);
    if (!answered_by_rules(items[i])) return;
    Modelled modelled = model(items[i], run, settings, brief, asking.for_item(i));
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

// Predicted and run cases in the order of the items.
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

// A policy that names what does not exist would be obeyed in silence: a deny list that denies nothing. Only the native
// dispatcher's names are all known here; a framework may bring candidates that have no rule.
core::Problems unknown_backends(const spec::OpSpec& spec) {
  core::Problems problems;
  if (spec.context.framework != "native") return problems;
  std::vector<std::string_view> names;
  for (const backends::Backend& b : backends::all_backends()) names.push_back(b.name);
  std::vector<std::string_view> known = names;
  for (const rules::Rule* rule : backends::catalogue().all()) known.push_back(rule->scope);
  const auto check = [&](const char* field, const std::string& name) {
    if (std::find(known.begin(), known.end(), name) != known.end()) return;
    const auto near = core::nearest_names(name, names, 1);
    problems.push_back({field, spec::excerpt(name), near.empty() ? "a name that `dispatchdoctor backends` lists" : std::string(near[0]) + "?",
                        "there is no backend of this name", {}, 0});
  };
  for (const std::string& name : spec.policy.allow.value_or(std::vector<std::string>{})) check("policy.allow", name);
  for (const std::string& name : spec.policy.deny) check("policy.deny", name);
  for (const std::string& name : spec.policy.order.value_or(std::vector<std::string>{})) check("policy.order", name);
  if (spec.policy.force) check("policy.force", *spec.policy.force);
  return problems;
}

// Why nothing could be saved in this folder, found out before anything is run; empty when all is well.
std::string folder_trouble(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!std::filesystem::is_directory(folder)) return error ? error.message() : "it is no folder";
  return ::access(folder.c_str(), W_OK | X_OK) == 0 ? std::string() : std::strerror(errno);
}

// Tensors that were to be saved and were not (a full disk): the report says which, the exit code that some are missing.
int code_with_tensors(int code, const std::vector<report::Case>& cases) {
  std::size_t lost = 0;
  std::string first;
  for (const report::Case& c : cases)
    for (const auto& [role, path] : c.saved_tensors)
      if (path.starts_with("not saved") && lost++ == 0) first = role + ": " + path;
  if (lost == 0) return code;
  complain(fmt::format("error: --save-tensors: {} tensors are missing, the first is {}", lost, first));
  return 2;
}

int diagnose_items(const std::vector<session::BatchItem>& given, const Invocation& in, const std::vector<std::string>& argv) {
  const auto set = settings(in.run);
  if (!set) {
    complain(set.problems());
    return 2;
  }
  if (in.run.save_tensors)
    if (const std::string trouble = folder_trouble(*in.run.save_tensors); !trouble.empty()) {
      complain(core::Problems{{"--save-tensors", spec::excerpt(*in.run.save_tensors), "a folder that can be written to, or made", trouble, {}, 0}});
      return 2;
    }
  session::install_stop_handlers();
  std::vector<session::BatchItem> items = expanded(given);
  for (session::BatchItem& item : items) {
    if (!item.spec) continue;
    item.problems = unknown_backends(*item.spec);
    if (!item.problems.empty()) item.spec.reset();
  }
  Progress progress(in.run.quiet);
  const bool live = in.run.format == Format::text && items.size() > 1 && !in.run.quiet;
  const report::TextOptions text = text_options(in.run);
  const auto show = [&](const session::BatchProgress& p) {
    if (p.finished && live) {
      progress.clear();
      print(text.verbosity > 0 ? report::render_case(*p.finished, text) + "\n" : report::render_case_line(*p.finished, text));
    }
    progress.update(p.done, p.total);
  };
  report::Report report = new_report(argv, in.run);
  // What lists and tables do not show is not worked out for each of thousands of cases.
  const bool brief = items.size() > 1 && in.run.format == Format::text && in.run.verbosity <= 0 && !in.run.json_file && !in.run.md_file &&
                     !in.run.junit_file && !in.run.fix;
  Predicted predicted = predict(items, in.run, *set, brief, progress);
  std::vector<session::BatchItem> to_run;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (!answered_by_rules(items[i])) to_run.push_back(items[i]);
  session::BatchResult result;
  result.interrupted = session::stop_signal() != 0;
  if (!to_run.empty()) result = session::run_batch(to_run, services(in.run), *set, in.run.jobs, show);
  merge(items, predicted, result);
  session::fill_report(report, std::move(result));
  report.matrices = std::move(predicted.matrices);
  progress.clear();
  for (const report::Case& c : report.cases)
    for (const std::string& problem : c.problems) complain("error: " + problem);
  report.recorded = recorded_program(items, report.cases);
  const int code = code_with_tensors(write_report(report, in.run, live && to_run.size() == items.size()), report.cases);
  return code;
}

}  // namespace

int run_diagnose(const Invocation& in, const std::vector<std::string>& argv) {
  session::BatchItem item;
  item.id = "1";
  item.spec = in.spec;
  return diagnose_items({item}, in, argv);
}

int run_batch(const Invocation& in, const std::vector<std::string>& argv) {
  std::vector<session::BatchItem> items;
  for (const std::string& path : in.arguments) {
    for (spec::Entry& entry : load_specs(path)) {
      session::BatchItem item;
      item.id = entry.line > 0 ? fmt::format("{}:{}", entry.file, entry.line) : entry.file;
      auto adapted = entry.spec && !in.overrides.empty() ? spec::with_options(*entry.spec, in.overrides) : std::move(entry.spec);
      if (adapted) {
        item.spec = *adapted;
      } else {
        item.problems = adapted.problems();
        for (core::Problem& p : item.problems)
          if (p.file.empty()) {
            p.file = entry.file;
            p.line = entry.line;
          }
      }
      items.push_back(std::move(item));
    }
  }
  if (items.empty()) {
    complain("no case in the files given: nothing was tested");
    return 5;
  }
  return diagnose_items(items, in, argv);
}

int run_worker_verb() {
  session::WorkerSetup setup;
  setup.backends = backends::all_backends();
  setup.run = backends::run_recorded;
  setup.parse_spec = [](std::string_view text) { return spec::parse_json(text); };
  setup.ask = [](const spec::OpSpec& spec, const std::string& library, const std::string& device) {
    if (library == "cudnn") return cudnn::answer(spec, device);
    report::Asked unknown;
    unknown.library = library;
    unknown.error = report::Error{"no-such-library", fmt::format("this worker cannot ask {}", library), "worker"};
    return unknown;
  };
  return session::run_worker(STDIN_FILENO, STDOUT_FILENO, setup);
}

}  // namespace dd::cli
