// The only unit that includes CLI11. It splits words into options and arguments; what values mean is in the tables.
#include "cli/options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>
#include <set>

#include "core/nearest.hpp"

namespace dd::cli {
namespace {

using core::Problem;
using core::Problems;

constexpr const char* no_such_option = "there is no such option here";

struct Given {
  std::vector<spec::RawOption> spec;
  std::vector<std::pair<const RunOption*, std::string>> run;
  std::vector<std::string> arguments;
};

std::string printable(std::string_view text) { return spec::excerpt(text); }

std::string_view nearest(std::string_view word, const std::vector<std::string_view>& names) {
  const auto found = core::nearest_names(word, names, 1);
  return found.empty() ? std::string_view{} : found[0];
}

// From 2.4 on CLI11 holds --v and -v for names of one option, and refuses to have both. A long name of one letter is
// therefore registered, and found in the words, with this letter behind it, which nobody types; it never leaves here.
constexpr char mark = '\x7f';

void add_mark(std::string& word) {
  if (word.size() >= 3 && word.starts_with("--") && (word.size() == 3 || word[3] == '=')) word.insert(3, 1, mark);
}

std::string unmarked(std::string word) {
  if (word.starts_with("--") && word.size() > 3 && word[3] == mark) word.erase(3, 1);
  return word;
}

std::string all_names(const spec::OptionText& text) {
  std::string out;
  for (const std::string_view names : {text.name, text.aliases})
    for (std::size_t at = 0; at < names.size();) {
      const std::size_t end = std::min(names.find(' ', at), names.size());
      std::string name(names.substr(at, end - at));
      add_mark(name);
      out += (out.empty() ? "" : ",") + name;
      at = end + 1;
    }
  return out;
}

// Registers the rows and collects what was given to them in the order of the table.
class Words {
 public:
  // `specs` of spec options, `verbs` (bits) of run options.
  Words(unsigned specs, unsigned verbs) {
    app_.set_help_flag();
    app_.allow_extras();
    for (const spec::SpecOption& option : spec::spec_options())
      if (option.ops & specs) spec_.emplace_back(&option, add(option.text));
    for (const RunOption& option : run_options())
      if (option.verbs & verbs) run_.emplace_back(&option, add(option.text));
  }

  // What could be read, even beside `problems`: one pass names all mistakes. nullopt: nothing could.
  std::optional<Given> split(std::span<const std::string> words, Problems& problems) {
    refuse_empty_values(words, problems);
    if (!problems.empty()) return std::nullopt;
    std::vector<std::string> marked(words.begin(), words.end());
    std::for_each(marked.begin(), std::find(marked.begin(), marked.end(), "--"), add_mark);
    std::reverse(marked.begin(), marked.end());  // as the library wants them
    try {
      app_.parse(std::move(marked));
    } catch (const CLI::ParseError& error) {
      // "--json: 1 required  missing" is the only mistake that is left to the library.
      const std::string what = unmarked(error.what());
      const std::size_t name = what.starts_with('-') ? what.find(':') : std::string::npos;
      if (name != std::string::npos && what.find("required") != std::string::npos)
        problems.push_back({printable(what.substr(0, name)), "nothing behind it", "a value", "the value is missing", {}, 0});
      else
        problems.push_back({last_option(words), spec::excerpt(what, 300), "a value", "the command line is not understood", {}, 0});
      return std::nullopt;
    }
    Given given;
    for (const auto& [row, option] : spec_)
      for (const std::string& value : option->results()) given.spec.push_back({row, unmarked(value)});
    for (const auto& [row, option] : run_)
      for (const std::string& value : option->results()) given.run.emplace_back(row, unmarked(value));
    take_rest(given, problems);
    return given;
  }

 private:
  CLI::Option* add(const spec::OptionText& text) {
    names_.push_back(text.name);
    const bool flag = text.kind == spec::OptionKind::flag || text.value.empty();
    CLI::Option* option = flag ? app_.add_flag(all_names(text)) : app_.add_option(all_names(text));
    // All values are kept: whether a second one is a mistake is said by the tables' own check.
    if (!flag) option->type_size(1)->expected(1);
    return option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }

  // CLI11 would take the next word as the value of "--name=".
  void refuse_empty_values(std::span<const std::string> words, Problems& problems) const {
    for (const std::string& word : words) {
      if (word == "--") return;
      if (word.size() > 3 && word.starts_with("--") && word.find('=') == word.size() - 1)
        problems.push_back({printable(word.substr(0, word.size() - 1)), "nothing after '='", "a value", "the value is missing", {}, 0});
    }
  }

