#include <charconv>
#include <string_view>

#include "frameworks/gemm/facts.hpp"
#include "frameworks/gemm/set.hpp"

namespace dd::frameworks::gemm {
namespace {

using facts::NotApplicable;
using facts::Value;
using facts::Version;

Value value_of(facts::Type type, const std::string& text) {
  switch (type) {
    case facts::Type::boolean:
      if (text == "true" || text == "1" || text == "on") return true;
      if (text == "false" || text == "0" || text == "off") return false;
      return {};
    case facts::Type::integer: {
      std::int64_t number = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      return error == std::errc{} && end == text.data() + text.size() ? Value(number) : Value();
    }
    case facts::Type::real: {
      double number = 0;
      const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
      return error == std::errc{} && end == text.data() + text.size() ? Value(number) : Value();
    }
    case facts::Type::version: {
      Version version;
      return Version::parse(text, version) ? Value(version) : Value();
    }
    case facts::Type::name: break;
  }
  return text;
}

struct FieldFact { std::string_view field; Id id; };
// Fields whose fact has another name than the field.
constexpr FieldFact renamed[] = {{"dtype_x", Id::dtype}};

struct Default { Id id; Value value; };

// What the libraries and frameworks document as their default.
const std::vector<Default>& defaults() {
  static const auto name = [](const char* text) { return Value(std::string(text)); };
  static const std::vector<Default> rows = {
      {Id::alpha, 1.0}, {Id::beta, 0.0}, {Id::op_c, name("N")}, {Id::order_ab, name("COL")}, {Id::order_d, name("COL")}, {Id::math_mode, name("DEFAULT")},
      {Id::pointer_mode, name("HOST")}, {Id::batched_alpha, false}, {Id::requested_algo_count, std::int64_t{1}}, {Id::reduction_mask, std::int64_t{7}},
      {Id::pointer_array, false}, {Id::c_is_d, false}, {Id::c_layout_differs, false}, {Id::algo, name("DEFAULT")}, {Id::autotune_cached, false},
      {Id::d_scale_set, false}, {Id::fast_accum, false}, {Id::want_max_rate, false}, {Id::visible_gpus, std::int64_t{1}}, {Id::emulation_strategy, name("performant")},
      {Id::inplace, false}, {Id::fused_qkv, false}, {Id::fast_kernel_opt_in, true}, {Id::first_call, false}, {Id::reduced_precision_reduction, true}, {Id::fp16_accumulation, false}, {Id::preferred_blas, name("default")},
      {Id::mkldnn_enabled, true}, {Id::use_fast_accum, false}, {Id::offs_missing, false}, {Id::batch_invariant, false}, {Id::kernel_disabled, false}, {Id::chosen, false},
      {Id::lt_not_supported, false}, {Id::small_workspace, false}, {Id::src1_type, name("F32")}, {Id::alibi, false}, {Id::float32_matmul_precision, name("highest")},
      {Id::build_humming, false}, {Id::build_mslk, false}, {Id::build_windows, false}, {Id::build_force_cublas, false}, {Id::build_force_mmq, false}, {Id::build_fa_all_quants, false}};
  return rows;
}

// What has no meaning unless somebody states it.
constexpr Id optional_facts[] = {
    Id::batch_a, Id::batch_b, Id::aux_ld, Id::heuristic_count, Id::algo_workspace_bytes, Id::algo_min_align, Id::pref_workspace_bytes, Id::workspace_align_bytes,
    Id::workspace_bytes, Id::min_align_in_array, Id::required_mantissa_bits, Id::scale_align_bytes, Id::scale_mode, Id::scale_recipe, Id::offs_dtype, Id::inner_k_tiles,
    Id::k_full, Id::k_part, Id::n_part, Id::quantization, Id::kernels_accepting, Id::tensor_parallel, Id::outlier_threshold, Id::weight_dtype, Id::checkpoint_format,
    Id::smem_optin, Id::compiled_arch, Id::weight_type, Id::quant_type, Id::w_file_offset_bytes, Id::w_file_rest, Id::pointer_array_align_bytes,
    Id::weights_tag, Id::accuracy_level, Id::cpu_vendor, Id::blas_library};

void add_environment(const spec::Context& context, facts::FactSet& f) {
  constexpr std::string_view prefix = "env.";
  for (std::size_t i = 0; i < facts::id_count; ++i) {
    const Id id = static_cast<Id>(i);
    const std::string_view name = facts::info(id).name;
    if (!name.starts_with(prefix) || f.known(id)) continue;
    const auto it = context.env.find(std::string(name.substr(prefix.size())));
    if (it == context.env.end()) f.set(id, NotApplicable{}, Provenance::assumed, "not set");
    else f.set(id, value_of(facts::info(id).type, it->second), Provenance::spec, "context.env");
  }
  const auto is = [&](const char* variable, const char* value) {
    const auto it = context.env.find(variable);
    return it != context.env.end() && it->second == value;
  };
  if (is("TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "1")) set_new(f, Id::float32_matmul_precision, std::string("high"), Provenance::spec, "context.env");
  if (is("TORCH_BLAS_PREFER_CUBLASLT", "1")) set_new(f, Id::preferred_blas, std::string("cublaslt"), Provenance::spec, "context.env");
  if (is("VLLM_BATCH_INVARIANT", "1")) set_new(f, Id::batch_invariant, true, Provenance::spec, "context.env");
  if (is("VLLM_USE_DEEP_GEMM", "0")) set_new(f, Id::build_deep_gemm, false, Provenance::spec, "context.env");
  for (const char* variable : {"ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "ATEN_CPU_CAPABILITY"})
    if (context.env.contains(variable)) f.set(Id::onednn_isa_capped, true, Provenance::spec, std::string("context.env, ") + variable);
  set_new(f, Id::onednn_isa_capped, false, Provenance::assumed);
  for (const char* strategy : {"eager", "performant"})
    if (is("CUBLAS_EMULATION_STRATEGY", strategy)) set_new(f, Id::emulation_strategy, std::string(strategy), Provenance::spec, "context.env");
}

void add_builds(const spec::Context& context, facts::FactSet& f) {
  constexpr std::string_view prefix = "build.";
  for (const auto& [name, on] : context.build)
    if (const Id* id = facts::find(std::string(prefix) + name)) f.set(*id, on, Provenance::spec, "context.build");
}

void add_version(facts::FactSet& f, Id id, const spec::Context& context, std::initializer_list<const char*> names, Version newest, bool (*parse)(std::string_view, Version&)) {
  for (const char* name : names) {
    const auto it = context.versions.find(name);
    Version version;
    if (it != context.versions.end() && parse(it->second, version)) set_new(f, id, version, Provenance::spec, "context.versions");
  }
  set_new(f, id, newest, Provenance::assumed, "newest that the rules were read from");
}

void add_versions(const spec::Context& context, facts::FactSet& f) {
  Version version;
  if (context.torch && Version::parse(*context.torch, version)) set_new(f, Id::torch_version, version, Provenance::spec, "context.torch");
  if (context.cuda && Version::parse(*context.cuda, version)) set_new(f, Id::cuda_version, version, Provenance::spec, "context.cuda");
  set_new(f, Id::cuda_version, Version::of(13, 0), Provenance::assumed, "newest that the rules were read from");
  add_version(f, Id::cublas_version, context, {"cublas", "cublaslt"}, Version::of(13, 4), Version::parse);
  add_version(f, Id::vllm_version, context, {"vllm"}, Version::of(2026, 8), parse_vllm_version);
  add_version(f, Id::bnb_version, context, {"bitsandbytes", "bnb"}, Version::of(0, 50), Version::parse);
}

void add_target(const spec::OpSpec& spec, facts::FactSet& f) {
  const std::string& target = spec.context.target;
  const bool cpu = target == "cpu" || target == "host";
  if (!target.empty()) set_new(f, Id::device_type, std::string(cpu ? "cpu" : "cuda"), Provenance::derived, "context.target");
  if (cpu) set_new(f, Id::compute_capability, NotApplicable{}, Provenance::derived, "context.target");
  if (!target.starts_with("sm_")) return;
  if (const auto cc = value_of(facts::Type::integer, target.substr(3)); cc.index() != 0) set_new(f, Id::compute_capability, cc, Provenance::spec, "context.target");
}

}  // namespace

bool parse_vllm_version(std::string_view text, Version& out) {
  std::int64_t year = 0, month = 0;
  if (text.size() >= 7 && text[4] == '-') {
    const auto y = std::from_chars(text.data(), text.data() + 4, year);
    const auto m = std::from_chars(text.data() + 5, text.data() + 7, month);
    if (y.ec != std::errc{} || m.ec != std::errc{} || month < 1 || month > 12) return false;
    out = Version::of(year, month);
    return true;
  }
  Version release;
  if (!Version::parse(text, release)) return false;
  if (release >= Version::of(2000)) {  // written as year.month
    out = release;
    return true;
  }
  // Months in which releases came out, or were first seen in use; the last one at or below the release counts.
  static constexpr struct { std::int64_t minor, patch, year, month; } months[] = {
      {0, 0, 2023, 6}, {6, 0, 2024, 9}, {6, 4, 2024, 12}, {7, 0, 2025, 1}, {8, 0, 2025, 3}, {9, 0, 2025, 6}, {10, 0, 2025, 8}, {11, 0, 2025, 10}, {12, 0, 2025, 12}, {15, 0, 2026, 2}, {20, 0, 2026, 5}, {26, 0, 2026, 8}, {29, 0, 2026, 9}};
  for (const auto& row : months)
    if (release >= Version::of(0, row.minor, row.patch)) out = Version::of(row.year, row.month);
  return true;
}

void add_extra_facts(const std::map<std::string, std::string>& extra, facts::FactSet& f) {
  for (const auto& [name, value] : extra) {
    const Id* found = facts::find(name);
    Id id{};
    bool known = found != nullptr;
    if (found) id = *found;
    for (const FieldFact& row : renamed)
      if (row.field == name) id = row.id, known = true;
    if (!known) continue;
    if (Value parsed = value_of(facts::info(id).type, value); parsed.index() != 0) f.set(id, std::move(parsed), Provenance::spec, "extra." + name);
  }
}

void add_context_facts(const spec::OpSpec& spec, facts::FactSet& f) {
  add_target(spec, f);
  add_versions(spec.context, f);
  add_builds(spec.context, f);
  add_environment(spec.context, f);
  set_new(f, Id::mode, std::string(core::to_text(spec.mode)), Provenance::spec, "mode");
  set_new(f, Id::capturing, spec.mode == spec::Mode::captured, Provenance::spec, "mode");
  set_new(f, Id::tf32, spec.flags.tf32, Provenance::spec, "flags.tf32");
  set_new(f, Id::deterministic, std::string(core::to_text(spec.flags.deterministic)), Provenance::spec, "flags.deterministic");
  if (spec.context.framework == "torch") set_new(f, Id::beta, 1.0, Provenance::assumed);
  const std::string type = text(f, Id::dtype);
  if (type.starts_with("f8_")) set_new(f, Id::scale_recipe, std::string("tensorwise"), Provenance::assumed);
  if (type == "f4_e2m1") set_new(f, Id::scale_recipe, std::string("nvfp4"), Provenance::assumed);
  if (const auto native = flag(f, type == "f16" ? Id::cpu_fp16 : Id::cpu_bf16)) set_new(f, Id::mkldnn_eligible, *native);
}

void add_default_facts(facts::FactSet& f) {
  for (const Default& row : defaults()) set_new(f, row.id, row.value, Provenance::assumed);
  for (const Id id : optional_facts) set_new(f, id, NotApplicable{}, Provenance::assumed);
}

void add_gemm_facts(const spec::OpSpec& spec, facts::FactSet& f) {
  if (spec.is_attention()) return;
  add_extra_facts(spec.gemm().extra, f);
  add_shape_facts(spec, f);
  add_context_facts(spec, f);
  add_quant_facts(spec, f);
  add_blas_facts(spec, f);
  add_default_facts(f);
  add_calibrated_facts(spec, f);
}

void add_attention_facts(const spec::OpSpec& spec, facts::FactSet& f) {
  if (!spec.is_attention()) return;
  const spec::Attention& a = spec.attention();
  add_extra_facts(a.extra, f);
  add_target(spec, f);
  add_builds(spec.context, f);
  const auto axis = [](const spec::TensorSpec& t, std::size_t from_end) { return t.shape.size() >= from_end ? t.shape[t.shape.size() - from_end] : std::int64_t{1}; };
  set_new(f, Id::head_dim, axis(a.q, 1), Provenance::spec, "q.shape");
  set_new(f, Id::head_dim_v, axis(a.v, 1), Provenance::spec, "v.shape");
  set_new(f, Id::kv_len, axis(a.k, 2), Provenance::spec, "k.shape");
  const std::int64_t q_heads = axis(a.q, 3), kv_heads = std::max<std::int64_t>(1, axis(a.k, 3));
  set_new(f, Id::gqa_ratio, q_heads / kv_heads, Provenance::derived, "shapes");
  set_new(f, Id::mask_kind, std::string(!a.mask ? "none" : a.mask->dtype == core::DType::boolean ? "bool" : "float"), Provenance::spec, "mask");
  set_new(f, Id::mask_heads, a.mask && a.mask->shape.size() >= 3 ? a.mask->shape[a.mask->shape.size() - 3] : std::int64_t{1}, Provenance::spec, "mask.shape");
  set_new(f, Id::kv_type_k, std::string(core::to_text(a.k.dtype)), Provenance::spec, "k.dtype");
  set_new(f, Id::kv_type_v, std::string(core::to_text(a.v.dtype)), Provenance::spec, "v.dtype");
  set_new(f, Id::build_fa_all_quants, false, Provenance::assumed);
  set_new(f, Id::alibi, false, Provenance::assumed);
}

}  // namespace dd::frameworks::gemm
