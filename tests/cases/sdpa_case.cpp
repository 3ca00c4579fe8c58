#include "sdpa_case.hpp"

#include <algorithm>
#include <map>

#include "case_check.hpp"
#include "frameworks/torch/attention/tables.hpp"
#include "frameworks/torch/torch.hpp"

namespace dd::cases {
namespace {

using facts::Id;
using frameworks::Diagnosis;
using nlohmann::json;

std::string text(const json& object, std::initializer_list<const char*> names) {
  for (const char* name : names)
    if (object.is_object() && object.contains(name) && object[name].is_string()) return object[name].get<std::string>();
  return {};
}

std::string status_of(const json& expected) {
  static const std::map<std::string, std::string> other{{"accepted", "eligible"}, {"ok", "eligible"},     {"blocked", "refused"},
                                                        {"refuse", "refused"},    {"rejected", "refused"}, {"raises", "error"}};
  const std::string status = expected.is_string() ? expected.get<std::string>() : text(expected, {"status"});
  const auto it = other.find(status);
  return it == other.end() ? status : it->second;
}

std::string case_rule(const json& expected) { return text(expected, {"reason_rule_id", "rule_id", "rule", "reason"}); }

bool stands_for(const std::string& case_rule, std::string_view id) {
  if (case_rule == id) return true;
  const auto names = frameworks::torch_attention::case_names();
  return std::any_of(names.begin(), names.end(), [&](const auto& name) { return name.name == case_rule && name.rule == id; });
}

bool speaks(const std::vector<rules::Finding>& findings, const std::string& case_rule) {
  return std::any_of(findings.begin(), findings.end(),
                     [&](const rules::Finding& f) { return f.status != rules::Truth::met && stands_for(case_rule, f.rule->id); });
}

struct Evaluated {
  SdpaCase read;
  Diagnosis diagnosis;
};

Evaluated evaluate(const json& item, bool with_met) {
  Evaluated out{read_sdpa_case(item.at("spec")), {}};
  out.diagnosis = frameworks::diagnose(frameworks::torch_framework(), out.read.spec, out.read.facts, with_met);
  return out;
}

// A backend of another device, asked directly: its checks still have an answer.
struct Asked {
  frameworks::Candidate candidate;
  frameworks::Standing standing;
  const rules::Rule* reason = nullptr;
};

std::optional<Asked> ask_directly(const std::string& backend, const SdpaCase& read) {
  const auto& torch = frameworks::torch_framework();
  spec::OpSpec spec = read.spec;
  if (backend == "torch-overrideable") spec.policy.order = std::vector<std::string>{backend};
  facts::FactSet facts = read.facts;
  torch.add_facts(spec, facts);
  facts::FactSet elsewhere = facts;
  elsewhere.set(Id::device_type, std::string(backend == "torch-cpu-flash" ? "cpu" : "cuda"));
  for (const auto& candidate : torch.candidates(spec, elsewhere)) {
    if (candidate.name != backend) continue;
    Asked out{candidate, frameworks::Standing::unknown, nullptr};
    out.standing = frameworks::standing_of(candidate, facts, &out.reason);
    return out;
  }
  return std::nullopt;
}

void check_call(Line& line, const Diagnosis& diagnosis) {
  if (diagnosis.call_error) {
    line.got = "error";
    line.got_rule = std::string(diagnosis.call_error->id);
  } else if (line.wanted == "error" && diagnosis.error && !diagnosis.selected) {
    line.got = "error";  // the walk ends without a backend
    for (const auto& rule : frameworks::torch_attention::outcome_rules())
      if (stands_for("call.no_available_kernel", rule.id)) line.got_rule = std::string(rule.id);
  } else {
    line.got = "eligible";
  }
}

Line check_backend(const std::string& backend, const json& expected, const Evaluated& e) {
  Line line{backend, status_of(expected), {}, case_rule(expected), {}, false};
  bool beside = false;  // the rule that is wanted does not decide, but speaks (a hazard, a cost)
  if (backend == "call") {
    check_call(line, e.diagnosis);
    beside = speaks(e.diagnosis.call_findings, line.wanted_rule);
  } else if (const auto* result = e.diagnosis.find(backend_name(backend))) {
    if (result->first_reason) line.got_rule = std::string(result->first_reason->id);
    line.got = std::string(core::to_text(result->standing));
    beside = speaks(result->findings, line.wanted_rule) || speaks(e.diagnosis.call_findings, line.wanted_rule);
  } else if (const auto asked = ask_directly(backend_name(backend), e.read)) {
    line.got = std::string(core::to_text(asked->standing));
    if (asked->reason) line.got_rule = std::string(asked->reason->id);
  } else {
    line.got = "not a candidate";
  }
  const bool rule_agrees = line.wanted_rule.empty() || stands_for(line.wanted_rule, line.got_rule) || (line.got_rule.empty() && beside);
  line.agrees = (line.wanted.empty() || line.got == line.wanted) && rule_agrees;
  return line;
}

std::string choice(const Diagnosis& diagnosis) {
  if (diagnosis.error) return "error";
  if (diagnosis.undetermined || !diagnosis.selected) return "undetermined";
  return backend_name_in_cases(*diagnosis.selected);
}

std::string wanted_choice(const json& item, const std::string& device) {
  const std::string written = text(item, {"default_choice", "choice"});
  const std::string name = backend_name(written);
  return backend_name_in_cases(device == "cpu" && name == "torch-flash" ? "torch-cpu-flash" : name);
}

}  // namespace

bool Checked::agrees() const {
  return problem.empty() && std::all_of(lines.begin(), lines.end(), [](const Line& line) { return line.agrees; });
}

bool is_sdpa_case(const json& item) {
  if (!item.is_object() || !item.contains("spec") || !item["spec"].is_object()) return false;
  const json& s = item["spec"];
  const auto any_of = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(), [&](const char* name) { return s.contains(name); });
  };
  return any_of({"torch", "torch_version"}) &&
         any_of({"q_heads", "heads", "num_heads", "q_len", "head_dim", "head_dim_qk", "enable_gqa", "is_causal", "ndim"});
}

