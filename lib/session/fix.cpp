#include "session/fix.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "report/render/format.hpp"
#include "session/fix_parts.hpp"
#include "session/mask_file.hpp"
#include "session/roofline.hpp"

namespace dd::session {
namespace {

using rules::Change;
using rules::Keeps;
using rules::Rule;
using spec::OpSpec;

const Judged::Candidate* find(const Judged& judged, const std::string& name) {
  for (const Judged::Candidate& c : judged.candidates)
    if (c.name == name) return &c;
  return nullptr;
}

// Position in the order, past the end when it is not there.
std::size_t place(const Judged& judged, const std::optional<std::string>& name) {
  for (std::size_t i = 0; name && i < judged.candidates.size(); ++i)
    if (judged.candidates[i].name == *name) return i;
  return judged.candidates.size();
}

std::vector<Change> changes_of(const Judged::Candidate& candidate) {
  std::vector<Change> out;
  for (const std::vector<const Rule*>* list : {&candidate.blockers, &candidate.slowers})
    for (const Rule* rule : *list)
      for (Change change : rule->fix.changes)
        if (change != Change::none && std::find(out.begin(), out.end(), change) == out.end()) out.push_back(change);
  return out;
}

std::vector<std::string> ids(const Judged::Candidate& candidate) {
  std::vector<std::string> out;
  for (const Rule* rule : candidate.blockers) out.emplace_back(rule->id);
  return out;
}

std::vector<spec::TensorSpec> operands(const OpSpec& spec) {
  if (!spec.is_attention()) return {spec.gemm().x, spec.gemm().w};
  const spec::Attention& a = spec.attention();
  return {a.q, a.k, a.v};
}

// What the first of two changes copies and the second copies again: written once where both are made at a time.
double copied_twice(const OpSpec& spec, const std::vector<Edit>& edits) {
  if (edits.size() != 2 || edits[0].bytes <= 0 || edits[1].bytes <= 0) return 0;
  const auto before = operands(spec), between = operands(edits[0].spec), after = operands(edits[1].spec);
  double out = 0;
  for (std::size_t i = 0; i < before.size(); ++i)
    if (!(before[i] == between[i]) && !(between[i] == after[i])) out += bytes_of(between[i]);
  return std::min(out, edits[0].bytes);
}

Proposal make(const OpSpec& spec, const Judged::Candidate& candidate, std::vector<Edit> edits) {
  const double twice = copied_twice(spec, edits);
  Proposal p{candidate.name, false, ids(candidate), std::move(edits), Keeps::function, 0, 0, {}};
  for (const Edit& e : p.edits) {
    p.keeps = std::max(p.keeps, e.keeps);
    p.bytes += e.bytes;
    p.flops_percent += e.flops_percent;
  }
  p.bytes -= twice;
  return p;
}

bool cheaper(const Proposal& a, const Proposal& b) {
  const auto key = [](const Proposal& p) {
    // Another version of a library is a small text but a large change.
    const bool version = std::any_of(p.edits.begin(), p.edits.end(), [](const Edit& e) { return e.change == Change::change_version; });
    return std::make_tuple(p.keeps, p.edits.size(), version, p.flops_percent, p.bytes);
  };
  return key(a) < key(b);
}

bool reaches(const Judged& judged, const std::string& candidate) {
  return !judged.fails && judged.selected && *judged.selected == candidate;
}

bool contains(const std::vector<const Rule*>& list, const Rule* rule) {
  return std::any_of(list.begin(), list.end(), [&](const Rule* r) { return r->id == rule->id; });
}

// Chosen, with no reason to be slow that was not there before.
bool serves(const Judged::Candidate& before, const Judged& after) {
  const Judged::Candidate* now = find(after, before.name);
  return now && reaches(after, before.name) && std::all_of(now->slowers.begin(), now->slowers.end(), [&](const Rule* rule) { return contains(before.slowers, rule); });
}

// Keeps the best of each text and of each kind of change (the smallest padding, the first version).
void keep_best(std::vector<Proposal>& list, std::size_t most) {
  std::stable_sort(list.begin(), list.end(), cheaper);
  std::vector<Proposal> out;
  for (Proposal& p : list) {
    const auto same = [&](const Proposal& other) {
      return other.edits.size() == p.edits.size() && std::equal(p.edits.begin(), p.edits.end(), other.edits.begin(), [](const Edit& x, const Edit& y) {
               return x.change == y.change && x.keeps == y.keeps && x.change != Change::cast_dtype && x.change != Change::change_setting;
             });
    };
    if (out.size() < most && std::none_of(out.begin(), out.end(), same)) out.push_back(std::move(p));
  }
  list = std::move(out);
}

std::vector<Proposal> singles(const OpSpec& spec, const Judge& judge, const Judged::Candidate& candidate, const std::vector<Change>& changes) {
  std::vector<Proposal> out;
  for (Change change : changes)
    for (Edit& e : edits_for(change, spec, candidate.name)) {
      if (!serves(candidate, judge(e.spec))) continue;
      out.push_back(make(spec, candidate, {std::move(e)}));
      if (change == Change::change_version) break;  // the oldest that helps
    }
  return out;
}

// Still chosen, nothing new in its way, and at least one reason gone: the ids of those.
std::vector<std::string> taken_away(const Judged::Candidate& before, const Judged& after) {
  if (!serves(before, after)) return {};
  const Judged::Candidate* now = find(after, before.name);
  std::vector<std::string> out;
  for (const Rule* rule : before.slowers)
    if (!contains(now->slowers, rule)) out.emplace_back(rule->id);
  return out;
}

constexpr std::size_t most_tries = 400;

// Changes that make the chosen candidate faster: single ones, and pairs for a rule that no single one takes away.
class Lighter {
 public:
  Lighter(const OpSpec& spec, const Judge& judge, const Judged::Candidate& chosen) : spec_(spec), judge_(judge), chosen_(chosen) {}

