#include "session/protocol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace dd::session {
namespace {

using nlohmann::json;
using report::Evidence;
using report::Operation;

constexpr std::size_t text_limit = 64 << 10;
constexpr std::size_t list_limit = 5000;

std::string dump(const json& j) { return j.dump(-1, ' ', false, json::error_handler_t::replace); }

// Tolerant readers: a wrong type is as good as absent.
std::string text(const json& j, const char* key) {
  const auto it = j.find(key);
  if (it == j.end() || !it->is_string()) return {};
  std::string out = it->get<std::string>();
  if (out.size() > text_limit) out.resize(text_limit);
  return out;
}

std::int64_t integer(const json& j, const char* key, std::int64_t otherwise = 0) {
  const auto it = j.find(key);
  if (it == j.end() || !it->is_number()) return otherwise;
  if (it->is_number_unsigned()) return static_cast<std::int64_t>(std::min<std::uint64_t>(it->get<std::uint64_t>(), INT64_MAX));
  if (it->is_number_integer()) return it->get<std::int64_t>();
  const double value = it->get<double>();
  return std::fabs(value) < 9e18 ? static_cast<std::int64_t>(value) : otherwise;
}

double real(const json& j, const char* key) {
  const auto it = j.find(key);
  return it != j.end() && it->is_number() ? it->get<double>() : 0.0;
}

json to_json(const Operation& o) {
  json j = {{"name", o.name}, {"origin", o.origin}, {"count", o.count}};
  if (!o.detail.empty()) j["detail"] = o.detail;
  if (o.seconds) j["seconds"] = *o.seconds;
  return j;
}

json to_json(const std::vector<Operation>& list) {
  json out = json::array();
  for (const Operation& o : list) out.push_back(to_json(o));
  return out;
}

json to_json(const Evidence& e) {
  json j = {{"operators", to_json(e.operators)}, {"library_calls", to_json(e.library_calls)}, {"kernels", to_json(e.kernels)}, {"syncs", to_json(e.syncs)}, {"notes", e.notes}, {"conversions", json::array()}};
  if (!e.recording.empty()) j["recording"] = e.recording;
  if (!e.api.empty()) j["api"] = e.api;
  for (const report::Conversion& c : e.conversions) j["conversions"].push_back({{"kind", c.kind}, {"what", c.what}, {"bytes", c.bytes}});
  return j;
}

template <class F>
void each(const json& j, const char* key, F&& use) {
  const auto it = j.find(key);
  if (it == j.end() || !it->is_array()) return;
  std::size_t n = 0;
  for (const json& part : *it)
    if (n++ < list_limit) use(part);
}

std::vector<std::string> texts(const json& j, const char* key) {
  std::vector<std::string> out;
  each(j, key, [&](const json& n) {
    if (n.is_string()) out.push_back(n.get<std::string>().substr(0, text_limit));
  });
  return out;
}

std::vector<Operation> operations(const json& j, const char* key) {
  std::vector<Operation> out;
  each(j, key, [&](const json& o) {
    if (!o.is_object()) return;
    Operation op{text(o, "name"), text(o, "detail"), text(o, "origin"), integer(o, "count", 1), std::nullopt};
    if (o.contains("seconds") && o["seconds"].is_number()) op.seconds = o["seconds"].get<double>();
    out.push_back(std::move(op));
  });
  return out;
}

Evidence evidence(const json& j) {
  Evidence e;
  if (!j.is_object()) return e;
  e.api = text(j, "api");
  e.operators = operations(j, "operators");
  e.library_calls = operations(j, "library_calls");
  e.kernels = operations(j, "kernels");
  e.syncs = operations(j, "syncs");
  e.recording = text(j, "recording");
  each(j, "conversions", [&](const json& c) {
    if (c.is_object()) e.conversions.push_back({text(c, "kind"), text(c, "what"), integer(c, "bytes")});
  });
  e.notes = texts(j, "notes");
  return e;
}

json to_json(const report::Error& e) { return {{"code", e.code}, {"text", e.text}, {"source", e.source}}; }
report::Error error(const json& j) { return {text(j, "code"), text(j, "text"), text(j, "source")}; }

json to_json(const report::Timing& t) {
  return {{"runs", t.runs}, {"median", t.median}, {"minimum", t.minimum}, {"spread", t.spread}, {"noise", t.noise}, {"peak_bytes", t.peak_bytes}, {"method", t.method},
          {"clocks_before", t.clocks_before}, {"clocks_after", t.clocks_after}, {"throttle", t.throttle}};
}

report::Timing timing(const json& j) {
  report::Timing t;
  t.runs = static_cast<int>(std::clamp<std::int64_t>(integer(j, "runs"), 0, 1 << 30));
  t.median = real(j, "median");
  t.minimum = real(j, "minimum");
  t.spread = real(j, "spread");
  t.noise = text(j, "noise");
  t.peak_bytes = integer(j, "peak_bytes");
  t.method = text(j, "method");
  t.clocks_before = text(j, "clocks_before");
  t.clocks_after = text(j, "clocks_after");
  t.throttle = text(j, "throttle");
  return t;
}

json to_json(const report::Asked& a) {
  json j = {{"library", a.library}, {"version", a.version}, {"frontend", a.frontend}, {"device", a.device}, {"refusal", a.refusal},
            {"order", a.order}, {"doubts", a.doubts}, {"engines", json::array()}};
  for (const report::AskedEngine& e : a.engines)
    j["engines"].push_back({{"id", e.id}, {"name", e.name}, {"accepted", e.accepted}, {"offered", e.offered}, {"workspace", e.workspace},
                            {"notes", e.notes}, {"code", e.code}, {"reason", e.reason}});
  if (a.error) j["error"] = to_json(*a.error);
  return j;
}

bool flag(const json& j, const char* key) {
  const auto it = j.find(key);
  return it != j.end() && it->is_boolean() && it->get<bool>();
}

report::Asked asked(const json& j) {
  report::Asked a{text(j, "library"), text(j, "version"), text(j, "frontend"), text(j, "device"), std::nullopt, text(j, "refusal"), {}, {}, texts(j, "doubts")};
  if (j.contains("error") && j["error"].is_object()) a.error = error(j["error"]);
  each(j, "order", [&](const json& id) {
    if (id.is_number_integer()) a.order.push_back(id.get<std::int64_t>());
  });
  each(j, "engines", [&](const json& e) {
    if (e.is_object())
      a.engines.push_back({integer(e, "id", -1), text(e, "name"), flag(e, "accepted"), flag(e, "offered"), integer(e, "workspace", -1), texts(e, "notes"),
                           text(e, "code"), text(e, "reason")});
  });
  return a;
}

Done done(const json& j) {
  Done d;
  d.id = integer(j, "id", -1);
  d.outcome = core::from_text<report::Outcome>(text(j, "outcome")).value_or(report::Outcome::failed);
  if (j.contains("error") && j["error"].is_object()) d.error = error(j["error"]);
  if (j.contains("asked") && j["asked"].is_object()) d.asked = asked(j["asked"]);
  if (j.contains("evidence")) d.evidence = evidence(j["evidence"]);
  if (j.contains("timing") && j["timing"].is_object()) d.timing = timing(j["timing"]);
  each(j, "answers", [&](const json& a) {
    if (a.is_object()) d.answers.push_back({text(a, "backend"), {text(a, "query"), text(a, "answer"), text(a, "text")}});
  });
  each(j, "gradients", [&](const json& g) {
    if (g.is_object()) d.gradients.push_back({text(g, "tensor"), integer(g, "mismatched"), integer(g, "total"), real(g, "error"), real(g, "limit")});
  });
  d.ran = text(j, "ran");
  d.seconds = real(j, "seconds");
  d.peak_bytes = integer(j, "peak_bytes");
  return d;
}

std::string wire_line(const json& j) { return fmt::format("\n{}\n", dump(j)); }

}  // namespace