  static std::string last_option(std::span<const std::string> words) {
    for (std::size_t i = words.size(); i-- > 0;)
      if (words[i].starts_with('-')) return printable(words[i]);
    return {};
  }

  void take_rest(Given& given, Problems& problems) const {
    bool options_end = false, after_unknown = false;
    for (const std::string& marked : app_.remaining()) {
      const std::string word = unmarked(marked);
      if (!options_end && word == "--") {
        options_end = true;
      } else if (options_end || word == "-" || !word.starts_with('-')) {
        // The word behind an unknown option was most likely its value: one mistake, one problem.
        if (options_end || !after_unknown) given.arguments.push_back(word);
        after_unknown = false;
      } else {
        const std::string name = word.substr(0, word.find('='));
        const std::string_view near = nearest(name, names_);
        problems.push_back({printable(name), printable(word), near.empty() ? "an option of --help" : std::string(near) + "?", no_such_option, {}, 0});
        after_unknown = word.find('=') == std::string::npos;
      }
    }
  }

  CLI::App app_{"", ""};
  std::vector<std::pair<const spec::SpecOption*, CLI::Option*>> spec_;
  std::vector<std::pair<const RunOption*, CLI::Option*>> run_;
  std::vector<std::string_view> names_;
};

bool has_unknown_option(const Problems& problems) {
  return std::any_of(problems.begin(), problems.end(), [](const Problem& p) { return p.message == no_such_option; });
}

// Appends, except what is said to be missing beside an unknown option: that option was most likely meant to be it.
void add_problems(const Problems& more, Problems& problems) {
  const bool unknown = has_unknown_option(problems);
  for (const Problem& p : more)
    if (!unknown || p.seen != "nothing") problems.push_back(p);
}

void apply_run(const Given& given, RunOptions& into, Problems& problems) {
  std::set<const RunOption*> seen;
  for (const auto& [row, value] : given.run) {
    const std::string name(row->text.name);
    if (!seen.insert(row).second && row->text.kind != spec::OptionKind::repeated) {
      problems.push_back({name, printable(value), "one value", "the option is given more than once", {}, 0});
      continue;
    }
    std::string wanted = row->apply(into, value);
    if (!wanted.empty()) problems.push_back({name, printable(value), std::move(wanted), "the value is not understood", {}, 0});
  }
}

// "-" as a file is standard output, which takes one thing: a report sent there replaces the one that it would get anyway.
void take_standard_output(const Given& given, Verb verb, RunOptions& run, Problems& problems) {
  if (verb == Verb::record && run.json_file == "-") {
    problems.push_back({"--output", "-", "a file", "standard output is the program's own", {}, 0});
    return;
  }
  std::vector<std::string> takers;
  const auto report = [&](const char* option, std::optional<std::string>& file, Format format) {
    if (file != "-") return;
    takers.emplace_back(option);
    run.format = format;
    file.reset();
  };
  const Format asked = run.format;
  report("--json -", run.json_file, Format::json);
  report("--md -", run.md_file, Format::md);
  report("--junit -", run.junit_file, Format::junit);
  if (run.specs_file == "-") takers.emplace_back("--specs -");
  if (run.record_file == "-") takers.emplace_back("--record -");
  if (takers.empty()) return;
  const bool format_given = std::any_of(given.run.begin(), given.run.end(), [](const auto& option) { return option.first->text.name == "--format"; });
  if (format_given && (run.format != asked || run.specs_file == "-" || run.record_file == "-")) takers.push_back(fmt::format("--format {}", core::to_text(asked)));
  if (takers.size() > 1) problems.push_back({takers[0].substr(0, takers[0].find(' ')), fmt::format("{}", fmt::join(takers, ", ")), "one of them", "standard output takes one thing", {}, 0});
}

const VerbInfo* find_verb(std::string_view name) {
  for (const VerbInfo& verb : verbs())
    if (verb.name == name) return &verb;
  return nullptr;
}

Problem unknown_verb(std::string_view word) {
  std::vector<std::string_view> names;
  for (const VerbInfo& verb : verbs()) names.push_back(verb.name);
  const std::string_view near = nearest(word, names);
  return {"", printable(word), near.empty() ? fmt::format("{}", fmt::join(names, ", ")) : std::string(near) + "?", "there is no such verb", {}, 0};
}

void check_arguments(const VerbInfo& verb, const std::vector<std::string>& arguments, Problems& problems) {
  if (arguments.size() >= verb.least && arguments.size() <= verb.most) return;
  if (arguments.size() < verb.least && has_unknown_option(problems)) return;
  const std::string wanted = verb.arguments.empty() ? "options only" : std::string(verb.arguments);
  const std::string seen = arguments.empty() ? "no argument" : arguments.size() > verb.most ? printable(arguments[verb.most]) : fmt::format("{} arguments", arguments.size());
  problems.push_back({std::string(verb.name), seen, wanted, arguments.size() < verb.least ? "an argument is missing" : "this argument has no place", {}, 0});
}

bool asks_for_help(std::span<const std::string> words) {
  for (const std::string& word : words) {
    if (word == "--") return false;
    if (word == "-h" || word == "--help") return true;
  }
  return false;
}

}  // namespace

core::Result<Invocation> parse_command_line(std::span<const std::string> words, Problems (*more)(const Invocation&)) {
  Invocation out;
  out.run = default_run_options();
  const VerbInfo* verb = words.empty() || words[0].starts_with('-') ? &info(Verb::none) : find_verb(words[0]);
  if (!verb) return unknown_verb(words[0]);
  out.verb = verb->verb;
  if (verb->verb != Verb::none) words = words.subspan(1);
  if (asks_for_help(words) || (verb->verb == Verb::none && words.empty())) {
    out.run.help = true;
    return out;
  }
  Problems problems;
  std::optional<Given> given = Words(verb->specs, 1u << static_cast<unsigned>(verb->verb)).split(words, problems);
  if (!given) return problems;
  apply_run(*given, out.run, problems);
  take_standard_output(*given, out.verb, out.run, problems);
  if (out.run.version && problems.empty()) return out;
  if (verb->verb == Verb::none) {
    if (!has_unknown_option(problems)) problems.push_back({"", given->arguments.empty() ? "no verb" : printable(given->arguments[0]), "a verb first; --help lists them", "the verb is missing", {}, 0});
    return problems;
  }
  check_arguments(*verb, given->arguments, problems);
  out.arguments = std::move(given->arguments);
  if (verb->verb == Verb::sdpa || verb->verb == Verb::gemm) {
    core::Result<spec::OpSpec> spec = spec::from_options(verb->verb == Verb::sdpa ? spec::Op::sdpa : spec::Op::gemm, given->spec);
    if (spec)
      out.spec = std::move(*spec);
    else
      add_problems(spec.problems(), problems);
  } else {
    out.overrides = std::move(given->spec);
  }
  if (more) add_problems(more(out), problems);
  if (!problems.empty()) return problems;
  return out;
}

core::Result<spec::OpSpec> parse_batch_line(std::string_view line) {
  core::Result<std::vector<std::string>> split = split_words(line);
  if (!split) return split.problems();
  std::span<const std::string> words = *split;
  if (!words.empty() && words[0] == "dispatchdoctor") words = words.subspan(1);
  const auto op = words.empty() ? std::nullopt : core::from_text<spec::Op>(words[0]);
  if (!op) {
    const bool json = !words.empty() && (words[0].starts_with('{') || words[0].starts_with('['));
    const char* wanted = json ? "sdpa or gemm, then options; JSON belongs into a .json or .jsonl file" : "sdpa or gemm, then options";
    return Problem{"", words.empty() ? "nothing" : printable(words[0]), wanted, "this is not a spec line", {}, 0};
  }
  // Building the option set costs more than splitting a line, so it is kept per thread.
  thread_local Words sets[] = {Words(spec::on_sdpa, 0), Words(spec::on_gemm, 0)};
  Problems problems;
  const std::optional<Given> given = sets[*op == spec::Op::sdpa ? 0 : 1].split(words.subspan(1), problems);
  if (!given) return problems;
  core::Result<spec::OpSpec> spec = spec::from_options(*op, given->spec);
  if (given->arguments.empty() && problems.empty()) return spec;
  if (!spec) add_problems(spec.problems(), problems);
  if (!given->arguments.empty()) problems.push_back({"", printable(given->arguments[0]), "options only", "this argument has no place", {}, 0});
  return problems;
}

}  // namespace dd::cli