  std::vector<Proposal> list() && {
    for (const Rule* rule : chosen_.slowers) {
      bool found = false;
      for (Change change : rule->fix.changes)
        for (Edit& e : edits_for(change, spec_, chosen_.name)) {
          if (!keep(*rule, {e})) continue;
          found = true;
          if (change == Change::change_version) break;  // the oldest that helps
        }
      if (!found) pairs(*rule);
    }
    return std::move(out_);
  }

 private:
  bool keep(const Rule& rule, std::vector<Edit> edits) {
    if (++tries_ > most_tries) return false;
    std::vector<std::string> gone = taken_away(chosen_, judge_(edits.back().spec));
    if (std::find(gone.begin(), gone.end(), rule.id) == gone.end()) return false;
    Proposal p = make(spec_, chosen_, std::move(edits));
    p.clears = std::move(gone);
    p.chosen_before = true;
    if (std::none_of(out_.begin(), out_.end(), [&](const Proposal& other) { return other.text() == p.text(); })) out_.push_back(std::move(p));
    return true;
  }

  void pairs(const Rule& rule) {
    const std::vector<Change>& changes = rule.fix.changes;
    for (std::size_t i = 0; i < changes.size(); ++i)
      for (std::size_t j = i + 1; j < changes.size(); ++j)
        for (const Edit& first : edits_for(changes[i], spec_, chosen_.name))
          for (const Edit& second : edits_for(changes[j], first.spec, chosen_.name))
            if (tries_ > most_tries) return;
            else keep(rule, {first, second});
  }

