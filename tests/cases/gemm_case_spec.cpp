#include <algorithm>
#include <map>
#include <stdexcept>

#include "case_values.hpp"
#include "frameworks/gemm/facts.hpp"
#include "gemm_case.hpp"
#include "gemm_case_fields.hpp"

namespace dd::cases {
namespace {

using nlohmann::json;
using spec::DType;

std::string as_text(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "true" : "false";
  return value.dump();
}

bool has(const json& object, const char* name) {
  const auto it = object.find(name);
  return it != object.end() && !it->is_null();
}

std::int64_t number(const json& object, const char* name, std::int64_t otherwise) { return has(object, name) ? figure(object[name], name) : otherwise; }
std::string word(const json& object, const char* name, const std::string& otherwise = {}) { return has(object, name) ? as_text(object[name]) : otherwise; }

spec::Dims dims(const json& object, const char* name) { return extents(object[name], name); }

// An element type in the short names of the case files, whichever usual name the file has for it.
std::string type_word(const json& object, const char* name) {
  std::string text = word(object, name);
  if (text.starts_with("torch.")) text.erase(0, 6);
  if (text == "e2m1" || text == "fp4" || text == "nvfp4") return "e2m1";
  if (text == "e4m3fn" || text == "fp8") text = "e4m3";
  const auto dtype = core::from_text<DType>(text);
  if (!dtype) return text;
  if (*dtype == DType::f8_e4m3) return "e4m3";
  if (*dtype == DType::f8_e5m2) return "e5m2";
  return std::string(core::to_text(*dtype));
}

bool names_a_type(std::string_view field) { return field == "dtype_w" || field == "bias_dtype"; }

// 90, "9.0", 9.0 and "sm_90" are one.
std::string capability(const json& s) {
  std::string text = word(s, "cc");
  if (text.starts_with("sm_")) text.erase(0, 3);
  if (const auto dot = text.find('.'); dot != std::string::npos) text.erase(dot, 1);
  return text;
}

bool truthy(const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number()) return value.get<double>() != 0;
  return value.is_string() && !value.get<std::string>().empty();
}

// The library's view swaps the operands; Transformer Engine's own checks speak of tokens and features instead.
bool is_blas_view(const json& s) { return word(s, "convention") == "blas" && word(s, "backend") != "te.fp8"; }

bool is_ggml(const std::string& backend) { return backend.find("ggml") != std::string::npos; }

// Element types that the tool holds go into the tensors, others into the extra fields.
void set_dtype(const std::string& name, DType& into, const char* extra_name, spec::Gemm& g) {
  if (name.empty()) return;
  if (const auto dtype = core::from_text<DType>(name == "e2m1" ? "f4_e2m1" : name)) into = *dtype;
  else g.extra[extra_name] = name;
}

void set_types(const json& s, const std::string& backend, spec::Gemm& g) {
  const bool blas_view = word(s, "convention") == "blas";
  const std::string stated_a = type_word(s, "dtype_a"), stated_b = type_word(s, "dtype_b"), out = type_word(s, "dtype_out");
  // One stated operand type stands for both.
  const std::string a = stated_a.empty() ? stated_b : stated_a, b = stated_b.empty() ? a : stated_b;
  g.x.dtype = g.w.dtype = DType::f32;
  if (is_ggml(backend)) {  // the first operand is the weight there
    const bool is_float = a == "f16" || a == "bf16" || a == "f32";
    set_dtype(is_float ? a : "", g.w.dtype, "dtype_w", g);
    // Quantized in a way that the case does not name: a format without limits of its own.
    if (!is_float && !has(part(s, "quant"), "quant_type")) g.extra["quant_type"] = "Q4_0";
  } else {
    set_dtype(blas_view ? b : a, g.x.dtype, "dtype_x", g);
    set_dtype(blas_view ? a : b, g.w.dtype, "dtype_w", g);
  }
  DType result = g.x.dtype;
  set_dtype(out, result, "dtype_out", g);
  g.out_dtype = result;
  // A case that states no type for an operand states nothing about it.
  if (a.empty() && b.empty() && !is_ggml(backend)) g.extra["dtype_x"] = g.extra["dtype_w"] = "unstated";
  if (out.empty()) g.extra["dtype_out"] = backend == "torch._int_mm" ? "s32" : core::info(g.x.dtype).bits <= 8 && core::is_float(g.x.dtype) ? "bf16" : std::string(core::to_text(result));
}

spec::Dims strides_of_layout(const std::string& layout, std::int64_t rows, std::int64_t columns) {
  return layout == "col" ? spec::Dims{1, std::max<std::int64_t>(1, rows)} : spec::Dims{std::max<std::int64_t>(1, columns), 1};
}

void set_tensors(const json& s, const std::string& backend, spec::Gemm& g) {
  const bool blas_view = is_blas_view(s);
  std::int64_t m = number(s, "m", 1), n = number(s, "n", 1), k = number(s, "k", 1);
  if (blas_view) std::swap(m, n);
  if (backend == "torch.dot") k = n, n = 1;
  const std::int64_t batch = number(s, "batch", 1);
  g.x.shape = {m, k};
  g.w.shape = {k, n};
  // Where a case says nothing of a layout, one is taken that no rule of the backend objects to.
  const bool contiguous_weight = backend == "torchao.safe_int_mm" || backend == "torch.mm" || backend == "torch.matmul";
  g.x.strides = strides_of_layout(word(s, "mat1_layout", "row"), m, k);
  g.w.strides = strides_of_layout(word(s, "mat2_layout", contiguous_weight ? "row" : "col"), k, n);
  if (has(s, "opa")) g.w.strides = strides_of_layout(word(s, "opa") == "T" ? "col" : "row", k, n);
  if (has(s, "opb")) g.x.strides = strides_of_layout(word(s, "opb") == "T" ? "col" : "row", m, k);
  if (has(s, "mat1_stride")) g.x.strides = dims(s, "mat1_stride");
  if (has(s, "mat2_stride")) g.w.strides = dims(s, "mat2_stride");
  if (has(s, "batch_inner_stride")) g.x.strides = dims(s, "batch_inner_stride");
  if (has(s, "out_stride")) g.out.strides = dims(s, "out_stride");
  if (batch > 1) {
    g.x.shape.insert(g.x.shape.begin(), batch);
    g.w.shape.insert(g.w.shape.begin(), batch);
    g.x.strides->insert(g.x.strides->begin(), m * k);
    g.w.strides->insert(g.w.strides->begin(), k * n);
  }
  if (!has(s, "dim1")) g.extra["x_rank"] = "2";
  if (!has(s, "dim2")) g.extra["w_rank"] = "2";
}

void set_alignments(const json& s, spec::Gemm& g) {
  const json& align = part(s, "align_bytes");
  const bool blas_view = word(s, "convention") == "blas";
  const auto put = [&](const char* theirs, const char* ours) {
    if (has(align, theirs)) g.extra[ours] = as_text(align[theirs]);
  };
  put("a", blas_view ? "w_align_bytes" : "x_align_bytes");
  put("b", blas_view ? "x_align_bytes" : "w_align_bytes");
  put("c", "out_align_bytes");
  put("bias", "bias_align_bytes");
  put("scale", "scale_align_bytes");
}

void set_quant(const json& s, spec::Gemm& g) {
  const json& q = part(s, "quant");
  for (const Renamed& field : quant_fields)
    if (has(q, field.theirs)) g.extra[field.ours] = as_text(q[field.theirs]);
  if (!has(q, "bits") && !has(q, "group_size") && !has(q, "weight_type")) return;
  spec::Quant quant;
  quant.bits = static_cast<int>(number(q, "bits", 4));
  quant.group_size = number(q, "group_size", -1);
  quant.zero_point = has(q, "zero_point") && truthy(q["zero_point"]);
  quant.act_order = has(q, "act_order") && truthy(q["act_order"]);
  quant.packing = word(q, "packing");
  g.quant = quant;
}

void set_flags(const json& s, spec::OpSpec& out) {
  spec::Gemm& g = std::get<spec::Gemm>(out.op);
  const json& flags = part(s, "flags");
  for (const Renamed& field : flag_fields)
    if (has(flags, field.theirs)) g.extra[field.ours] = as_text(flags[field.theirs]);
  for (const char* name : environment_flags)
    if (has(flags, name)) out.context.env[name] = as_text(flags[name]);
  for (const Renamed& field : build_flags)
    if (has(flags, field.theirs)) out.context.build[field.ours] = truthy(flags[field.theirs]);
  const auto set = [&](const char* name) { return has(flags, name) && truthy(flags[name]); };
  // Absent means "no" in the files, also for what the tool could derive from the shapes.
  if (!has(flags, "few_tiles_long_k")) g.extra["few_tiles_long_k"] = "false";
  if (!has(flags, "sliced_ld")) g.extra["sliced_ld"] = "false";
  if (!has(s, "partial_broadcast")) g.extra["partial_broadcast"] = "false";
  if (!has(s, "leading_contiguous")) g.extra["leading_contiguous"] = "false";
  g.extra["x_contiguous"] = set("input_noncontiguous") ? "false" : "true";
  if (set("bias_noncontiguous")) g.extra["bias_contiguous"] = "false";
  if (set("deterministic")) out.flags.deterministic = spec::Deterministic::strict;
  out.flags.tf32 = set("allow_tf32");
  g.requires_grad = set("requires_grad");
  if (set("compiling")) out.mode = spec::Mode::compiled;
  if (has(flags, "threshold")) g.extra["outlier_threshold"] = flags["threshold"].is_boolean() ? (truthy(flags["threshold"]) ? "6" : "0") : as_text(flags["threshold"]);
  if (has(s, "fast_accum")) g.extra["fast_accum"] = truthy(s["fast_accum"]) ? "true" : "false";
  else if (has(flags, "want_max_rate")) g.extra["fast_accum"] = "true";
  if (has(flags, "toolkit")) out.context.cuda = as_text(flags["toolkit"]);
  if (set("toolkit_ge_13_2_1")) out.context.cuda = "13.2.1";
}

void set_context(const json& s, const std::string& backend, spec::OpSpec& out) {
  const json& versions = part(s, "versions");
  if (has(versions, "torch")) out.context.torch = as_text(versions["torch"]);
  if (has(versions, "cuda") && !out.context.cuda) out.context.cuda = as_text(versions["cuda"]);
  if (has(versions, "cublas")) out.context.versions["cublas"] = as_text(versions["cublas"]);
  if (has(versions, "vllm")) out.context.versions["vllm"] = as_text(versions["vllm"]);
  for (const char* name : {"bnb", "bitsandbytes"})
    if (has(versions, name)) out.context.versions["bitsandbytes"] = as_text(versions[name]);
  const bool cpu = word(s, "device") == "cpu";
  out.context.target = cpu ? "cpu" : has(s, "cc") ? "sm_" + capability(s) : "cuda:0";
  out.context.framework = backend.substr(0, backend.find('.'));
}

// ggml's attention is described in the same files.
spec::OpSpec attention_spec(const json& s) {
  spec::OpSpec out;
  spec::Attention a;
  const std::int64_t size = number(s, "head_dim", 64), length = number(s, "kv_len", 1), ratio = number(s, "gqa", 1);
  a.q = {{1, ratio, number(s, "m", 1), size}, DType::f16, {}, 0, {}};
  a.k = {{1, 1, length, size}, DType::f16, {}, 0, {}};
  a.v = a.k;
  const json& flags = part(s, "flags");
  if (has(flags, "mask") && truthy(flags["mask"])) {
    spec::MaskSpec mask;
    mask.dtype = DType::f16;
    mask.shape = {number(s, "mask_ne2", 1), number(s, "m", 1), length};
    a.mask = mask;
  }
  if (has(s, "mask_ne2")) a.extra["mask_heads"] = as_text(s["mask_ne2"]);
  if (has(s, "kv_types") && s["kv_types"].is_array() && s["kv_types"].size() == 2) {
    a.extra["kv_type_k"] = as_text(s["kv_types"][0]);
    a.extra["kv_type_v"] = as_text(s["kv_types"][1]);
  }
  if (has(flags, "alibi")) a.extra["alibi"] = as_text(flags["alibi"]);
  for (const Renamed& field : build_flags)
    if (has(flags, field.theirs)) out.context.build[field.ours] = truthy(flags[field.theirs]);
  if (has(s, "cc")) out.context.target = "sm_" + capability(s);
  out.context.framework = "ggml";
  out.op = a;
  return out;
}

}  // namespace

