#include <cmath>
#include <nlohmann/json.hpp>

#include "report/render/render.hpp"

namespace dd::report {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no NaN and no infinity; they are written as text so that they survive.
Json number(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  return v;
}

template <class T>
Json optional(const std::optional<T>& v) {
  return v ? Json(*v) : Json(nullptr);
}

template <class T, class F>
Json list(const std::vector<T>& values, F&& one) {
  Json out = Json::array();
  for (const T& v : values) out.push_back(one(v));
  return out;
}

Json parsed(const std::string& text) {
  if (text.empty()) return nullptr;
  Json value = Json::parse(text, nullptr, false);
  return value.is_discarded() ? Json(text) : value;
}

Json scalar(const Scalar& v) {
  struct Visitor {
    Json operator()(std::monostate) const { return nullptr; }
    Json operator()(bool b) const { return b; }
    Json operator()(std::int64_t i) const { return i; }
    Json operator()(double d) const { return number(d); }
    Json operator()(const std::string& s) const { return s; }
  };
  return std::visit(Visitor{}, v);
}

Json fact(const Fact& f) {
  return {{"name", f.name}, {"value", scalar(f.value)}, {"unit", f.unit}, {"provenance", f.provenance}};
}

Json finding(const Finding& f) {
  Json out = {{"id", f.id},       {"name", f.name},         {"level", f.level},   {"title", f.title}, {"seen", f.seen},
              {"required", f.required}, {"effect", f.effect}, {"fix", f.fix},       {"keeps", f.keeps}, {"blame", f.blame},
              {"source", f.source},     {"status", f.status}};
  if (!f.tried.empty()) out["tried"] = f.tried;
  return out;
}

Json worst(const Worst& w) {
  return {{"value", number(w.value)}, {"limit", number(w.limit)}, {"got", number(w.got)}, {"want", number(w.want)}, {"index", w.index}};
}

Json comparison(const Comparison& c) {
  Json out = {{"verdict", c.verdict},
          {"mismatched", c.mismatched},
          {"total", c.total},
          {"max_absolute", worst(c.absolute)},
          {"max_relative", worst(c.relative)},
          {"nan", {{"got", c.nan_got}, {"want", c.nan_want}}},
          {"inf", {{"got", c.inf_got}, {"want", c.inf_want}}},
          {"zero", {{"got", c.zero_got}, {"want", c.zero_want}}},
          {"unwritten", c.unwritten},
          {"guard_damaged", c.guard_damaged},
          {"rtol", number(c.rtol)},
          {"atol", number(c.atol)},
          {"bound", c.bound},
          {"mistrust", c.mistrust},
          {"sampled", c.sampled},
          {"exact_pass", c.exact_pass}};
  if (!c.gradients.empty())
    out["gradients"] = list(c.gradients, [](const Gradient& g) {
      return Json{{"tensor", g.tensor}, {"mismatched", g.mismatched}, {"total", g.total}, {"error", number(g.error)}, {"limit", number(g.limit)}};
    });
  return out;
}

Json operation(const Operation& o) {
  Json out = {{"name", o.name}, {"detail", o.detail}, {"origin", o.origin}, {"count", o.count}};
  out["seconds"] = o.seconds ? number(*o.seconds) : Json(nullptr);
  return out;
}

Json conversion(const Conversion& c) { return {{"kind", c.kind}, {"what", c.what}, {"bytes", c.bytes}}; }

Json evidence(const Evidence& e) {
  Json out = {{"operators", list(e.operators, operation)}, {"library_calls", list(e.library_calls, operation)},
          {"kernels", list(e.kernels, operation)},     {"conversions", list(e.conversions, conversion)},
          {"syncs", list(e.syncs, operation)},         {"notes", e.notes},
          {"recording", e.recording}};
  if (!e.api.empty()) out["api"] = e.api;
  return out;
}

Json timing(const Timing& t) {
  return {{"runs", t.runs},         {"median", number(t.median)}, {"minimum", number(t.minimum)},
          {"spread", number(t.spread)}, {"noise", t.noise},           {"tflops", number(t.tflops)},
          {"gbytes_per_second", number(t.gbytes_per_second)},         {"peak_bytes", t.peak_bytes},
          {"limit_tflops", number(t.limit_tflops)}, {"limit_gbytes_per_second", number(t.limit_gbytes_per_second)},
          {"method", t.method}, {"clocks_before", t.clocks_before}, {"clocks_after", t.clocks_after}, {"throttle", t.throttle}};
}

Json attempt(const Attempt& a) {
  Json out = {{"policy", a.policy}, {"mode", a.mode}, {"outcome", core::to_text(a.outcome)}};
  out["error"] = a.error ? Json{{"code", a.error->code}, {"text", a.error->text}, {"source", a.error->source}} : Json(nullptr);
  out["comparison"] = a.comparison ? comparison(*a.comparison) : Json(nullptr);
  out["evidence"] = evidence(a.evidence);
  out["timing"] = a.timing ? timing(*a.timing) : Json(nullptr);
  out["seconds"] = number(a.seconds);
  return out;
}

Json asked(const Asked& a) {
  const auto engine = [](const AskedEngine& e) {
    return Json{{"id", e.id}, {"name", e.name}, {"accepted", e.accepted}, {"offered", e.offered}, {"workspace", e.workspace < 0 ? Json(nullptr) : Json(e.workspace)},
                {"notes", e.notes}, {"code", e.code}, {"reason", e.reason}};
  };
  Json out = {{"library", a.library}, {"version", a.version}, {"frontend", a.frontend}, {"device", a.device}};
  out["serves"] = a.answered() ? Json(a.serves()) : Json(nullptr);
  out["error"] = a.error ? Json{{"code", a.error->code}, {"text", a.error->text}, {"source", a.error->source}} : Json(nullptr);
  out["refusal"] = a.refusal;
  out["order"] = a.order;
  out["engines"] = list(a.engines, engine);
  out["doubts"] = a.doubts;
  return out;
}

Json candidate(const Candidate& c) {
  Json out = {{"backend", c.backend},
              {"layer", c.layer},
              {"eligibility", c.eligibility},
              {"fast", c.fast},
              {"grade", core::to_text(c.grade)},
              {"findings", list(c.findings, finding)},
              {"attempts", list(c.attempts, attempt)}};
  if (c.asked) out["asked"] = asked(*c.asked);
  if (!c.answers.empty())
    out["answers"] = list(c.answers, [](const Answer& a) { return Json{{"query", a.query}, {"answer", a.answer}, {"text", a.text}}; });
  return out;
}

Json decision(const Decision& d) {
  const auto step = [](const Step& s) { return Json{{"backend", s.backend}, {"action", s.action}, {"finding_ids", s.finding_ids}}; };
  return {{"policy", d.policy}, {"order", d.order}, {"steps", list(d.steps, step)}, {"selected", optional(d.selected)}};
}

Json one_case(const Case& c) {
  Json out = {{"id", c.id}, {"title", c.title}, {"spec", parsed(c.spec_json)}, {"repro", c.repro}};
  out["facts"] = list(c.facts, fact);
  out["reference"] = c.reference ? Json{{"name", c.reference->name},
                                        {"accumulate", c.reference->accumulate},
                                        {"error_bound", c.reference->error_bound},
                                        {"scope", c.reference->scope},
                                        {"seconds", number(c.reference->seconds)}}
                                 : Json(nullptr);
  out["candidates"] = list(c.candidates, candidate);
  out["decision"] = decision(c.decision);
  out["verdict"] = {{"status", core::to_text(c.verdict.status)},
                    {"grade", core::to_text(c.verdict.grade)},
                    {"summary", c.verdict.summary},
                    {"because", c.verdict.because}};
  out["findings"] = list(c.findings, finding);
  out["requirements"] = list(c.requirements, [](const Requirement& r) {
    return Json{{"text", r.text}, {"status", r.status}, {"detail", r.detail}};
  });
  out["problems"] = c.problems;
  out["saved_tensors"] = c.saved_tensors;
  out["exit_code"] = c.exit_code;
  out["seconds"] = number(c.seconds);
  return out;
}

Json trace_operator(const TraceOperator& o) {
  return {{"name", o.name},     {"operation", o.operation}, {"verdict", o.verdict}, {"grade", o.grade},
          {"calls", o.calls},   {"seconds", number(o.seconds)}, {"share", number(o.share)},
          {"shapes", o.shapes}, {"dtypes", o.dtypes},       {"kernels", list(o.kernels, operation)},
          {"conversions", list(o.conversions, conversion)}};
}

Json trace_kernel(const TraceKernel& k) {
  return {{"name", k.name},           {"provider", k.provider},   {"family", k.family}, {"operation", k.operation},
          {"tensor_cores", k.tensor_cores}, {"alignment", k.alignment}, {"dtype", k.dtype},   {"linked_by", k.linked_by},
          {"count", k.count},         {"seconds", number(k.seconds)}, {"share", number(k.share)}};
}

Json trace(const Trace& t) {
  return {{"file", t.file},
          {"format", t.format},
          {"partial", t.partial},
          {"verdict", t.verdict},
          {"grade", t.grade},
          {"operators", list(t.operators, trace_operator)},
          {"kernels", list(t.kernels, trace_kernel)},
          {"findings", list(t.findings, finding)},
          {"warnings", t.warnings},
          {"notes", t.notes},
          {"details", parsed(t.details_json)}};
}

Json matrix(const Matrix& m) {
  Json rows = Json::array();
  for (const Matrix::Row& row : m.rows) {
    Json cells = Json::object();
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const MatrixCell& cell = row.cells[i];
      if (cell.text.empty()) continue;  // not a candidate there
      cells[m.columns[i]] = {{"standing", cell.standing}, {"ids", cell.ids}};
    }
    Json versions = Json::object();
    for (const VersionRead& v : row.versions) versions[v.name] = {{"value", v.value}, {"assumed", v.assumed}};
    rows.push_back({{"label", row.label}, {"verdict", row.verdict}, {"versions", versions}, {"cells", cells}});
  }
  return {{"title", m.title}, {"backends", m.columns}, {"rows", rows}, {"legend", m.legend}};
}

