// trace, logs and diff: reading what others recorded.
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "core/version.hpp"
#include "evidence/answer/report.hpp"
#include "evidence/diff/diff.hpp"
#include "evidence/logs/logs.hpp"
#include "evidence/open.hpp"

namespace dd::cli {
namespace {

// A bar on standard error, only on a terminal and never with -q.
class Bar {
 public:
  Bar(std::string name, bool wanted) : name_(std::move(name)), shown_(wanted && isatty(STDERR_FILENO) == 1) {}
  ~Bar() {
    if (drawn_) say(fmt::format("\r{:80}\r", ""));
  }
  Bar(const Bar&) = delete;
  Bar& operator=(const Bar&) = delete;
  evidence::Progress callback() {
    if (!shown_) return {};
    return [this](std::uint64_t done, std::uint64_t total) {
      const int percent = total == 0 ? 0 : static_cast<int>(std::min<std::uint64_t>(100, done * 100 / total));
      if (percent == last_) return;
      last_ = percent;
      drawn_ = true;
      say(fmt::format("\r{:<40} [{:<30}] {:3}%", name_.substr(name_.size() > 40 ? name_.size() - 40 : 0), std::string(static_cast<std::size_t>(percent) * 30 / 100, '#'), percent));
    };
  }

 private:
  std::string name_;
  bool shown_, drawn_ = false;
  int last_ = -1;
};

bool write_specs(const std::vector<evidence::TraceAnswer>& answers, const std::string& path) {
  std::string text;
  for (const auto& answer : answers)
    for (const std::string& spec : answer.specs) text += spec + '\n';
  if (path == "-") {
    print(text);
    return true;  // what is lost there is said at the end
  }
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.flush();
  return static_cast<bool>(out);
}

int finish(const Invocation& in, const std::vector<std::string>& argv, const std::vector<evidence::TraceAnswer>& answers, bool failed) {
  report::Report report;
  report.tool = fmt::format("dispatchdoctor {}", core::tool_version());
  report.argv = argv;
  report.environment_json = "{}";  // the machine that reads the evidence says nothing about the one that recorded it
  for (const auto& answer : answers) report.traces.push_back(evidence::to_report(answer, in.run.verbosity > 0));
  std::vector<std::string> messages;
  report.exit_code = failed ? 2 : evidence::exit_code(answers, in.run.require, in.run.unknown_passes, messages);
  int code = report.exit_code;
  if (!answers.empty()) code = write_report(report, in.run);
  for (const std::string& message : messages) complain(message);
  if (in.run.specs_file && !write_specs(answers, *in.run.specs_file)) {
    complain(fmt::format("error: {}: cannot be written", *in.run.specs_file));
    code = 2;
  }
  return code;
}

int read_all(const Invocation& in, const std::vector<std::string>& argv, std::vector<evidence::TraceAnswer> answers = {}) {
  bool failed = false;
  for (const std::string& file : in.arguments) {
    Bar bar(file, !in.run.quiet);
    evidence::OpenOptions options;
    options.progress = bar.callback();
    auto answer = evidence::answer_file(file, options);
    if (!answer) {
      complain(answer.problems());
      failed = true;
      continue;
    }
    answers.push_back(*std::move(answer));
  }
  return finish(in, argv, answers, failed);
}

}  // namespace

int run_trace(const Invocation& in, const std::vector<std::string>& argv) {
  if (in.arguments.empty() && in.run.kernels.empty()) {
    complain("error: trace: a file or --kernel NAME is needed");
    return 2;
  }
  if (in.run.kernels.empty()) return read_all(in, argv);
  return read_all(in, argv, {evidence::answer_kernels(in.run.kernels)});
}

int run_logs(const Invocation& in, const std::vector<std::string>& argv) { return read_all(in, argv); }

int run_diff(const Invocation& in) {
  const std::string &a = in.arguments.at(0), &b = in.arguments.at(1);
  core::Result<evidence::Difference> difference = evidence::compare_files(a, b);
  if (!difference) {
    complain(difference.problems());
    return 2;
  }
  const auto text = [&](Format format) {
    return shown_text(format == Format::json ? evidence::to_json(*difference).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n"
           : format == Format::md ? evidence::to_markdown(*difference) : evidence::to_text(*difference, in.run.verbosity > 0), in.run);
  };
  print(text(in.run.format));
  int code = 0;
  for (const auto& [path, format] : {std::pair{in.run.json_file, Format::json}, {in.run.md_file, Format::md}}) {
    if (!path) continue;
    std::ofstream out(*path, std::ios::binary);
    out << text(format);
    out.flush();
    if (!out) {
      complain(fmt::format("error: {}: cannot be written", *path));
      code = 2;
    }
  }
  return code;
}

}  // namespace dd::cli
