#include "cli/recorded.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>

namespace dd::cli {
namespace {

using report::Status;

const std::map<std::string, std::string>& extra_of(const spec::OpSpec& spec) {
  return spec.is_attention() ? spec.attention().extra : spec.gemm().extra;
}

double product(const spec::Dims& dims, std::size_t from_end) {
  double out = 1;
  for (std::size_t i = 0; i + from_end < dims.size(); ++i) out *= static_cast<double>(dims[i]);
  return out;
}

// Multiplications and additions of one call, the masked part included.
double work_of(const spec::OpSpec& spec) {
  if (spec.is_attention()) {
    const spec::Attention& a = spec.attention();
    const spec::AttentionDims q = spec::attention_dims(a.q.shape), k = spec::attention_dims(a.k.shape), v = spec::attention_dims(a.v.shape);
    return 2.0 * static_cast<double>(q.batch) * static_cast<double>(q.heads) * static_cast<double>(q.length) * static_cast<double>(k.length) *
           static_cast<double>(q.size + v.size);
  }
  const spec::Gemm& g = spec.gemm();
  if (g.x.shape.empty() || g.w.shape.empty()) return 0;
  const double batch = std::max(product(g.x.shape, 2), product(g.w.shape, 2));
  const double rows = g.x.shape.size() < 2 ? 1 : static_cast<double>(g.x.shape[g.x.shape.size() - 2]);
  return 2.0 * batch * rows * static_cast<double>(g.x.shape.back()) * static_cast<double>(g.w.shape.back());
}

double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

const report::Candidate* find(const report::Case& c, const std::string& backend) {
  const auto it = std::find_if(c.candidates.begin(), c.candidates.end(), [&](const report::Candidate& k) { return k.backend == backend; });
  return it == c.candidates.end() ? nullptr : &*it;
}

std::string with_keeps(const report::Finding& f) {
  const char* kept = f.keeps == "function" ? "keeps the function" : f.keeps == "precision" ? "keeps the function, not the precision" : "changes the meaning";
  return fmt::format("{} ({}, {})", f.fix, f.id, kept);
}

// What a fast backend did to its operands before it multiplied: then no other backend's reason is the cause.
const std::string* silent_conversion(const report::Case& c) {
  const auto it = std::find_if(c.verdict.because.begin(), c.verdict.because.end(), [](const std::string& b) { return b.find(" converted silently: ") != std::string::npos; });
  return it == c.verdict.because.end() ? nullptr : &*it;
}

// What slows the call although a fast backend serves it.
std::vector<const report::Finding*> slowing(const report::Case& c) {
  std::vector<const report::Finding*> out;
  const report::Candidate* chosen = c.decision.selected ? find(c, *c.decision.selected) : nullptr;
  for (const auto* list : {&c.findings, chosen ? &chosen->findings : nullptr})
    if (list)
      for (const report::Finding& f : *list)
        if (f.level == "slow" && f.status == "unmet") out.push_back(&f);
  return out;
}

// The layer above does not call the function at all: then the dispatcher's reasons are beside the point. The verdict names that rule.
const report::Finding* rerouting(const report::Case& c) {
  if (c.verdict.summary.find(" is not asked: ") == std::string::npos) return nullptr;
  for (const report::Finding& f : c.findings)
    if (f.status == "unmet" && c.verdict.summary.find(" is not asked: " + f.id) != std::string::npos) return &f;
  return nullptr;
}

// The reasons against every fast backend, as the verdict has them: whichever is easiest to clear is the author's to choose.
std::string why_missed(const report::Case& c) {
  if (const std::string* conversion = silent_conversion(c)) return *conversion;
  if (const report::Finding* f = rerouting(c)) {
    const auto call = std::find_if(c.verdict.because.begin(), c.verdict.because.end(), [](const std::string& b) { return b.starts_with("the call itself "); });
    return fmt::format("{}, {}{}", f->id, f->title, call == c.verdict.because.end() ? "" : "; " + *call);
  }
  std::string out;
  for (const std::string& because : c.verdict.because) {
    const report::Candidate* k = find(c, because.substr(0, because.find(':')));
    const bool figures = because.find(" GFLOP, ") != std::string::npos;  // what the call costs is no reason
    if (k && k->fast && !figures) out += (out.empty() ? "" : "; ") + because;
  }
  if (!out.empty()) return out;
  return c.verdict.because.empty() ? c.verdict.summary : c.verdict.because.front();
}

// A change that was proven by judging the changed call again, else the fix of the first reason against a fast backend, else of what
// makes the chosen one slow.
std::string fix_of(const report::Case& c) {
  if (const report::Finding* f = rerouting(c); f && !f->fix.empty()) return with_keeps(*f);
  for (const std::string& because : c.verdict.because)
    if (because.starts_with("fix: ")) return because.substr(5);
  if (silent_conversion(c)) {
    for (const report::Finding* f : slowing(c))
      if (!f->fix.empty()) return with_keeps(*f);
    return "hand the operand over in the layout and type that the kernel works on, so that the conversion goes away (keeps the function)";
  }
  const auto fix_in = [](const report::Candidate& k, const std::string& id) -> std::string {
    for (const report::Finding& f : k.findings)
      if ((id.empty() ? f.level == "slow" : f.id == id) && f.status == "unmet" && !f.fix.empty()) return with_keeps(f);
    return {};
  };
  for (const report::Step& step : c.decision.steps) {
    const report::Candidate* k = find(c, step.backend);
    if (!k || !k->fast || step.action == "chosen") continue;
    for (const std::string& id : step.finding_ids)
      if (std::string fix = fix_in(*k, id); !fix.empty()) return fix;
  }
  const report::Candidate* chosen = c.decision.selected ? find(c, *c.decision.selected) : nullptr;
  if (std::string fix = chosen ? fix_in(*chosen, "") : std::string(); !fix.empty()) return fix;
  // A call that fails: what the call itself, or the backend that raises, lacks.
  for (const report::Finding& f : c.findings)
    if (f.level == "blocked" && f.status == "unmet" && !f.fix.empty()) return with_keeps(f);
  for (const report::Candidate& k : c.candidates)
    for (const report::Finding& f : k.findings)
      if (k.fast && f.level == "blocked" && f.status == "unmet" && !f.fix.empty()) return with_keeps(f);
  return {};
}

// Sums over the cases of one target.
class Program {
 public:
  void add(const spec::OpSpec& spec, const std::string& count, const report::Case& c) {
    const auto& extra = extra_of(spec);
    std::int64_t calls = 0;
    std::from_chars(count.data(), count.data() + count.size(), calls);
    const double work = static_cast<double>(calls) * work_of(spec);
    const Status status = c.verdict.status;
    out.calls += calls;
    ++out.specs;
    work_ += work;
    if (status == Status::undetermined) {
      out.undetermined_calls += calls;
      undetermined_work_ += work;
    }
    if (status == Status::undetermined) return;
    const auto site = extra.find("call_site");
    const std::string where = site == extra.end() ? "" : site->second;
    if (status == Status::fast_path) {
      for (const report::Finding* f : slowing(c)) place(where, c, "slowed", fmt::format("{}, {}", f->id, f->title), f->fix.empty() ? "" : with_keeps(*f), calls, work);
      return;
    }
    if (status == Status::wrong_result) out.wrong_calls += calls;
    out.missed_calls += calls;
    missed_work_ += work;
    place(where, c, std::string(core::to_text(status)), why_missed(c), fix_of(c), calls, work);
  }

