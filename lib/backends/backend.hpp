// Backend: one implementation that could serve the call, as a row of functions. The rules half (info, rules, facts) is
// pure and always built; the run half needs its library and may be absent (run == nullptr), which shows as unavailable.
// run() executes inside a worker process: it may crash there without harm. Stateless apart from opened libraries.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/tensor.hpp"
#include "report/report.hpp"
#include "report/timing.hpp"
#include "rules/rule.hpp"
#include "spec/spec.hpp"

namespace dd::backends {

struct RunRequest {
  const spec::OpSpec& spec;
  const core::TensorMap& inputs;  // q k v mask dropout_keep | x w bias scales zeros group_index x_scales, as the spec lays them out
  core::Tensor& out;              // poisoned, contiguous in the logical output shape, guard bands around it
  spec::Mode mode = spec::Mode::eager;
  int threads = 0;                // 0: all
  const report::BenchPlan* bench = nullptr;  // a backend on a device also times itself by the device's clock
};

struct RunResult {
  report::Outcome outcome = report::Outcome::matched;  // matched here means "ran": comparing is the parent's work
  std::optional<report::Error> error;                  // for refused, failed, unavailable, out_of_memory
  report::Evidence evidence;
  std::optional<report::Timing> timing;  // only when asked for
  std::optional<report::Asked> asked;    // what the library said of the call, engine by engine
};

struct Availability {
  bool available = true;
  std::string detail;             // version and path, or why not
  std::vector<std::string> finding_ids;
};

struct Backend {
  std::string_view name;          // printable and accepted name
  spec::Op op;
  std::string_view layer = "backend";
  std::string_view summary;       // one line
  std::string_view library;       // library it needs, or "own code"
  std::string_view device = "cpu";  // cpu or cuda
  bool quantized = false;         // serves quantized weights only
  bool dense = true;              // serves plain products
  bool fast = false;              // counts as the fast path
  int rank = 0;                   // default order, lower first
  int (*rank_for)(const spec::OpSpec&) = nullptr;  // where the default order depends on the call
  std::span<const rules::Rule> (*rules)() = nullptr;          // its own rows, which the catalogue lists
  std::span<const rules::Rule> (*all_rules)() = nullptr;      // with rows that the catalogue has from elsewhere; null: the same
  Availability (*probe)() = nullptr;                          // opens its library; cheap after the first call
  void (*add_facts)(facts::FactSet&) = nullptr;               // library facts (versions, kernel sets)
  void (*add_call_facts)(const spec::OpSpec&, facts::FactSet&) = nullptr;  // of the call as the library sees it; after add_facts
  std::int64_t (*extra_bytes)(const spec::OpSpec&) = nullptr;  // memory beyond inputs and output
  RunResult (*run)(const RunRequest&) = nullptr;

  int order_for(const spec::OpSpec& spec) const { return rank_for ? rank_for(spec) : rank; }
  // Every rule that a call is held against.
  std::span<const rules::Rule> judged_by() const { return all_rules ? all_rules() : rules(); }
};

// Every backend of this build, in default order (lib/backends/catalogue.cpp is the one list).
std::span<const Backend> all_backends();
const Backend* find_backend(std::string_view name, spec::Op op);

}  // namespace dd::backends
