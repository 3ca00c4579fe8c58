// What the cases of every dispatcher share: memory check, inputs and reference, one attempt with comparison, findings on what
// a run showed, and the end of a case. The dispatchers themselves are in diagnose.cpp (ours) and framework_case.cpp.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dispatch/dispatch.hpp"
#include "session/attempt.hpp"
#include "session/estimate.hpp"
#include "session/save.hpp"
#include "session/settings.hpp"

namespace dd::session {

bool ran(report::Outcome outcome);  // matched, off or mistrusted
// Whether a call for this target can be executed here at all: a processor, or a GPU by number; a profile's name cannot.
bool on_this_machine(const std::string& target);
report::Attempt not_run(const std::string& policy, spec::Mode mode, report::Outcome outcome, std::string code, std::string text, std::string source);

class CaseWork {
 public:
  CaseWork(const spec::OpSpec& spec, const std::string& id, const Services& services, const Settings& settings, Supervisor& supervisor,
           std::shared_ptr<Scratch> scratch);

 protected:
  struct Entry {  // a candidate on its way into the report
    const backends::Backend* backend = nullptr;  // of ours; absent for those of a framework
    facts::FactSet facts;
    std::vector<rules::Finding> findings;
    report::Candidate out;
    bool blocked = false;
  };

  bool fits();                                     // else the case has a problem with the figures
  bool make_reference(bool with_dropout_keep);     // inputs, reference, and the files that workers see
  bool refuse(const core::Problems& problems);     // always false
  bool stopped() const;
  report::Attempt run_attempt(const AttemptRequest& request, Told* told = nullptr);
  // Rule against library, and what the comparison says, as findings of the candidate; each once.
  void hold_against_rules(Entry& e, const report::Attempt& a);
  // What was recorded of an attempt on a GPU, and eager against captured, as findings (case_recording.cpp).
  void hold_recording(Entry& e, const report::Attempt& a);
  void hold_modes(Entry& e);
  void hold_gradients(Entry& e, const report::Comparison& c);
  void take_decision(const dispatch::Decision& decision);
  Entry* entry(std::string_view name);
  bool is_fallback(const std::string& name);       // no fast path where this call has one
  void name_absent();                              // backends that the policy names and that are no candidate here
  report::Case finish();

  const spec::OpSpec& spec_;
  const Services& services_;
  const Settings& settings_;
  Supervisor& supervisor_;
  std::shared_ptr<Scratch> scratch_;
  double begin_;
  report::Case case_;
  Estimate estimate_;
  facts::FactSet facts_;
  std::vector<Entry> entries_;
  core::TensorMap inputs_;
  ops::cases::ReferenceValues reference_;
  void add_limits(report::Timing& timing) const;   // of the device, where its profile is known
  void add_found(Entry& e, std::span<const rules::Rule> rules);
  std::optional<spec::OpSpec> lowered_;  // the call as autocast makes it; what run_ and exact_ compare with
  std::unique_ptr<CaseRun> run_;
  std::optional<ExactPass> exact_;
  std::optional<TensorSaver> saver_;
};

}  // namespace dd::session
