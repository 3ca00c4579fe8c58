#include "session/rerouting.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace dd::session {
namespace {

const report::Candidate* named(const report::Case& c, const std::string& backend) {
  const auto it = std::find_if(c.candidates.begin(), c.candidates.end(), [&](const report::Candidate& k) { return k.backend == backend; });
  return it == c.candidates.end() ? nullptr : &*it;
}

// Where the call would not take the fast path either: what bars it.
std::string why_not_fast(const report::Case& c, const report::Candidate& chosen) {
  if (chosen.fast) return {};
  for (const report::Candidate& k : c.candidates)
    for (const report::Finding& f : k.findings)
      if (k.fast && f.level == "blocked" && f.status == "unmet") return fmt::format("; {}: {}, {}", k.backend, f.id, f.title);
  return {};
}

}  // namespace

const report::Finding* rerouting(const frameworks::Framework* framework, const std::vector<report::Finding>& findings) {
  if (!framework) return nullptr;
  const auto ids = framework->rerouting();
  const auto it = std::find_if(findings.begin(), findings.end(), [&](const report::Finding& f) {
    return f.status == "unmet" && std::find(ids.begin(), ids.end(), f.id) != ids.end();
  });
  return it == findings.end() ? nullptr : &*it;
}

void say_rerouting(report::Case& done, const frameworks::Framework& framework, const std::optional<std::string>& predicted, const std::string& why_not_here) {
  const report::Finding* f = rerouting(&framework, done.findings);
  if (!f || !done.problems.empty()) return;
  report::Verdict& v = done.verdict;
  const std::string not_run = why_not_here.empty() ? "" : fmt::format("not run ({}); by the rules alone: ", why_not_here);
  v.summary = fmt::format("{}{} is not asked: {}, {}", not_run, framework.name(), f->id, f->title);
  if (v.status == report::Status::fast_path) v.status = report::Status::fallback;
  std::vector<std::string> said;
  if (const report::Candidate* call = predicted ? named(done, *predicted) : nullptr) {
    const bool close = !call->attempts.empty() && call->attempts.front().policy == "force" && call->attempts.front().outcome == report::Outcome::matched;
    said.push_back(fmt::format("the call itself would be served by {}{}{}", *predicted, close ? ", which matched when it was forced" : "", why_not_fast(done, *call)));
  }
  said.push_back(fmt::format("fix: {} ({}, {})", f->fix, f->id, f->keeps == "meaning" ? "changes the meaning" : "keeps the " + f->keeps));
  v.because.insert(v.because.begin(), said.begin(), said.end());
}

}  // namespace dd::session
