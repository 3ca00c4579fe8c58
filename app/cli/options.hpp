// The command line: verbs, run options and their parsing (through CLI11, in options.cpp alone). Spec options come from
// lib/spec/options.hpp. Nothing is printed and nothing exits here: every mistake comes back as a Problem, all at once.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.hpp"
#include "spec/options.hpp"
#include "spec/parse.hpp"

namespace dd::cli {

enum class Verb { none, sdpa, gemm, run, trace, logs, record, explain, rules, backends, devices, env, diff, completion, man };
enum class Format { text, json, md, junit };
enum class Color { automatic, always, never };
enum class Ask { cudnn, none };
enum class Shell { bash, zsh, fish };

// What is not part of a spec: how to run and where to write. Defaults come from the table (run_options.cpp).
struct RunOptions {
  Format format = Format::text;
  std::optional<std::string> json_file, md_file, junit_file;
  Color color = Color::automatic;
  int verbosity = 0;
  bool quiet = false;
  double timeout_s = 0;           // of one attempt
  int jobs = 0;                   // attempts at the same time
  std::vector<std::string> require;  // fast, close, backend=NAME: all must hold
  bool unknown_passes = false;    // a requirement that cannot be decided counts as met
  bool bench = false;
  double reference_budget_s = 0;  // past it, the reference is sampled
  std::optional<std::string> save_tensors;  // folder
  bool fix = false;
  std::optional<Ask> ask;         // absent: cuDNN, for a limited number of calls
  std::optional<std::string> python;  // interpreter of the torch worker, and whose NVIDIA wheels come first
  std::vector<std::string> lib_dirs;  // folders of NVIDIA's libraries; nothing else is tried then
  std::optional<bool> redact;     // absent: as the verb thinks fit
  std::optional<std::string> specs_file;  // trace, logs: where the specs found go
  std::vector<std::string> kernels;       // trace: bare kernel names
  std::optional<std::string> record_file; // devices: where the profile of the GPU that is here goes
  bool run_blocked = false;               // also run what a rule blocks, to hold rule against library
  bool help = false;
  bool version = false;
};

struct RunOption {
  spec::OptionText text;
  unsigned verbs;  // bit 1 << Verb
  // Empty when the value was taken, else what would have been accepted.
  std::string (*apply)(RunOptions&, std::string_view value);
};

struct VerbInfo {
  Verb verb;
  std::string_view name;
  std::string_view arguments;  // "FILE..." or empty
  std::size_t least, most;     // number of arguments
  unsigned specs;              // spec::OpMask of the spec options it takes; 0: none
  std::string_view help;       // one line
};

std::span<const VerbInfo> verbs();
const VerbInfo& info(Verb verb);
std::span<const RunOption> run_options();
// Run options with the defaults of the table.
RunOptions default_run_options();
// Rows that a verb takes, in table order: spec options first.
std::vector<const spec::OptionText*> options_of(Verb verb);

struct Invocation {
  Verb verb = Verb::none;
  RunOptions run;
  std::optional<spec::OpSpec> spec;          // for sdpa and gemm
  std::vector<spec::RawOption> overrides;    // for run: set in every spec that is read (spec::with_options)
  std::vector<std::string> arguments;        // files, ids, or the program after --
};

// `words` without the program name. With --help or --version nothing else is checked (and spec is absent). `more` is asked
// at the end, also where there are mistakes already, so that one pass names them all.
core::Result<Invocation> parse_command_line(std::span<const std::string> words, core::Problems (*more)(const Invocation&) = nullptr);

// Words of a line as a POSIX shell would split it: quotes, backslash, # comments; no expansion of any kind.
core::Result<std::vector<std::string>> split_words(std::string_view line);
// One line of a batch file: "[dispatchdoctor] sdpa|gemm OPTIONS..." with spec options alone.
core::Result<spec::OpSpec> parse_batch_line(std::string_view line);
// A batch .txt: one entry per line that is not empty or a comment.
std::vector<spec::Entry> parse_batch(std::string_view text, const std::string& file);
// Reads a spec file by the end of its name (.json, .jsonl, .txt), or standard input for "-" by its first letters.
// A file that cannot be read is one entry that says so.
std::vector<spec::Entry> load_specs(const std::string& path);

std::string help_text(Verb verb);  // Verb::none: the overview
std::string completion_script(Shell shell);
std::string man_page();

}  // namespace dd::cli

DD_ENUM_TEXT(dd::cli::Format, {dd::cli::Format::text, "text"}, {dd::cli::Format::json, "json"}, {dd::cli::Format::md, "md"},
             {dd::cli::Format::junit, "junit"})
DD_ENUM_TEXT(dd::cli::Color, {dd::cli::Color::automatic, "auto"}, {dd::cli::Color::always, "always"},
             {dd::cli::Color::never, "never"})
DD_ENUM_TEXT(dd::cli::Ask, {dd::cli::Ask::cudnn, "cudnn"}, {dd::cli::Ask::none, "none"})
DD_ENUM_TEXT(dd::cli::Shell, {dd::cli::Shell::bash, "bash"}, {dd::cli::Shell::zsh, "zsh"}, {dd::cli::Shell::fish, "fish"})