std::string to_line(const Job& job) {
  json j = {{"dd", "job"}, {"id", job.id}, {"backend", job.backend}, {"mode", core::to_text(job.mode)}, {"policy", job.policy}, {"allowed", job.allowed},
            {"inputs", job.inputs}, {"threads", job.threads}};
  j["spec"] = json::parse(job.spec_json, nullptr, false);
  j["output"] = {{"path", job.output}, {"offset", job.output_offset}, {"dtype", core::to_text(job.output_dtype)}, {"shape", job.output_shape},
                 {"strides", job.output_strides.empty() ? spec::contiguous_strides(job.output_shape) : job.output_strides}, {"start", job.output_start}};
  if (!job.device.empty()) j["device"] = job.device;
  if (job.bench)
    j["bench"] = {{"min_runs", job.bench->min_runs}, {"min_seconds", job.bench->min_seconds}, {"max_seconds", job.bench->max_seconds}};
  return dump(j) + "\n";
}

std::string to_line(const Hello& hello) {
  return wire_line({{"dd", "hello"}, {"protocol", hello.protocol}, {"worker", hello.worker}, {"versions", hello.versions}});
}

std::string to_line(const Started& started) { return wire_line({{"dd", "started"}, {"id", started.id}}); }

std::string to_line(const Done& d) {
  json j = {{"dd", "done"}, {"id", d.id}, {"outcome", core::to_text(d.outcome)}, {"evidence", to_json(d.evidence)}, {"seconds", d.seconds}, {"peak_bytes", d.peak_bytes}};
  if (d.error) j["error"] = to_json(*d.error);
  if (d.asked) j["asked"] = to_json(*d.asked);
  if (d.timing) j["timing"] = to_json(*d.timing);
  for (const BackendAnswer& a : d.answers)
    j["answers"].push_back({{"backend", a.backend}, {"query", a.answer.query}, {"answer", a.answer.answer}, {"text", a.answer.text}});
  for (const report::Gradient& g : d.gradients)
    j["gradients"].push_back({{"tensor", g.tensor}, {"mismatched", g.mismatched}, {"total", g.total}, {"error", g.error}, {"limit", g.limit}});
  if (!d.ran.empty()) j["ran"] = d.ran;
  return wire_line(j);
}

