// sdpa, gemm and run: the main job. Also the hidden verb behind which the native worker lives.
#include <fmt/format.h>
#include <unistd.h>

#include "backends/backend.hpp"
#include "backends/common/recorded.hpp"
#include "backends/cudnn/frontend/ask.hpp"
#include "cli/checks.hpp"
#include "cli/output.hpp"
#include "cli/predicted.hpp"
#include "cli/progress.hpp"
#include "cli/recorded.hpp"
#include "cli/services.hpp"
#include "cli/verbs.hpp"
#include "session/batch.hpp"
#include "session/interrupt.hpp"
#include "session/worker.hpp"
#include "spec/parse.hpp"

namespace dd::cli {
namespace {

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

// What standard output does not say of cases that could not be run: every problem, or with -q one line a case.
void complain_of(const report::Report& report, bool quiet) {
  for (const report::Case& c : report.cases) {
    if (c.problems.empty()) continue;
    if (quiet) {
      complain("error: " + report::problem_line(c));
      continue;
    }
    for (const std::string& problem : c.problems) {
      const bool placed = report.cases.size() == 1 || problem.starts_with(c.id + ":");
      complain(fmt::format("error: {}{}", placed ? "" : c.id + ": ", problem));
    }
  }
}

// Lists show each case as it ends, where nothing but text goes to standard output and all of them are run.
class Shown {
 public:
  Shown(const RunOptions& run, std::size_t cases, std::size_t to_run)
      : live_(run.format == Format::text && cases > 1 && !run.quiet && to_run == cases), run_(run), text_(text_options(run)), progress_(run.quiet) {}

  void update(const session::BatchProgress& p) {
    if (p.finished && live_) {
      progress_.clear();
      print(shown_text(text_.verbosity > 0 ? report::render_case(*p.finished, text_) + "\n" : report::render_case_line(*p.finished, text_), run_));
    }
    progress_.update(p.done, p.total);
  }
  bool live() const { return live_; }
  Progress& progress() { return progress_; }

 private:
  bool live_;
  const RunOptions& run_;
  report::TextOptions text_;
  Progress progress_;
};

int diagnose_items(const std::vector<session::BatchItem>& given, const Invocation& in, const std::vector<std::string>& argv) {
  const auto set = settings(in.run);
  if (!set) return refuse(set.problems());
  std::vector<session::BatchItem> items = expanded(given);
  if (const auto problems = unknown_required(in.run.require, items); !problems.empty()) return refuse(problems);
  session::install_stop_handlers();
  std::vector<session::BatchItem> to_run;
  for (session::BatchItem& item : items) {
    if (item.spec) item.problems = unknown_backends(*item.spec);
    if (!item.problems.empty()) item.spec.reset();
    if (!answered_by_rules(item)) to_run.push_back(item);
  }
  // One call on the command line is answered like any mistyped command line.
  if (items.size() == 1 && in.verb != Verb::run && !items[0].spec) return refuse(items[0].problems);
  Shown shown(in.run, items.size(), to_run.size());
  report::Report report = new_report(argv, in.run);
  // What lists and tables do not show is not worked out for each of thousands of cases.
  const bool brief = items.size() > 1 && in.run.format == Format::text && in.run.verbosity <= 0 && !in.run.json_file && !in.run.md_file &&
                     !in.run.junit_file && !in.run.fix;
  Predicted predicted = predict(items, in.run, *set, brief, shown.progress());
  session::BatchResult result;
  result.interrupted = session::stop_signal() != 0;
  if (!to_run.empty()) result = session::run_batch(to_run, services(in.run), *set, in.run.jobs, [&](const session::BatchProgress& p) { shown.update(p); });
  merge(items, predicted, result);
  session::fill_report(report, std::move(result));
  report.matrices = std::move(predicted.matrices);
  shown.progress().clear();
  complain_of(report, in.run.quiet);
  report.recorded = recorded_program(items, report.cases);
  return code_with_tensors(write_report(report, in.run, shown.live()), report.cases);
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
