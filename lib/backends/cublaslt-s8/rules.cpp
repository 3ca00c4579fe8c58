#include "backends/cublaslt/rules.hpp"
#include "backends/tables.hpp"

namespace dd::backends::cublaslt_s8 {

using namespace rules;
using facts::Id;

#define S8 "gemm --m 64 --n 64 --k 64 --trans-w --dtype s8 --quant w8a8"

std::span<const Rule> rules() {
  static const Source code = {"cublasLtMatmul in 32I, then this tool's kernel kernels/quant/rescale.cuh", "0.1", "2026-11-29"};
  static const auto row = [](std::string_view id, std::string_view name, std::string_view title, Condition needs, std::string_view effect, Fix fix, std::string_view blocked,
                             std::string_view passing = S8, Blame blame = Blame::spec) {
    return Rule{.id = id, .name = name, .title = title, .level = Level::blocks, .blame = blame, .scope = "cublaslt-s8", .applies = always(),
                .requires_that = std::move(needs), .effect = effect, .fix = std::move(fix), .source = code, .blocked_example = blocked, .passing_example = passing};
  };
  static const Rule table[] = {
      row("CLS001", "lt-s8-not-integers", "x and w are not both signed 8-bit integers", all({equals(Id::dtype, "s8"), equals(Id::dtype_w, "s8")}),
          "passed over; the integer units multiply these", {"quantize x and w to s8", Keeps::precision, {Change::cast_dtype}}, "gemm --m 64 --n 64 --k 64 --dtype f16 --quant w8a16"),
      row("CLS002", "lt-s8-groups", "scales change along k", one_of(Id::quant_group, {-1, 0}), "passed over; a sum over k has one scale",
          {"quantize per channel or per tensor", Keeps::precision, {Change::regroup}}, "gemm --m 64 --n 64 --k 64 --trans-w --dtype s8 --quant w8a8:group=32", S8, Blame::checkpoint),
      row("CLS003", "lt-s8-zero-point", "weights have zero points", is_false(Id::quant_zero_point), "passed over; the sums would need a correction by the sums of x",
          {"quantize symmetrically", Keeps::precision, {}}, "gemm --m 64 --n 64 --k 64 --trans-w --dtype s8 --quant w8a8:zero", S8, Blame::checkpoint),
      row("CLS004", "lt-s8-act-order", "groups follow an activation order", is_false(Id::quant_act_order), "passed over; there are no groups to follow",
          {"reorder the weights when the checkpoint is loaded", Keeps::function, {Change::regroup}}, "gemm --m 64 --n 64 --k 64 --trans-w --dtype s8 --quant w8a8:group=32:act-order", S8,
          Blame::checkpoint),
      row("CLS005", "lt-s8-epilogue", "an epilogue is fused", equals(Id::epilogue, "none"), "passed over; the library offers none with 32-bit sums",
          {"apply bias and activation afterwards", Keeps::function, {}}, "gemm --m 64 --n 64 --k 64 --trans-w --dtype s8 --quant w8a8 --epilogue relu"),
      row("CLS006", "lt-s8-result-dtype", "the result is none of f16, bf16 and f32", one_of(Id::dtype_out, {"f16", "bf16", "f32"}), "passed over; the rescale kernel writes these",
          {"take the result in f16, bf16 or f32", Keeps::function, {Change::cast_dtype}}, "gemm --m 64 --n 64 --k 64 --trans-w --dtype s8 --quant w8a8 --out-dtype f64"),
      row("CLS007", "lt-s8-long-k", "k is above 131071", at_most(Id::k, 131071), "passed over; a sum of that many products can leave 32 bits",
          {"split the product along k", Keeps::function, {}}, "gemm --m 4 --n 4 --k 131072 --trans-w --dtype s8 --quant w8a8"),
      row("CLS008", "lt-s8-no-dense-axis", "an operand has no axis of unit stride", all({one_of(Id::x_layout, {"row", "column"}), one_of(Id::w_layout, {"row", "column"})}),
          "passed over; a layout cannot say it, and this tool makes no hidden copy", {"make the operand contiguous", Keeps::function, {Change::make_contiguous}},
          "gemm --x 8x64 --w 64x8 --x-strides 256x2 --dtype s8 --quant w8a8"),
      row("CLS009", "lt-s8-empty", "an extent is 0", all({at_least(Id::m, 1), at_least(Id::n, 1), at_least(Id::k, 1)}), "passed over; a layout of no rows is refused",
          {"skip the call: the result is empty or zero", Keeps::function, {}}, "gemm --m 64 --n 64 --k 0 --trans-w --dtype s8 --quant w8a8"),
      row("CLS010", "lt-s8-architecture", "the GPU is older than compute capability 8.0", at_least(Id::compute_capability, 80), "passed over; this build has no code for it",
          {"build with its architecture in DD_CUDA_ARCHITECTURES", Keeps::function, {Change::change_setting}}, S8 " --target sm_75", S8 " --target sm_90", Blame::build),
      row("CLS011", "lt-s8-packing-unknown", "the packed order of the weights is another tool's", any({unless(applicable(Id::quant_packing)), one_of(Id::quant_packing, {"", "none"})}),
          "passed over; codes are read in plain order", {"unpack the weights to plain codes", Keeps::function, {Change::change_setting}},
          "gemm --m 64 --n 64 --k 64 --trans-w --dtype s8 --quant w8a8:packing=marlin", S8, Blame::checkpoint),
  };
  return table;
}

#undef S8

std::span<const Rule> native_rules() {
  static const std::vector<Rule> rows = [] {
    std::vector<Rule> all;
    for (const auto part : {rules(), cublaslt::int8_rules()}) all.insert(all.end(), part.begin(), part.end());
    return all;
  }();
  return rows;
}

}  // namespace dd::backends::cublaslt_s8
