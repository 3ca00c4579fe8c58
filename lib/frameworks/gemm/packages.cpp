// Frameworks whose dispatch is a short list: quantization packages, ggml, Transformer Engine, and the library itself.
#include "backends/cublaslt/rules.hpp"
#include "frameworks/gemm/product_framework.hpp"
#include "frameworks/gemm/set.hpp"

namespace dd::frameworks::gemm {
namespace {

using facts::FactSet;

constexpr std::string_view torchao_raises[] = {"TAO002", "TAO010", "TAO012"};

class BitsAndBytes final : public ProductFramework {
 public:
  BitsAndBytes() : ProductFramework("bitsandbytes", {"bnb-"}, {{"0.49", "0.50"}, Confidence::high, "0.49 and main of August 2026"}) {}
  std::vector<Candidate> candidates(const spec::OpSpec&, const FactSet& f) const override {
    if (integer_or(f, Id::quant_bits, 4) == 8) return {candidate("bnb-int8", "INT8 product with outlier columns apart", Speed::fast)};
    return {candidate("bnb-4bit", "fused 4-bit kernel", Speed::fast), last_resort("bnb-dequantize", "dequantized weight and a plain linear layer")};
  }
};

class TorchAo final : public ProductFramework {
 public:
  TorchAo() : ProductFramework("torchao", {"torchao-"}, {{"", ""}, Confidence::high, "main of August 2026"}) {}
  std::vector<Candidate> candidates(const spec::OpSpec& spec, const FactSet& f) const override {
    if (text(f, Id::dtype) == "s8") return {candidate("torchao-safe-int-mm", "torch._int_mm", Speed::fast), last_resort("torchao-integer-fallback", "product on the CPU or in FP32")};
    const bool int4 = spec.gemm().quant && integer_or(f, Id::quant_bits, 0) == 4;
    return {candidate(int4 ? "torchao-int4" : "torchao-float8", int4 ? "packed INT4 product" : "FP8 product", Speed::fast, torchao_raises),
            last_resort("torchao-unquantized", "the layer as it was, in 16 bit")};
  }
};

// Whatever reaches it is computed, unless the cache cannot be read that way.
Candidate unfused_attention() {
  static constexpr std::string_view raising[] = {"GGM056"};
  Candidate out = candidate("ggml-unfused-attention", "products and softmax apart, or the CPU", Speed::fallback, raising);
  out.last_resort = true;
  return out;
}

class Ggml final : public ProductFramework {
 public:
  Ggml() : ProductFramework("ggml", {"ggml-"}, {{"", ""}, Confidence::high, "main of August 2026"}) {}
  bool serves(const spec::OpSpec&) const override { return true; }
  std::span<const rules::Rule> call_rules(const spec::OpSpec& spec) const override {
    return spec.is_attention() ? std::span<const rules::Rule>() : find_scope("ggml-quantize")->rules();
  }
  std::vector<Candidate> candidates(const spec::OpSpec& spec, const FactSet& f) const override {
    if (text(f, Id::call) == "mul_mat_id")
      return {candidate("ggml-mmvq-id", "quantized vector kernel over the experts", Speed::fast), candidate("ggml-mmq", "quantized matrix kernel over the experts", Speed::fast),
              candidate("ggml-mmf-id", "float matrix kernel over the experts", Speed::fast), last_resort("ggml-sorted-experts", "tokens sorted on the host, one product an expert")};
    if (spec.is_attention()) return {candidate("ggml-fattn", "flash attention kernels", Speed::fast), unfused_attention()};
    return {candidate("ggml-mmvf", "float vector kernel", Speed::fast), candidate("ggml-mmf", "float matrix kernel", Speed::fast), candidate("ggml-mmvq", "quantized vector kernel", Speed::fast),
            candidate("ggml-mmq", "quantized matrix kernel", Speed::fast), last_resort("ggml-cublas", "cuBLAS, after dequantizing where needed", Speed::fast)};
  }
};

// Packages with one kernel, or a priority list that does not depend on the spec.
class Listed final : public ProductFramework {
 public:
  Listed(std::string_view name, std::string_view prefix, VersionConfidence confidence, std::vector<Candidate> list)
      : ProductFramework(name, {prefix}, confidence), list_(std::move(list)) {}
  std::vector<Candidate> candidates(const spec::OpSpec&, const FactSet&) const override { return list_; }

 private:
  std::vector<Candidate> list_;
};

// The library called directly: cuBLASLt with all its rows, and the handle API.
class CuBlas final : public ProductFramework {
 public:
  CuBlas() : ProductFramework("cublas", {"cublas"}, {{"12.8", "13.5"}, Confidence::medium_high, "documentation, headers and release notes; no measurement"}) {}
  std::vector<Candidate> candidates(const spec::OpSpec&, const FactSet&) const override {
    Candidate lt = candidate("cublaslt", "cuBLASLt matmul", Speed::fast);
    lt.rules = backends::cublaslt::all_rules();
    return {lt, candidate("cublas", "handle API (GemmEx)", Speed::fast)};
  }
};

}  // namespace

const Framework& bitsandbytes() {
  static const BitsAndBytes framework;
  return framework;
}

const Framework& torchao() {
  static const TorchAo framework;
  return framework;
}

const Framework& ggml() {
  static const Ggml framework;
  return framework;
}

const Framework& autoawq() {
  static const Listed framework("autoawq", "autoawq-", {{"", ""}, Confidence::high, "last state of May 2025"}, {candidate("autoawq-gemm", "AWQ kernel", Speed::fast)});
  return framework;
}

const Framework& gptqmodel() {
  static const Listed framework("gptqmodel", "gptqmodel-", {{"", ""}, Confidence::high, "main of August 2026"},
                                {candidate("gptqmodel-machete", "Machete", Speed::fast), candidate("gptqmodel-marlin", "Marlin", Speed::fast), candidate("gptqmodel-exllamav2", "ExLlama v2", Speed::fast),
                                 candidate("gptqmodel-triton", "Triton", Speed::fallback), last_resort("gptqmodel-torch", "unpacked by plain tensor operations")});
  return framework;
}

const Framework& onnxruntime() {
  static const Listed framework("onnxruntime", "onnxruntime-", {{"", ""}, Confidence::medium, "public reports, 2026"}, {candidate("onnxruntime-matmulnbits", "packed 4-bit product on the CPU", Speed::fast)});
  return framework;
}

const Framework& marlin() {
  static const Listed framework("marlin", "marlin-", {{"", ""}, Confidence::high, "first release, April 2024"}, {candidate("marlin-original", "first Marlin kernel", Speed::fast)});
  return framework;
}

const Framework& tensorrt_llm() {
  static const Listed framework("tensorrt-llm", "tensorrt-llm-", {{"", ""}, Confidence::medium, "snapshots of 2024 to 2026; the newest list of chips was not read"},
                                {candidate("tensorrt-llm-weight-only", "weight-only plugin", Speed::fast)});
  return framework;
}

const Framework& transformer_engine() {
  static const Listed framework("transformer-engine", "te-", {{"", ""}, Confidence::high, "main of August 2026"}, {candidate("te-fp8", "cuBLASLt under Transformer Engine", Speed::fast)});
  return framework;
}

const Framework& cublas() {
  static const CuBlas framework;
  return framework;
}

}  // namespace dd::frameworks::gemm
