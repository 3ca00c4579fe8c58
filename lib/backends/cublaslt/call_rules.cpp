#include "backends/cublaslt/rules.hpp"

namespace dd::backends::cublaslt {
namespace {

using namespace rules;
using I = facts::Id;

constexpr Source here{"how this tool calls cublasLtMatmul", "0.1", "2026-11-29"};
constexpr Source docs{"cuBLAS library documentation, tables of types of cublasLtMatmul", "13.2 to 13.4", "2026-08-20"};

const std::vector<std::string> fp8{"f8_e4m3", "f8_e5m2"};

Condition row(const char* operands, std::vector<std::string> results, std::vector<std::string> computes) {
  return all({equals(I::dtype, operands), equals(I::dtype_w, operands), one_of(I::dtype_out, std::move(results)), one_of(I::compute_type, std::move(computes))});
}
Condition known_types() {
  return any({row("f64", {"f64"}, {"64F", "64F_PEDANTIC", "64F_EMULATED_FIXEDPOINT"}),
              row("f32", {"f32"}, {"32F", "32F_PEDANTIC", "32F_FAST_16F", "32F_FAST_16BF", "32F_FAST_TF32", "32F_EMULATED_16BFX9"}),
              row("f16", {"f16", "f32"}, {"32F", "32F_PEDANTIC"}), row("f16", {"f16"}, {"16F", "16F_PEDANTIC"}), row("bf16", {"bf16", "f32"}, {"32F", "32F_PEDANTIC"}),
              row("s8", {"s32"}, {"32I", "32I_PEDANTIC"}), row("s8", {"f32"}, {"32F", "32F_PEDANTIC"}),
              all({one_of(I::dtype, fp8), one_of(I::dtype_w, fp8), one_of(I::dtype_out, {"bf16", "f16", "f32", "f8_e4m3", "f8_e5m2"}), equals(I::compute_type, "32F")})});
}

}  // namespace

std::span<const Rule> call_rules() {
  static const std::vector<Rule> rows = {
      {"CLT110", "lt-quantized", "the weights are quantized", Level::blocks, Blame::spec, "cublaslt", always(), is_false(I::quantized),
       "passed over; codes with scales along k are no operands of this library", {"use cuda-packed, cuda-dequant, or cublaslt-s8", Keeps::function, {}}, here,
       "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16", "gemm --m 1 --n 64 --k 64 --dtype f16"},
      {"CLT111", "lt-type-row", "the types of operands, result and arithmetic form no row of the library's tables", Level::blocks, Blame::spec, "cublaslt", always(), known_types(),
       "NOT_SUPPORTED", {"take the result in a type that the operands have a row for, or cast an operand", Keeps::precision, {Change::cast_dtype}}, docs,
       "gemm --m 64 --n 64 --k 64 --dtype u8", "gemm --m 64 --n 64 --k 64 --dtype s8"},
      {"CLT112", "lt-bias-shape", "the bias is not one dense row", Level::blocks, Blame::spec, "cublaslt", is_true(I::has_bias),
       all({at_most(I::bias_rank, 1), is_true(I::bias_contiguous)}), "passed over; the epilogue adds one dense row of features",
       {"pass a bias of one axis, or add it afterwards", Keeps::function, {}}, here, "gemm --m 8 --n 8 --k 8 --dtype f16 --bias --bias-strides 2",
       "gemm --m 8 --n 8 --k 8 --dtype f16 --bias"},
      {"CLT113", "lt-bias-type", "the bias is not of the result's type", Level::blocks, Blame::spec, "cublaslt", all({is_true(I::has_bias), none_of(I::dtype, fp8)}),
       equals(I::dtype_bias, I::dtype_out), "NOT_SUPPORTED", {"cast the bias to the type of the result", Keeps::precision, {Change::cast_dtype}}, docs,
       "gemm --m 8 --n 8 --k 8 --dtype f16 --bias --bias-dtype bf16", "gemm --m 8 --n 8 --k 8 --dtype f16 --bias"},
      {"CLT114", "lt-no-dense-axis", "an operand has no axis of unit stride, or the result has no dense rows", Level::blocks, Blame::spec, "cublaslt", always(),
       all({one_of(I::x_layout, {"row", "column"}), one_of(I::w_layout, {"row", "column"}), equals(I::out_layout, "row")}),
       "passed over; a layout cannot say it, and this tool makes no hidden copy", {"make the tensor contiguous", Keeps::function, {Change::make_contiguous}}, here,
       "gemm --x 8x8 --w 8x8 --x-strides 32x2 --dtype f16", "gemm --x 8x8 --w 8x8 --trans-x --dtype f16"},
      {"CLT115", "lt-empty", "an extent is 0", Level::blocks, Blame::spec, "cublaslt", always(), all({at_least(I::m, 1), at_least(I::n, 1), at_least(I::k, 1)}),
       "passed over; a layout of no rows is refused", {"skip the call: the result is empty or zero", Keeps::function, {}}, here, "gemm --m 8 --n 8 --k 0 --dtype f16",
       "gemm --m 8 --n 8 --k 8 --dtype f16"},
      {"CLT116", "lt-epilogue-not-called", "the epilogue is for training, or keeps what a backward pass reads", Level::blocks, Blame::build, "cublaslt", always(),
       one_of(I::lt_epilogue, {"DEFAULT", "RELU", "BIAS", "RELU_BIAS", "GELU", "GELU_BIAS"}), "passed over; this tool calls the forward epilogues without side outputs",
       {"judge it in the framework that trains", Keeps::function, {}}, here, "gemm --m 8 --n 8 --k 8 --dtype f16 --extra lt_epilogue=GELU_AUX",
       "gemm --m 8 --n 8 --k 8 --dtype f16 --epilogue gelu"},
      {"CLT117", "lt-scale-mode-not-called", "the scale mode has no scales that this tool can make", Level::blocks, Blame::build, "cublaslt", applicable(I::scale_mode),
       one_of(I::scale_mode, {"SCALAR_32F", "OUTER_VEC_32F", "VEC128_32F", "BLK128x128_32F", "VEC128xBLK128", "VEC32_UE8M0"}),
       "passed over; 4-bit floats are no element type of this tool's runs", {"use an 8-bit float", Keeps::precision, {Change::cast_dtype}}, here,
       "gemm --m 64 --n 64 --k 64 --trans-w --dtype f8_e4m3 --out-dtype bf16 --extra scale_mode=VEC16_UE4M3",
       "gemm --m 64 --n 64 --k 64 --trans-w --dtype f8_e4m3 --out-dtype bf16"},
      {"CLT118", "lt-alpha-or-beta", "alpha is not 1 or beta is not 0", Level::blocks, Blame::setting, "cublaslt", always(), all({equals(I::alpha, 1), equals(I::beta, 0)}),
       "passed over; this tool runs the plain product", {"scale or add afterwards", Keeps::function, {}}, here, "gemm --m 8 --n 8 --k 8 --dtype f16 --extra alpha=2",
       "gemm --m 8 --n 8 --k 8 --dtype f16"},
  };
  return rows;
}

std::span<const Rule> native_rules() {
  static const std::vector<Rule> rows = [] {
    std::vector<Rule> all;
    for (const auto part : {call_rules(), all_rules()}) all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

}  // namespace dd::backends::cublaslt
