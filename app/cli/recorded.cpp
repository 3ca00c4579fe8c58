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

// The fix of the first reason against a fast backend, else of what makes the chosen one slow.
std::string fix_of(const report::Case& c) {
  const auto fix_in = [](const report::Candidate& k, const std::string& id) -> std::string {
    for (const report::Finding& f : k.findings)
      if ((id.empty() ? f.level == "slow" : f.id == id) && f.status == "unmet" && !f.fix.empty())
        return fmt::format("{} ({}, keeps the {})", f.fix, f.id, f.keeps == "meaning" ? "call, not its meaning" : f.keeps);
    return {};
  };
  for (const report::Step& step : c.decision.steps) {
    const report::Candidate* k = find(c, step.backend);
    if (!k || !k->fast || step.action == "chosen") continue;
    for (const std::string& id : step.finding_ids)
      if (std::string fix = fix_in(*k, id); !fix.empty()) return fix;
  }
  const report::Candidate* chosen = c.decision.selected ? find(c, *c.decision.selected) : nullptr;
  return chosen ? fix_in(*chosen, "") : "";
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
    if (status == Status::fast_path || status == Status::undetermined) return;
    if (status == Status::wrong_result) out.wrong_calls += calls;
    out.missed_calls += calls;
    missed_work_ += work;
    const auto site = extra.find("call_site");
    place(site == extra.end() ? "" : site->second, c, calls, work);
  }

  report::Recorded finish(std::string target) {
    out.target = std::move(target);
    out.missed_share = share(static_cast<double>(out.missed_calls), static_cast<double>(out.calls));
    out.missed_work_share = share(missed_work_, work_);
    out.undetermined_work_share = share(undetermined_work_, work_);
    std::stable_sort(places_.begin(), places_.end(), [](const Place& a, const Place& b) { return a.work > b.work; });
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
  void place(const std::string& where, const report::Case& c, std::int64_t calls, double work) {
    const std::string status(core::to_text(c.verdict.status));
    const std::string why = c.verdict.because.empty() ? c.verdict.summary : c.verdict.because.front();
    auto it = std::find_if(places_.begin(), places_.end(), [&](const Place& p) { return p.out.where == where && p.out.status == status && p.out.why == why; });
    if (it == places_.end()) it = places_.insert(places_.end(), Place{{where, c.title, status, why, fix_of(c), 0, 0, 0}, 0, 0});
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
