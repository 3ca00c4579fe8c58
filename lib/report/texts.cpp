#include "report/texts.hpp"

namespace dd::report {
namespace {

// One function a type of the report, so that a field is named once.
struct Texts {
  const TextChange& change;

  template <class T>
  void each(std::vector<T>& items) const {
    for (T& item : items) in(item);
  }

  void in(std::string& text) const { change(text); }

  void in(Fact& f) const {
    if (auto* text = std::get_if<std::string>(&f.value)) change(*text);
    change(f.provenance);
  }

  void in(Finding& f) const {
    for (std::string* text : {&f.seen, &f.required, &f.effect, &f.fix, &f.tried}) change(*text);
  }

  void in(Operation& o) const {
    change(o.name);
    change(o.detail);
  }

  void in(Conversion& c) const { change(c.what); }

  void in(Error& e) const {
    change(e.text);
    change(e.source);
  }

  void in(AskedEngine& e) const {
    each(e.notes);
    change(e.reason);
  }

  void in(Asked& a) const {
    if (a.error) in(*a.error);
    change(a.refusal);
    each(a.engines);
    each(a.doubts);
  }

  void in(Attempt& a) const {
    if (a.error) in(*a.error);
    if (a.comparison) change(a.comparison->exact_pass);
    each(a.evidence.operators);
    each(a.evidence.library_calls);
    each(a.evidence.kernels);
    each(a.evidence.conversions);
    each(a.evidence.syncs);
    each(a.evidence.notes);
    change(a.evidence.api);
  }

  void in(Answer& a) const { change(a.text); }

  void in(Candidate& c) const {
    each(c.findings);
    each(c.attempts);
    if (c.asked) in(*c.asked);
    each(c.answers);
  }

  void in(Requirement& r) const { change(r.detail); }

  void in(Matrix& m) const {
    change(m.title);
    for (Matrix::Row& row : m.rows) change(row.label);
  }

  void in(TraceOperator& o) const {
    change(o.name);
    each(o.kernels);
    each(o.conversions);
  }

  void in(Trace& t) const {
    change(t.file);
    each(t.operators);
    each(t.findings);
    each(t.warnings);
    each(t.notes);
    change(t.details_json);
  }

  void in(RecordedPlace& p) const {
    for (std::string* text : {&p.where, &p.title, &p.why, &p.fix}) change(*text);
  }

  void in(Recorded& r) const {
    change(r.target);
    each(r.places);
  }

  void in(Case& c) const {
    const bool from_repro = c.title == title_of(c.repro);
    for (std::string* text : {&c.id, &c.title, &c.spec_json, &c.repro, &c.verdict.summary}) change(*text);
    if (from_repro) c.title = title_of(c.repro);  // what was cut within a path is no longer known as one
    each(c.facts);
    each(c.candidates);
    each(c.verdict.because);
    each(c.findings);
    each(c.requirements);
    each(c.problems);
    for (auto& [role, path] : c.saved_tensors) change(path);
  }

  void in(Report& report) const {
    each(report.argv);
    each(report.cases);
    each(report.matrices);
    each(report.traces);
    each(report.recorded);
  }
};

}  // namespace

std::string title_of(const std::string& repro) {
  const std::size_t space = repro.find(' ');
  std::string title = space == std::string::npos ? repro : repro.substr(space + 1);
  if (title.size() > 100) title = title.substr(0, 97) + "...";
  return title;
}

void change_texts(Report& report, const TextChange& change) { Texts{change}.in(report); }

}  // namespace dd::report