  report::Recorded finish(std::string target) {
    out.target = std::move(target);
    out.missed_share = share(static_cast<double>(out.missed_calls), static_cast<double>(out.calls));
    out.missed_work_share = share(missed_work_, work_);
    out.undetermined_work_share = share(undetermined_work_, work_);
    // What misses comes before what is merely slowed, each by its weight.
    std::stable_sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) {
      const bool a_slowed = a.out.status == "slowed", b_slowed = b.out.status == "slowed";
      return a_slowed != b_slowed ? b_slowed : a.work > b.work;
    });
    for (Place& p : places_) {
      p.out.work_share = share(p.work, work_);
      out.places.push_back(std::move(p.out));
    }
    return std::move(out);
  }

 private:
  struct Place {
    report::RecordedPlace out;
    double work = 0, heaviest = 0;
  };

  // Shapes that grow with the position in a text would fill the list with one and the same place.
  void place(const std::string& where, const report::Case& c, const std::string& status, const std::string& why, std::string fix, std::int64_t calls, double work) {
    auto it = std::find_if(places_.begin(), places_.end(), [&](const Place& p) { return p.out.where == where && p.out.status == status && p.out.why == why; });
    if (it == places_.end()) it = places_.insert(places_.end(), Place{{where, c.title, status, why, std::move(fix), 0, 0, 0}, 0, 0});
    it->out.calls += calls;
    ++it->out.specs;
    it->work += work;
    if (work > it->heaviest) {
      it->heaviest = work;
      it->out.title = c.title;
    }
  }

  report::Recorded out;
  std::vector<Place> places_;
  double work_ = 0, missed_work_ = 0, undetermined_work_ = 0;
};

}  // namespace

bool is_recorded(const spec::OpSpec& spec) { return extra_of(spec).count("count") > 0; }

std::vector<report::Recorded> recorded_program(const std::vector<session::BatchItem>& items, std::span<const report::Case> cases) {
  std::map<std::string, const session::BatchItem*> by_id;
  for (const session::BatchItem& item : items) by_id[item.id] = &item;
  std::vector<std::pair<std::string, Program>> programs;
  for (const report::Case& c : cases) {
    std::string target;
    auto it = by_id.find(c.id);
    // With several targets a case is called after its item and its target.
    if (const std::size_t cut = c.id.rfind('/'); it == by_id.end() && cut != std::string::npos) {
      target = c.id.substr(cut + 1);
      it = by_id.find(c.id.substr(0, cut));
    }
    if (it == by_id.end() || !it->second->spec) continue;
    const auto& extra = extra_of(*it->second->spec);
    const auto count = extra.find("count");
    if (count == extra.end()) continue;
    auto program = std::find_if(programs.begin(), programs.end(), [&](const auto& p) { return p.first == target; });
    if (program == programs.end()) program = programs.insert(programs.end(), {target, {}});
    program->second.add(*it->second->spec, count->second, c);
  }
  std::vector<report::Recorded> out;
  for (auto& [target, program] : programs) out.push_back(program.finish(target));
  return out;
}

}  // namespace dd::cli
