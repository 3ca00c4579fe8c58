// Report: the one value that every output format renders. Plain data that mirrors the contract's JSON; it depends on
// nothing but core, so renderers see this header only. schema_version changes when a field changes meaning.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/text.hpp"

namespace dd::report {

constexpr int schema_version = 1;

enum class Outcome {
  matched, off, mistrusted, refused, blocked, failed, crashed, timed_out, out_of_memory, unavailable, not_tried, predicted
};
enum class Grade { modelled, asked, ran, traced };  // weakest first
enum class Status { fast_path, fallback, no_path, wrong_result, undetermined };

using Scalar = std::variant<std::monostate, bool, std::int64_t, double, std::string>;

struct Fact {
  std::string name;
  Scalar value;
  std::string unit, provenance;
};

struct Finding {
  std::string id, name, level, title, seen, required, effect, fix, keeps, blame, source, status;  // status: met|unmet|unknown
  std::string tried;  // result of --fix, empty when not tried
};

struct Worst {  // where the greatest error is
  double value = 0, limit = 0, got = 0, want = 0;
  std::vector<std::int64_t> index;
};

struct Gradient {  // one gradient of a training call against its own reference
  std::string tensor;
  std::int64_t mismatched = 0, total = 0;
  double error = 0, limit = 0;  // greatest error, and the limit at that element
};

struct Comparison {
  std::string verdict;  // close | off | mistrusted
  std::int64_t mismatched = 0, total = 0;
  Worst absolute, relative;
  std::int64_t nan_got = 0, nan_want = 0, inf_got = 0, inf_want = 0, zero_got = 0, zero_want = 0;
  std::int64_t unwritten = 0, guard_damaged = 0;  // poison left in the output; guard bytes changed
  double rtol = 0, atol = 0;
  std::string bound;         // how the limit was made: "error model, K = 64" or "rtol/atol given"
  std::string mistrust;      // why the data could not tell; empty otherwise
  std::string sampled;       // which part was compared when not all of it; empty otherwise
  std::string exact_pass;    // integer pass of a GEMM: "exact", "N of M differ", or empty when not run
  std::vector<Gradient> gradients;  // of a training call; empty when none was compared
};

struct Operation {  // an operator, library call or kernel that was observed
  std::string name, detail, origin;  // origin: profiler | library log | worker | graph | trace
  std::int64_t count = 1;
  std::optional<double> seconds;
};

struct Conversion {  // copy, cast, padding, layout change that a backend made silently
  std::string kind, what;
  std::int64_t bytes = 0;
};

struct Evidence {
  std::vector<Operation> operators, library_calls, kernels;
  std::vector<Conversion> conversions;
  std::vector<Operation> syncs;
  std::vector<std::string> notes;  // e.g. "scores materialised: 4 MiB"
  // Kernels of a device run: recorded | missing | not-permitted | failed; empty where nothing was to be recorded.
  std::string recording = {};
  std::string api;                 // the call in the framework's own words; empty for backends of this tool
};

struct Timing {
  int runs = 0;
  double median = 0, minimum = 0, spread = 0;  // seconds; spread: interquartile range over median
  std::string noise;                           // verdict on the noise, e.g. "quiet", "noisy"
  double tflops = 0, gbytes_per_second = 0;
  std::int64_t peak_bytes = 0;
  double limit_tflops = 0, limit_gbytes_per_second = 0;  // of the device, for this element type; 0: not known
  std::string method = {};                             // whose clock, and what was done between two runs
  std::string clocks_before = {}, clocks_after = {};   // of the device; empty where there is none
  std::string throttle = {};                           // none | unknown | why the device lowered its clocks
};

struct Error {
  std::string code, text, source;
};

struct AskedEngine {  // one engine of a library, asked on its own
  std::int64_t id = 0;
  std::string name;                // what is known about the engine of that number; may be empty
  bool accepted = false;
  bool offered = false;            // among the plans of the library's heuristics, which know the device
  std::int64_t workspace = -1;     // bytes; -1 not known
  std::vector<std::string> notes;  // behaviour notes
  std::string code, reason;        // when declined: the library's status and its own words
};

// A library's own answer to whether it would serve the call on a device, which need not be here.
struct Asked {
  std::string library, version, frontend, device;
  std::optional<Error> error;          // why there is no answer: unavailable, crashed, timed out, ...
  std::string refusal;                 // of the call as a whole, before any engine was asked
  std::vector<std::int64_t> order;     // engines that accept, as the heuristics rank them
  std::vector<AskedEngine> engines;
  std::vector<std::string> doubts;     // what in this answer is not to be relied on, and why
  bool answered() const { return !error; }
  bool serves() const { return !error && !order.empty(); }
};

struct Attempt {
  std::string policy;  // allow | force
  std::string mode;
  Outcome outcome = Outcome::not_tried;
  std::optional<Error> error;
  std::optional<Comparison> comparison;
  Evidence evidence;
  std::optional<Timing> timing;
  double seconds = 0;
};

struct Answer {  // what a library's own query said of a backend, before anything ran
  std::string query, answer, text;  // answer: yes | no | chosen; text: the library's reasons
};

struct Candidate {
  std::string backend, layer, eligibility;  // eligibility: eligible|blocked|unknown
  bool fast = false;                        // counts as the fast path
  Grade grade = Grade::modelled;
  std::vector<Finding> findings;
  std::vector<Attempt> attempts;
  std::optional<Asked> asked;
  std::vector<Answer> answers = {};
};

struct Step {
  std::string backend, action;
  std::vector<std::string> finding_ids;
};

struct Decision {
  std::string policy;
  std::vector<std::string> order;
  std::vector<Step> steps;
  std::optional<std::string> selected;
};

struct Verdict {
  Status status = Status::undetermined;
  Grade grade = Grade::modelled;
  std::string summary;                // one line for a tired engineer
  std::vector<std::string> because;   // finding ids, or sentences of evidence
};

struct Reference {
  std::string name, accumulate, error_bound, scope;  // scope: "all rows", "64 sampled rows of 8192"
  double seconds = 0;
};

struct Requirement {  // one --require and whether it held
  std::string text, status, detail;  // status: met|unmet|unknown
};

struct VersionRead {  // a version that the rules of a prediction looked at
  std::string name, value, option;  // option: what names another one
  bool assumed = false;             // the call states none
  bool operator==(const VersionRead&) const = default;
};

struct Case {
  std::string id;          // "1", or file:line
  std::string title;       // one-line form of the spec
  std::string spec_json;   // canonical spec, JSON text
  std::string repro;
  std::vector<Fact> facts;
  std::optional<Reference> reference;
  std::vector<Candidate> candidates;
  Decision decision;
  Verdict verdict;
  std::vector<Finding> findings;           // about the whole call (REQ, ENV, NUM)
  std::vector<Requirement> requirements;
  std::vector<VersionRead> versions;       // of predicted cases
  std::vector<std::string> problems;       // why this case could not be run at all (bad spec line)
  std::map<std::string, std::string> saved_tensors;  // role -> file
  int exit_code = 0;
  double seconds = 0;
};

struct Summary {
  int cases = 0, fast = 0, fallback = 0, no_path = 0, wrong = 0, undetermined = 0, errors = 0, tested = 0;  // errors: could not be run at all
};

struct TraceOperator {
  std::string name, operation, verdict, grade;  // operation: sdpa | gemm | conversion | other
  std::int64_t calls = 0;
  double seconds = 0, share = 0;
  std::vector<std::string> shapes, dtypes;
  std::vector<Operation> kernels;
  std::vector<Conversion> conversions;
};

struct TraceKernel {
  std::string name, provider, family, operation, tensor_cores, alignment, dtype, linked_by;
  std::int64_t count = 0;
  double seconds = 0, share = 0;
};

struct Trace {
  std::string file, format;
  bool partial = false;
  std::map<std::string, std::string> verdict;  // sdpa, gemm -> fast-path | fallback | mixed | none | cannot-tell
  std::string grade;
  std::vector<TraceOperator> operators;
  std::vector<TraceKernel> kernels;
  std::vector<Finding> findings;
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  // why the verdicts are what they are; what could be linked
  std::string details_json;        // counts behind the answer, JSON text
};

// One call on several targets or under several versions.
struct MatrixCell {
  std::string text;              // "chosen", "eligible", "unknown", or the ids that block
  std::vector<std::string> ids;  // of the rules behind it, in the order of the findings
  std::string standing;          // chosen | eligible | blocked | unknown
  bool chosen = false;
};

struct Matrix {
  std::string title;                          // the call
  std::vector<std::string> columns;           // backends, in the order met
  struct Row {
    std::string label;                        // target, or target and version
    std::vector<MatrixCell> cells;            // one per column; empty text: not a candidate there
    std::vector<VersionRead> versions;        // that the row stands on
    std::string verdict;
  };
  std::vector<Row> rows;
  std::map<std::string, std::string> legend;  // rule id -> title
};

struct RecordedPlace {  // calls from one place that miss the fast path for one reason
  std::string where, title, status, why, fix;  // title: of the heaviest spec; fix: with what it keeps
  std::int64_t calls = 0, specs = 0;
  double work_share = 0;  // of the program's arithmetic, 0 to 1
};

struct Recorded {  // what the specs of a recorded program say together; shares are 0 to 1
  std::string target;  // where several were asked for; else empty
  std::int64_t specs = 0;
  std::int64_t calls = 0, missed_calls = 0, undetermined_calls = 0, wrong_calls = 0;
  double missed_share = 0, missed_work_share = 0, undetermined_work_share = 0;
  std::vector<RecordedPlace> places;  // heaviest first
};

struct Report {
  std::string tool;                 // "dispatchdoctor 0.1.0"
  std::vector<std::string> argv;
  std::string environment_json;     // the environment record, redacted, JSON text
  int exit_code = 0;
  bool interrupted = false;
  Summary summary;
  std::vector<Case> cases;
  std::vector<Matrix> matrices;
  std::vector<Trace> traces;
  std::vector<Recorded> recorded;  // one a target, in the order of the targets; empty when no spec carries counts
};

}  // namespace dd::report

