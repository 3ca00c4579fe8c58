#include "gemm_case.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "frameworks/gemm/scopes.hpp"

namespace dd::cases {
namespace {

using facts::FactSet;
using nlohmann::json;
using rules::Level;
using rules::Rule;
using rules::Truth;

const std::map<std::string, std::string>& rule_ids() {  // theirs to ours
  static const std::map<std::string, std::string> ids = {
#include "gemm_rule_ids.inc"
  };
  return ids;
}

const std::string& theirs(std::string_view ours) {
  static const std::map<std::string, std::string, std::less<>> ids = [] {
    std::map<std::string, std::string, std::less<>> out;
    for (const auto& [a, b] : rule_ids()) out.emplace(b, a);
    return out;
  }();
  static const std::string none;
  const auto it = ids.find(ours);
  return it == ids.end() ? none : it->second;
}

struct Standing {
  std::string status = "eligible";  // eligible, slow, refused
  std::string rule;                 // ours; empty when eligible
  bool declined = false;            // another candidate is asked
  std::vector<std::string> beyond;  // unmet rules that the files do not know
};

// First unmet refusal in the backend's own order, else the first other unmet rule. An unknown fact decides nothing.
Standing standing(const frameworks::gemm::Scope& scope, const FactSet& facts) {
  Standing out;
  const Rule *refusal = nullptr, *other = nullptr;
  const auto first = [](const Rule*& best, const Rule& rule) {
    if (!best || rule.order < best->order) best = &rule;
  };
  for (const Rule& rule : scope.rules()) {
    if ((rule.level != Level::blocks && rule.level != Level::slows) || rules::status(rule, facts) != Truth::unmet) continue;
    if (theirs(rule.id).empty()) {
      out.beyond.emplace_back(rule.id);
      continue;
    }
    const bool blocks = rule.level == Level::blocks;
    out.declined = out.declined || blocks;
    first(blocks && !scope.served_otherwise ? refusal : other, rule);
  }
  if (refusal || other) {
    out.status = refusal ? "refused" : "slow";
    out.rule = (refusal ? refusal : other)->id;
  }
  return out;
}

std::string rule_or_none(const json& expected, const char* name) {
  return expected.contains(name) && expected[name].is_string() ? expected[name].get<std::string>() : std::string();
}

std::string ours(const std::string& id) {
  const auto it = rule_ids().find(id);
  return it == rule_ids().end() ? std::string() : it->second;
}

// "error" and "refused" both say that the call is not served.
std::string normal(const std::string& status) { return status == "error" ? "refused" : status; }

Line compare(const std::string& backend, const json& expected, const std::string& status, const std::string& rule) {
  Line line{backend, normal(expected.value("backend", std::string())), status, rule_or_none(expected, "reason_rule_id"), rule, false};
  line.agrees = line.wanted == line.got && (line.wanted_rule.empty() ? rule.empty() || line.wanted == "refused" : ours(line.wanted_rule) == rule);
  return line;
}

struct Walk {
  Standing last;
  std::string chosen;                 // as the file names it
  bool without_rules = false;         // no rules about the chosen one here
  std::vector<std::string> refusals;  // ours
};

Walk walk(const json& spec, const json& candidates) {
  Walk out;
  for (const json& item : candidates) {
    const std::string name = item.get<std::string>();
    const auto* scope = frameworks::gemm::find_scope(scope_of(name));
    if (!scope) {  // nobody has written down what it declines, so it takes what reaches it
      out.last = Standing();
      out.chosen = name;
      out.without_rules = true;
      return out;
    }
    json one = spec;
    one["backend"] = name;
    Standing s = standing(*scope, gemm_case_facts(one));
    if (!s.declined) {
      out.last = std::move(s);
      out.chosen = name;
      return out;
    }
    out.refusals.push_back(s.rule);
    out.last = std::move(s);
  }
  out.last.status = "refused";
  // The vLLM selector has an error of its own for "nobody".
  if (!candidates.empty() && candidates[0].get<std::string>().starts_with("vllm.")) out.last.rule = "VLM002";
  return out;
}

std::string joined(const std::vector<std::string>& list) { return fmt::format("{}", fmt::join(list, ",")); }

// Rule ids of the file that are none of ours.
void note_unknown_rules(const json& expected, std::vector<std::string>& notes) {
  const auto note = [&](const json& id) {
    if (id.is_string() && !id.get<std::string>().empty() && ours(id.get<std::string>()).empty()) notes.push_back("no rule here answers to " + id.get<std::string>());
  };
  if (expected.contains("reason_rule_id")) note(expected["reason_rule_id"]);
  if (expected.contains("refusals") && expected["refusals"].is_array())
    for (const json& id : expected["refusals"]) note(id);
}

Checked check_chain(const json& item, Checked out) {
  const json& spec = item["spec"];
  const json& expected = item["expected"];
  const std::string backend = spec["backend"].get<std::string>();
  if (!spec.contains("candidates") || !spec["candidates"].is_array()) {
    out.problem = "a chain without candidates";
    return out;
  }
  const Walk got = walk(spec, spec["candidates"]);
  if (got.without_rules) out.notes.push_back("no rules here about candidate " + got.chosen + ", taken as accepting");
  out.lines.push_back(compare(backend, expected, got.last.status, got.last.rule));
  if (expected.contains("chosen")) {
    const std::string chosen = rule_or_none(expected, "chosen");
    out.lines.push_back({backend + " choice", chosen, got.chosen, {}, {}, chosen == got.chosen});
  }
  if (expected.contains("refusals") && expected["refusals"].is_array()) {
    std::vector<std::string> wanted;
    for (const json& id : expected["refusals"]) wanted.push_back(id.is_string() ? ours(id.get<std::string>()) : std::string());
    out.lines.push_back({backend + " refusals", joined(wanted), joined(got.refusals), {}, {}, wanted == got.refusals});
  }
  return out;
}

}  // namespace

bool is_gemm_case(const json& item) {
  return item.is_object() && item.contains("spec") && item["spec"].is_object() && item["spec"].contains("backend") && item["spec"]["backend"].is_string();
}

Checked check_gemm_case(const json& item) {
  const json& spec = item["spec"];
  const std::string backend = spec["backend"].get<std::string>();
  Checked out{item.contains("id") && item["id"].is_string() ? item["id"].get<std::string>() : "?", {}, {}, gemm_case_notes(spec)};
  if (!item.contains("expected") || !item["expected"].is_object()) {
    out.problem = "nothing is expected";
    return out;
  }
  note_unknown_rules(item["expected"], out.notes);
  if (backend.starts_with("chain:")) return check_chain(item, std::move(out));
  const auto* scope = frameworks::gemm::find_scope(scope_of(backend));
  if (!scope) {
    out.problem = "no rules for backend " + backend;
    return out;
  }
  const Standing got = standing(*scope, gemm_case_facts(spec));
  out.lines.push_back(compare(backend, item["expected"], got.status, got.rule));
  return out;
}

json dump_gemm_case(const json& item) {
  const json& spec = item["spec"];
  json out{{"id", item.value("id", std::string())}, {"rules", json::object()}};
  const auto* scope = frameworks::gemm::find_scope(scope_of(spec["backend"].get<std::string>()));
  if (!scope) return out;
  const FactSet facts = gemm_case_facts(spec);
  for (const Rule& rule : scope->rules())
    if (!theirs(rule.id).empty()) out["rules"][theirs(rule.id)] = std::string(core::to_text(rules::status(rule, facts)));
  const Standing got = standing(*scope, facts);
  out["status"] = got.status;
  out["reason"] = theirs(got.rule);
  return out;
}

}  // namespace dd::cases
