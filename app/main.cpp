// Parse, call the verb, return its exit code. The catch-all below is the last net: a failure of the tool itself exits 4.
#include <csignal>
#include <exception>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "backends/cuda_runtime/libraries.hpp"
#include "cli/checks.hpp"
#include "cli/options.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "core/version.hpp"
#include "spec/validate.hpp"

namespace {

using namespace dd::cli;

int call(const Invocation& in, const std::vector<std::string>& argv) {
  switch (in.verb) {
    case Verb::sdpa:
    case Verb::gemm: return run_diagnose(in, argv);
    case Verb::run: return run_batch(in, argv);
    case Verb::trace: return run_trace(in, argv);
    case Verb::logs: return run_logs(in, argv);
    case Verb::diff: return run_diff(in);
    case Verb::record: return run_record(in);
    case Verb::explain: return run_explain(in);
    case Verb::rules: return run_rules(in);
    case Verb::backends: return run_backends(in);
    case Verb::devices: return run_devices(in);
    case Verb::env: return run_env(in);
    case Verb::completion: print(completion_script(*dd::core::from_text<Shell>(in.arguments.at(0)))); return 0;
    case Verb::man: print(man_page()); return 0;
    default: break;
  }
  print(help_text(Verb::none));
  return 2;
}

int run(const std::vector<std::string>& argv) {
  const std::vector<std::string> words(argv.begin() + 1, argv.end());
  if (words.size() == 1 && words[0] == "worker") return run_worker_verb();
  dd::spec::set_name_check(unknown_names);
  const auto in = parse_command_line(words, command_line_problems);
  if (!in) return refuse(in.problems());
  if (in->run.version) {
    print(fmt::format("dispatchdoctor {}\n", dd::core::tool_version()));
    return 0;
  }
  if (in->run.help || in->verb == Verb::none) {
    print(help_text(in->verb));
    return in->run.help ? 0 : 2;
  }
  // Workers inherit them.
  dd::cuda::set_search_places(in->run.lib_dirs, in->run.python.value_or(""));
  return call(*in, argv);
}

}  // namespace

int main(int argc, char** argv) {
  // A reader that closes the pipe early (head) is no error of ours.
  std::signal(SIGPIPE, SIG_DFL);
  // A file that grows past its limit is an error to report, not an end without a word.
  std::signal(SIGXFSZ, SIG_IGN);
  hold_standard_descriptors();
  try {
    return code_with_output(run(std::vector<std::string>(argv, argv + argc)));
  } catch (const std::exception& e) {
    complain(fmt::format("internal error: {}", e.what()));
    return 4;
  }
}
