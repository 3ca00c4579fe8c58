#include "frameworks/torch/environment.hpp"

#include <fmt/format.h>

namespace dd::frameworks::torch {
namespace {

using namespace rules;
using facts::FactSet;
using facts::Id;
using facts::Provenance;
using facts::Version;

constexpr std::string_view call = "sdpa --q 1x2x32x16 --framework torch";
constexpr std::string_view gpu_call = "sdpa --q 1x8x256x64 --dtype f16 --framework torch --target cuda:0";
constexpr std::string_view packed_call = "gemm --x 4x128 --w 128x64 --dtype bf16 --quant w4a16:group=32 --framework torch";
constexpr std::string_view torchao = "torchao";
const Source here{"the torch worker's first message", "1", "2026-11-29"};
const Source layers{"tensor classes of torchao 0.18.0 beside torch 2.8.0 and 2.15.0", "0.18.0", "2026-11-29"};

// The facts of a worker, as environment_findings sets them: run.ran says that it started, torch_version is not applicable
// where there is no torch, and unknown where its import failed. torchao_finding sets the same two for torchao.
bool started(const FactSet& f) {
  const auto* ran = std::get_if<bool>(&f.value(Id::run_ran));
  return ran && *ran;
}
bool missing(const FactSet& f) { return std::holds_alternative<facts::NotApplicable>(f.value(Id::torch_version)); }
bool wants_gpu(const FactSet& f) {
  const auto* device = std::get_if<std::string>(&f.value(Id::device_type));
  return device && *device == "cuda";
}
CustomResult result(bool bad, std::string seen, std::string required) { return {bad ? Truth::unmet : Truth::met, std::move(seen), std::move(required)}; }

CustomResult starts(const FactSet& f) { return result(!started(f), "no hello from the interpreter", "an interpreter that starts and does not die while it imports torch"); }
CustomResult has_torch(const FactSet& f) { return result(started(f) && missing(f), "no module named torch", "a torch package in this environment"); }
CustomResult imports(const FactSet& f) {
  return result(started(f) && !missing(f) && !f.known(Id::torch_version), "import torch fails", "a torch that can be imported");
}
CustomResult built_for_gpu(const FactSet& f) {
  const bool known = std::holds_alternative<Version>(f.value(Id::torch_version));
  return result(known && wants_gpu(f) && !f.known(Id::cuda_version), "a build without CUDA", "a build with CUDA, since the call is for a GPU");
}
CustomResult sees_gpu(const FactSet& f) {
  const auto* count = std::get_if<std::int64_t>(&f.value(Id::cuda_device_count));
  return result(wants_gpu(f) && f.known(Id::cuda_version) && (!count || *count == 0), "torch.cuda.is_available() is false", "a GPU that this torch can use");
}

CustomResult has_torchao(const FactSet& f) { return result(missing(f), "no package named torchao", "torchao, of a release for this torch"); }
CustomResult torchao_fits(const FactSet& f) {
  return result(!missing(f) && !started(f), "its layer cannot be made", "a torchao whose tensor classes this torch can import");
}

}  // namespace

std::span<const Rule> environment_rules() {
  static const Rule table[] = {
      {.id = "ENV040", .name = "torch-interpreter-does-not-start", .title = "the interpreter cannot be started, or dies while it imports torch",
       .level = Level::blocks, .blame = Blame::build, .scope = "environment", .applies = always(),
       .requires_that = custom(starts, {Id::run_ran}), .effect = "nothing of torch can be run or asked; only the rules speak",
       .fix = {"run `PYTHON -c 'import torch'` by hand with the same interpreter; name another one with --python", Keeps::function, {Change::change_setting}},
       .source = here, .blocked_example = call, .passing_example = call},
      {.id = "ENV041", .name = "torch-not-installed", .title = "this interpreter has no torch", .level = Level::blocks, .blame = Blame::build,
       .scope = "environment", .applies = always(), .requires_that = custom(has_torch, {Id::run_ran, Id::torch_version}),
       .effect = "nothing of torch can be run or asked; only the rules speak",
       .fix = {"name the interpreter of the program in question with --python, or activate its environment; --torch-version X.Y.Z --target NAME asks the rules alone",
               Keeps::function, {Change::change_setting}},
       .source = here, .blocked_example = call, .passing_example = call},
      {.id = "ENV042", .name = "torch-import-fails", .title = "torch is there, and its import fails", .level = Level::blocks, .blame = Blame::build,
       .scope = "environment", .applies = always(), .requires_that = custom(imports, {Id::run_ran, Id::torch_version}),
       .effect = "no program of this environment can use torch",
       .fix = {"read the message: most often a library is missing or of another release; reinstall torch and what it depends on together", Keeps::function, {}},
       .source = here, .blocked_example = call, .passing_example = call},
      {.id = "ENV043", .name = "torch-older-than-2-1", .title = "this torch is older than 2.1", .level = Level::blocks, .blame = Blame::library_version,
       .scope = "environment", .applies = all({stated(Id::torch_version), applicable(Id::torch_version)}), .requires_that = version_in(Id::torch_version, "2.1", ""),
       .effect = "it is not run; the rules know 2.0 and later", .fix = {"use torch 2.1 or newer", Keeps::function, {Change::change_version}},
       .source = {"what the worker needs of torch", "1", "2026-11-29"}, .blocked_example = call, .passing_example = call},
      {.id = "ENV044", .name = "torch-built-without-cuda", .title = "the call is for a GPU, and this torch is a build for processors only",
       .level = Level::blocks, .blame = Blame::build, .scope = "environment", .applies = always(),
       .requires_that = custom(built_for_gpu, {Id::torch_version, Id::cuda_version, Id::device_type}),
       .effect = "every tensor stays on the processor; no GPU path exists in this build",
       .fix = {"install the wheel for the CUDA release of the driver (the +cpu suffix marks the other kind)", Keeps::function, {Change::change_version}},
       .source = here, .blocked_example = gpu_call, .passing_example = call},
      {.id = "ENV045", .name = "torch-sees-no-gpu", .title = "this torch is built with CUDA, and sees no GPU", .level = Level::blocks,
       .blame = Blame::hardware, .scope = "environment", .applies = always(),
       .requires_that = custom(sees_gpu, {Id::cuda_version, Id::cuda_device_count, Id::device_type}),
       .effect = "the call cannot run on a GPU here; rules answer for a GPU named by --target",
       .fix = {"look at nvidia-smi, CUDA_VISIBLE_DEVICES and the devices of the container; the driver must be as new as torch's CUDA release", Keeps::function, {Change::change_setting}},
       .source = here, .blocked_example = gpu_call, .passing_example = call},
      {.id = "ENV046", .name = "torchao-not-installed", .title = "this environment has no torchao", .level = Level::informs, .blame = Blame::build,
       .scope = torchao, .applies = always(), .requires_that = custom(has_torchao, {Id::torch_version}),
       .effect = "torch's own entry points are run; what a layer of torchao would call is not",
       .fix = {"install torchao beside this torch to have its layer run with the same codes", Keeps::function, {Change::change_setting}},
       .source = layers, .blocked_example = packed_call, .passing_example = packed_call},
      {.id = "ENV047", .name = "torchao-does-not-fit", .title = "torchao is there, and its layer for this scheme cannot be made", .level = Level::warns,
       .blame = Blame::library_version, .scope = torchao, .applies = always(), .requires_that = custom(torchao_fits, {Id::run_ran, Id::torch_version}),
       .effect = "a program that quantizes with this torchao fails at the same place, or leaves the layer as it was",
       .fix = {"install the torchao release that was made for this torch (its release notes name it)", Keeps::function, {Change::change_version}},
       .source = layers, .blocked_example = packed_call, .passing_example = packed_call},
  };
  return table;
}

std::vector<Finding> environment_findings(const WorkerState& s) {
  FactSet f;
  const auto set = [&](Id id, facts::Value value) { f.set(id, std::move(value), Provenance::measured, "torch worker"); };
  set(Id::run_ran, s.started);
  set(Id::device_type, std::string(s.wants_gpu ? "cuda" : "cpu"));
  if (s.started && s.missing) set(Id::torch_version, facts::NotApplicable{});
  if (s.torch) set(Id::torch_version, *s.torch);
  if (s.built_for_gpu) set(Id::cuda_version, Version::of(1));
  set(Id::cuda_device_count, std::int64_t{s.sees_gpu});
  std::vector<Finding> out;
  for (const Rule& rule : environment_rules()) {
    if (rule.scope == torchao) continue;
    Finding found = evaluate(rule, f);
    if (found.status != Truth::unmet) continue;
    if (!s.detail.empty()) found.seen += fmt::format("{}{}", found.seen.empty() ? "" : ": ", s.detail);
    out.push_back(std::move(found));
  }
  return out;
}

std::optional<Finding> torchao_finding(bool installed, const std::string& trouble) {
  FactSet f;
  f.set(Id::run_ran, trouble.empty(), Provenance::measured, "torch worker");
  if (!installed) f.set(Id::torch_version, facts::NotApplicable{}, Provenance::measured, "torch worker");
  for (const Rule& rule : environment_rules()) {
    if (rule.scope != torchao) continue;
    Finding found = evaluate(rule, f);
    if (found.status != Truth::unmet) continue;
    if (!trouble.empty()) found.seen = trouble;
    return found;
  }
  return std::nullopt;
}

std::string_view torchao_layer(const spec::Gemm& g) {
  if (!g.quant || g.w.shape.size() != 2) return {};
  const bool narrow = core::info(g.x.dtype).bits == 8;
  if (g.quant->bits == 4 && !narrow) return "torchao-int4";
  if (g.quant->bits != 8) return {};
  return core::is_float(g.w.dtype) ? (narrow && core::is_float(g.x.dtype) ? "torchao-float8" : "") : "torchao-int8";
}

}  // namespace dd::frameworks::torch
