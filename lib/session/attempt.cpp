#include "session/interrupt.hpp"
#include "session/attempt.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "compare/guard.hpp"
#include "ops/tensor/convert.hpp"
#include "session/safetensors.hpp"
#include "session/verdict.hpp"

namespace dd::session {
namespace {

using report::Outcome;

// File names are unique in the process: a worker that still maps an old file must never meet a new one of that name.
std::string next_name(const char* what) {
  static std::atomic<std::int64_t> counter{0};
  return fmt::format("{}-{}", what, ++counter);
}

// What libraries printed is evidence, cut to what a reader will look at.
void add_printed(report::Evidence& evidence, const std::string& printed) {
  constexpr std::size_t most = 2000;
  if (printed.find_first_not_of(" \n\r\t") == std::string::npos) return;
  std::string text = printed.substr(0, most);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  if (printed.size() > most) text += fmt::format(" … ({} bytes in all)", printed.size());
  evidence.notes.push_back("printed: " + text);
}

// A training call is close when its gradients are as well.
void add_gradients(report::Comparison& c, std::vector<report::Gradient> gradients) {
  for (const report::Gradient& g : gradients)
    if (g.mismatched > 0) c.verdict = "off";
  c.gradients = std::move(gradients);
}

Outcome judged(const report::Comparison& c) {
  if (c.verdict == "off") return Outcome::off;
  return c.verdict == "close" ? Outcome::matched : Outcome::mistrusted;
}

// A call that was close once and then crashed, hung or ran out of memory is a fault of the backend all the same.
void take_fault(const Reply& again, const char* where, report::Attempt& a) {
  if (!faulted(outcome_of(again))) return;
  a.outcome = outcome_of(again);
  a.error = error_of(again);
  if (a.error) a.error->text = fmt::format("{}, after a first run that was close: {}", where, a.error->text);
}

}  // namespace

double work_of(const spec::OpSpec& spec, const core::TensorMap& inputs) {
  if (spec.is_attention()) return ops::attention_work(ops::cases::attention_problem(spec, inputs));
  const auto problem = ops::cases::gemm_problem(spec, inputs);
  return problem ? ops::gemm_work(*problem) : 0.0;
}

core::Result<std::unique_ptr<CaseRun>> CaseRun::make(const spec::OpSpec& spec, std::string spec_json, const core::TensorMap& inputs,
                                                     const Settings& settings, Supervisor& supervisor, std::shared_ptr<Scratch> scratch) {
  std::unique_ptr<CaseRun> run(new CaseRun(spec, inputs, settings, supervisor));
  run->spec_json_ = std::move(spec_json);
  run->scratch_ = std::move(scratch);
  run->inputs_name_ = next_name("in");
  run->output_name_ = next_name("out");
  if (auto written = write_safetensors(run->scratch_->file(run->inputs_name_), inputs); !written) return written.problems();
  run->layout_ = ops::cases::output_layout(spec);
  run->data_bytes_ = core::bytes_of(run->layout_.dtype, run->layout_.storage_elements);
  auto area = MappedFile::open(run->scratch_->file(run->output_name_), MapMode::create, compare::area_bytes(run->data_bytes_));
  if (!area) return area.problems();
  run->area_ = std::move(*area);
  return run;
}

CaseRun::~CaseRun() {
  scratch_->remove_file(inputs_name_);
  scratch_->remove_file(output_name_);
}

void CaseRun::poison() {
  compare::poison_area({area_->data(), static_cast<std::size_t>(area_->size())}, layout_.dtype, data_bytes_);
}

core::Tensor CaseRun::output() const {
  core::Tensor t;
  t.dtype = layout_.dtype;
  t.shape = layout_.shape;
  t.strides = layout_.strides;
  t.offset = layout_.offset;
  t.storage = {area_, area_->data() + compare::guard_bytes};
  t.storage_bytes = data_bytes_;
  return t;
}

// Guard bands, and the gaps between elements of a strided output.
std::int64_t CaseRun::damage() const {
  std::int64_t damaged = compare::guard_damage({area_->data(), static_cast<std::size_t>(area_->size())}, data_bytes_);
  const std::int64_t count = spec::element_count(layout_.shape).value_or(0);
  if (count == layout_.storage_elements) return damaged;
  const std::byte* data = area_->data() + compare::guard_bytes;
  const std::vector<std::uint8_t> untouched = compare::unwritten(data, layout_.dtype, layout_.storage_elements);
  std::vector<bool> inside(static_cast<std::size_t>(layout_.storage_elements), false);
  const ops::TensorView view = ops::cases::view(output());
  for (std::int64_t i = 0; i < count; ++i) inside[static_cast<std::size_t>(ops::element_index(view, i))] = true;
  for (std::size_t i = 0; i < inside.size(); ++i)
    if (!inside[i] && !untouched[i]) damaged += core::info(layout_.dtype).bits / 8;
  return damaged;
}

report::Comparison CaseRun::judge(const ops::cases::ReferenceValues& reference) const {
  const core::Tensor out = output();
  compare::Wanted wanted;
  wanted.values = reference.values;
  wanted.bound = reference.bound;
  wanted.shape = reference.shape;
  wanted.rows = reference.rows;
  wanted.masked_rows = reference.masked_rows;
  wanted.bound_text = reference.bound_text;
  wanted.mistrust = reference.mistrust;
  wanted.beyond_range = reference.beyond_range;
  report::Comparison c = compare::compare({out.storage.get(), layout_.storage_elements, out.dtype, out.strides, out.offset, damage()}, wanted, spec_.rtol, spec_.atol);
  if (reference.freivalds) {
    const std::string off = ops::cases::freivalds_check(spec_, inputs_, out);
    c.sampled += off.empty() ? "; all rows passed a random projection" : "; random projection: " + off;
    if (!off.empty()) {
      c.verdict = "off";
      c.mismatched = std::max<std::int64_t>(c.mismatched, 1);
    }
  }
  return c;
}

Reply CaseRun::run(const AttemptRequest& request, bool bench) {
  poison();
  Job job;
  job.backend = request.backend;
  job.spec_json = spec_json_;
  job.mode = request.mode;
  job.policy = request.policy;
  job.allowed = request.allowed;
  job.inputs = scratch_->file(inputs_name_);
  job.output = scratch_->file(output_name_);
  job.output_offset = compare::guard_bytes;
  job.output_dtype = layout_.dtype;
  job.output_shape = layout_.shape;
  job.output_strides = layout_.strides;
  job.output_start = layout_.offset;
  job.threads = settings_.threads;
  if (bench) job.bench = settings_.bench;
  return supervisor_.run(*request.worker, std::move(job));
}

report::Attempt CaseRun::attempt(const AttemptRequest& request, const ops::cases::ReferenceValues& reference, Told* told) {
  Reply reply = run(request, false);
  report::Attempt a;
  a.policy = request.policy;
  a.mode = core::to_text(request.mode);
  a.outcome = outcome_of(reply);
  a.error = error_of(reply);
  a.evidence = std::move(reply.done.evidence);
  if (told) *told = {std::move(reply.done.ran), std::move(reply.done.answers), std::move(reply.done.asked)};
  a.seconds = reply.ending == Ending::answered && reply.done.seconds > 0 ? reply.done.seconds : reply.seconds;
  if (reply.ending == Ending::interrupted) interrupted_ = true;
  add_printed(a.evidence, reply.printed);
  if (a.outcome != Outcome::matched) return a;
  a.comparison = judge(reference);
  add_gradients(*a.comparison, std::move(reply.done.gradients));
  a.outcome = judged(*a.comparison);
  if (!settings_.bench || a.outcome != Outcome::matched) return a;
  const Reply timed = run(request, true);
  if (timed.ending == Ending::interrupted) interrupted_ = true;
  if (outcome_of(timed) != Outcome::matched || !timed.done.timing) {
    take_fault(timed, "under the clock", a);
    a.evidence.notes.push_back("no timing: " + (error_of(timed) ? error_of(timed)->text : std::string("the worker gave none")));
    return a;
  }
  a.timing = timed.done.timing;
  if (!a.timing->clocks_before.empty())
    a.evidence.notes.push_back(fmt::format("timed by {}; clocks before {}; after {}; throttled: {}", a.timing->method, a.timing->clocks_before, a.timing->clocks_after, a.timing->throttle));
  if (a.timing->median > 0) {
    double bytes = static_cast<double>(data_bytes_);
    for (const auto& [role, tensor] : inputs_) bytes += static_cast<double>(tensor.storage_bytes);
    a.timing->tflops = 2 * work_of(spec_, inputs_) / a.timing->median / 1e12;
    a.timing->gbytes_per_second = bytes / a.timing->median / 1e9;
  }
  return a;
}

ExactPass::ExactPass(const spec::OpSpec& spec, std::string spec_json, const Settings& settings, Supervisor& supervisor,
                     std::shared_ptr<Scratch> scratch)
    : spec_(spec), spec_json_(std::move(spec_json)), settings_(settings), supervisor_(supervisor), scratch_(std::move(scratch)) {}

ExactPass::~ExactPass() = default;

bool ExactPass::applies() const {
  using spec::Epilogue;
  if (spec_.is_attention() || spec_.data == spec::Data::integers) return false;
  const Epilogue epilogue = spec_.gemm().epilogue;
  if (epilogue == Epilogue::gelu || epilogue == Epilogue::bias_gelu) return false;
  // Sums in f16, and outputs that saturate in one library and overflow in another, are not exact by right.
  if (spec::compute_of(spec_.gemm(), spec_.flags) == spec::Compute::f16) return false;
  return core::info(ops::cases::output_layout(spec_).dtype).bits >= 16;
}

void ExactPass::prepare() {
  prepared_ = true;
  auto inputs = ops::cases::make_inputs(spec_, spec::Data::integers);
  if (!inputs) {
    why_not_ = "not run: " + core::to_text(inputs.problems().front());
    return;
  }
  inputs_ = std::move(*inputs);
  auto reference = ops::cases::run_reference(spec_, inputs_, settings_.reference_budget, {settings_.threads, stop_flag()});
  if (!reference || !reference->rows.empty() || reference->values.empty()) return;  // sampled rows are compared already
  reference_ = std::move(*reference);
  auto run = CaseRun::make(spec_, spec_json_, inputs_, settings_, supervisor_, scratch_);
  if (!run) why_not_ = "not run: " + core::to_text(run.problems().front());
  else run_ = std::move(*run);
}

void ExactPass::check(const AttemptRequest& request, report::Attempt& attempt) {
  if (!applies()) return;
  if (!prepared_) prepare();
  std::string& said = attempt.comparison->exact_pass;
  if (!run_) {
    said = why_not_;
    return;
  }
  const Reply reply = run_->run(request, false);
  if (outcome_of(reply) != Outcome::matched) {
    said = "not run: " + (error_of(reply) ? error_of(reply)->text : std::string("no result"));
    take_fault(reply, "on small integers", attempt);
    return;
  }
  const core::Tensor out = contiguous_copy(run_->output());
  std::int64_t differing = 0;
  for (std::size_t i = 0; i < reference_.values.size(); ++i) {
    const double want = ops::round_to(reference_.values[i], out.dtype);
    differing += ops::load(out.data(), out.dtype, static_cast<std::int64_t>(i)) != want;
  }
  said = differing == 0 ? "exact" : fmt::format("{} of {} differ", differing, reference_.values.size());
  if (differing == 0) return;
  attempt.outcome = Outcome::off;
  attempt.comparison->verdict = "off";
}

}  // namespace dd::session
