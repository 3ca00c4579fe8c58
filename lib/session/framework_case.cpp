#include "session/framework_case.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "dispatch/dispatch.hpp"
#include "frameworks/framework.hpp"
#include "frameworks/torch/environment.hpp"
#include "frameworks/torch/messages.hpp"
#include "ops/tensor/convert.hpp"
#include "session/answers.hpp"
#include "session/case_work.hpp"
#include "session/findings.hpp"
#include "session/interrupt.hpp"
#include "session/modes.hpp"
#include "session/rerouting.hpp"
#include "session/safetensors.hpp"

namespace dd::session {
namespace {

using facts::Id;
using report::Outcome;

constexpr const char* fails = "none, the call fails";
constexpr const char* written_out = "torch-written-out";  // the worker's name for products and a softmax in place of the call

// Rules that read nothing but the framework's own on/off switches.
bool about_switches(const rules::Rule& rule) {
  const auto read = rules::facts_read(rule.requires_that);
  return !read.empty() && std::all_of(read.begin(), read.end(), [](Id id) {
    return id == Id::flag_flash || id == Id::flag_efficient || id == Id::flag_cudnn || id == Id::flag_math;
  });
}

// What an interpreter printed before it died may be pages; in a line it is words.
std::string one_line(const std::string& text) {
  constexpr std::size_t most = 400;
  std::string out;
  for (const char c : text) {
    const bool space = c == ' ' || c == '\n' || c == '\t' || c == '\r';
    if (!space) out += c;
    else if (!out.empty() && out.back() != ' ') out += ' ';
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out.size() > most ? out.substr(0, most) + "..." : out;
}

frameworks::torch::WorkerState worker_state(const Hello* hello, const std::string& trouble, bool wants_gpu) {
  frameworks::torch::WorkerState state;
  state.started = hello != nullptr;
  state.detail = one_line(trouble);
  state.wants_gpu = wants_gpu;
  if (!hello) return state;
  const auto version = hello->versions.find("torch");
  facts::Version v;
  if (version != hello->versions.end() && facts::Version::parse(version->second, v)) state.torch = v;
  state.missing = !state.torch && (trouble.empty() || trouble.rfind("torch-missing", 0) == 0);
  if (state.missing && trouble.empty()) state.detail = "the worker found no torch";
  state.built_for_gpu = hello->versions.count("torch.cuda") > 0;
  const auto sees = hello->versions.find("torch.cuda_available");
  state.sees_gpu = sees != hello->versions.end() && sees->second == "true";
  return state;
}

bool of_torchao(const std::string& backend) { return backend.rfind("torchao-", 0) == 0; }

class FrameworkCase : CaseWork {
 public:
  using CaseWork::CaseWork;

  report::Case run() {
    framework_ = frameworks::find_framework(spec_.context.framework, spec_);
    worker_ = find_worker();
    if (!framework_ && !worker_) {
      case_.problems.push_back(fmt::format("context.framework: no framework of that name is known (seen {})", spec_.context.framework));
      return finish();
    }
    services_.add_facts(spec_, facts_);
    greet();
    predict();
    if (!why_not_here_.empty()) {
      settle_for_prediction();
    } else if (fits() && make_reference(true)) {
      add_torchao();
      let_it_choose(spec_.mode);
      force_each(spec_.mode);
      for (spec::Mode mode : spec_.further_modes) {
        if (mode == spec_.mode) continue;
        let_it_choose(mode);
        force_each(mode);
      }
    }
    case_.facts = to_report(facts_);
    const bool elsewhere = rerouted();
    const ModesCompared modes = compare_modes(by_mode_, [this](const std::string& name) { return is_fallback(name); });
    report::Case done = finish();
    if (elsewhere) say_rerouting(done, *framework_, undetermined_ || predicted_ == fails ? std::nullopt : predicted_, why_not_here_);
    done.verdict.because.insert(done.verdict.because.end(), modes.lines.begin(), modes.lines.end());
    done.verdict.summary += modes.difference;
    return done;
  }

 private:
  const WorkerKind* find_worker() const {
    for (const WorkerKind& kind : services_.workers)
      if (kind.name == spec_.context.framework) return &kind;
    return nullptr;
  }

  // Whether the worker can run this very call; its versions become facts. Else why_not_here_ says why.
  void greet() {
    if (!on_this_machine(spec_.context.target)) {
      why_not_here_ = fmt::format("{} is not on this machine", spec_.context.target);
      return;
    }
    if (!worker_) {
      why_not_here_ = fmt::format("no worker runs {} here", spec_.context.framework);
      return;
    }
    const auto hello = supervisor_.hello(*worker_);
    const std::string trouble = !hello ? core::to_text(hello.problems().front()) : hello->problem;
    const auto version = hello ? hello->versions.find(spec_.context.framework) : std::map<std::string, std::string>::const_iterator{};
    const bool has_version = hello && version != hello->versions.end();
    if (!environment_fits(hello ? &*hello : nullptr, trouble)) {
      // What this torch is stays known, so that the rules of its version answer.
      if (has_version && !spec_.context.torch) add_worker_facts(*hello, facts_, false);
      return;
    }
    if (!has_version) {
      why_not_here_ = trouble.empty() ? fmt::format("the worker found no {}", spec_.context.framework) : trouble;
      return;
    }
    facts::Version here, wanted;
    if (spec_.context.torch && spec_.context.framework == "torch" && facts::Version::parse(version->second, here) &&
        facts::Version::parse(*spec_.context.torch, wanted) && here != wanted) {
      why_not_here_ = fmt::format("torch {} is installed here, {} was asked for", version->second, *spec_.context.torch);
      return;
    }
    add_worker_facts(*hello, facts_, spec_.context.target.empty());
    torchao_here_ = hello->versions.count("torchao") > 0;
  }

  // Nothing of torch chooses it, so no rule of torch speaks of it: it is only forced, with the codes of the spec.
  void add_torchao() {
    const std::string_view layer = spec_.context.framework == "torch" && !spec_.is_attention() ? frameworks::torch::torchao_layer(spec_.gemm()) : "";
    const spec::Policy& p = spec_.policy;
    const auto names = [&](const std::vector<std::string>& list) { return std::find(list.begin(), list.end(), layer) != list.end(); };
    if (layer.empty() || (p.allow && !names(*p.allow)) || names(p.deny) || (p.force && *p.force != layer)) return;
    if (torchao_here_) entry_or_new(std::string(layer));
    else if (const auto found = frameworks::torch::torchao_finding(false, "")) case_.findings.push_back(to_report(*found));
  }

  // A layer is as fast as the kernel that it was seen to call, and not fast where it writes its weight out.
  void hold_torchao(Entry& e, const std::string& called, const report::Attempt& a) {
    if (const Entry* kernel = entry(called); kernel && kernel->out.fast && a.mode == core::to_text(spec_.mode)) e.out.fast = true;
    if (!a.error || a.error->code != "torchao-does-not-fit") return;
    const bool told = std::any_of(case_.findings.begin(), case_.findings.end(), [](const report::Finding& f) { return f.id == "ENV047"; });
    if (const auto found = frameworks::torch::torchao_finding(true, a.error->text); found && !told) case_.findings.push_back(to_report(*found));
  }

  // What is wrong with the interpreter's torch, as findings of the whole case; false when it cannot run this call.
  bool environment_fits(const Hello* hello, const std::string& trouble) {
    if (spec_.context.framework != "torch") return true;
    const auto found = frameworks::torch::environment_findings(worker_state(hello, trouble, spec_.context.target.rfind("cuda", 0) == 0));
    for (const rules::Finding& f : found) {
      case_.findings.push_back(to_report(f));
      if (why_not_here_.empty()) why_not_here_ = fmt::format("{}, {}", f.rule->id, f.rule->title);
    }
    return found.empty();
  }

  void predict() {
    if (!framework_ || !framework_->serves(spec_)) return;
    const frameworks::Diagnosis d = frameworks::diagnose(*framework_, spec_, facts_, settings_.with_met);
    for (report::Finding& f : to_report(d.call_findings, settings_.with_met)) case_.findings.push_back(std::move(f));
    for (const frameworks::CandidateResult& c : d.candidates) {
      Entry e;
      e.facts = facts_;
      e.findings = c.findings;
      e.out.backend = c.candidate.name;
      e.out.layer = "backend";
      e.out.fast = c.candidate.fast;
      const bool blocked = c.standing == frameworks::Standing::refused || c.standing == frameworks::Standing::raises;
      // What the rules say of this backend when it is forced: then its switch is on, and the call's own errors remain.
      const bool call_fails = d.call_error && !about_switches(*d.call_error);
      e.blocked = call_fails || std::any_of(c.findings.begin(), c.findings.end(), [](const rules::Finding& f) {
        return f.rule->level == rules::Level::blocks && f.status == rules::Truth::unmet && !about_switches(*f.rule);
      });
      e.out.eligibility = blocked ? "blocked" : c.standing == frameworks::Standing::unknown ? "unknown" : "eligible";
      entries_.push_back(std::move(e));
    }
    take_decision(d.decision);
    predicted_ = d.error ? std::optional<std::string>(fails) : d.selected;
    undetermined_ = d.undetermined;
    case_.decision.selected = d.error ? std::nullopt : d.selected;
  }

  // The layer above left the dispatcher for its own products. A compiler that recognised the attention has done what the rule asks for.
  bool rerouted() {
    const report::Finding* found = rerouting(framework_, case_.findings);
    const std::string which = case_.decision.selected.value_or("");
    if (!found || which == written_out || !why_not_here_.empty()) return found != nullptr;
    const Entry* e = entry(which);
    const std::string id = found->id;
    if (e && e->out.fast && spec_.mode == spec::Mode::compiled) std::erase_if(case_.findings, [&](const report::Finding& f) { return f.id == id; });
    return false;
  }

  // No run: the rules' word alone, marked as such.
  void settle_for_prediction() {
    for (Entry& e : entries_) {
      const auto ids = dispatch::ids_of(e.findings, rules::Level::blocks);
      std::string text;
      for (const std::string& id : ids) text += (text.empty() ? "" : " ") + id;
      const bool blocked = e.out.eligibility == "blocked";
      const Outcome outcome = blocked ? Outcome::blocked : Outcome::predicted;
      e.out.attempts.push_back(not_run("force", spec_.mode, outcome, blocked ? text : "not-run", blocked ? "a rule blocks it" : why_not_here_, "rules"));
    }
    if (entries_.empty()) {
      pseudo().out.attempts.push_back(not_run("allow", spec_.mode, Outcome::unavailable, "not-run", why_not_here_, "session"));
      case_.decision.policy = "allow";
    }
    if (undetermined_) case_.decision.selected.reset();
  }

  // The call itself, for what no backend name can be given.
  Entry& pseudo() {
    if (Entry* known = entry(spec_.context.framework)) return *known;
    Entry e;
    e.facts = facts_;
    e.out.backend = spec_.context.framework;
    e.out.layer = "api";
    e.out.eligibility = "unknown";
    entries_.push_back(std::move(e));
    return entries_.back();
  }

  Entry& entry_or_new(const std::string& name) {
    if (Entry* known = entry(name)) return *known;
    Entry e;
    e.facts = facts_;
    e.out.backend = name;
    e.out.layer = name == written_out ? "api" : "backend";
    e.out.eligibility = name == written_out ? "eligible" : "unknown";
    entries_.push_back(std::move(e));
    return entries_.back();
  }

  std::vector<std::string> allowed() const {
    const spec::Policy& p = spec_.policy;
    if (!p.allow && p.deny.empty() && !p.order) return {};
    std::vector<dispatch::Candidate> candidates;
    for (const Entry& e : entries_) candidates.push_back({e.out.backend, {}});
    std::vector<std::string> out;
    for (const std::string& name : dispatch::walk_order(p, candidates)) {
      const bool listed = !p.allow || std::find(p.allow->begin(), p.allow->end(), name) != p.allow->end();
      const bool denied = std::find(p.deny.begin(), p.deny.end(), name) != p.deny.end();
      if (listed && !denied) out.push_back(name);
    }
    return out;
  }

  // The framework's own words keep standing as they are; the rules that mean the same are named behind them.
  void name_rules(std::string& text, const std::string& backend) const {
    if (spec_.context.framework != "torch") return;
    const auto* version = std::get_if<facts::Version>(&facts_.value(Id::torch_version));
    std::string ids;
    for (std::string_view id : frameworks::torch::rules_of(text, backend, version)) ids += fmt::format("{}{}", ids.empty() ? "" : ", ", id);
    if (!ids.empty()) text += fmt::format(" [{}]", ids);
  }

  void translate(report::Attempt& a, const std::string& backend) const {
    if (a.error) name_rules(a.error->text, backend);
    for (std::string& note : a.evidence.notes)
      if (note.rfind("warning: ", 0) == 0) name_rules(note, backend);
  }

  // What the framework's own queries say, kept with the backends and held against the rules, in both directions.
  void hold_answers(std::vector<BackendAnswer>& answers) {
    for (BackendAnswer& given : answers) {
      report::Answer& a = given.answer;
      name_rules(a.text, given.backend);
      Entry* e = entry(given.backend);
      if (a.answer == "chosen") {
        const std::string word = e ? given.backend : std::string(fails);
        if (predicted_ && !undetermined_) answer_against_rules(case_.findings, facts_, a.query, word, *predicted_);
      } else if (e && e->out.eligibility != "unknown") {
        const bool eligible = e->out.eligibility == "eligible";
        answer_against_rules(e->out.findings, facts_, a.query, a.answer, eligible ? "yes" : "no", a.text);
      }
      if (e) e->out.answers.push_back(a);
    }
  }

  // The same answers against what ran: the choice of the whole call, and the support of one backend that was forced.
  void hold_choice(const std::vector<BackendAnswer>& answers, const std::string& which, const report::Attempt& a) {
    for (const BackendAnswer& given : answers)
      if (given.answer.answer == "chosen" && ran(a.outcome) && !which.empty())
        answer_against_run(case_.findings, facts_, given.answer.query, given.backend, which);
  }
  void hold_support(Entry& e, const std::vector<BackendAnswer>& answers, const report::Attempt& a) {
    if (!ran(a.outcome) && a.outcome != Outcome::refused) return;
    for (const BackendAnswer& given : answers)
      if (given.backend == e.out.backend && given.answer.answer != "chosen")
        answer_against_run(e.out.findings, facts_, given.answer.query, given.answer.answer, ran(a.outcome) ? "yes" : "no");
  }

  // The framework's own dispatcher under the caller's policy.
  void let_it_choose(spec::Mode mode) {
    if (spec_.policy.force) return;
    if (stopped()) {
      pseudo().out.attempts.push_back(not_run("allow", mode, Outcome::not_tried, "interrupted", "stopped by the user", "supervisor"));
      return;
    }
    Told told;
    report::Attempt a = run_attempt({worker_, "", "allow", mode, allowed()}, &told);
    const std::string& which = told.which;
    translate(a, "");
    const bool first = mode == spec_.mode;
    if (first) {
      hold_answers(told.answers);
      if (mode == spec::Mode::eager) hold_choice(told.answers, which, a);
    }
    note_difference(a);
    // In another mode a backend is named only where that mode's own evidence does; the eager answer proves nothing there.
    Entry& e = which.empty() ? pseudo() : entry_or_new(which);
    e.out.grade = report::Grade::ran;
    if (first) settle(e.out.backend, a);
    hold_against_rules(e, a);
    by_mode_.push_back({std::string(core::to_text(mode)), which, a});
    e.out.attempts.push_back(a);
  }

  // Two paths may both be close to the reference; how far they are from each other is what a program sees when the path changes.
  void note_difference(report::Attempt& a) {
    if (!ran(a.outcome)) return;
    core::Tensor out = contiguous_copy(run_->output());
    if (!default_output_) {
      if (a.policy == "allow") default_output_ = std::move(out);
      return;
    }
    double greatest = 0;
    const std::int64_t count = spec::element_count(out.shape).value_or(0);
    for (std::int64_t i = 0; i < count; ++i)
      greatest = std::fmax(greatest, std::fabs(ops::load(out.data(), out.dtype, i) - ops::load(default_output_->data(), default_output_->dtype, i)));
    a.evidence.notes.push_back(fmt::format("greatest difference to the default call: {:.3g}", greatest));
  }

  // What ran becomes the decision; the prediction is held against it.
  void settle(const std::string& which, const report::Attempt& a) {
    // A result that cannot be compared (dropout of the framework's own) still shows which backend ran.
    const bool served = ran(a.outcome) || (a.outcome == Outcome::unavailable && which != spec_.context.framework && !spec_.policy.force);
    const bool refused = a.outcome == Outcome::refused || a.outcome == Outcome::failed;
    if (predicted_ && !undetermined_ && !spec_.policy.force && !of_torchao(which) && !rerouting(framework_, case_.findings) && (served ? which != spec_.context.framework : refused)) {
      facts_.set(Id::chosen_backend, *predicted_, facts::Provenance::derived, "rules");
      facts_.set(Id::run_backend, served ? which : std::string(fails), facts::Provenance::measured, "run");
      for (const rules::Rule& rule : dispatch::outcome_rules()) {
        if (rule.id != "RUL003") continue;
        const rules::Finding found = rules::evaluate(rule, facts_, settings_.with_met);
        if (settings_.with_met || found.status != rules::Truth::met) case_.findings.push_back(to_report(found));
      }
    }
    if (!served) {
      case_.decision.selected.reset();
      for (report::Step& s : case_.decision.steps)
        if (s.action == "chosen") s.action = "failed";
      return;
    }
    if (case_.decision.selected != which) {
      case_.decision.steps.clear();
      case_.decision.steps.push_back({which, "chosen", {}});
    }
    case_.decision.selected = which;
    if (case_.decision.policy.empty()) case_.decision.policy = "allow";
  }

  // Each backend on its own. What a rule blocks is tried as well: the framework refuses by itself, and its answer is
  // what the rule is held against. Only the caller's policy is obeyed.
  void force_each(spec::Mode mode) {
    const std::size_t known = entries_.size();
    for (std::size_t i = 0; i < known; ++i) {
      Entry& e = entries_[i];
      if (e.out.layer == "api") continue;
      const auto ids = dispatch::ids_of(e.findings, rules::Level::blocks);
      const auto policy = std::find_if(ids.begin(), ids.end(), [](const std::string& id) { return id.rfind("POL", 0) == 0; });
      if (stopped()) {
        e.out.attempts.push_back(not_run("force", mode, Outcome::not_tried, "interrupted", "stopped by the user", "supervisor"));
      } else if (policy != ids.end()) {
        e.out.attempts.push_back(not_run("force", mode, Outcome::blocked, *policy, "the policy does not permit it", "rules"));
      } else {
        Told told;
        report::Attempt a = run_attempt({worker_, e.out.backend, "force", mode, {}}, &told);
        translate(a, e.out.backend);
        if (of_torchao(e.out.backend)) hold_torchao(e, told.which, a);
        note_difference(a);
        e.out.grade = report::Grade::ran;
        // A call that ends before any backend (an empty result) says nothing about the rules of this one.
        if (ran(a.outcome) && told.which.empty() && mode == spec::Mode::eager && spec_.is_attention() && !a.evidence.operators.empty()) {
          a.evidence.notes.push_back("the call returned without any backend");
        } else {
          hold_against_rules(e, a);
          if (mode == spec::Mode::eager) hold_support(e, told.answers, a);
        }
        if (spec_.policy.force && e.out.backend == *spec_.policy.force) {
          if (mode == spec_.mode) settle(e.out.backend, a);
          by_mode_.push_back({std::string(core::to_text(mode)), e.out.backend, a});
        }
        e.out.attempts.push_back(std::move(a));
      }
    }
  }

  const frameworks::Framework* framework_ = nullptr;
  const WorkerKind* worker_ = nullptr;
  std::string why_not_here_;
  std::optional<std::string> predicted_;
  bool undetermined_ = false;
  bool torchao_here_ = false;
  std::optional<core::Tensor> default_output_;
  std::vector<ModeRun> by_mode_;  // what the policy asked for, mode by mode
};

// "9.1.0", or the number that cuDNN's own function gives: 90100, before version 9 8906.
bool cudnn_version(const std::string& text, facts::Version& out) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return facts::Version::parse(text, out);
  const std::int64_t step = number >= 90000 ? 10000 : 1000;
  out = facts::Version::of(number / step, number % step / 100, number % 100);
  return number > 0;
}

}  // namespace

void add_worker_facts(const Hello& hello, facts::FactSet& facts, bool on_first_gpu) {
  const auto find = [&](const char* name) -> const std::string* {
    const auto it = hello.versions.find(name);
    return it == hello.versions.end() ? nullptr : &it->second;
  };
  const auto set = [&](Id id, facts::Value value) {
    if (!facts.known(id)) facts.set(id, std::move(value), facts::Provenance::measured, "worker");
  };
  facts::Version v;
  if (const auto* text = find("torch"); text && facts::Version::parse(*text, v)) set(Id::torch_version, v);
  if (const auto* text = find("torch.cuda"); text && facts::Version::parse(*text, v)) set(Id::cuda_version, v);
  if (const auto* text = find("torch.cudnn"); text && cudnn_version(*text, v)) set(Id::cudnn_version, v);
  const auto* sees_gpu = find("torch.cuda_available");
  // Without a target the framework's own default holds: the first GPU that it can use.
  if (sees_gpu && *sees_gpu == "true" && on_first_gpu) {
    facts.set(Id::target, std::string("cuda:0"), facts::Provenance::measured, "worker");
    facts.set(Id::device_type, std::string("cuda"), facts::Provenance::measured, "worker");
  }
  const auto* device = std::get_if<std::string>(&facts.value(Id::device_type));
  if (const auto* text = find("torch.compute_capability"); text && device && *device == "cuda") {
    // "9.0" -> 90
    int major = 0, minor = 0;
    if (std::sscanf(text->c_str(), "%d.%d", &major, &minor) == 2) set(Id::compute_capability, std::int64_t{10} * major + minor);
  }
}

report::Case diagnose_framework(const spec::OpSpec& spec, const std::string& id, const Services& services, const Settings& settings,
                                Supervisor& supervisor, const std::shared_ptr<Scratch>& scratch) {
  return FrameworkCase(spec, id, services, settings, supervisor, scratch).run();
}

}  // namespace dd::session
