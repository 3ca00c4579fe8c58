#include "frameworks/gemm/cost.hpp"

#include <algorithm>
#include <limits>

#include "frameworks/gemm/facts.hpp"
#include "frameworks/gemm/set.hpp"

namespace dd::frameworks::gemm {
namespace {

std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t out = 0;
  return __builtin_add_overflow(a, b, &out) ? std::numeric_limits<std::int64_t>::max() : out;
}

std::int64_t bytes_of(std::int64_t elements, int bits) { return bits <= 0 ? 0 : times(elements, bits) / 8 + (times(elements, bits) % 8 != 0); }

// Bytes that 256 elements take in the formats of ggml, scales included.
struct Packed { std::string_view type; std::int64_t bytes; };
constexpr Packed ggml_types[] = {{"Q1_0", 36},   {"Q2_0", 68},    {"Q4_0", 144},  {"Q4_1", 160}, {"Q5_0", 176},    {"Q5_1", 192},  {"Q8_0", 272}, {"Q2_K", 84},   {"Q3_K", 110},
                                 {"Q4_K", 144},  {"Q5_K", 176},   {"Q6_K", 210},  {"IQ1_S", 50}, {"IQ1_M", 56},    {"IQ2_XXS", 66}, {"IQ2_XS", 74}, {"IQ2_S", 82}, {"IQ3_XXS", 98},
                                 {"IQ3_S", 110}, {"IQ4_NL", 144}, {"IQ4_XS", 136}, {"TQ1_0", 54}, {"TQ2_0", 66}, {"MXFP4", 136},  {"NVFP4", 144}};

std::int64_t stored_weight(const facts::FactSet& f, std::int64_t elements) {
  const std::string type = text(f, Id::quant_type);
  for (const Packed& row : ggml_types)
    if (row.type == type) return times(elements / 256 + (elements % 256 != 0), row.bytes);
  return bytes_of(elements, static_cast<int>(integer_or(f, Id::quant_bits, bits_of_type(text(f, Id::dtype_w)))));
}

struct Sizes {
  std::int64_t x = 0, w = 0, w_wide = 0, out = 0;
};

Sizes sizes(const facts::FactSet& f) {
  const std::int64_t rows = integer_or(f, Id::rows, 1), n = integer_or(f, Id::n, 1), k = integer_or(f, Id::k, 1), batch = integer_or(f, Id::gemm_batch, 1);
  const std::int64_t weights = times(times(n, k), batch);
  Sizes s;
  s.x = bytes_of(times(times(rows, k), batch), bits_of_type(text(f, Id::dtype)));
  s.w = stored_weight(f, weights);
  s.w_wide = integer_or(f, Id::dequantized_bytes, bytes_of(weights, 16));
  s.out = bytes_of(times(times(rows, n), batch), bits_of_type(text(f, Id::dtype_out)));
  return s;
}

enum class What { x, w, w_wide, out };
struct Hidden {
  std::string_view rule;  // unmet rule that brings the copy
  What what;
  std::string_view text;
};

// Copies by rule: one row for each rule whose effect writes memory.
constexpr Hidden by_rule[] = {
    {"TMM004", What::x, "copy of x"},           {"TMM005", What::out, "transposed copy of the result"}, {"TMM006", What::w, "expanded copy of the broadcast operand"},
    {"TMM023", What::x, "copy of x or w"},      {"TMM024", What::out, "result copied back"},            {"TMM040", What::x, "copy of the matrix"},
    {"TMM051", What::x, "copy of the batch"},   {"TMK007", What::x, "copy of x"},                       {"TEN004", What::w, "transposed copy of w"},
    {"VLM035", What::w_wide, "dequantized weight"}, {"VLM113", What::w_wide, "weight rebuilt in FP16"}, {"VLM131", What::w_wide, "dequantized weight"},
    {"VLM048", What::x, "padded copy of x"},    {"VLM049", What::x, "permuted copy of x"},              {"VLM144", What::x, "padded copy of x"},
    {"VLM154", What::x, "padded copy of x"},    {"VLM170", What::w_wide, "weight expanded to 16 bit"},  {"BNB001", What::x, "copy of x"},
    {"BNB022", What::x, "x cast to FP16"},      {"TAO003", What::x, "padded copy of x"},                {"TAO013", What::w, "w laid out anew"},
    {"TAO020", What::w, "copy of w"},           {"AWQ002", What::w_wide, "dequantized weight"},         {"AWQ003", What::w_wide, "unpacked weight"},
    {"GPM005", What::w_wide, "unpacked weight"}, {"GGM040", What::w_wide, "dequantized weight"}};

// Candidates that write memory whatever the findings say.
constexpr Hidden by_candidate[] = {{"bnb-dequantize", What::w_wide, "dequantized weight"}, {"vllm-nvfp4-emulation", What::w_wide, "weight expanded to 16 bit"}, {"gptqmodel-torch", What::w_wide, "unpacked weight"}};

std::int64_t size_of(What what, const Sizes& s) {
  switch (what) {
    case What::x: return s.x;
    case What::w: return s.w;
    case What::w_wide: return s.w_wide;
    case What::out: break;
  }
  return s.out;
}

}  // namespace

std::int64_t Cost::hidden_bytes() const {
  std::int64_t out = 0;
  for (const Part& part : hidden) out = plus(out, part.bytes);
  return out;
}

std::int64_t Cost::traffic() const { return plus(bytes, times(2, hidden_bytes())); }

Cost cost_of(std::string_view candidate, const std::vector<std::string_view>& unmet_ids, const facts::FactSet& f) {
  const Sizes s = sizes(f);
  Cost cost;
  cost.flops = 2.0 * static_cast<double>(integer_or(f, Id::rows, 1)) * static_cast<double>(integer_or(f, Id::n, 1)) * static_cast<double>(integer_or(f, Id::k, 1)) *
               static_cast<double>(integer_or(f, Id::gemm_batch, 1));
  // A layer that was left unquantized keeps its weight in 16 bit.
  const std::int64_t w = candidate == "torchao-unquantized" ? std::max(s.w, s.w_wide) : s.w;
  cost.bytes = plus(plus(s.x, w), s.out);
  const auto add = [&](const Hidden& row) {
    const bool there = std::any_of(cost.hidden.begin(), cost.hidden.end(), [&](const Part& p) { return p.what == row.text; });
    if (!there) cost.hidden.push_back({std::string(row.text), size_of(row.what, s)});
  };
  for (const Hidden& row : by_candidate)
    if (row.rule == candidate) add(row);
  for (const Hidden& row : by_rule)
    if (std::find(unmet_ids.begin(), unmet_ids.end(), row.rule) != unmet_ids.end()) add(row);
  // Without fusing, a bias is first spread over the result.
  if (candidate == "torch-mm" && flag(f, Id::has_bias).value_or(false)) cost.hidden.push_back({"bias copied into the result", s.out});
  return cost;
}

double roofline_seconds(const Cost& cost, double flops_per_second, double bytes_per_second) {
  const double arithmetic = flops_per_second > 0 ? cost.flops / flops_per_second : 0;
  const double memory = bytes_per_second > 0 ? static_cast<double>(cost.traffic()) / bytes_per_second : 0;
  return std::max(arithmetic, memory);
}

}  // namespace dd::frameworks::gemm
