#include "session/what_if.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "dispatch/asked.hpp"
#include "facts/derive.hpp"
#include "report/texts.hpp"
#include "session/ask.hpp"
#include "session/findings.hpp"
#include "session/fix.hpp"
#include "session/mask_file.hpp"
#include "session/roofline.hpp"

namespace dd::session {
namespace {

using facts::Id;
using frameworks::CandidateResult;
using frameworks::Diagnosis;
using frameworks::Framework;
using frameworks::Standing;

constexpr std::string_view assumed_torch = "2.14.1";  // newest release that was read line by line
constexpr std::string_view assumed_cudnn = "9.19.0";  // release whose answers the rules were held against

std::string_view eligibility_of(Standing standing) {
  switch (standing) {
    case Standing::eligible: return "eligible";
    case Standing::unknown: return "unknown";
    default: return "blocked";
  }
}

// The library behind a candidate's answer, where one was asked.
struct Answer {
  std::string_view candidate;
  report::Asked asked;
  std::optional<bool> serves;  // where the answer decides
};

// One candidate of a call at most has a library that answers for itself. What it says becomes facts.
std::optional<Answer> ask(const Diagnosis& d, const spec::OpSpec& spec, const facts::DeviceProfile* target, const WhatIfOptions& options, facts::FactSet& facts) {
  if (!options.ask || !target) return std::nullopt;
  for (const CandidateResult& c : d.candidates) {
    const std::string_view library = library_behind(c.candidate.name);
    if (library.empty()) continue;
    auto asked = options.ask(spec, std::string(library), *target);
    if (!asked) return std::nullopt;
    const std::optional<bool> serves = settle(*asked, c.candidate.name, facts);
    return Answer{c.candidate.name, std::move(*asked), serves};
  }
  return std::nullopt;
}

// The grade is that of the claim: asked where the library's own word and the candidate's standing are the same claim.
void add_answer(const Answer& answer, report::Candidate& out) {
  out.asked = answer.asked;
  if (answer.serves && out.eligibility == (*answer.serves ? "eligible" : "blocked")) out.grade = report::Grade::asked;
}

std::string in_a_word(const report::Asked& a, const facts::FactSet& facts) {
  std::string out = fmt::format("{} {} was asked about {}", a.library, a.version, a.device);
  facts::Version asked;
  const auto* other = std::get_if<facts::Version>(&facts.value(facts::Id::cudnn_version));
  if (other && a.doubts.empty() && facts::Version::parse(a.version, asked) && !(asked == *other)) out += fmt::format(", not the {} of the call", other->to_text());
  out += ": ";
  if (!a.refusal.empty()) return out + "it declines: " + a.refusal;
  out += a.serves() ? fmt::format("engine {} would serve it", a.order.front()) : std::string("no engine of it would serve the call");
  return out + (a.doubts.empty() ? "" : " (doubtful: " + a.doubts.front() + ")");
}

report::Candidate to_candidate(const CandidateResult& result, const std::optional<std::string>& selected, spec::Mode mode) {
  report::Candidate out;
  out.backend = result.candidate.name;
  out.layer = "backend";
  out.eligibility = eligibility_of(result.standing);
  out.fast = result.candidate.fast;
  out.grade = report::Grade::modelled;
  out.findings = to_report(result.findings, true);
  report::Attempt attempt;
  attempt.policy = "allow";
  attempt.mode = core::to_text(mode);
  attempt.outcome = selected && *selected == result.candidate.name ? report::Outcome::predicted
                    : result.standing == Standing::refused         ? report::Outcome::blocked
                                                                   : report::Outcome::not_tried;
  if (attempt.outcome == report::Outcome::predicted)
    for (std::string_view name : result.candidate.operators) {
      report::Operation operation;
      operation.name = name;
      operation.origin = "predicted";
      attempt.evidence.operators.push_back(operation);
    }
  out.attempts.push_back(std::move(attempt));
  return out;
}

report::Decision to_decision(const dispatch::Decision& d) {
  report::Decision out;
  out.policy = d.policy;
  out.order = d.order;
  for (const dispatch::Step& step : d.steps)
    out.steps.push_back({step.backend, std::string(core::to_text(step.action)), step.finding_ids});
  out.selected = d.selected;
  return out;
}

// The reason that the framework itself would name, in a few words.
std::string reason(const CandidateResult& result) {
  if (result.first_reason) return fmt::format("{}, {}", result.first_reason->id, result.first_reason->title);
  for (const rules::Finding& f : result.findings)
    if (f.rule->level == rules::Level::blocks && f.status != rules::Truth::met) return fmt::format("{}, {}", f.rule->id, f.rule->title);
  return "eligible, but behind in the order";
}

void add_reasons(const Diagnosis& d, report::Verdict& verdict) {
  for (const CandidateResult& c : d.candidates) {
    if (d.selected && *d.selected == c.candidate.name) continue;
    if (c.standing == Standing::eligible) continue;
    const char* word = c.standing == Standing::unknown ? "not decided, " : "";
    verdict.because.push_back(fmt::format("{}: {}{}", c.candidate.name, word, reason(c)));
  }
}

// Rules that slow the chosen candidate, or the call whatever is chosen.
std::vector<const rules::Finding*> slowing(const Diagnosis& d) {
  std::vector<const rules::Finding*> out;
  const CandidateResult* chosen = d.selected && !d.error ? d.find(*d.selected) : nullptr;
  if (!chosen) return out;
  for (const std::vector<rules::Finding>* list : {&d.call_findings, &chosen->findings})
    for (const rules::Finding& f : *list)
      if (f.rule->level == rules::Level::slows && f.status == rules::Truth::unmet) out.push_back(&f);
  return out;
}

bool slowed(const Diagnosis& d) { return !slowing(d).empty(); }

// The first fast candidate of the order that does not serve.
std::string first_miss(const Diagnosis& d) {
  if (d.priorities.empty()) return {};
  for (std::string_view name : d.priorities.front().order)
    if (const CandidateResult* c = d.find(name); c && c->candidate.fast && c->standing != Standing::eligible)
      return fmt::format("{}: {}", name, reason(*c));
  return {};
}

std::string unknown_facts(const Diagnosis& d, const facts::FactSet& facts) {
  std::string out;
  const auto add = [&](Id id) {
    const std::string name(facts::info(id).name);
    if (facts.known(id) || out.find(name) != std::string::npos) return;
    out += (out.empty() ? "" : ", ") + name;
  };
  for (const CandidateResult& c : d.candidates)
    for (const rules::Finding& f : c.findings)
      if (f.status == rules::Truth::unknown && f.rule->level == rules::Level::blocks) {
        for (Id id : rules::facts_read(f.rule->applies)) add(id);
        for (Id id : rules::facts_read(f.rule->requires_that)) add(id);
      }
  if (out.empty())
    for (Id id : {Id::torch_version, Id::compute_capability, Id::cudnn_version}) add(id);
  return out;
}

// What the chosen backend does not prevent: another meaning, other numbers, a hazard. Said before the reasons.
void add_cautions(const Diagnosis& d, report::Verdict& verdict) {
  std::vector<std::string> out;
  const auto add = [&](const std::vector<rules::Finding>& findings) {
    for (const rules::Finding& f : findings)
      if (f.status == rules::Truth::unmet && (f.rule->level == rules::Level::changes || f.rule->level == rules::Level::warns))
        out.push_back(fmt::format("take care: {}, {}", f.rule->id, f.rule->title));
  };
  add(d.call_findings);
  if (d.selected)
    if (const CandidateResult* selected = d.find(*d.selected)) add(selected->findings);
  verdict.because.insert(verdict.because.begin(), out.begin(), out.end());
}

// The layer above does not make the call: whatever would be chosen, the slow path runs.
bool rerouted(const Framework& framework, const Diagnosis& d, report::Verdict& v) {
  const auto ids = framework.rerouting();
  for (const rules::Finding& f : d.call_findings) {
    if (f.status != rules::Truth::unmet || std::find(ids.begin(), ids.end(), f.rule->id) == ids.end()) continue;
    v.status = report::Status::fallback;
    v.summary = fmt::format("{} is not asked: {}, {}", framework.name(), f.rule->id, f.rule->title);
    if (d.selected) {
      const CandidateResult* selected = d.find(*d.selected);
      const std::string miss = selected && !selected->candidate.fast ? first_miss(d) : "";
      v.because.insert(v.because.begin(), fmt::format("the call itself would be served by {}{}{}", *d.selected, miss.empty() ? "" : "; ", miss));
    }
    return true;
  }
  return false;
}

void set_verdict(const Framework& framework, const spec::OpSpec& spec, const Diagnosis& d, const facts::FactSet& facts, report::Case& c) {
  report::Verdict& v = c.verdict;
  v.grade = report::Grade::modelled;
  if (d.call_error) {
    v.status = report::Status::no_path;
    v.summary = fmt::format("the call fails: {}, {}", d.call_error->id, d.call_error->title);
    v.because.push_back(std::string(d.call_error->id));
    return;
  }
  add_reasons(d, v);
  if (d.undetermined) {
    v.status = report::Status::undetermined;
    v.summary = fmt::format("what {} would choose hangs on what is not known: {}", framework.name(), unknown_facts(d, facts));
    return;
  }
  if (d.error) {
    v.status = report::Status::no_path;
    const CandidateResult* failing = d.selected ? d.find(*d.selected) : nullptr;
    v.summary = failing ? fmt::format("{} is reached and the call fails: {}", *d.selected, reason(*failing))
                        : std::string("no backend takes the call");
    for (const rules::Finding& f : d.call_findings)
      if (f.rule->level == rules::Level::blocks && f.status == rules::Truth::unmet) v.because.push_back(fmt::format("{}, {}", f.rule->id, f.rule->title));
    return;
  }
  add_cautions(d, v);
  if (rerouted(framework, d, v)) return;
  const CandidateResult* selected = d.find(*d.selected);
  const std::vector<const rules::Finding*> slowers = slowing(d);
  for (const rules::Finding* f : slowers) v.because.push_back(fmt::format("{}: slowed, {}, {}", *d.selected, f->rule->id, f->rule->title));
  const std::string by = slowers.empty() ? std::string() : fmt::format("{}, {}", slowers.front()->rule->id, slowers.front()->rule->title);
  // A product with a hidden copy or cast is not the fast path, whichever kernel runs.
  if (selected->candidate.fast && !spec.is_attention() && product_cost(spec, d, *selected, facts, nullptr).extra_memory > 0) {
    v.status = report::Status::fallback;
    v.summary = fmt::format("{} would serve the call, with a hidden copy: {}", *d.selected, by);
  } else if (selected->candidate.fast) {
    v.status = report::Status::fast_path;
    v.summary = fmt::format("{} would serve the call{}", *d.selected, by.empty() ? "" : ", slowed by " + by);
  } else {
    v.status = report::Status::fallback;
    const std::string miss = first_miss(d);
    v.summary = miss.empty() ? fmt::format("falls back to {}", *d.selected) : fmt::format("falls back to {}; {}", *d.selected, miss);
  }
}

// The versions that a table of rules reads; tables are static, so each is looked through once a thread.
const std::vector<Id>& versions_read(std::span<const rules::Rule> table) {
  thread_local std::map<const rules::Rule*, std::vector<Id>> known;
  const auto [it, fresh] = known.try_emplace(table.data());
  if (!fresh) return it->second;
  const auto add = [&](const std::vector<Id>& ids) {
    for (Id id : ids)
      if (facts::info(id).type == facts::Type::version && std::find(it->second.begin(), it->second.end(), id) == it->second.end()) it->second.push_back(id);
  };
  for (const rules::Rule& rule : table) {
    add(rules::facts_read(rule.applies));
    add(rules::facts_read(rule.requires_that));
  }
  return it->second;
}

// Versions that the answer stands on, stated or assumed.
void add_versions(const Diagnosis& d, const facts::FactSet& facts, report::Case& c) {
  std::vector<Id> seen;
  for (const CandidateResult& result : d.candidates)
    for (Id id : versions_read(result.candidate.rules)) {
      if (!std::holds_alternative<facts::Version>(facts.value(id)) || std::find(seen.begin(), seen.end(), id) != seen.end()) continue;
      seen.push_back(id);
      std::string name(facts::info(id).name);
      if (const auto end = name.rfind("_version"); end != std::string::npos) name.erase(end);
      const bool option = name == "torch" || name == "cuda" || name == "cudnn";
      std::string named_by = option ? fmt::format("--{}-version", name) : fmt::format("--package-version {}=", name);
      c.versions.push_back({std::move(name), facts::to_text(facts.value(id)), std::move(named_by), facts[id].provenance == facts::Provenance::assumed});
    }
}

void add_assumed(report::Case& c) {
  for (const report::VersionRead& v : c.versions)
    if (v.assumed) c.verdict.because.push_back(fmt::format("{} {} is assumed; name one with {}", v.name, v.value, v.option));
}

void add_confidence(const Framework& framework, const Diagnosis& d, const facts::FactSet& facts, report::Case& c) {
  if (!d.priorities.empty() && !d.priorities.front().reason.empty())
    c.verdict.because.push_back((d.priorities.front().reason.starts_with("order") ? "" : "order: ") + d.priorities.front().reason);
  const Id version = d.candidates.empty() ? Id::torch_version : d.candidates.front().candidate.version;
  const bool has_version = std::holds_alternative<facts::Version>(facts.value(version));
  c.verdict.because.push_back(fmt::format("rules of {}{}: {} confidence, {}", framework.name(), has_version ? " " + facts::to_text(facts.value(version)) : std::string(),
                                          core::to_text(d.confidence.confidence), d.confidence.text));
}

}  // namespace

facts::FactSet what_if_facts(const spec::OpSpec& spec, const facts::DeviceProfile* target, const facts::FactSet* derived) {
  facts::FactSet facts = derived ? *derived : facts::derive_facts(spec);
  if (target) {
    facts::apply(*target, facts);
  } else if (!spec.context.target.empty()) {
    if (const auto found = facts::find_profile(spec.context.target)) facts::apply(*found, facts);
  }
  facts::Version version;
  if (spec.context.framework == "torch" && !facts.known(Id::torch_version) && facts::Version::parse(assumed_torch, version))
    facts.set(Id::torch_version, version, facts::Provenance::assumed, "newest release that the rules were read from");
  if (spec.context.framework == "native" && spec.is_attention() && !facts.known(Id::cudnn_version) && facts::Version::parse(assumed_cudnn, version))
    facts.set(Id::cudnn_version, version, facts::Provenance::assumed, "release that the rules were measured with");
  return facts;
}

report::Case what_if(const spec::OpSpec& spec, const std::string& id, const Framework& framework, const facts::DeviceProfile* target,
                     const WhatIfOptions& options) {
  report::Case c;
  c.id = id;
  spec::OpSpec placed = spec;
  if (target) placed.context.target = target->name;
  if (options.canonical && !options.brief) c.spec_json = options.canonical(placed);
  if (options.repro) c.repro = options.repro(placed);
  c.title = report::title_of(c.repro);
  if (!framework.serves(placed)) {
    c.problems.push_back(fmt::format("{} has no dispatcher for this operator", framework.name()));
    c.verdict.summary = c.problems.back();
    c.exit_code = 5;
    return c;
  }
  facts::FactSet facts = what_if_facts(placed, target, options.derived);
  std::vector<std::string> notes;
  add_mask_content(placed, facts, notes);
  framework.add_facts(placed, facts);
  Diagnosis d = frameworks::diagnose_placed(framework, placed, facts, options.with_met);
  const std::optional<Answer> answer = ask(d, placed, target, options, facts);
  if (answer) d = frameworks::diagnose_placed(framework, placed, facts, options.with_met);
  c.findings = to_report(d.call_findings, true);
  if (answer && !answer->asked.answered()) {
    for (const rules::Rule& rule : dispatch::asked_rules())
      if (rule.id == "RUL013") c.findings.push_back(to_report(rules::evaluate(rule, facts)));
  }
  facts.clear(Id::run_backend);  // the library's word is in the report in full
  if (!options.brief) c.facts = to_report(facts);
  for (const CandidateResult& result : d.candidates) {
    c.candidates.push_back(to_candidate(result, d.error ? std::nullopt : d.selected, placed.mode));
    if (answer && answer->candidate == result.candidate.name) add_answer(*answer, c.candidates.back());
  }
  c.decision = to_decision(d.decision);
  set_verdict(framework, placed, d, facts, c);
  for (const report::Candidate& candidate : c.candidates)
    if (candidate.grade == report::Grade::asked && c.decision.selected == candidate.backend) c.verdict.grade = report::Grade::asked;
  if (answer && answer->asked.answered()) c.verdict.because.push_back(in_a_word(answer->asked, facts));
  add_confidence(framework, d, facts, c);
  add_versions(d, facts, c);
  if (!options.brief) add_assumed(c);
  c.verdict.because.insert(c.verdict.because.end(), notes.begin(), notes.end());
  add_cost(placed, d, facts, target, c);
  // Nothing to propose where a fast backend is chosen already and not slowed, even if the layer above does not ask it.
  const CandidateResult* chosen = d.selected && !d.error ? d.find(*d.selected) : nullptr;
  if (options.fix || (!options.brief && (!(chosen && chosen->candidate.fast) || slowed(d)))) add_fixes(placed, framework, target, facts, options, c);
  if (placed.policy.force && (!d.selected || d.error)) c.exit_code = 3;
  return c;
}

}  // namespace dd::session