Message parse_message(std::string_view line) {
  // Cheap tests first: print-out of a library can be anything and much.
  if (line.empty() || line.front() != '{' || line.find("\"dd\"") == std::string_view::npos) return {};
  const json j = json::parse(line, [](int depth, json::parse_event_t, json&) { return depth <= 16; }, false);
  if (!j.is_object()) return {};
  const std::string kind = text(j, "dd");
  if (kind == "hello") {
    Hello h{static_cast<int>(integer(j, "protocol")), text(j, "worker"), {}, text(j, "problem")};
    if (j.contains("problem") && j["problem"].is_object()) {
      const json& p = j["problem"];
      h.problem = fmt::format("{}: {} ({})", text(p, "code"), text(p, "text"), text(p, "source"));
    }
    if (j.contains("versions") && j["versions"].is_object())
      for (const auto& [name, value] : j["versions"].items())
        if (value.is_string() && h.versions.size() < 200) h.versions[name] = value.get<std::string>();
    return h;
  }
  if (kind == "started") return Started{integer(j, "id", -1)};
  if (kind == "note") return Note{integer(j, "id", -1), text(j, "text")};
  if (kind == "done") return done(j);
  return {};
}

core::Result<Job> parse_job(std::string_view line) {
  const json j = json::parse(line, nullptr, false);
  const auto wrong = [&](const char* field) {
    return core::Problem{field, {}, {}, "missing or of the wrong type in the job line", {}, 0};
  };
  if (!j.is_object() || text(j, "dd") != "job") return wrong("dd");
  Job job;
  job.id = integer(j, "id", -1);
  job.backend = text(j, "backend");
  if (!j.contains("spec") || !j["spec"].is_object()) return wrong("spec");
  job.spec_json = dump(j["spec"]);
  const auto mode = core::from_text<spec::Mode>(text(j, "mode"));
  if (!mode) return wrong("mode");
  job.mode = *mode;
  job.policy = text(j, "policy");
  each(j, "allowed", [&](const json& a) {
    if (a.is_string()) job.allowed.push_back(a.get<std::string>());
  });
  job.device = text(j, "device");
  job.inputs = text(j, "inputs");
  job.threads = static_cast<int>(std::clamp<std::int64_t>(integer(j, "threads"), 0, 4096));
  if (!j.contains("output") || !j["output"].is_object()) return wrong("output");
  const json& out = j["output"];
  job.output = text(out, "path");
  job.output_offset = integer(out, "offset");
  const auto dtype = core::from_text<core::DType>(text(out, "dtype"));
  if (!dtype) return wrong("output.dtype");
  job.output_dtype = *dtype;
  bool integers = true;
  const auto numbers = [&](const char* key, std::vector<std::int64_t>& into) {
    each(out, key, [&](const json& n) {
      integers = integers && n.is_number_integer();
      if (integers) into.push_back(n.get<std::int64_t>());
    });
    return integers;
  };
  if (!numbers("shape", job.output_shape)) return wrong("output.shape");
  if (!numbers("strides", job.output_strides)) return wrong("output.strides");
  job.output_start = integer(out, "start");
  if (j.contains("bench") && j["bench"].is_object()) {
    const json& b = j["bench"];
    job.bench = BenchPlan{static_cast<int>(std::clamp<std::int64_t>(integer(b, "min_runs", 10), 1, 100000)), real(b, "min_seconds"), real(b, "max_seconds")};
  }
  return job;
}

void LineReader::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::string_view part = bytes.substr(0, end);
    if (!dropping_) {
      if (buffer_.size() + part.size() > line_limit) {
        dropping_ = true;
        ++dropped_;
        buffer_.clear();
        buffer_.shrink_to_fit();
      } else {
        buffer_ += part;
      }
    }
    if (end == std::string_view::npos) return;
    if (!dropping_) ready_.push_back(std::move(buffer_));
    buffer_.clear();
    dropping_ = false;
    bytes.remove_prefix(end + 1);
  }
}

bool LineReader::next(std::string& line) {
  if (taken_ == ready_.size()) {
    ready_.clear();
    taken_ = 0;
    return false;
  }
  line = std::move(ready_[taken_++]);
  return true;
}

std::string LineReader::take_rest() { return std::exchange(buffer_, {}); }

}  // namespace dd::session
