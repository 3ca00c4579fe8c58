// Help and the man page, generated from the tables.
#include <fmt/format.h>

#include "cli/options.hpp"
#include "core/version.hpp"

namespace dd::cli {
namespace {

constexpr std::size_t width = 100;
constexpr std::size_t column = 30;

// Choices that do not fit on the left go into the sentence on the right.
bool too_many(const spec::OptionText& text) { return text.value.size() > 60 && text.value.find('|') != std::string_view::npos; }

// "--q, --query BxHxTxD"
std::string usage_of(const spec::OptionText& text) {
  std::string out(text.name);
  for (std::string_view rest = text.aliases; !rest.empty();) {
    const std::size_t at = rest.find(' ');
    out += ", " + std::string(rest.substr(0, at));
    rest.remove_prefix(at == std::string_view::npos ? rest.size() : at + 1);
  }
  if (!text.value.empty()) out += (text.kind == spec::OptionKind::flag ? "" : " ") + std::string(too_many(text) ? "NAME" : text.value);
  return out;
}

std::string help_of(const spec::OptionText& text) {
  std::string out(text.help);
  if (too_many(text)) {
    out += ": ";
    for (char c : text.value) out += c == '|' ? std::string(", ") : std::string(1, c);
  }
  if (!text.fallback.empty()) out += fmt::format(" (default: {})", text.fallback);
  if (text.kind == spec::OptionKind::repeated && !text.value.empty() && out.find("repeatable") == std::string::npos) out += " (repeatable)";
  return out;
}

void add_wrapped(std::string& out, std::string_view text, std::size_t indent) {
  std::size_t at = indent;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    if (at > indent && at + 1 + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      at = indent;
    } else if (at > indent) {
      out += ' ';
      ++at;
    }
    out += word;
    at += word.size();
    text.remove_prefix(end == text.size() ? end : end + 1);
  }
  out += '\n';
}

void add_row(std::string& out, const std::string& left, std::string_view right) {
  out += "  " + left;
  if (left.size() + 4 > column)
    out += "\n" + std::string(column, ' ');
  else
    out += std::string(column - 2 - left.size(), ' ');
  add_wrapped(out, right, column);
}

std::string usage_line(const VerbInfo& verb) {
  std::string out = "dispatchdoctor";
  if (!verb.name.empty()) out += " " + std::string(verb.name);
  if (!verb.arguments.empty()) out += " " + std::string(verb.arguments);
  return verb.verb == Verb::none ? out : out + " [OPTION...]";
}

constexpr std::pair<int, std::string_view> exit_codes[] = {
    {0, "diagnosed, and every requirement holds (a fallback alone is no failure)"},
    {1, "a result is off: some backend ran and is not close to the reference"},
    {2, "usage or spec error: nothing was run"},
    {3, "a required or forced path was refused or fell back"},
    {4, "a backend crashed, hung or ran out of memory"},
    {5, "nothing was tested"},
    {6, "a performance requirement was missed"},
    {130, "interrupted; the report covers what was done so far"}};

// Text for roff: backslashes and leading dots and hyphens are special.
std::string roff(std::string_view text) {
  std::string out;
  for (char c : text) {
    if (c == '\\')
      out += "\\e";
    else if (c == '-')
      out += "\\-";
    else if ((c == '.' || c == '\'') && out.empty())
      out += std::string("\\&") + c;
    else
      out += c;
    if (c == '|' || c == ']') out += "\\:";  // may break here
  }
  return out;
}

void add_man_option(std::string& out, const spec::OptionText& text) {
  out += fmt::format(".TP\n\\fB{}\\fR\n{}\n", roff(usage_of(text)), roff(help_of(text)));
}

}  // namespace

std::string help_text(Verb which) {
  const VerbInfo& verb = info(which);
  std::string out = fmt::format("{}\n\nusage: {}\n", verb.help, usage_line(verb));
  if (which == Verb::none) {
    out += "\nverbs (each has its own --help)\n";
    for (const VerbInfo& row : verbs()) add_row(out, std::string(row.name) + (row.arguments.empty() ? "" : " ") + std::string(row.arguments), row.help);
    out += "\nexample\n  dispatchdoctor sdpa --q 1x8x256x64 --dtype f16 --causal\n";
  }
  std::string_view group;
  for (const spec::OptionText* text : options_of(which)) {
    if (text->group != group) out += fmt::format("\n{}\n", text->group);
    group = text->group;
    add_row(out, usage_of(*text), help_of(*text));
  }
  if (which == Verb::none) {
    out += "\nexit codes\n";
    for (const auto& [code, text] : exit_codes) add_row(out, fmt::format("{}", code), text);
  }
  return out;
}

std::string man_page() {
  std::string out = fmt::format(".TH DISPATCHDOCTOR 1 \"\" \"dispatchdoctor {}\" \"User Commands\"\n", core::tool_version());
  out += ".ad l\n.SH NAME\ndispatchdoctor \\- tell why an operator call did not take the fast path\n";
  out += ".SH SYNOPSIS\n";
  for (const VerbInfo& verb : verbs()) out += fmt::format(".B {}\n.br\n", roff(usage_line(verb)));
  out += ".SH DESCRIPTION\nTakes the specification of one attention call or matrix product (or a file of them), runs a reference and every backend "
         "under allow and force policies, compares the results, and reports step by step which backend serves the call, why the others do not, "
         "and the smallest change that helps.\n";
  out += ".SH VERBS\n";
  for (const VerbInfo& verb : verbs()) out += fmt::format(".TP\n\\fB{} {}\\fR\n{}\n", roff(verb.name), roff(verb.arguments), roff(verb.help));
  out += ".SH OPTIONS\n";
  for (unsigned op : {spec::on_sdpa, spec::on_gemm}) {
    out += fmt::format(".SS The specification, {}\n", op == spec::on_sdpa ? "sdpa" : "gemm");
    for (const spec::SpecOption& option : spec::spec_options())
      if ((option.ops & op) && (option.ops & spec::on_both) != spec::on_both) add_man_option(out, option.text);
  }
  out += ".SS The specification, both operators\n";
  for (const spec::SpecOption& option : spec::spec_options())
    if ((option.ops & spec::on_both) == spec::on_both) add_man_option(out, option.text);
  out += ".SS How to run and where to write\n";
  for (const RunOption& option : run_options()) add_man_option(out, option.text);
  out += ".SH EXIT STATUS\n";
  for (const auto& [code, text] : exit_codes) out += fmt::format(".TP\n.B {}\n{}\n", code, roff(text));
  out += ".SH ENVIRONMENT\n.TP\n.B NO_COLOR\nWhen set and not empty, text is written without colour.\n";
  return out;
}

}  // namespace dd::cli
