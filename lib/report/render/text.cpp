#include <fmt/format.h>

#include <algorithm>

#include "report/render/format.hpp"
#include "report/render/render.hpp"

namespace dd::report {
namespace {

constexpr int label_width = 11;

class Writer {
 public:
  explicit Writer(const TextOptions& options) : options_(options) {}
  void line(std::string_view text) { out_ += std::string(text) + "\n"; }
  // "label      text", continued lines indented under the text.
  void field(std::string_view label, std::string_view text) {
    const std::string head = fmt::format("{:<{}}", label, label_width);
    line(paint(head, Ink::dim, options_.color) + std::string(text));
  }
  std::string ink(std::string_view text, Ink i) const { return paint(text, i, options_.color); }
  std::string take() { return std::move(out_); }
  const TextOptions& options() const { return options_; }

 private:
  TextOptions options_;
  std::string out_;
};

// An error that fills pages would bury the table that it stands in.
std::string error_text(const Attempt& a, bool whole) {
  if (!a.error) return {};
  std::string text = a.error->code.empty() ? a.error->text : fmt::format("{}: {}", a.error->code, a.error->text);
  const std::size_t end = text.find('\n');
  return whole || end == std::string::npos ? text : text.substr(0, end) + " … (-v shows all of it)";
}

// ", gradients close: dq 1.1e-07 (limit 2.1e-06), …", or which are off.
std::string gradients_text(const Comparison& c) {
  if (c.gradients.empty()) return {};
  std::string each;
  bool off = false;
  for (const Gradient& g : c.gradients) {
    off = off || g.mismatched > 0;
    each += fmt::format("{}{} ", each.empty() ? "" : ", ", g.tensor);
    if (g.mismatched > 0) each += fmt::format("{} of {} elements off, ", g.mismatched, g.total);
    each += fmt::format("{} (limit {})", human_number(g.error), human_number(g.limit));
  }
  return fmt::format(", gradients {}: {}", off ? "off" : "close", each);
}

// "max error 1.2e-03 (limit 4.0e-03)" or what is off about the result.
std::string comparison_text(const Comparison& c) {
  std::string out;
  if (c.mismatched > 0) out += fmt::format("{} of {} elements off, ", c.mismatched, c.total);
  out += fmt::format("max error {} (limit {})", human_number(c.absolute.value), human_number(c.absolute.limit));
  if (c.mismatched > 0) out += " at " + index_text(c.absolute.index);
  if (c.unwritten > 0) out += fmt::format(", {} elements never written", c.unwritten);
  if (c.guard_damaged > 0) out += fmt::format(", {} bytes written outside the output", c.guard_damaged);
  if (c.nan_got != c.nan_want) out += fmt::format(", NaN {} (reference {})", c.nan_got, c.nan_want);
  if (!c.mistrust.empty()) out += ", " + c.mistrust;
  if (!c.exact_pass.empty()) out += ", integers " + c.exact_pass;
  return out + gradients_text(c);
}

// ", 1.2 ms (50 runs, quiet), 310 TFLOP/s of 989, 12 GB/s of 4800"; rates where the device's limits are known.
std::string timing_text(const Timing& t) {
  std::string out = fmt::format(", {} ({} runs, {})", human_seconds(t.median), t.runs, t.noise);
  if (t.limit_tflops > 0) out += fmt::format(", {:.3g} TFLOP/s of {:.0f}", t.tflops, t.limit_tflops);
  if (t.limit_gbytes_per_second > 0) out += fmt::format(", {:.3g} GB/s of {:.0f}", t.gbytes_per_second, t.limit_gbytes_per_second);
  return out;
}

void attempt_lines(Writer& w, const Candidate& c, std::size_t width, bool with_mode) {
  const std::string name = fmt::format("  {:<{}}", c.backend, width);
  const auto row = [&](const Attempt& a, std::string_view policy, bool first) {
    const std::string outcome = w.ink(fmt::format("{:<14}", core::to_text(a.outcome)), ink_of(a.outcome));
    std::string detail = a.comparison && !a.error ? comparison_text(*a.comparison) : error_text(a, w.options().verbosity > 0);
    if (a.timing && a.timing->runs > 0)
      detail += timing_text(*a.timing);
    const std::string eligibility = first ? fmt::format("{:<9}", c.eligibility) : std::string(9, ' ');
    w.line(fmt::format("{}{} {:<12}{} {}{}", first ? name : std::string(name.size(), ' '), eligibility, policy,
                       with_mode ? fmt::format(" {:<8}", a.mode) : "", outcome, detail));
  };
  // The dispatcher's run and the forced run of one backend are told apart only where they differ; the forced one knows more.
  const auto twins = [&](const Attempt& a, const Attempt& b) {
    return w.options().verbosity < 1 && a.policy == "allow" && b.policy == "force" && a.mode == b.mode && a.outcome == b.outcome;
  };
  const auto twin_of = [&](const Attempt& a, bool before) -> const Attempt* {
    for (const Attempt& b : c.attempts)
      if (before ? twins(b, a) : twins(a, b)) return &b;
    return nullptr;
  };
  bool first = true;
  for (const Attempt& a : c.attempts) {
    if (twin_of(a, true)) continue;
    const Attempt* twin = twin_of(a, false);
    row(twin ? *twin : a, twin ? a.policy + ", " + twin->policy : a.policy, first);
    first = false;
  }
  if (c.attempts.empty()) w.line(fmt::format("{}{:<9} {}", name, c.eligibility, w.ink("not tried", Ink::dim)));
  for (const Answer& a : c.answers)
    w.line(fmt::format("{}asked     {}: {}{}", std::string(name.size(), ' '), a.query, a.answer, a.text.empty() ? "" : ", " + a.text));
}

std::size_t name_width(const Case& c) {
  std::size_t width = 14;
  for (const Candidate& candidate : c.candidates) width = std::max(width, candidate.backend.size() + 2);
  return width;
}

void candidates(Writer& w, const Case& c) {
  if (c.candidates.empty()) return;
  const std::size_t width = name_width(c);
  w.line("");
  w.line(w.ink("candidates", Ink::bold));
  const bool with_mode = std::any_of(c.candidates.begin(), c.candidates.end(), [](const Candidate& candidate) {
    return std::any_of(candidate.attempts.begin(), candidate.attempts.end(), [](const Attempt& a) { return a.mode != "eager"; });
  });
  for (const Candidate& candidate : c.candidates) attempt_lines(w, candidate, width, with_mode);
}

void asked(Writer& w, const Case& c) {
  for (const Candidate& candidate : c.candidates) {
    if (!candidate.asked) continue;
    w.line("");
    w.line(fmt::format("{}  {}: {}", w.ink("asked", Ink::bold), candidate.backend, asked_headline(*candidate.asked)));
    std::size_t width = 0;
    const auto lines = asked_lines(*candidate.asked);
    for (const AskedLine& l : lines) width = std::max(width, std::min<std::size_t>(l.label.size(), 30));
    for (const AskedLine& l : lines) w.line(fmt::format("  {:<{}}  {}", l.label, width, l.text));
  }
}

bool about_policy(std::string_view id) { return id.starts_with("POL"); }

// The policy leaves out all those whom this finding is about.
bool about_left_out(const Case& c, const GroupedFinding& g) {
  const auto left_out = [&](const std::string& backend) {
    return std::any_of(c.decision.steps.begin(), c.decision.steps.end(), [&](const Step& s) {
      return s.backend == backend && std::any_of(s.finding_ids.begin(), s.finding_ids.end(), about_policy);
    });
  };
  return !about_policy(g.finding->id) && !g.backends.empty() && std::all_of(g.backends.begin(), g.backends.end(), left_out);
}

// The fast path is taken, and not by those whom this finding is about.
bool about_others(const Case& c, const GroupedFinding& g) {
  return c.verdict.status == Status::fast_path && !g.backends.empty() &&
         std::find(g.backends.begin(), g.backends.end(), c.decision.selected.value_or("")) == g.backends.end();
}

// What makes candidates slow that were not needed, or may not be taken, is no part of the answer.
bool beside_the_point(const Case& c, const GroupedFinding& g) {
  return g.finding->level != "blocked" && (about_others(c, g) || about_left_out(c, g));
}

// Nobody has to clear the way for such a candidate, unless it was tried what that gives.
bool needs_no_change(const Case& c, const GroupedFinding& g) {
  return about_left_out(c, g) || (about_others(c, g) && (g.finding->tried.empty() || g.finding->level == "blocked"));
}

void findings(Writer& w, const Case& c) {
  auto all = grouped_findings(c, w.options().verbosity > 0);
  std::size_t hidden = 0;
  if (w.options().verbosity < 1) hidden = std::erase_if(all, [&](const GroupedFinding& g) { return beside_the_point(c, g); });
  if (all.empty() && hidden == 0) return;
  w.line("");
  w.line(w.ink("findings", Ink::bold));
  if (hidden > 0) w.line(w.ink(fmt::format("  {} more on other candidates (-v shows them)", hidden), Ink::dim));
  for (const GroupedFinding& g : all) {
    const Finding& f = *g.finding;
    const Ink ink = f.status == "met" ? Ink::good : f.status == "unknown" ? Ink::dim : f.level == "blocked" ? Ink::bad : Ink::warn;
    const std::string level = f.status == "unmet" ? f.level : f.status;
    const std::string who = g.backends.empty() ? "this call" : joined(g.backends);
    w.line(fmt::format("{} {}: {}  {}", w.ink(fmt::format("{}[{}]", level, f.id), ink), who, f.title,
                       w.ink("(" + f.name + ")", Ink::dim)));
    const auto part = [&](std::string_view label, const std::string& text) {
      if (!text.empty()) w.line(fmt::format("  {:<10}{}", label, text));
    };
    if (about_policy(f.id) && w.options().verbosity < 1) continue;  // the user asked for it
    part("seen", f.seen);
    part("required", f.required);
    if (f.status == "met") continue;
    part("effect", f.effect);
    part("fix", f.fix);
    if (!f.fix.empty()) part("keeps", fmt::format("{}{}{}", keeps_words(f.keeps), f.tried.empty() ? "" : "; tried: ", f.tried));
    if (w.options().verbosity > 0) {
      part("blame", f.blame);
      part("source", f.source);
    }
  }
}

void decision(Writer& w, const Case& c) {
  if (c.decision.steps.empty()) return;
  w.line("");
  w.line(w.ink("decision", Ink::bold) + "  policy " + c.decision.policy);
  int number = 1;
  const std::size_t width = name_width(c);
  for (const Step& s : c.decision.steps) {
    const std::string ids = s.finding_ids.empty() ? "" : "  " + joined(s.finding_ids);
    w.line(fmt::format("  {}. {:<{}}{}{}", number++, s.backend, width, s.action, ids));
  }
  if (!c.decision.selected) w.line("  no backend served the call");
}

// A layer of a framework's call of which nothing was seen says so: silence would read as "nothing ran there".
void operations(Writer& w, std::string_view label, const std::vector<Operation>& list, std::string_view nothing = {}) {
  if (list.empty() && !nothing.empty()) w.line(fmt::format("  {:<14}{}", label, w.ink(nothing, Ink::dim)));
  constexpr std::size_t most = 8;
  std::size_t shown = 0;
  for (const Operation& o : list) {
    if (shown == most && w.options().verbosity < 1) {
      w.line(fmt::format("  {:<14}… {} more (-v shows them)", "", list.size() - most));
      return;
    }
    std::string text = o.name;
    if (o.count > 1) text += fmt::format(" x{}", o.count);
    if (!o.detail.empty()) text += "  " + o.detail;
    if (o.seconds) text += "  " + human_seconds(*o.seconds);
    if (!o.origin.empty()) text += w.ink("  [" + o.origin + "]", Ink::dim);
    w.line(fmt::format("  {:<14}{}", shown++ == 0 ? label : "", text));
  }
}

bool empty(const Evidence& e) {
  return e.api.empty() && e.operators.empty() && e.library_calls.empty() && e.kernels.empty() && e.conversions.empty() && e.syncs.empty() && e.notes.empty();
}

void evidence_of(Writer& w, const Candidate& candidate, const Attempt& a) {
  if (empty(a.evidence)) return;
  w.line(fmt::format("  {} ({}, {})", candidate.backend, a.policy, a.mode));
  const bool layered = !a.evidence.api.empty();
  if (layered) w.line(fmt::format("  {:<14}{}", "  api", a.evidence.api));
  operations(w, "  operators", a.evidence.operators, layered ? "none seen" : "");
  operations(w, "  library", a.evidence.library_calls, layered ? "no call of a library seen" : "");
  operations(w, "  kernels", a.evidence.kernels, layered ? "none recorded" : "");
  for (const Conversion& v : a.evidence.conversions)
    w.line(fmt::format("  {:<14}{}: {}, {}", "  " + v.kind, v.what, human_bytes(v.bytes), v.kind.starts_with("autocast") ? "asked for" : "silent"));
  operations(w, "  syncs", a.evidence.syncs);
  for (const std::string& note : a.evidence.notes) w.line(fmt::format("  {:<14}{}", "  note", note));
}

void evidence(Writer& w, const Case& c) {
  const bool all = w.options().verbosity > 0;
  Writer inner(w.options());
  for (const Candidate& candidate : c.candidates) {
    const bool chosen = c.decision.selected && candidate.backend == *c.decision.selected;
    std::vector<std::string> modes;
    for (const Attempt& a : candidate.attempts) {
      if (!all && !chosen) continue;
      if (!all && std::find(modes.begin(), modes.end(), a.mode) != modes.end()) continue;
      modes.push_back(a.mode);
      evidence_of(inner, candidate, a);
    }
  }
  const std::string text = inner.take();
  if (text.empty()) return;
  w.line("");
  w.line(w.ink("evidence", Ink::bold));
  w.line(text.substr(0, text.size() - 1));
}

// Relative and absolute figures of the chosen backend, and of everything that is off.
void numbers(Writer& w, const Case& c) {
  Writer inner(w.options());
  for (const Candidate& candidate : c.candidates) {
    const bool chosen = c.decision.selected && candidate.backend == *c.decision.selected;
    const Attempt* shown = nullptr;
    for (const Attempt& a : candidate.attempts)
      if (a.comparison && (!shown || a.comparison->verdict == "off")) shown = &a;
    if (!shown || (!chosen && shown->comparison->verdict != "off" && w.options().verbosity < 1)) continue;
    const Comparison& k = *shown->comparison;
    const std::size_t width = name_width(c);
    inner.line(fmt::format("  {:<{}}mismatched {} / {}{}; limit: {}", candidate.backend, width, k.mismatched, k.total,
                           k.sampled.empty() ? "" : " (" + k.sampled + ")", k.bound));
    const auto worst = [&](std::string_view label, const Worst& v) {
      if (v.index.empty() && v.got == 0 && v.want == 0 && v.value == 0 && k.mismatched > 0) return;  // none was finite
      inner.line(fmt::format("  {:<{}}{} {} at {}: got {}, wanted {}, limit {}", "", width, label, human_number(v.value), index_text(v.index),
                             exact_number(v.got), exact_number(v.want), human_number(v.limit)));
    };
    if (k.total > 0) {
      worst("greatest absolute error", k.absolute);
      worst("greatest relative error", k.relative);
    }
    inner.line(fmt::format("  {:<{}}NaN {} (reference {}), infinite {} ({}), zero {} ({})", "", width, k.nan_got, k.nan_want, k.inf_got, k.inf_want,
                           k.zero_got, k.zero_want));
  }
  const std::string text = inner.take();
  if (text.empty()) return;
  w.line("");
  w.line(w.ink("numbers", Ink::bold));
  w.line(text.substr(0, text.size() - 1));
}

// "nothing to do: …" is an explanation, no change.
bool asks_for_something(const Finding& f) { return !f.fix.empty() && !f.fix.starts_with("nothing"); }

// Fixes once each, those that keep the function first. Where a search found what helps, only that; where it found
// nothing, the rules' own words stand under a heading that promises nothing.
void changes(Writer& w, const Case& c) {
  const auto& because = c.verdict.because;
  const bool found = std::any_of(because.begin(), because.end(), [](const std::string& b) { return b.starts_with("fix: "); });
  const bool none = std::any_of(because.begin(), because.end(), [](const std::string& b) { return b.starts_with(no_change_helps); });
  std::vector<std::pair<int, std::string>> lines;
  for (const GroupedFinding& g : grouped_findings(c, false)) {
    const Finding& f = *g.finding;
    // What policy asked for is no defect; a note asks for nothing.
    if (!asks_for_something(f) || f.status != "unmet" || f.level == "note" || about_policy(f.id) || beside_the_point(c, g) || needs_no_change(c, g)) continue;
    if (found && f.tried.empty()) continue;
    const int rank = f.keeps == "function" ? 0 : f.keeps == "precision" ? 1 : 2;
    std::string text = fmt::format("{} (keeps {}", f.fix, keeps_words(f.keeps));
    text += f.tried.empty() ? ")" : "; tried)";  // the finding says how that went
    lines.emplace_back(rank, fmt::format("  {:<9}{}", f.id, text));
  }
  if (lines.empty()) return;
  std::stable_sort(lines.begin(), lines.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  w.line("");
  w.line(w.ink(none ? "what the rules ask for (nothing tried makes a fast backend the chosen one)" : "what to change", Ink::bold));
  for (const auto& [rank, text] : lines) w.line(text);
}

void head(Writer& w, const Case& c) {
  const std::string status(core::to_text(c.verdict.status));
  w.line(fmt::format("{}  {}", w.ink(status, ink_of(c.verdict.status)), w.ink(c.title, Ink::bold)));
  w.field("verdict", fmt::format("{} [{}]", c.verdict.summary, core::to_text(c.verdict.grade)));
  std::string modes = "modes";
  for (const std::string& because : c.verdict.because) {
    if (because.starts_with("mode ") || because.starts_with("modes ")) {
      w.field(modes, because.substr(because.find(' ') + 1));
      modes.clear();
    } else if (because.starts_with("fix: ")) w.field("fix", because.substr(5));
    else if (because.starts_with("take care: ")) w.field("take care", because.substr(11));
    else w.field("", "because " + because);
  }
  for (const Requirement& r : c.requirements) {
    const Ink ink = r.status == "met" ? Ink::good : Ink::bad;
    w.field("require", fmt::format("{} {}{}", r.text, w.ink(r.status, ink), r.detail.empty() ? "" : ": " + r.detail));
  }
}

void background(Writer& w, const Case& c) {
  if (c.reference) {
    const Reference& r = *c.reference;
    w.field("reference", fmt::format("{}; {}; {}", r.name, r.scope, human_seconds(r.seconds)));
    if (w.options().verbosity > 0) w.field("limit", r.error_bound);
  }
  std::string line;
  for (const Fact& f : c.facts) {
    const bool bytes = f.unit == "bytes" && std::holds_alternative<std::int64_t>(f.value);
    const std::string value = bytes ? human_bytes(std::get<std::int64_t>(f.value)) : scalar_text(f.value);
    if (w.options().verbosity > 0) {
      w.field(line.empty() ? "facts" : "", fmt::format("{} = {} ({})", f.name, value, f.provenance));
      line = "shown";
    } else if (f.provenance != "spec" && f.provenance != "derived" && f.provenance != "assumed" && value != "false" && !f.name.starts_with("run.")) {
      line += fmt::format("{}{} {}", line.empty() ? "" : ", ", f.name, value);
    }
  }
  if (w.options().verbosity == 0 && !line.empty()) w.field("machine", line);
}

}  // namespace

std::string render_case(const Case& c, const TextOptions& options) {
  Writer w(options);
  if (!c.problems.empty()) {
    w.line(fmt::format("{}  {}", w.ink("error", Ink::bad), c.title.empty() ? c.id : c.title));
    for (const std::string& p : c.problems) w.line("  " + without_place(c, p));
    return w.take();
  }
  head(w, c);
  if (options.verbosity < 0) return w.take();
  background(w, c);
  candidates(w, c);
  asked(w, c);
  findings(w, c);
  decision(w, c);
  evidence(w, c);
  numbers(w, c);
  changes(w, c);
  if (!c.saved_tensors.empty()) {
    w.line("");
    for (const auto& [role, file] : c.saved_tensors) w.field("saved", fmt::format("{}: {}", role, file));
  }
  w.line("");
  w.field("repro", c.repro);
  return w.take();
}

}  // namespace dd::report