  const OpSpec& spec_;
  const Judge& judge_;
  const Judged::Candidate& chosen_;
  std::vector<Proposal> out_;
  std::size_t tries_ = 0;
};

std::vector<Proposal> pairs(const OpSpec& spec, const Judge& judge, const Judged::Candidate& candidate, const std::vector<Change>& changes) {
  std::vector<Proposal> out;
  std::size_t tries = 0;
  for (std::size_t i = 0; i < changes.size(); ++i)
    for (const Edit& first : edits_for(changes[i], spec, candidate.name))
      for (std::size_t j = i + 1; j < changes.size(); ++j)
        for (Edit& second : edits_for(changes[j], first.spec, candidate.name)) {
          if (++tries > most_tries) return out;
          if (serves(candidate, judge(second.spec))) out.push_back(make(spec, candidate, {first, std::move(second)}));
        }
  return out;
}

}  // namespace

std::string Proposal::text() const {
  std::string out;
  for (const Edit& e : edits) out += (out.empty() ? "" : ", and ") + e.text;
  out += chosen_before ? fmt::format(": {} is no longer held up by {}", candidate, fmt::join(clears, ", ")) : fmt::format(": {} becomes the chosen one", candidate);
  if (bytes > 0) out += fmt::format("; copies {}", bytes_text(bytes));
  if (flops_percent > 0) out += fmt::format("; {:.1f} per cent more arithmetic", flops_percent);
  return out + fmt::format("; keeps {}", core::to_text(keeps));
}

Judge judge_of(const frameworks::Framework& framework, const facts::DeviceProfile* target) {
  return [&framework, target](const OpSpec& spec) {
    const frameworks::Diagnosis d = frameworks::diagnose(framework, spec, what_if_facts(spec, target));
    Judged out;
    const auto add = [&](const frameworks::CandidateResult& c) {
      Judged::Candidate candidate{std::string(c.candidate.name), c.candidate.fast, c.standing == frameworks::Standing::eligible, {}, {}};
      for (const rules::Finding& f : c.findings) {
        if (f.status != rules::Truth::unmet) continue;
        if (f.rule->level == rules::Level::blocks) candidate.blockers.push_back(f.rule);
        if (f.rule->level == rules::Level::slows) candidate.slowers.push_back(f.rule);
      }
      out.candidates.push_back(std::move(candidate));
    };
    for (std::string_view name : d.priorities.front().order)
      if (const auto* c = d.find(name)) add(*c);
    for (const rules::Finding& f : d.call_findings)
      if (f.rule->level == rules::Level::slows && f.status == rules::Truth::unmet)
        for (Judged::Candidate& c : out.candidates) c.slowers.push_back(f.rule);
    out.fails = d.error || d.undetermined;
    out.selected = d.selected;
    if (d.call_error)
      for (Judged::Candidate& c : out.candidates) c.blockers.push_back(d.call_error);
    return out;
  };
}

std::vector<Proposal> propose(const OpSpec& spec, const Judge& judge, std::size_t most) {
  const Judged now = judge(spec);
  std::vector<Proposal> out;
  const std::size_t chosen = place(now, now.fails ? std::nullopt : now.selected);
  for (std::size_t i = 0; i < now.candidates.size(); ++i) {
    const Judged::Candidate& candidate = now.candidates[i];
    if (!candidate.fast) continue;
    // Behind a fast chosen one nothing is gained; before a slow one everything fast is.
    const Judged::Candidate* selected = now.fails || !now.selected ? nullptr : find(now, *now.selected);
    if (selected == &candidate && !candidate.slowers.empty()) {
      std::vector<Proposal> found = Lighter(spec, judge, candidate).list();
      keep_best(found, most);
      out.insert(out.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
    }
    if (selected && selected->fast && i >= chosen) continue;
    std::vector<Change> changes = changes_of(candidate);
    if (candidate.eligible) changes = {Change::change_policy};
    std::vector<Proposal> found = singles(spec, judge, candidate, changes);
    if (found.empty()) {
      // The way may also be barred by the order, or by an error of the call.
      if (std::find(changes.begin(), changes.end(), Change::change_policy) == changes.end()) changes.push_back(Change::change_policy);
      found = pairs(spec, judge, candidate, changes);
    }
    keep_best(found, most);
    out.insert(out.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  }
  std::stable_sort(out.begin(), out.end(), cheaper);
  return out;
}

void add_fixes(const OpSpec& spec, const frameworks::Framework& framework, const facts::DeviceProfile* target, const facts::FactSet& facts,
               const WhatIfOptions& options, report::Case& c) {
  std::vector<Proposal> proposals = propose(with_plain_mask(spec, facts), judge_of(framework, target));
  if (proposals.empty()) {
    if (c.verdict.status == report::Status::fast_path) return;  // nothing had to be made better
    c.verdict.because.push_back(std::string(report::no_change_helps) + " that the rules know makes a fast backend the chosen one");
    return;
  }
  for (Proposal& p : proposals) {
    if (options.fix) p.tried = try_on_reference(spec, p.edits.back().spec);
    std::string text = p.text();
    if (!p.tried.empty()) text += "; tried: " + p.tried;
    c.verdict.because.push_back("fix: " + text);
    for (report::Candidate& candidate : c.candidates)
      for (report::Finding& f : candidate.findings)
        if (candidate.backend == p.candidate && std::find(p.clears.begin(), p.clears.end(), f.id) != p.clears.end() && f.tried.empty()) f.tried = text;
  }
}

}  // namespace dd::session
