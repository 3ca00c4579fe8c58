#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

#include "cli/options.hpp"
#include "support/catch.hpp"

using namespace dd;

namespace {

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

int shell(const std::string& command) { return std::system(command.c_str()); }
bool available(const std::string& program) { return shell("command -v " + program + " >/dev/null 2>&1") == 0; }

std::string write(const std::string& name, const std::string& text) {
  const char* folder = std::getenv("TMPDIR");
  const std::string path = std::string(folder && *folder ? folder : "/tmp") + "/dd_help_test_" + std::to_string(getpid()) + "_" + name;
  std::ofstream(path) << text;
  return path;
}

}  // namespace

TEST_CASE("help names every option of a verb with its default", "[cli]") {
  for (const cli::VerbInfo& verb : cli::verbs()) {
    const std::string help = cli::help_text(verb.verb);
    INFO(verb.name);
    CHECK(has(help, std::string("dispatchdoctor ") + std::string(verb.name)));
    for (const spec::OptionText* text : cli::options_of(verb.verb)) {
      CHECK(has(help, std::string(text->name)));
      if (!text->fallback.empty()) {
        const std::size_t at = help.find("  " + std::string(text->name));
        CHECK(has(help.substr(at), "(default: "));
      }
    }
    for (std::size_t at = 0; at < help.size();) {
      const std::size_t end = std::min(help.find('\n', at), help.size());
      if (help.substr(at, end - at).find("w<bits>") == std::string::npos) CHECK(end - at <= 100);
      at = end + 1;
    }
  }
  const std::string overview = cli::help_text(cli::Verb::none);
  for (const cli::VerbInfo& verb : cli::verbs()) CHECK(has(overview, std::string(verb.name)));
  CHECK(has(overview, "exit codes"));
}

TEST_CASE("completion scripts name every option and parse", "[cli]") {
  for (const cli::Shell which : {cli::Shell::bash, cli::Shell::zsh, cli::Shell::fish}) {
    const std::string script = cli::completion_script(which), name(core::to_text(which));
    INFO(name);
    for (const cli::VerbInfo& verb : cli::verbs())
      for (const spec::OptionText* text : cli::options_of(verb.verb))
        CHECK(has(script, which == cli::Shell::fish && text->name.starts_with("--") ? "-l " + std::string(text->name.substr(2)) : std::string(text->name.substr(text->name.find_first_not_of('-')))));
    const std::string path = write("completion." + name, script);
    if (available(name))
      CHECK(shell(name + " -n " + path) == 0);
    else
      WARN("skipped: no " << name << " to check the script with");
    std::remove(path.c_str());
  }
}

TEST_CASE("bash completes options, choices and verbs", "[cli]") {
  if (!available("bash")) {
    WARN("skipped: no bash");
    return;
  }
  const std::string script = write("complete.bash", cli::completion_script(cli::Shell::bash) + R"sh(
answer() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _dispatchdoctor; echo "${COMPREPLY[*]}"; }
[ "$(answer dispatchdoctor sd)" = sdpa ] || exit 1
[ "$(answer dispatchdoctor sdpa --causal-al)" = --causal-align ] || exit 2
[ "$(answer dispatchdoctor sdpa --causal-align b)" = bottom-right ] || exit 3
[ "$(answer dispatchdoctor gemm --epilogue bias+g)" = bias+gelu ] || exit 4
)sh");
  CHECK(shell("bash " + script) == 0);
  std::remove(script.c_str());
}

TEST_CASE("the man page has every option and no broken roff", "[cli]") {
  const std::string page = cli::man_page();
  CHECK(page.starts_with(".TH DISPATCHDOCTOR 1"));
  for (const spec::SpecOption& option : spec::spec_options()) {
    std::string name;
    for (char c : option.text.name) name += c == '-' ? std::string("\\-") : std::string(1, c);
    CHECK(has(page, "\\fB" + name));
  }
  const std::string path = write("page.1", page);
  if (available("man"))
    CHECK(shell("MANROFFSEQ= man --warnings -E UTF-8 -l " + path + " 2>&1 >/dev/null | grep -q . && exit 1 || exit 0") == 0);
  else
    WARN("skipped: no man to check the page with");
  std::remove(path.c_str());
}
