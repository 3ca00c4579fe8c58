// The gate: what --require asks for, held against a case.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "session/cost.hpp"
#include "session/verdict.hpp"

namespace dd::session {
namespace {

using report::Attempt;
using report::Candidate;
using report::Case;
using report::Outcome;
using report::Status;

constexpr std::string_view slowdown_prefix = "slowdown=";

// The verdict speaks of the first mode; a requirement holds only where every mode that ran keeps it.
std::string broken_in_another_mode(const Case& c, const Candidate& selected, const std::function<bool(const Candidate&)>& keeps) {
  const Attempt* own = attempt_under(selected, "allow");
  for (const Candidate& other : c.candidates)
    for (const Attempt& a : other.attempts)
      if (own && a.policy == own->policy && a.mode != own->mode && a.comparison && other.layer != "api" && !keeps(other))
        return fmt::format("in mode {} {} served the call", a.mode, other.backend);
  return {};
}

// A performance requirement: decided only where the noise leaves no doubt on which side of the limit the ratio lies.
report::Requirement check_slowdown(const Case& c, const Requirement& r) {
  report::Requirement out{r.text, "unknown", {}};
  const Candidate* selected = selected_of(c);
  if (!selected) {
    out.detail = "no backend served the call";
    return out;
  }
  const Cost cost = cost_of(c, *selected);
  if (!cost.own) {
    out.detail = fmt::format("{} was not measured", selected->backend);
  } else if (!cost.best) {
    out.status = "met";  // it is the only one, and so the quickest
  } else {
    const double low = cost.ratio() / (1 + cost.noise), high = cost.ratio() * (1 + cost.noise);
    if (high <= r.ratio || cost.ratio() <= 1) out.status = "met";
    else if (low > r.ratio) out.status = "unmet";
    const std::string seen = fmt::format("{} took {:.2f} times as long as {}", selected->backend, cost.ratio(), cost.best_name);
    if (out.status == "unmet") out.detail = seen;
    if (out.status == "unknown") out.detail = fmt::format("{}, with noise between {:.2f} and {:.2f}", seen, low, high);
  }
  return out;
}

report::Requirement check(const Case& c, const Requirement& r) {
  if (r.kind == Requirement::Kind::slowdown) return check_slowdown(c, r);
  report::Requirement out{r.text, "unknown", {}};
  const auto set = [&](bool met, std::string detail) {
    out.status = met ? "met" : "unmet";
    out.detail = met ? "" : std::move(detail);
  };
  const Status status = c.verdict.status;
  if (r.kind == Requirement::Kind::close) {
    bool off = false, close = false;
    for (const Candidate& candidate : c.candidates)
      for (const Attempt& a : candidate.attempts) {
        off = off || a.outcome == Outcome::off;
        close = close || a.outcome == Outcome::matched;
      }
    if (off) set(false, "a result is not close to the reference");
    else if (close) set(true, {});
    else out.detail = "no result could be judged";
    return out;
  }
  if (status == Status::undetermined) {
    out.detail = c.verdict.summary;
    return out;
  }
  const Candidate* selected = selected_of(c);
  const bool fast = r.kind == Requirement::Kind::fast;
  const auto keeps = [&](const Candidate& k) { return fast ? k.fast : std::find(r.backends.begin(), r.backends.end(), k.backend) != r.backends.end(); };
  const bool here = fast ? status == Status::fast_path || (status == Status::wrong_result && selected && selected->fast) : selected && keeps(*selected);
  const std::string elsewhere = here && selected ? broken_in_another_mode(c, *selected, keeps) : std::string();
  if (!elsewhere.empty()) set(false, elsewhere);
  else if (fast) set(here, c.verdict.summary);
  else set(here, selected ? fmt::format("{} was chosen, not {}", *c.decision.selected, fmt::join(r.backends, ", ")) : "no backend served the call");
  return out;
}

}  // namespace

core::Result<Requirement> parse_requirement(std::string_view text) {
  Requirement r;
  r.text = text;
  if (text == "fast") return r;
  if (text == "close") {
    r.kind = Requirement::Kind::close;
    return r;
  }
  if (text.substr(0, slowdown_prefix.size()) == slowdown_prefix) {
    const std::string number(text.substr(slowdown_prefix.size()));
    char* end = nullptr;
    r.kind = Requirement::Kind::slowdown;
    r.ratio = std::strtod(number.c_str(), &end);
    if (!number.empty() && *end == 0 && std::isfinite(r.ratio) && r.ratio >= 1) return r;
  }
  constexpr std::string_view prefix = "backend=";
  if (text.substr(0, prefix.size()) == prefix) {
    r.kind = Requirement::Kind::backend;
    text.remove_prefix(prefix.size());
    while (!text.empty()) {
      const std::size_t comma = text.find(',');
      if (comma != 0) r.backends.emplace_back(text.substr(0, comma));
      text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
    }
    if (!r.backends.empty()) return r;
  }
  return core::Problem{"--require", r.text, "fast, close, backend=NAME[,NAME] or slowdown=RATIO", "no such requirement", {}, 0};
}

void check_requirements(Case& c, std::span<const Requirement> requirements, bool unknown_passes) {
  c.requirements.clear();
  for (const Requirement& r : requirements) {
    report::Requirement checked = check(c, r);
    if (checked.status == "unknown" && unknown_passes) checked.detail += checked.detail.empty() ? "passed by --unknown pass" : "; passed by --unknown pass";
    c.requirements.push_back(std::move(checked));
  }
}

int requirements_code(const Case& c) {
  int code = 0;
  for (const report::Requirement& r : c.requirements) {
    const bool passed = r.status == "met" || (r.status == "unknown" && r.detail.find("--unknown pass") != std::string::npos);
    if (passed) continue;
    const bool performance = r.status == "unmet" && r.text.compare(0, slowdown_prefix.size(), slowdown_prefix) == 0;
    if (!performance) return 3;
    code = 6;
  }
  return code;
}

}  // namespace dd::session
