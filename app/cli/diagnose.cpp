// sdpa, gemm and run: the main job. Also the hidden verb behind which the native worker lives.
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "backends/backend.hpp"
#include "cli/output.hpp"
#include "cli/recorded.hpp"
#include "cli/services.hpp"
#include "cli/verbs.hpp"
#include "cli/what_if.hpp"
#include "report/matrix.hpp"
#include "report/render/format.hpp"
#include "session/batch.hpp"
#include "session/interrupt.hpp"
#include "session/worker.hpp"
#include "spec/parse.hpp"

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

// Answers those cases that rules alone can answer, in place; the rest is left for a session.
struct Predicted {
  std::vector<std::vector<report::Case>> of_item;  // empty: to be run
  std::string tables;                              // one table for each call with several targets
};

Predicted predict(const std::vector<session::BatchItem>& items, const RunOptions& run, const session::Settings& settings) {
  Predicted out;
  out.of_item.resize(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!items[i].spec || !is_modelled(*items[i].spec)) continue;
    Modelled modelled = model(items[i], run, settings);
    if (modelled.cases.size() > 1) {
      const report::Matrix matrix = report::make_matrix(modelled.cases, modelled.labels);
      out.tables += (out.tables.empty() ? "" : "\n") + (run.format == Format::md ? report::matrix_markdown(matrix) : report::matrix_text(matrix));
    }
    out.of_item[i] = std::move(modelled.cases);
  }
  return out;
}

// Predicted and run cases in the order of the items.
void merge(Predicted& predicted, session::BatchResult& result) {
  std::vector<report::Case> cases;
  std::size_t next = 0;
  for (std::vector<report::Case>& own : predicted.of_item) {
    if (own.empty()) {
      if (next < result.cases.size()) cases.push_back(std::move(result.cases[next++]));
      continue;
    }
    for (report::Case& c : own) cases.push_back(std::move(c));
  }
  result.cases = std::move(cases);
}

int diagnose_items(const std::vector<session::BatchItem>& items, const Invocation& in, const std::vector<std::string>& argv) {
  const auto set = settings(in.run);
  if (!set) {
    complain(set.problems());
    return 2;
  }
  session::install_stop_handlers();
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
  Predicted predicted = predict(items, in.run, *set);
  std::vector<session::BatchItem> to_run;
  for (std::size_t i = 0; i < items.size(); ++i)
    if (predicted.of_item[i].empty()) to_run.push_back(items[i]);
  session::BatchResult result;
  if (!to_run.empty()) result = session::run_batch(to_run, services(in.run), *set, in.run.jobs, show);
  merge(predicted, result);
  session::fill_report(report, std::move(result));
  progress.clear();
  for (const report::Case& c : report.cases)
    for (const std::string& problem : c.problems) complain("error: " + problem);
  const int code = write_report(report, in.run, live && to_run.size() == items.size());
  if (!predicted.tables.empty() && (in.run.format == Format::text || in.run.format == Format::md)) print("\n" + predicted.tables);
  if (in.run.format == Format::text) print(recorded_summary(items, report.cases));
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
  setup.parse_spec = [](std::string_view text) { return spec::parse_json(text); };
  return session::run_worker(STDIN_FILENO, STDOUT_FILENO, setup);
}

}  // namespace dd::cli
