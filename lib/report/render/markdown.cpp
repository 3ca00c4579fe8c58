#include <fmt/format.h>

#include "report/matrix.hpp"
#include "report/render/format.hpp"
#include "report/render/render.hpp"

namespace dd::report {
namespace {

// Table cells: a bar or a line break would end the cell; a backtick span keeps names verbatim.
std::string cell(std::string text) {
  std::string out;
  for (char c : text) {
    if (c == '|') out += "\\|";
    else if (c == '\n' || c == '\r') out += ' ';
    else out += c;
  }
  return out.empty() ? " " : out;
}

std::string row(const std::vector<std::string>& cells) {
  std::string out = "|";
  for (const std::string& c : cells) out += " " + cell(c) + " |";
  return out + "\n";
}

std::string header(const std::vector<std::string>& cells) {
  std::string out = row(cells) + "|";
  for (std::size_t i = 0; i < cells.size(); ++i) out += " --- |";
  return out + "\n";
}

std::string candidates(const Case& c) {
  std::string out = header({"backend", "eligibility", "grade", "policy", "mode", "outcome", "greatest error (limit)", "findings"});
  for (const Candidate& k : c.candidates) {
    std::vector<std::string> ids;
    for (const Finding& f : k.findings)
      if (f.status != "met") ids.push_back(f.id);
    const auto line = [&](const Attempt* a) {
      const std::string error = a && a->comparison && !a->error ? fmt::format("{} ({})", human_number(a->comparison->absolute.value),
                                                                 human_number(a->comparison->absolute.limit))
                                : a && a->error ? a->error->text : "";
      out += row({k.backend, k.eligibility, std::string(core::to_text(k.grade)), a ? a->policy : "", a ? a->mode : "",
                  a ? std::string(core::to_text(a->outcome)) : "not-tried", error, joined(ids)});
    };
    for (const Attempt& a : k.attempts) line(&a);
    if (k.attempts.empty()) line(nullptr);
  }
  return out;
}

std::string findings(const Case& c, bool with_met) {
  std::string out;
  for (const GroupedFinding& g : grouped_findings(c, with_met)) {
    const Finding& f = *g.finding;
    out += fmt::format("- **{}[{}]** {}: {} (`{}`)\n", f.status == "unmet" ? f.level : f.status, f.id,
                       g.backends.empty() ? "this call" : joined(g.backends), f.title, f.name);
    out += fmt::format("  - seen: {}\n  - required: {}\n", f.seen, f.required);
    if (f.status == "met") continue;
    out += fmt::format("  - effect: {}\n", f.effect);
    if (!f.fix.empty()) out += fmt::format("  - fix: {} (keeps {}{})\n", f.fix, keeps_words(f.keeps), f.tried.empty() ? "" : "; tried: " + f.tried);
  }
  return out;
}

std::string asked(const Case& c) {
  std::string out;
  for (const Candidate& candidate : c.candidates) {
    if (!candidate.asked) continue;
    out += fmt::format("Asked: `{}`: {}\n\n", candidate.backend, asked_headline(*candidate.asked));
    const auto lines = asked_lines(*candidate.asked);
    for (const AskedLine& l : lines) out += fmt::format("- {}: {}\n", l.label, l.text);
    out += lines.empty() ? "" : "\n";
  }
  return out;
}

std::string case_section(const Case& c, int verbosity) {
  if (!c.problems.empty()) {
    std::string out = fmt::format("### {}: error\n\n", c.id);
    for (const std::string& p : c.problems) out += "- " + p + "\n";
    return out;
  }
  std::string out = fmt::format("### {}\n\n**{}** ({}): {}\n\n", c.title, core::to_text(c.verdict.status), core::to_text(c.verdict.grade),
                                c.verdict.summary);
  for (const std::string& b : c.verdict.because) out += (b.starts_with("fix: ") || b.starts_with("take care: ") ? "- " : "- because ") + b + "\n";
  for (const Requirement& r : c.requirements) out += fmt::format("- require `{}`: {} {}\n", r.text, r.status, r.detail);
  if (c.reference) out += fmt::format("- reference: {}; {}\n", c.reference->name, c.reference->scope);
  out += "\n";
  if (!c.candidates.empty()) out += candidates(c) + "\n";
  out += asked(c);
  if (const std::string text = findings(c, verbosity > 0); !text.empty()) out += "Findings:\n\n" + text + "\n";
  if (!c.decision.steps.empty()) {
    out += fmt::format("Decision (policy {}):\n\n", c.decision.policy);
    int number = 1;
    for (const Step& s : c.decision.steps) out += fmt::format("{}. {} {} {}\n", number++, s.backend, s.action, joined(s.finding_ids));
    out += "\n";
  }
  if (!c.repro.empty()) out += "```sh\n" + c.repro + "\n```\n";
  return out;
}

std::string one_trace(const Trace& t) {
  std::string out = fmt::format("### {}\n\n{}{}\n\n", t.file, t.format, t.partial ? " (partial)" : "");
  out += header({"operation", "verdict", "grade"});
  for (const auto& [operation, verdict] : t.verdict) out += row({operation, verdict, t.grade});
  if (!t.operators.empty()) {
    out += "\n" + header({"operator", "calls", "time", "share", "verdict", "kernels"});
    for (const TraceOperator& o : t.operators) {
      std::vector<std::string> names;
      for (const Operation& k : o.kernels) names.push_back("`" + k.name + "`");
      out += row({o.name, fmt::format("{}", o.calls), human_seconds(o.seconds), fmt::format("{:.1f}%", o.share * 100), o.verdict, joined(names)});
    }
  }
  for (const std::string& warning : t.warnings) out += "\n- warning: " + warning;
  for (const std::string& note : t.notes) out += "\n- note: " + note;
  for (const Finding& f : t.findings)
    out += fmt::format("\n- **{}[{}]** {} (`{}`)\n  - seen: {}\n  - required: {}{}", f.level, f.id, f.title, f.name, f.seen, f.required,
                       f.fix.empty() ? "" : "\n  - fix: " + f.fix);
  return out + "\n";
}

}  // namespace

std::string render_markdown(const Report& r, int verbosity) {
  std::string out = fmt::format("## {}\n\n", r.tool);
  for (const Trace& t : r.traces) out += one_trace(t) + "\n";
  for (const Case& c : r.cases) out += case_section(c, verbosity) + "\n";
  if (r.cases.size() > 1) {
    out += summary_line(r.summary) + "\n";
  }
  for (const Matrix& m : r.matrices) out += "\n" + matrix_markdown(m);
  for (const Recorded& recorded : r.recorded) out += "\n```\n" + render_recorded(recorded) + "```\n";
  return out;
}

}  // namespace dd::report