Checked check_sdpa_case(const json& item) {
  Checked out;
  out.id = item.contains("id") && item["id"].is_string() ? item["id"].get<std::string>() : item.value("id", json("?")).dump();
  const Evaluated e = evaluate(item, false);
  out.notes = e.read.notes;
  const json expected = item.value("expected", json::object());
  if (expected.is_object())
    for (auto it = expected.begin(); it != expected.end(); ++it) {
      if (it.value().is_null()) continue;
      if (it.key() == "default_choice" || it.key() == "choice") continue;
      if (status_of(it.value()).empty() && case_rule(it.value()).empty()) {
        out.problem = "expected." + it.key() + " states neither status nor rule: " + it.value().dump();
        return out;
      }
      out.lines.push_back(check_backend(it.key(), it.value(), e));
    }
  std::string wanted = wanted_choice(item, e.read.device);
  if (wanted.empty()) wanted = wanted_choice(expected, e.read.device);
  if (!wanted.empty()) {
    Line line{"default choice", wanted, choice(e.diagnosis), {}, {}, false};
    line.agrees = line.wanted == line.got;
    out.lines.push_back(line);
  }
  if (out.lines.empty()) out.notes.emplace_back("the case states nothing that could be compared");
  return out;
}

json dump_sdpa_case(const json& item) {
  const Evaluated e = evaluate(item, true);
  json out{{"id", item.value("id", "")}, {"choice", choice(e.diagnosis)}};
  const auto add = [&](const std::vector<rules::Finding>& findings) {
    for (const rules::Finding& f : findings) out["rules"][std::string(f.rule->id)] = core::to_text(f.status);
  };
  add(e.diagnosis.call_findings);
  for (const auto& c : e.diagnosis.candidates) {
    add(c.findings);
    json& backend = out["backends"][backend_name_in_cases(std::string(c.candidate.name))];
    backend["status"] = core::to_text(c.standing);
    backend["reason"] = c.first_reason ? json(c.first_reason->id) : json(nullptr);
  }
  return out;
}

}  // namespace dd::cases
