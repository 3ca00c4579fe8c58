#include "evidence/kernels/kernels.hpp"

#include <charconv>
#include <optional>

#include "evidence/kernels/mangled.hpp"
#include "evidence/kernels/pattern.hpp"
#include "fmt/format.h"

namespace dd::evidence {
namespace {

constexpr std::size_t longest_name = 16384;   // longer names are judged by their beginning
constexpr std::uint32_t step_limit = 400000;  // per name, over the whole table

struct CompiledRow {
  const KernelRow* row;
  std::vector<NamePattern> patterns;
};

const std::vector<CompiledRow>& compiled() {
  static const std::vector<CompiledRow> all = [] {
    std::vector<CompiledRow> out;
    for (const KernelRow& row : kernel_rows()) {
      CompiledRow each{&row, {}};
      for (const std::string_view text : row.patterns)
        if (!text.empty()) each.patterns.emplace_back(text);
      out.push_back(std::move(each));
    }
    return out;
  }();
  return all;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// The number right after `mark`, when there is one.
std::optional<int> number_after(std::string_view text, std::string_view mark) {
  for (auto at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + 1)) {
    const auto* begin = text.data() + at + mark.size();
    int value = 0;
    const auto [end, error] = std::from_chars(begin, text.data() + text.size(), value);
    if (error == std::errc{} && end != begin && value >= 0) return value;
  }
  return std::nullopt;
}

// "_128x64_" -> 128, 64: the first such pair at or after `from`.
void read_tile(std::string_view text, std::size_t from, KernelClass& out) {
  for (std::size_t at = from; at < text.size(); ++at) {
    if (!is_digit(text[at]) || (at > 0 && is_digit(text[at - 1]))) continue;
    int m = 0, n = 0;
    const auto* stop = text.data() + text.size();
    const auto first = std::from_chars(text.data() + at, stop, m);
    if (first.ec != std::errc{} || first.ptr == stop || *first.ptr != 'x') continue;
    const auto second = std::from_chars(first.ptr + 1, stop, n);
    if (second.ec != std::errc{} || m <= 0 || n <= 0) continue;
    out.tile_m = m;
    out.tile_n = n;
    return;
  }
}

void read_blas_layout(std::string_view name, KernelClass& out) {
  for (const std::string_view layout : {"_nn", "_nt", "_tn", "_tt"})
    for (auto at = name.find(layout); at != std::string_view::npos; at = name.find(layout, at + 1))
      if (at + 3 >= name.size() || !is_word(name[at + 3]) || name[at + 3] == '_') {
        out.layout = layout.substr(1);
        return;
      }
}

void describe_cutlass(std::string_view name, KernelClass& out) {
  const auto at = name.find("cutlass_");
  const std::string_view rest = at == std::string_view::npos ? name : name.substr(at);
  out.build_sm = number_after(rest, "cutlass_").value_or(0);
  out.alignment = number_after(rest, "_align").value_or(0);
  out.wmma = has(rest, "_wmma_");
  if (out.row->id == "cutlass-simt") {
    out.dtype = has(rest, "_hgemm") ? "fp16" : has(rest, "_dgemm") ? "fp64" : "fp32";
  } else if (has(rest, "gemm_s8") || has(rest, "gemm_u8")) {
    out.dtype = "int8";
  } else if (has(rest, "_bf16_")) {
    out.dtype = "bf16";
  } else if (has(rest, "_f16_") || number_after(rest, "_h").has_value()) {
    out.dtype = "fp16";
  } else if (has(rest, "_d884gemm")) {
    out.dtype = "fp64";
  } else {
    out.dtype = "tf32";
  }
  const auto gemm = rest.find("gemm");
  if (gemm != std::string_view::npos) read_tile(rest, gemm, out);
  if (out.row->id == "cutlass-simt") {
    out.label = fmt::format("cutlass SIMT {}, no tensor cores", out.dtype);
    return;
  }
  out.label = fmt::format("cutlass{} {} {}", out.build_sm, out.wmma ? "wmma" : "tensor-core", out.dtype);
  if (out.alignment > 0) out.label += fmt::format(" align{}", out.alignment);
}

// Cijk_Alik_Bljk_<types>_...: the token after the second index group names inputs, output and compute.
void describe_tensile(std::string_view name, KernelClass& out) {
  const auto field = [&](int index) -> std::string_view {
    std::size_t begin = 0;
    for (int i = 0; i < index; ++i) {
      begin = name.find('_', begin);
      if (begin == std::string_view::npos) return {};
      ++begin;
    }
    return name.substr(begin, name.find('_', begin) - begin);
  };
  const std::string_view type = field(3);
  if (type.starts_with("F8") || type.starts_with("B8") || type.starts_with("F8B8")) out.dtype = "fp8";
  else if (type.starts_with("BB") || type == "B") out.dtype = "bf16";
  else if (type.starts_with("HH") || type == "H" || type == "HSS" || type == "HS") out.dtype = "fp16";
  else if (type.starts_with("I8") || type.starts_with("4xi8")) out.dtype = "int8";
  else if (type.starts_with("DB") || type == "D") out.dtype = "fp64";
  else if (type.starts_with("S")) out.dtype = has(name, "_MX_X") || has(name, "XF32") ? "xf32" : "fp32";
  if (field(1).size() >= 3 && field(2).size() >= 3)
    out.layout = fmt::format("{}{}", field(1)[1] == 'i' ? 'n' : 't', field(2)[1] == 'l' ? 'n' : 't');
  const auto tile = name.find("_MT");
  if (tile != std::string_view::npos) read_tile(name, tile + 3, out);
  out.split_k = std::max(1, number_after(name, "_GSU").value_or(1));
  if (!has(name, "_MI")) out.tensor_cores = out.row->id == "tensile-rocblas" ? Tri::unknown : out.tensor_cores;
  const bool lt = out.row->id == "tensile-hipblaslt";
  out.label = fmt::format("Tensile {} {}", lt ? "hipBLASLt" : "rocBLAS", out.dtype.empty() ? "unknown type" : out.dtype);
}

void describe_nvjet(std::string_view name, KernelClass& out) {
  out.build_sm = number_after(name, "nvjet_sm").value_or(90);
  std::string_view rest = name.substr(6);
  if (rest.starts_with("sm")) rest = rest.substr(std::min(rest.size(), rest.find('_') + 1));
  const char input = rest.empty() ? '?' : rest[0];
  out.dtype = input == 't' ? "bf16" : input == 'h' ? "fp16" : input == 'q' ? "fp8" : input == 's' ? "tf32" : "";
  const auto tile = rest.find('_');
  if (tile != std::string_view::npos) read_tile(rest, tile, out);
  const bool split = has(name, "_splitK");
  out.label = fmt::format("nvjet tensor-core {}{}", out.dtype.empty() ? "unknown type" : out.dtype, split ? " splitK" : "");
}

void describe_xmma(std::string_view name, KernelClass& out) {
  const auto sm = name.find("sm");
  out.build_sm = number_after(name, "sm").value_or(0);
  const auto types = name.find("_gemm_");
  if (out.row->role != Role::gemm || types == std::string_view::npos || sm == std::string_view::npos) {
    out.label = "convolution (xmma)";
    return;
  }
  const std::string_view pair = name.substr(types + 6, name.find('_', types + 6) - types - 6);
  out.dtype = out.row->id == "xmma-tf32" ? "tf32" : pair.starts_with("bf16") ? "bf16" : pair.starts_with("f16") ? "fp16" : pair.starts_with("tf32") ? "tf32"
              : pair.starts_with("e4m3") || pair.starts_with("e5m2") ? "fp8" : pair.starts_with("i8") ? "int8"
              : pair.starts_with("f64") ? "fp64" : "fp32";
  const auto tile = name.find("tilesize");
  if (tile != std::string_view::npos) read_tile(name, tile, out);
  out.label = out.row->id == "xmma-f32" ? fmt::format("xmma {} FFMA, no tensor cores", out.dtype)
                                        : fmt::format("xmma sm{} tensor-core {}", out.build_sm, pair);
}

// Types are spelled out among the template arguments; the first one named is that of the inputs.
void describe_cutlass_source(std::string_view name, KernelClass& out) {
  static constexpr std::pair<std::string_view, std::string_view> types[] = {{"float_e4m3_t", "fp8"}, {"float_e5m2_t", "fp8"}, {"float_e2m1_t", "fp4"}, {"nv_float4_t", "fp4"},
      {"float_ue8m0_t", "fp8"}, {"bfloat16_t", "bf16"}, {"tfloat32_t", "tf32"}, {"half_t", "fp16"}, {"int8_t", "int8"}, {"signed char", "int8"}};
  std::size_t first = std::string_view::npos;
  for (const auto& [text, dtype] : types)
    if (const auto at = name.find(text); at < first) {
      first = at;
      out.dtype = dtype;
    }
  out.label = fmt::format("{} {}", out.row->provider, out.dtype.empty() ? "of unknown type" : out.dtype);
}

void describe_plain_gemm(std::string_view name, KernelClass& out) {
  for (const std::string_view family : {"ampere", "volta", "turing", "maxwell", "pascal"}) {
    const auto at = name.find(family);
    if (at == std::string_view::npos) continue;
    if (out.row->id == "cublas-complex") {
      out.dtype = has(name, "zgemm") ? "complex128" : "complex64";
      out.label = fmt::format("{} complex, no tensor cores", family);
      read_tile(name, at, out);
      return;
    }
    const bool twofold = has(name, "dgemm");
    if (out.row->id == "cublas-sgemm") {
      out.dtype = twofold ? "fp64" : "fp32";
      out.label = fmt::format("{}_{}gemm {}, no tensor cores", family, twofold ? 'd' : 's', out.dtype);
    } else {
      out.dtype = has(name, "bf16") ? "bf16" : has(name, "int8") ? "int8" : has(name, "tf32") ? "tf32" : "fp16";
      const bool cores = out.tensor_cores == Tri::yes;
      out.label = fmt::format("{} {}{}", family, cores ? "tensor-core " : "", out.dtype);
      if (!cores) out.label += ", no tensor cores";
    }
    read_tile(name, at, out);
    return;
  }
  out.dtype = has(name, "__half") || has(name, "half_t") ? "fp16" : has(name, "bfloat16") ? "bf16" : "fp32";
}

void describe_attention(std::string_view name, KernelClass& out) {
  out.dtype = has(name, "bfloat16") || has(name, "bf16") || has(name, "Bfloat16") ? "bf16"
              : has(name, "half_t") || has(name, "__half") || has(name, "_f16") || has(name, "fp16") ? "fp16"
              : has(name, "E4m3") || has(name, "e4m3") || has(name, "fp8") ? "fp8" : has(name, "_f32_") ? "fp32" : "";
  if (has(name, "_notaligned")) out.alignment = 1;
  const std::string_view id = out.row->id;
  const std::string_view way = out.backward ? "bwd" : "fwd";
  if (id == "fa2-torch-forward") out.label = "flash2 (torch built-in) fwd";
  else if (id == "aotriton-forward") out.label = "AOTriton flash fwd";
  else if (id == "vllm-triton-attention") out.label = "vLLM triton unified attention";
  else if (id == "trtllm-fmha") out.label = "trtllm-gen paged fmha fwd";
  else if (id == "paged-rocm") out.label = "ROCm paged attention (QKV or reduce)";
  else out.label = fmt::format("{} {}", out.row->provider, way);
}

void describe(std::string_view name, KernelClass& out) {
  const std::string_view id = out.row->id;
  out.backward = has(out.row->operation, "backward");
  if (id.starts_with("cutlass-device") || id.starts_with("cutlass2")) {
    describe_cutlass_source(name, out);
  } else if (id.starts_with("cutlass3")) {
    out.alignment = number_after(name, "_align").value_or(0);
    out.dtype = has(name, "_bf16") ? "bf16" : has(name, "_f16") ? "fp16" : has(name, "e4m3") ? "fp8" : "fp32";
    out.label = fmt::format("cutlass3x {}", out.dtype) + (out.tensor_cores == Tri::no ? ", no tensor cores" : "");
  } else if (id.starts_with("cutlass-") && out.role == Role::gemm) {
    describe_cutlass(name, out);
    read_blas_layout(name, out);
  } else if (id == "tensile-hipblaslt" || id == "tensile-rocblas") {
    describe_tensile(name, out);
  } else if (id.starts_with("nvjet")) {
    describe_nvjet(name, out);
  } else if (id.starts_with("xmma")) {
    describe_xmma(name, out);
    read_blas_layout(name, out);
  } else if (out.role == Role::attention) {
    describe_attention(name, out);
  } else if (out.row->family == "gemv") {
    describe_plain_gemm(name, out);
    out.label = fmt::format("{} gemv", out.row->provider);
  } else if (out.row->family == "gemm-small" || id == "cublas-magma" || id == "cublas-large-k") {
    describe_plain_gemm(name, out);
    out.label = "cublas small/odd gemm, no tensor cores";
  } else if (id.starts_with("cublas-") && out.role == Role::gemm) {
    describe_plain_gemm(name, out);
    read_blas_layout(name, out);
  } else if (id == "triton-matmul-ogs") {
    out.dtype = has(name, "mxfp4") ? "mxfp4" : "";
    out.label = has(name, "mxfp4") ? "triton MoE gemm mxfp4" : "triton MoE gemm";
  } else if (id == "trtllm-bmm") {
    out.label = "trtllm-gen MoE gemm";
  } else if (id == "ck-gemm") {
    out.label = has(name, "moe") || has(name, "Moe") ? "ck MoE gemm" : "ck gemm";
  } else if (id == "split-k-reduce") {
    out.label = "split-K reduce";
  } else if (id == "lt-epilogue") {
    out.label = "separate cublasLt epilogue (bias)";
  } else if (id == "tensile-reduce") {
    out.label = "Tensile GSU reduce";
  } else if (out.role == Role::cast) {
    out.label = "cast";
  } else if (id == "copy-restride") {
    out.label = "strided copy, same type";
  } else if (id == "copy-device") {
    out.label = "copy_device_to_device";
  } else if (id == "copy-generic") {
    out.label = "copy or cast";
  } else {
    out.label = out.role == Role::gemm ? fmt::format("{} {}", out.row->provider, out.row->family) : std::string(out.row->family);
  }
}

}  // namespace

std::string_view role_name(Role role) {
  static constexpr std::string_view names[] = {"unknown", "gemm", "gemm_aux", "sdpa", "softmax", "cast", "layout", "copy",
      "copy?", "concat", "triton", "convolution", "norm", "reduction", "elementwise", "quantize", "dequantize", "indexing", "collective", "other"};
  return names[static_cast<std::size_t>(role)];
}

std::string_view tri_name(Tri value) {
  return value == Tri::yes ? "yes" : value == Tri::no ? "no" : "unknown";
}

namespace {

KernelClass classify_text(std::string_view name) {
  KernelClass out;
  std::uint32_t steps = step_limit;
  for (const CompiledRow& each : compiled()) {
    for (const NamePattern& pattern : each.patterns) {
      if (!pattern.found_in(name, steps)) continue;
      out.row = each.row;
      out.role = each.row->role;
      out.tensor_cores = each.row->tensor_cores;
      describe(name, out);
      return out;
    }
    if (steps == 0) break;
  }
  return out;
}

}  // namespace

KernelClass classify_kernel(std::string_view name) {
  name = name.substr(0, longest_name);
  KernelClass out = classify_text(name);
  if (out.known() || !name.starts_with("_Z")) return out;
  return classify_text(spelled_out(name));  // some profilers leave names as the linker knows them
}

const KernelClass& KernelClassifier::of(std::string_view name) {
  const auto found = seen_.find(std::string(name));
  if (found != seen_.end()) return found->second;
  return seen_.emplace(std::string(name), classify_kernel(name)).first->second;
}

}  // namespace dd::evidence