std::string scope_of(const std::string& backend) {
  static const std::map<std::string, std::string> irregular = {
      {"cublas.gemmex", "cublas"}, {"torch._int_mm", "torch-int-mm"}, {"torch._scaled_mm", "torch-scaled-mm"}, {"torch._grouped_mm", "torch-grouped-mm"},
      {"torch._scaled_grouped_mm", "torch-scaled-grouped-mm"}, {"trtllm.fpA_intB", "tensorrt-llm-weight-only"}, {"te.fp8", "te-fp8"}};
  if (const auto it = irregular.find(backend); it != irregular.end()) return it->second;
  std::string scope = backend;
  std::replace(scope.begin(), scope.end(), '.', '-');
  std::replace(scope.begin(), scope.end(), '_', '-');
  return scope;
}

spec::OpSpec gemm_spec(const json& s) {
  const std::string backend = word(s, "backend");
  if (backend == "ggml.fattn") return attention_spec(s);
  spec::OpSpec out;
  spec::Gemm g;
  set_types(s, backend, g);
  set_tensors(s, backend, g);
  set_alignments(s, g);
  set_quant(s, g);
  for (const Renamed& field : plain_fields)
    if (has(s, field.theirs)) g.extra[field.ours] = names_a_type(field.theirs) ? type_word(s, field.theirs) : as_text(s[field.theirs]);
  // Left open by a case, so no default of ours may decide.
  const std::string type = type_word(s, "dtype_a");
  if (!has(s, "compute") && (type == "f16" || type == "bf16" || type == "f32" || type == "s8")) g.extra["compute_type"] = "unstated";
  if (!has(s, "scale_type")) g.extra["scale_type"] = "unstated";
  std::string call = word(s, "op", "matmul");
  if (backend == "cublaslt.grouped") call = "grouped";
  g.extra["call"] = call.starts_with("_") ? call.substr(1) : call;
  if (has(s, "workspace_bytes")) g.workspace = number(s, "workspace_bytes", 0);
  const bool states_bias = has(part(s, "flags"), "has_bias") && truthy(part(s, "flags")["has_bias"]) && backend != "torch._scaled_mm";
  const bool bias = states_bias || backend == "torch.addmm_lt";
  if (bias) g.bias = spec::TensorSpec{{g.w.shape.back()}, g.x.dtype, {}, 0, {}};
  out.op = g;
  set_flags(s, out);
  set_context(s, backend, out);
  return out;
}

facts::FactSet gemm_case_facts(const json& s) {
  const spec::OpSpec spec = gemm_spec(s);
  facts::FactSet f;
  if (spec.is_attention()) frameworks::gemm::add_attention_facts(spec, f);
  else frameworks::gemm::add_gemm_facts(spec, f);
  return f;
}

}  // namespace dd::cases
