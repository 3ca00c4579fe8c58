// Attempts on a GPU: what became of recording their kernels, whether the replayed graph runs those of the eager call, and
// how the time stands to the limits of the device.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "dispatch/dispatch.hpp"
#include "evidence/cupti.hpp"
#include "facts/profiles.hpp"
#include "session/case_work.hpp"
#include "session/findings.hpp"
#include "session/roofline.hpp"

namespace dd::session {
namespace {

using facts::Id;
using facts::Provenance;

std::map<std::string, std::int64_t> kernel_counts(const report::Evidence& evidence) {
  std::map<std::string, std::int64_t> out;
  for (const report::Operation& o : evidence.kernels) out[o.name] += o.count;
  return out;
}

std::string listed(const std::map<std::string, std::int64_t>& kernels) {
  std::string out;
  for (const auto& [name, count] : kernels) out += fmt::format("{}{}{}", out.empty() ? "" : ", ", name.substr(0, 120), count > 1 ? fmt::format(" x{}", count) : "");
  return out;
}

const report::Attempt* ran_in(const report::Candidate& c, std::string_view mode) {
  const report::Attempt* found = nullptr;
  for (const report::Attempt& a : c.attempts)
    if (a.mode == mode && ran(a.outcome) && (!found || a.policy == "force")) found = &a;
  return found;
}

template <class T>
std::int64_t integer_of(const facts::FactSet& facts, Id id, T otherwise) {
  const auto* value = std::get_if<std::int64_t>(&facts.value(id));
  return value ? *value : otherwise;
}

}  // namespace

void CaseWork::add_found(Entry& e, std::span<const rules::Rule> rules) {
  for (const rules::Rule& rule : rules) {
    const bool there = std::any_of(e.out.findings.begin(), e.out.findings.end(), [&](const report::Finding& f) { return f.id == rule.id; });
    if (there) continue;
    const rules::Finding found = rules::evaluate(rule, e.facts);
    if (found.status == rules::Truth::unmet) e.out.findings.push_back(to_report(found));
  }
}

void CaseWork::hold_recording(Entry& e, const report::Attempt& a) {
  const auto set = [&](Id id, facts::Value value, const std::string& from) { e.facts.set(id, std::move(value), Provenance::measured, from); };
  if (!a.evidence.recording.empty()) {
    set(Id::run_recording, a.evidence.recording, a.mode);
    const auto unseen = evidence::unseen_kernels(a.evidence);
    // After an error the recording may be cut short; that says nothing about the backend.
    if (ran(a.outcome)) set(Id::run_unseen, static_cast<std::int64_t>(unseen.size()), unseen.empty() ? a.mode : a.mode + ": " + unseen.front());
  }
  if (a.mode == "captured" && a.error && a.error->code == "cannot-capture") set(Id::run_captured, false, a.error->text);
  if (a.timing && !a.timing->throttle.empty()) set(Id::run_throttle, a.timing->throttle, "NVML, before and after");
  const auto traced = [](const report::Operation& o) { return o.origin == "CUPTI"; };
  if (ran(a.outcome) && std::any_of(a.evidence.kernels.begin(), a.evidence.kernels.end(), traced)) e.out.grade = report::Grade::traced;
  add_found(e, dispatch::recording_rules());
}

void CaseWork::hold_modes(Entry& e) {
  const report::Attempt *eager = ran_in(e.out, "eager"), *captured = ran_in(e.out, "captured");
  if (!eager || !captured) return;
  const auto one = kernel_counts(eager->evidence), other = kernel_counts(captured->evidence);
  if (one.empty() || other.empty()) return;  // nothing was seen in one of them, so nothing can be said
  e.facts.set(Id::run_same_kernels, one == other, Provenance::measured, fmt::format("eager: {}; captured: {}", listed(one), listed(other)));
  add_found(e, dispatch::recording_rules());
  for (report::Attempt& a : e.out.attempts)
    if (a.mode == "captured" && ran(a.outcome) && kernel_counts(a.evidence) == one) a.evidence.notes.push_back("the same kernels as in eager mode");
}

void CaseWork::add_limits(report::Timing& timing) const {
  const auto* name = std::get_if<std::string>(&facts_.value(Id::gpu_name));
  if (!name) return;
  const facts::DeviceProfile* device = facts::profile_of_gpu(*name, static_cast<int>(integer_of(facts_, Id::compute_capability, 0)),
                                                             static_cast<int>(integer_of(facts_, Id::sm_count, 0)), integer_of(facts_, Id::gpu_memory, 0));
  if (!device) return;
  const core::DType dtype = spec_.is_attention() ? spec_.attention().q.dtype : spec_.gemm().x.dtype;
  timing.limit_tflops = peak_rate(*device, dtype, spec_.flags.tf32).value_or(0) / 1e12;
  timing.limit_gbytes_per_second = static_cast<double>(device->get("memory_bandwidth").value_or(0)) / 1e9;
}

}  // namespace dd::session
