// Concrete changes of a matrix product, one function for each kind.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <span>

#include "frameworks/gemm/facts.hpp"
#include "session/fix_parts.hpp"

namespace dd::session {
namespace {

using core::DType;
using rules::Change;
using rules::Keeps;
using spec::Gemm;
using spec::OpSpec;
using spec::TensorSpec;

Gemm& product(Edit& e) { return std::get<Gemm>(e.spec.op); }

Edit plain(Change change, std::string text, const OpSpec& spec, Keeps keeps = Keeps::function) { return {change, std::move(text), keeps, 0, 0, spec}; }

bool is_transposed(const TensorSpec& t) {
  const std::size_t rank = t.shape.size();
  return rank >= 2 && t.strides && (*t.strides)[rank - 2] == 1 && (*t.strides)[rank - 1] != 1;
}

// In memory of its own, packed along the last axis or along the one before it.
TensorSpec packed(const TensorSpec& t, spec::Dims shape, bool transposed) {
  TensorSpec out = fresh(t, std::move(shape));
  const std::size_t rank = out.shape.size();
  if (!transposed || rank < 2) return out;
  spec::Dims strides = spec::contiguous_strides(out.shape);
  strides[rank - 2] = 1;
  strides[rank - 1] = std::max<std::int64_t>(1, out.shape[rank - 2]);
  out.strides = std::move(strides);
  return out;
}

void set_x(Gemm& g, TensorSpec x) {
  g.trans_x = is_transposed(x);
  g.x = std::move(x);
}

void set_w(Gemm& g, TensorSpec w) {
  g.trans_w = is_transposed(w);
  g.w = std::move(w);
}

// Pad an extent to the next multiple of 8, 16, 32 and so on; layouts stay as they are.
std::vector<Edit> pad_extent(Change change, const OpSpec& spec) {
  const Gemm& g = spec.gemm();
  if (g.quant || g.x.shape.size() < 2 || g.w.shape.size() < 2) return {};
  const bool k = change == Change::pad_k, n = change == Change::pad_n;
  const std::int64_t now = k ? g.x.shape.back() : n ? g.w.shape.back() : g.x.shape[g.x.shape.size() - 2];
  std::vector<Edit> out;
  std::int64_t last = now;
  for (std::int64_t step : {4, 8, 16, 32, 64, 128}) {
    const std::int64_t to = (now + step - 1) / step * step;
    if (to <= last) continue;
    last = to;
    Edit e = plain(change, fmt::format("pad {} from {} to {} with zeros{}", k ? "k" : n ? "n" : "m", now, to, k ? "" : ", slice the output"), spec);
    Gemm& p = product(e);
    const auto grown = [&](const TensorSpec& t, std::size_t from_end) {
      spec::Dims shape = t.shape;
      shape[shape.size() - from_end] = to;
      TensorSpec made = packed(t, std::move(shape), is_transposed(t));
      e.bytes += bytes_of(made);
      return made;
    };
    if (!n) set_x(p, grown(p.x, k ? 1 : 2));
    if (k || n) set_w(p, grown(p.w, k ? 2 : 1));
    if (n && p.bias && p.bias->shape.size() == 1) {
      p.bias = fresh(*p.bias, {to});
      e.bytes += bytes_of(*p.bias);
    }
    p.out = {};
    e.flops_percent = (static_cast<double>(to) / static_cast<double>(std::max<std::int64_t>(now, 1)) - 1) * 100;
    out.push_back(std::move(e));
  }
  return out;
}

// The weights stay as they are where they are packed; else both operands change.
std::vector<Edit> casts(const OpSpec& spec) {
  const Gemm& g = spec.gemm();
  std::vector<Edit> out;
  for (DType dtype : {DType::bf16, DType::f16}) {
    if (g.x.dtype == dtype) continue;
    Edit e = plain(Change::cast_dtype, fmt::format("cast {} to {}", g.quant ? "x" : "x and w", core::to_text(dtype)), spec, Keeps::precision);
    Gemm& p = product(e);
    const auto cast = [&](TensorSpec t) {
      TensorSpec made = packed(t, t.shape, is_transposed(t));
      made.dtype = dtype;
      e.bytes += bytes_of(made);
      return made;
    };
    set_x(p, cast(p.x));
    if (!p.quant) set_w(p, cast(p.w));
    if (p.bias) p.bias->dtype = dtype;
    p.out_dtype.reset();
    out.push_back(std::move(e));
  }
  return out;
}

std::vector<Edit> contiguous_operands(const OpSpec& spec) {
  const Gemm& g = spec.gemm();
  std::vector<Edit> out;
  const auto add = [&](bool x, bool w) {
    Edit e = plain(Change::make_contiguous, fmt::format("call contiguous() on {}", x && w ? "x and w" : x ? "x" : "w"), spec);
    Gemm& p = product(e);
    if (x) set_x(p, fresh(p.x, p.x.shape)), e.bytes += bytes_of(p.x);
    if (w) set_w(p, fresh(p.w, p.w.shape)), e.bytes += bytes_of(p.w);
    if (x) p.extra.erase("x_contiguous");
    out.push_back(std::move(e));
  };
  const bool x = g.x.strides.has_value(), w = g.w.strides.has_value();
  if (x) add(true, false);
  if (w) add(false, true);
  if (x && w) add(true, true);
  if (g.bias && g.bias->strides) {
    out.push_back(plain(Change::make_contiguous, "call contiguous() on the bias", spec));
    Gemm& p = product(out.back());
    p.bias = fresh(*p.bias, p.bias->shape);
    out.back().bytes = bytes_of(*p.bias);
  }
  if (g.out.strides) {
    out.push_back(plain(Change::make_contiguous, "write into a contiguous result", spec));
    product(out.back()).out = {};
  }
  return out;
}

// A weight is laid out once, when it is loaded; the call then gets a view without a copy.
std::vector<Edit> transposed_views(const OpSpec& spec) {
  const Gemm& g = spec.gemm();
  if (g.w.shape.size() < 2) return {};
  const bool now = is_transposed(g.w);
  Edit e = plain(Change::transpose_view, now ? "store w row-major as (K, N)" : "store w once as (N, K) and pass its transpose, a view without a copy", spec);
  Gemm& p = product(e);
  set_w(p, packed(p.w, p.w.shape, !now));
  p.extra.erase("op_a");
  return {std::move(e)};
}

std::vector<Edit> aligned(const OpSpec& spec) {
  const Gemm& g = spec.gemm();
  const bool bias = g.bias && g.bias->offset;
  if (!g.x.offset && !g.w.offset && !bias) return {};
  std::string names;
  Edit e = plain(Change::align_offset, {}, spec);
  Gemm& p = product(e);
  const auto clone = [&](TensorSpec& t, const char* name) {
    if (!t.offset) return;
    names += (names.empty() ? "" : ", ") + std::string(name);
    e.bytes += bytes_of(t);
    t.offset = 0;
    t.storage.reset();
  };
  clone(p.x, "x");
  clone(p.w, "w");
  if (p.bias) clone(*p.bias, "the bias");
  e.text = "clone what starts at an unaligned offset: " + names;
  return {std::move(e)};
}

std::vector<Edit> package_versions(const OpSpec& spec) {
  std::vector<Edit> out;
  add_newer(spec, "PyTorch", &spec::Context::torch, {"2.6.0", "2.7.0", "2.8.0", "2.9.0", "2.11.0"}, out);
  add_newer(spec, "CUDA", &spec::Context::cuda, {"11.8", "12.0", "12.1", "12.3", "12.4", "12.8", "12.9", "13.1"}, out);
  struct Package {
    const char *name, *text;
    std::initializer_list<const char*> list;
    bool (*parse)(std::string_view, facts::Version&);
  };
  static const Package packages[] = {{"cublas", "cuBLAS", {"12.8.0", "12.9.0", "13.2.0", "13.2.1"}, facts::Version::parse},
                                     {"bitsandbytes", "bitsandbytes", {"0.50.0"}, facts::Version::parse},
                                     {"vllm", "vLLM", {"0.26.0"}, frameworks::gemm::parse_vllm_version}};
  for (const Package& package : packages) {
    const auto it = spec.context.versions.find(package.name);
    facts::Version now, next;
    if (it == spec.context.versions.end() || !package.parse(it->second, now)) continue;
    for (const char* text : package.list) {
      if (!package.parse(text, next) || !(next > now)) continue;
      out.push_back(plain(Change::change_version, fmt::format("use {} {} or newer", package.text, text), spec));
      out.back().spec.context.versions[package.name] = text;
    }
  }
  return out;
}

struct Variable {
  const char* name;
  const char* value;  // nullptr: clear it
  Keeps keeps;
};
constexpr Variable variables[] = {{"DISABLE_ADDMM_CUDA_LT", nullptr, Keeps::function},   {"NVIDIA_TF32_OVERRIDE", nullptr, Keeps::precision},
                                  {"VLLM_DISABLED_KERNELS", nullptr, Keeps::function},   {"VLLM_USE_DEEP_GEMM", nullptr, Keeps::function},
                                  {"VLLM_BATCH_INVARIANT", nullptr, Keeps::precision},   {"ONEDNN_MAX_CPU_ISA", nullptr, Keeps::function},
                                  {"DNNL_MAX_CPU_ISA", nullptr, Keeps::function},        {"ATEN_CPU_CAPABILITY", nullptr, Keeps::function},
                                  {"CUBLAS_WORKSPACE_CONFIG", ":4096:8", Keeps::function},
                                  {"TORCH_LINEAR_FLATTEN_3D", "1", Keeps::function}};

// Fewer ranks share the layer, so that each holds a greater part.
void add_ranks(const OpSpec& spec, std::vector<Edit>& out) {
  for (const auto& [field, whole] : {std::pair{"k_part", "k_full"}, std::pair{"n_part", ""}}) {
    const Gemm& g = spec.gemm();
    const auto part = g.extra.find(field);
    if (part == g.extra.end() || g.w.shape.size() < 2) continue;
    const auto full = g.extra.find(whole);
    const std::int64_t all = full != g.extra.end() ? std::atoll(full->second.c_str()) : g.w.shape[g.w.shape.size() - (*field == 'k' ? 2 : 1)];
    const std::int64_t now = std::atoll(part->second.c_str());
    for (std::int64_t times = 2; now > 0 && times <= 64 && now <= all / times; times *= 2) {
      out.push_back(plain(Change::change_setting, fmt::format("split the layer over {} times fewer ranks, so that each holds {} of {}", times, now * times, all), spec));
      product(out.back()).extra[field] = std::to_string(now * times);
    }
  }
}

std::vector<Edit> product_settings(const OpSpec& spec) {
  std::vector<Edit> out;
  for (const Variable& v : variables) {
    const auto it = spec.context.env.find(v.name);
    const bool there = it != spec.context.env.end();
    if (v.value ? there && it->second == v.value : !there) continue;
    out.push_back(plain(Change::change_setting, v.value ? fmt::format("set {}={} before the process starts", v.name, v.value) : fmt::format("clear {} before the process starts", v.name), spec, v.keeps));
    if (v.value) out.back().spec.context.env[v.name] = v.value;
    else out.back().spec.context.env.erase(v.name);
  }
  if (spec.gemm().extra.contains("quantization")) {
    out.push_back(plain(Change::change_setting, "leave the quantization method to the checkpoint instead of naming it", spec));
    product(out.back()).extra.erase("quantization");
  }
  add_ranks(spec, out);
  return out;
}

// Switches of the call or of the process, held in the extra fields.
std::vector<Edit> switches(const OpSpec& spec, bool on) {
  struct Switch {
    const char *field, *from, *text;
    Keeps keeps;
  };
  static constexpr Switch enable[] = {{"reduced_precision_reduction", "false", "allow reduced-precision reductions again", Keeps::precision},
                                      {"mkldnn_enabled", "false", "enable oneDNN again (torch.backends.mkldnn)", Keeps::function}};
  static constexpr Switch disable[] = {{"fp16_accumulation", "true", "switch allow_fp16_accumulation off", Keeps::function},
                                       {"use_fast_accum", "true", "switch fast accumulation off", Keeps::function},
                                       {"batch_invariant", "true", "leave the batch-invariant mode", Keeps::precision}};
  std::vector<Edit> out;
  const Change change = on ? Change::enable_flag : Change::disable_flag;
  for (const Switch& s : on ? std::span<const Switch>(enable) : std::span<const Switch>(disable)) {
    const auto it = spec.gemm().extra.find(s.field);
    if (it == spec.gemm().extra.end() || it->second != s.from) continue;
    out.push_back(plain(change, s.text, spec, s.keeps));
    product(out.back()).extra.erase(s.field);
  }
  if (on && !spec.flags.tf32 && spec.gemm().x.dtype == DType::f32) {
    out.push_back(plain(change, "allow TF32 for products (float32 matmul precision high)", spec, Keeps::precision));
    out.back().spec.flags.tf32 = true;
  }
  return out;
}

std::vector<Edit> regrouped(const OpSpec& spec) {
  std::vector<Edit> out;
  if (!spec.gemm().quant) return out;
  for (std::int64_t group : {128, 64, 32}) {
    if (spec.gemm().quant->group_size == group || spec.gemm().x.shape.back() % group != 0) continue;
    out.push_back(plain(Change::regroup, fmt::format("quantize again in groups of {}", group), spec, Keeps::precision));
    product(out.back()).quant->group_size = group;
  }
  return out;
}

}  // namespace

std::vector<Edit> product_edits(Change change, const OpSpec& spec) {
  switch (change) {
    case Change::pad_k:
    case Change::pad_n:
    case Change::pad_m: return pad_extent(change, spec);
    case Change::cast_dtype: return casts(spec);
    case Change::make_contiguous: return contiguous_operands(spec);
    case Change::transpose_view: return transposed_views(spec);
    case Change::align_offset: return aligned(spec);
    case Change::change_version: return package_versions(spec);
    case Change::change_setting: return product_settings(spec);
    case Change::enable_flag:
    case Change::disable_flag: return switches(spec, change == Change::enable_flag);
    case Change::regroup: return regrouped(spec);
    case Change::disable_grad:
      if (!spec.gemm().requires_grad) return {};
      {
        Edit e = plain(change, "call under no_grad, where no gradient is wanted", spec, Keeps::meaning);
        product(e).requires_grad = false;
        return {std::move(e)};
      }
    default: return {};
  }
}

}  // namespace dd::session
