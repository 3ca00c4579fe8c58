#include "backends/tables.hpp"

namespace dd::backends::cpu_naive {

using namespace rules;
using facts::Id;

namespace {
const Source code = {"plain loops of this tool", "0.1", "2026-11-29"};
}

std::span<const Rule> attention_rules() {
  static const Rule table[] = {
      {.id = "CPU001", .name = "naive-attention-not-eager", .title = "the mode is not eager", .level = Level::blocks,
       .blame = Blame::spec, .scope = "cpu-naive", .applies = always(), .requires_that = equals(Id::mode, "eager"),
       .effect = "passed over; nothing is compiled or captured on the processor",
       .fix = {"use --mode eager", Keeps::function, {Change::change_setting}}, .source = code,
       .blocked_example = "sdpa --q 1x2x16x8 --mode captured", .passing_example = "sdpa --q 1x2x16x8 --mode eager"},
      {.id = "CPU002", .name = "naive-forward-only", .title = "gradients are needed and only the forward pass is run here",
       .level = Level::informs, .blame = Blame::build, .scope = "cpu-naive", .applies = always(),
       .requires_that = is_false(Id::requires_grad), .effect = "the comparison covers the forward pass alone",
       .fix = {"judge gradients in the framework that computes them", Keeps::function, {}}, .source = code,
       .blocked_example = "sdpa --q 1x2x16x8 --train", .passing_example = "sdpa --q 1x2x16x8"},
      {.id = "CPU003", .name = "naive-result-not-float", .title = "the result, which has the type of q, would not be of a float type",
       .level = Level::blocks, .blame = Blame::spec, .scope = "cpu-naive", .applies = always(),
       .requires_that = one_of(Id::dtype, {"f64", "f32", "f16", "bf16", "f8_e4m3", "f8_e5m2"}),
       .effect = "passed over; weighted sums of whole numbers are none", .fix = {"use a float type for q", Keeps::meaning, {Change::cast_dtype}},
       .source = code, .blocked_example = "sdpa --q 1x2x16x8 --dtype s8", .passing_example = "sdpa --q 1x2x16x8 --dtype f8_e4m3"},
  };
  return table;
}

std::span<const Rule> gemm_rules() {
  static const Rule table[] = {
      {.id = "CPU005", .name = "naive-product-not-eager", .title = "the mode is not eager", .level = Level::blocks,
       .blame = Blame::spec, .scope = "cpu-naive", .applies = always(), .requires_that = equals(Id::mode, "eager"),
       .effect = "passed over; nothing is compiled or captured on the processor",
       .fix = {"use --mode eager", Keeps::function, {Change::change_setting}}, .source = code,
       .blocked_example = "gemm --m 8 --n 8 --k 8 --mode captured", .passing_example = "gemm --m 8 --n 8 --k 8 --mode eager"},
      {.id = "CPU006", .name = "naive-packing-unknown", .title = "the packed order of the weights is another tool's",
       .level = Level::blocks, .blame = Blame::checkpoint, .scope = "cpu-naive", .applies = is_true(Id::quantized),
       .requires_that = any({unless(applicable(Id::quant_packing)), one_of(Id::quant_packing, {"", "none"})}),
       .effect = "passed over; codes are read in plain row-major order",
       .fix = {"unpack the weights to row-major codes", Keeps::function, {Change::change_setting}}, .source = code,
       .blocked_example = "gemm --m 1 --n 64 --k 64 --quant w4a16:group=32:packing=marlin",
       .passing_example = "gemm --m 1 --n 64 --k 64 --quant w4a16:group=32"},
      {.id = "CPU009", .name = "naive-result-below-8-bits", .title = "the result would be of a type below 8 bits", .level = Level::blocks,
       .blame = Blame::spec, .scope = "cpu-naive", .applies = always(),
       .requires_that = none_of(Id::dtype_out, {"s4", "u4", "f4_e2m1", "bool"}),
       .effect = "passed over; results are written element by element", .fix = {"take a wider result with --out-dtype", Keeps::function, {Change::cast_dtype}},
       .source = code, .blocked_example = "gemm --m 8 --n 8 --k 8 --dtype f4_e2m1", .passing_example = "gemm --m 8 --n 8 --k 8 --dtype s8"},
      {.id = "CPU008", .name = "naive-quantized-arithmetic-f64", .title = "f64 arithmetic is asked for on quantized weights",
       .level = Level::blocks, .blame = Blame::spec, .scope = "cpu-naive", .applies = is_true(Id::quantized),
       .requires_that = differs(Id::compute, "f64"), .effect = "passed over; codes and scales are multiplied in f32",
       .fix = {"use --compute f32", Keeps::precision, {Change::change_setting}}, .source = code,
       .blocked_example = "gemm --m 1 --n 64 --k 64 --quant w8a32 --dtype f32:s8:f32 --compute f64",
       .passing_example = "gemm --m 1 --n 64 --k 64 --quant w8a32 --dtype f32:s8:f32 --compute f32"},
  };
  return table;
}

}  // namespace dd::backends::cpu_naive
