// Attempts at one case: one inputs file and one output area serve them all. An attempt poisons the area, has a worker run
// the backend into it, and judges what came out against the reference.
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "compare/compare.hpp"
#include "ops/cases/cases.hpp"
#include "report/report.hpp"
#include "session/mapped_file.hpp"
#include "session/scratch.hpp"
#include "session/settings.hpp"
#include "session/supervisor.hpp"

namespace dd::session {

struct AttemptRequest {
  const WorkerKind* worker = nullptr;
  std::string backend;
  std::string policy = "force";
  spec::Mode mode = spec::Mode::eager;
  std::vector<std::string> allowed;
};

struct Told {  // what a worker says besides the attempt itself
  std::string which;                   // the backend that served the call; empty when the evidence does not tell
  std::vector<BackendAnswer> answers;  // of the framework's own queries
  std::optional<report::Asked> asked;  // what the backend's library said of the call
};

// Multiply-adds of the call.
double work_of(const spec::OpSpec& spec, const core::TensorMap& inputs);

class CaseRun {
 public:
  // Writes the inputs file. `spec` and `inputs` must outlive the object.
  static core::Result<std::unique_ptr<CaseRun>> make(const spec::OpSpec& spec, std::string spec_json, const core::TensorMap& inputs,
                                                     const Settings& settings, Supervisor& supervisor, std::shared_ptr<Scratch> scratch);
  ~CaseRun();

  // Runs and compares; under settings.bench a matched attempt is timed by a second job.
  report::Attempt attempt(const AttemptRequest& request, const ops::cases::ReferenceValues& reference, Told* told = nullptr);
  // Without comparison, for the exact pass. What the area holds afterwards is output().
  Reply run(const AttemptRequest& request, bool bench);
  core::Tensor output() const;          // a view of the area
  bool interrupted() const { return interrupted_; }

 private:
  CaseRun(const spec::OpSpec& spec, const core::TensorMap& inputs, const Settings& settings, Supervisor& supervisor)
      : spec_(spec), inputs_(inputs), settings_(settings), supervisor_(supervisor) {}
  report::Comparison judge(const ops::cases::ReferenceValues& reference) const;
  std::int64_t damage() const;
  void poison();

  const spec::OpSpec& spec_;
  const core::TensorMap& inputs_;
  const Settings& settings_;
  Supervisor& supervisor_;
  std::string spec_json_;
  std::shared_ptr<Scratch> scratch_;
  std::string inputs_name_, output_name_;
  ops::cases::OutputLayout layout_;
  std::int64_t data_bytes_ = 0;
  std::shared_ptr<MappedFile> area_;
  bool interrupted_ = false;
};

// The exact pass of a matrix product: whole numbers small enough that every partial sum is exact, so that any difference
// is an error of indexing or of a hidden cast, not of rounding. Its inputs and reference are made at the first use.
class ExactPass {
 public:
  ExactPass(const spec::OpSpec& spec, std::string spec_json, const Settings& settings, Supervisor& supervisor, std::shared_ptr<Scratch> scratch);
  ~ExactPass();
  // Into exact_pass of a matched attempt: "exact", "3 of 64 differ" (then it is off), why it was not run, or empty for calls
  // without an exact pass. A backend that crashes, hangs or runs out of memory over it has not matched.
  void check(const AttemptRequest& request, report::Attempt& attempt);

 private:
  bool applies() const;
  void prepare();
  const spec::OpSpec& spec_;
  std::string spec_json_;
  const Settings& settings_;
  Supervisor& supervisor_;
  std::shared_ptr<Scratch> scratch_;
  bool prepared_ = false;
  std::string why_not_;
  core::TensorMap inputs_;
  ops::cases::ReferenceValues reference_;
  std::unique_ptr<CaseRun> run_;
};

}  // namespace dd::session