DD_ENUM_TEXT(dd::report::Outcome, {dd::report::Outcome::matched, "matched"}, {dd::report::Outcome::off, "off"},
             {dd::report::Outcome::mistrusted, "mistrusted"}, {dd::report::Outcome::refused, "refused"},
             {dd::report::Outcome::blocked, "blocked"}, {dd::report::Outcome::failed, "failed"},
             {dd::report::Outcome::crashed, "crashed"}, {dd::report::Outcome::timed_out, "timed-out"},
             {dd::report::Outcome::out_of_memory, "out-of-memory"}, {dd::report::Outcome::unavailable, "unavailable"},
             {dd::report::Outcome::not_tried, "not-tried"}, {dd::report::Outcome::predicted, "predicted"})
DD_ENUM_TEXT(dd::report::Grade, {dd::report::Grade::modelled, "modelled"}, {dd::report::Grade::asked, "asked"},
             {dd::report::Grade::ran, "ran"}, {dd::report::Grade::traced, "traced"})
DD_ENUM_TEXT(dd::report::Status, {dd::report::Status::fast_path, "fast-path"}, {dd::report::Status::fallback, "fallback"},
             {dd::report::Status::no_path, "no-path"}, {dd::report::Status::wrong_result, "wrong-result"},
             {dd::report::Status::undetermined, "undetermined"})
