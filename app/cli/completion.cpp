// Completion scripts, generated from the tables. An option whose value is written a|b|c offers these words; one whose
// value is a path offers files.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "cli/options.hpp"

namespace dd::cli {
namespace {

std::vector<std::string> names_of(const spec::OptionText& text) {
  std::vector<std::string> out{std::string(text.name)};
  for (std::string_view rest = text.aliases; !rest.empty();) {
    const std::size_t at = rest.find(' ');
    out.emplace_back(rest.substr(0, at));
    rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  }
  return out;
}

// The literal words among the choices: parts in capitals or with brackets are placeholders.
std::vector<std::string> choices_of(const spec::OptionText& text) {
  std::vector<std::string> out;
  if (text.kind == spec::OptionKind::flag || text.value.find('|') == std::string_view::npos) return out;
  for (std::string_view rest = text.value; !rest.empty();) {
    const std::size_t at = rest.find('|');
    std::string word(rest.substr(0, at));
    rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
    word = word.substr(0, word.find('['));
    const std::size_t colon = word.find(':');
    if (colon != std::string::npos) word = word.substr(0, colon + 1);
    const bool placeholder = word.empty() || std::any_of(word.begin(), word.end(), [](char c) { return c >= 'A' && c <= 'Z'; });
    if (!placeholder) out.push_back(word);
  }
  return out;
}

bool takes_path(const spec::OptionText& text) { return text.value == "FILE" || text.value == "DIR" || text.value == "PATH"; }

bool takes_files(const VerbInfo& verb) { return verb.arguments.find("FILE") != std::string_view::npos || verb.verb == Verb::diff; }

std::string all_options(Verb verb) {
  std::string out;
  for (const spec::OptionText* text : options_of(verb))
    for (const std::string& name : names_of(*text)) out += (out.empty() ? "" : " ") + name;
  return out;
}

std::string verb_names() {
  std::string out;
  for (const VerbInfo& verb : verbs()) out += (out.empty() ? "" : " ") + std::string(verb.name);
  return out;
}

std::string bash() {
  std::string out = "# bash completion for dispatchdoctor\n_dispatchdoctor() {\n";
  out += "  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} verb=${COMP_WORDS[1]}\n  COMPREPLY=()\n";
  out += fmt::format("  if [ \"$COMP_CWORD\" -eq 1 ]; then COMPREPLY=($(compgen -W '{} {}' -- \"$cur\")); return; fi\n", verb_names(), all_options(Verb::none));
  out += "  case $verb:$prev in\n";
  for (const VerbInfo& verb : verbs())
    for (const spec::OptionText* text : options_of(verb.verb))
      for (const std::string& name : names_of(*text)) {
        const auto words = choices_of(*text);
        if (!words.empty())
          out += fmt::format("    {}:{}) COMPREPLY=($(compgen -W '{}' -- \"$cur\")); return ;;\n", verb.name, name, fmt::join(words, " "));
        else if (takes_path(*text))
          out += fmt::format("    {}:{}) COMPREPLY=($(compgen -f -- \"$cur\")); return ;;\n", verb.name, name);
      }
  out += "  esac\n  case $verb in\n";
  for (const VerbInfo& verb : verbs()) {
    out += fmt::format("    {}) case $cur in -*) COMPREPLY=($(compgen -W '{}' -- \"$cur\")) ;;", verb.name, all_options(verb.verb));
    if (takes_files(verb)) out += " *) COMPREPLY=($(compgen -f -- \"$cur\")) ;;";
    if (verb.verb == Verb::completion) out += " *) COMPREPLY=($(compgen -W 'bash zsh fish' -- \"$cur\")) ;;";
    out += " esac ;;\n";
  }
  return out + "  esac\n}\ncomplete -o default -F _dispatchdoctor dispatchdoctor\n";
}

// Inside single quotes of zsh's _arguments specifications brackets and colons are special.
std::string zsh_text(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '[' || c == ']' || c == ':') out += '\\';
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  }
  return out;
}

std::string zsh() {
  std::string out = "#compdef dispatchdoctor\n_dispatchdoctor() {\n  local -a verbs\n  verbs=(\n";
  for (const VerbInfo& verb : verbs()) out += fmt::format("    '{}:{}'\n", verb.name, zsh_text(verb.help));
  out += "  )\n  if (( CURRENT == 2 )); then _describe verb verbs; return; fi\n  local verb=$words[2]\n  shift words\n  (( CURRENT-- ))\n  case $verb in\n";
  for (const VerbInfo& verb : verbs()) {
    out += fmt::format("    {}) _arguments", verb.name);
    for (const spec::OptionText* text : options_of(verb.verb))
      for (const std::string& name : names_of(*text)) {
        out += fmt::format(" \\\n      '{}{}[{}]", text->kind == spec::OptionKind::repeated ? "*" : "", name, zsh_text(text->help));
        const auto words = choices_of(*text);
        if (!words.empty()) {
          std::vector<std::string> quoted;
          for (const std::string& word : words) quoted.push_back(zsh_text(word));
          out += fmt::format(":value:({})", fmt::join(quoted, " "));
        } else if (takes_path(*text)) {
          out += ":file:_files";
        } else if (text->kind != spec::OptionKind::flag && !text->value.empty()) {
          out += fmt::format(":{}: ", zsh_text(text->value));
        }
        out += "'";
      }
    if (takes_files(verb)) out += " \\\n      '*:file:_files'";
    if (verb.verb == Verb::completion) out += " \\\n      '1:shell:(bash zsh fish)'";
    out += " ;;\n";
  }
  return out + "  esac\n}\ncompdef _dispatchdoctor dispatchdoctor\n";
}

std::string fish_text(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string fish() {
  std::string out = "# fish completion for dispatchdoctor\ncomplete -c dispatchdoctor -f\n";
  for (const VerbInfo& verb : verbs())
    out += fmt::format("complete -c dispatchdoctor -n __fish_use_subcommand -a {} -d '{}'\n", verb.name, fish_text(verb.help));
  for (const VerbInfo& verb : verbs()) {
    const std::string when = fmt::format("complete -c dispatchdoctor -n '__fish_seen_subcommand_from {}'", verb.name);
    for (const spec::OptionText* text : options_of(verb.verb)) {
      out += when;
      for (const std::string& name : names_of(*text))
        out += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2)) : fmt::format(" -s {}", name.substr(1));
      const auto words = choices_of(*text);
      if (text->kind != spec::OptionKind::flag && !text->value.empty()) out += takes_path(*text) ? " -r -F" : " -x";
      if (!words.empty()) out += fmt::format(" -a '{}'", fmt::join(words, " "));
      out += fmt::format(" -d '{}'\n", fish_text(text->help));
    }
    if (takes_files(verb)) out += when + " -F\n";
    if (verb.verb == Verb::completion) out += when + " -a 'bash zsh fish'\n";
  }
  return out;
}

}  // namespace

std::string completion_script(Shell shell) { return shell == Shell::bash ? bash() : shell == Shell::zsh ? zsh() : fish(); }

}  // namespace dd::cli
