#include "backends/cublas/rules.hpp"

namespace dd::backends::cublas {
namespace {

using namespace rules;
using I = facts::Id;

constexpr Source here{"how this tool calls cublasGemmEx and cublasGemmStridedBatchedEx", "0.1", "2026-11-29"};
constexpr Source docs{"cuBLAS library documentation, table of types of cublasGemmEx", "13.2 to 13.4", "2026-08-20"};

Condition row(const char* operands, std::vector<std::string> results, std::vector<std::string> computes) {
  return all({equals(I::dtype, operands), equals(I::dtype_w, operands), one_of(I::dtype_out, std::move(results)), one_of(I::compute_type, std::move(computes))});
}

}  // namespace

std::span<const Rule> call_rules() {
  static const std::vector<Rule> rows = {
      {"CUB040", "handle-api-quantized", "the weights are quantized", Level::blocks, Blame::spec, "cublas", always(), is_false(I::quantized),
       "passed over; the handle API reads no codes and scales", {"use cuda-packed, or cuda-dequant", Keeps::function, {}}, here,
       "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16", "gemm --m 1 --n 64 --k 64 --dtype f16"},
      {"CUB041", "handle-api-type-row", "the types of operands, result and arithmetic form no row of the library's table", Level::blocks, Blame::spec, "cublas", always(),
       any({row("f64", {"f64"}, {"64F", "64F_PEDANTIC", "64F_EMULATED_FIXEDPOINT"}),
            row("f32", {"f32"}, {"32F", "32F_PEDANTIC", "32F_FAST_16F", "32F_FAST_16BF", "32F_FAST_TF32", "32F_EMULATED_16BFX9"}),
            row("f16", {"f16", "f32"}, {"32F", "32F_PEDANTIC"}), row("f16", {"f16"}, {"16F", "16F_PEDANTIC"}), row("bf16", {"bf16", "f32"}, {"32F", "32F_PEDANTIC"}),
            row("s8", {"s32"}, {"32I", "32I_PEDANTIC"}), row("s8", {"f32"}, {"32F", "32F_PEDANTIC"})}),
       "NOT_SUPPORTED", {"take the result in a type that the operands have a row for, or cast an operand", Keeps::precision, {Change::cast_dtype}}, docs,
       "gemm --m 64 --n 64 --k 64 --dtype bf16 --out-dtype f16", "gemm --m 64 --n 64 --k 64 --dtype bf16 --out-dtype f32"},
      {"CUB042", "handle-api-epilogue", "a bias or an activation is fused", Level::blocks, Blame::spec, "cublas", always(), equals(I::epilogue, "none"),
       "passed over; the handle API has no epilogue", {"use cublaslt, or apply bias and activation afterwards", Keeps::function, {}}, here,
       "gemm --m 64 --n 64 --k 64 --dtype f16 --epilogue relu", "gemm --m 64 --n 64 --k 64 --dtype f16"},
      {"CUB043", "handle-api-no-dense-axis", "an operand has no axis of unit stride, or the result has no dense rows", Level::blocks, Blame::spec, "cublas", always(),
       all({one_of(I::x_layout, {"row", "column"}), one_of(I::w_layout, {"row", "column"}), equals(I::out_layout, "row")}),
       "passed over; a leading dimension cannot say it, and this tool makes no hidden copy", {"make the tensor contiguous", Keeps::function, {Change::make_contiguous}}, here,
       "gemm --x 8x8 --w 8x8 --x-strides 32x2 --dtype f16", "gemm --x 8x8 --w 8x8 --trans-x --dtype f16"},
      {"CUB044", "handle-api-empty", "an extent is 0", Level::blocks, Blame::spec, "cublas", always(), all({at_least(I::m, 1), at_least(I::n, 1), at_least(I::k, 1)}),
       "passed over; what the library leaves in the result is not stated", {"skip the call: the result is empty or zero", Keeps::function, {}}, here,
       "gemm --m 8 --n 8 --k 0 --dtype f16", "gemm --m 8 --n 8 --k 8 --dtype f16"},
      {"CUB045", "handle-api-32-bit", "an extent or leading dimension does not fit in a signed 32-bit integer", Level::blocks, Blame::spec, "cublas", always(),
       all({at_most(I::largest_extent, 2147483647.0), at_most(I::lda, 2147483647.0), at_most(I::ldb, 2147483647.0)}), "passed over; the call counts in 32 bits",
       {"split the product along the long axis", Keeps::function, {Change::split_batch}}, here, "gemm --m 2147483648 --n 16 --k 16 --dtype f16",
       "gemm --m 4096 --n 16 --k 16 --dtype f16"},
      {"CUB046", "handle-api-alpha-or-beta", "alpha is not 1 or beta is not 0", Level::blocks, Blame::setting, "cublas", always(), all({equals(I::alpha, 1), equals(I::beta, 0)}),
       "passed over; this tool runs the plain product", {"scale or add afterwards", Keeps::function, {}}, here, "gemm --m 8 --n 8 --k 8 --dtype f16 --extra alpha=2",
       "gemm --m 8 --n 8 --k 8 --dtype f16"},
  };
  return rows;
}

// A program that calls the library itself meets the table of types as well; the other rules above are this tool's.
std::span<const Rule> library_rules() {
  static const std::vector<Rule> rows = [] {
    std::vector<Rule> all(gemm_rules().begin(), gemm_rules().end());
    for (const Rule& rule : call_rules())
      if (rule.id == "CUB041") {
        all.push_back(rule);
        all.back().id = "CUB009";
        all.back().name = "operand-types-without-a-row";
        all.back().order = 15;
        all.back().requires_that = any({rule.requires_that, one_of(I::dtype, {"c32", "c64"})});  // this tool has no complex types
      }
    return all;
  }();
  return rows;
}

std::span<const Rule> native_rules() {
  static const std::vector<Rule> rows = [] {
    std::vector<Rule> all;
    for (const auto part : {call_rules(), gemm_rules(), emulation_rules()}) all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

}  // namespace dd::backends::cublas