Json summary(const Summary& s) {
  return {{"cases", s.cases},     {"fast", s.fast},   {"fallback", s.fallback},         {"no_path", s.no_path},
          {"wrong", s.wrong}, {"undetermined", s.undetermined}, {"errors", s.errors}, {"tested", s.tested}};
}

Json recorded(const Recorded& r) {
  Json out = {{"calls", r.calls}, {"specs", r.specs}, {"missed_calls", r.missed_calls}, {"missed_share", number(r.missed_share)},
              {"missed_work_share", number(r.missed_work_share)}, {"wrong_calls", r.wrong_calls}, {"undetermined_calls", r.undetermined_calls},
              {"undetermined_work_share", number(r.undetermined_work_share)}};
  if (!r.target.empty()) out["target"] = r.target;
  out["places"] = list(r.places, [](const RecordedPlace& p) {
    return Json{{"where", p.where}, {"title", p.title}, {"status", p.status}, {"why", p.why}, {"fix", p.fix}, {"calls", p.calls}, {"specs", p.specs}, {"work_share", number(p.work_share)}};
  });
  return out;
}

}  // namespace

std::string render_json(const Report& r, int indent) {
  Json out = {{"schema_version", schema_version}, {"tool", r.tool}, {"argv", r.argv}};
  out["environment"] = parsed(r.environment_json);
  out["exit_code"] = r.exit_code;
  out["interrupted"] = r.interrupted;
  if (!r.traces.empty()) {
    out["traces"] = list(r.traces, trace);
    out["trace"] = trace(r.traces.front());  // the contract's single-file form
    if (r.traces.size() == 1) out.erase("traces");
  } else {
    out["summary"] = summary(r.summary);
    out["cases"] = list(r.cases, one_case);
    if (!r.matrices.empty()) out["matrices"] = list(r.matrices, matrix);
    if (!r.recorded.empty()) out["recorded"] = list(r.recorded, recorded);
  }
  // Text from strangers' files may hold broken UTF-8; it is shown with replacement characters, never dropped.
  return out.dump(indent, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace dd::report
