#include "backends/tables.hpp"

namespace dd::backends::cpu_onednn {

using namespace rules;
using facts::Id;

namespace {

const Source matmul_of = {"matmul primitive of oneDNN, as tried with 2.6.3 and 3.2.0", "2.6.3", "2026-11-29"};
const std::vector<std::string> wide = {"avx512_core", "avx512_core_vnni", "avx512_core_bf16", "avx512_core_fp16", "avx512_core_amx",
                                       "avx512_core_amx_fp16", "avx2_vnni_2"};
const std::vector<std::string> dot = {"avx512_core_vnni", "avx512_core_bf16", "avx512_core_fp16", "avx512_core_amx",
                                      "avx512_core_amx_fp16", "avx2_vnni", "avx2_vnni_2"};
const std::vector<std::string> half = {"avx512_core_fp16", "avx512_core_amx_fp16", "avx2_vnni_2"};

Condition integers() { return one_of(Id::dtype, {"s8", "u8"}); }

}  // namespace

std::span<const Rule> rules() {
  static const std::vector<std::string> dense = {"row", "column"};
  static const Rule table[] = {
      {.id = "ENV002", .name = "onednn-unavailable", .title = "oneDNN could not be opened", .level = Level::blocks, .blame = Blame::build,
       .scope = "cpu-onednn", .applies = always(), .requires_that = is_true(Id::onednn_available),
       .effect = "passed over; the backends command tells what was tried",
       .fix = {"install oneDNN (libdnnl2 or libdnnl3), or name one with DD_ONEDNN", Keeps::function, {Change::change_setting}},
       .source = matmul_of, .blocked_example = "gemm --m 8 --n 8 --k 8", .passing_example = "gemm --m 8 --n 8 --k 8"},
      {.id = "ODN001", .name = "onednn-dtype-unsupported", .title = "no implementation for this pair of element types",
       .level = Level::blocks, .blame = Blame::library_version, .scope = "cpu-onednn", .applies = is_false(Id::quantized),
       .requires_that = any({all({equals(Id::dtype, "f32"), equals(Id::dtype_w, "f32")}),
                             all({equals(Id::dtype, "bf16"), equals(Id::dtype_w, "bf16")}),
                             all({equals(Id::dtype, "f16"), equals(Id::dtype_w, "f16")}),
                             all({integers(), equals(Id::dtype_w, "s8")})}),
       .effect = "passed over; the library refuses the pair",
       .fix = {"use f32, bf16, f16 or 8-bit integers with signed weights for both operands", Keeps::precision, {Change::cast_dtype}},
       .source = matmul_of, .blocked_example = "gemm --m 8 --n 8 --k 8 --dtype f64", .passing_example = "gemm --m 8 --n 8 --k 8 --dtype s8"},
      {.id = "ODN002", .name = "onednn-bf16-needs-avx512", .title = "bf16 needs wider vectors than oneDNN may use",
       .level = Level::blocks, .blame = Blame::hardware, .scope = "cpu-onednn", .applies = equals(Id::dtype, "bf16"),
       .requires_that = one_of(Id::onednn_isa, wide), .effect = "passed over; no bf16 implementation below AVX-512 or AVX2 with bf16 conversion",
       .fix = {"use f32 on this processor", Keeps::function, {Change::cast_dtype}}, .source = matmul_of,
       .blocked_example = "gemm --m 8 --n 8 --k 8 --dtype bf16", .passing_example = "gemm --m 8 --n 8 --k 8 --dtype f32"},
      {.id = "ODN003", .name = "onednn-f16-needs-avx512-fp16", .title = "f16 needs an extension that oneDNN may not use, or a newer oneDNN",
       .level = Level::blocks, .blame = Blame::hardware, .scope = "cpu-onednn", .applies = equals(Id::dtype, "f16"),
       .requires_that = all({one_of(Id::onednn_isa, half), version_in(Id::onednn_version, "3.0", "")}),
       .effect = "passed over; no f16 implementation on this processor", .fix = {"use f32 or bf16", Keeps::precision, {Change::cast_dtype}},
       .source = matmul_of, .blocked_example = "gemm --m 8 --n 8 --k 8 --dtype f16", .passing_example = "gemm --m 8 --n 8 --k 8 --dtype f32"},
      {.id = "ODN004", .name = "onednn-result-type-unsupported", .title = "the result type does not go with the operand types",
       .level = Level::blocks, .blame = Blame::library_version, .scope = "cpu-onednn", .applies = is_false(Id::quantized),
       .requires_that = any({all({equals(Id::dtype, "f32"), equals(Id::dtype_out, "f32")}),
                             all({equals(Id::dtype, "bf16"), one_of(Id::dtype_out, {"bf16", "f32"})}),
                             all({equals(Id::dtype, "f16"), one_of(Id::dtype_out, {"f16", "f32"})}),
                             all({integers(), one_of(Id::dtype_out, {"s32", "f32", "s8", "u8"})}),
                             none_of(Id::dtype, {"f32", "bf16", "f16", "s8", "u8"})}),
       .effect = "passed over; no implementation other than a plain reference loop ends in that type",
       .fix = {"take the result in the type of the operands, f32 or s32", Keeps::function, {Change::cast_dtype}}, .source = matmul_of,
       .blocked_example = "gemm --m 8 --n 8 --k 8 --dtype f32 --out-dtype bf16",
       .passing_example = "gemm --m 8 --n 8 --k 8 --dtype f32 --out-dtype f32"},
      {.id = "ODN005", .name = "onednn-arithmetic-unavailable", .title = "the arithmetic asked for is not offered for these operands",
       .level = Level::blocks, .blame = Blame::library_version, .scope = "cpu-onednn", .applies = is_false(Id::quantized),
       .requires_that = any({all({integers(), one_of(Id::compute, {"s32", "f32"})}), one_of(Id::compute, {"f32", "tf32", "f16"}),
                             none_of(Id::dtype, {"f32", "bf16", "f16", "s8", "u8"})}),
       .effect = "passed over; floats are added in f32 and 8-bit integers in s32, nothing else",
       .fix = {"use --compute f32, or s32 for 8-bit integers", Keeps::precision, {Change::change_setting}}, .source = matmul_of,
       .blocked_example = "gemm --m 8 --n 8 --k 8 --dtype f32 --compute f64",
       .passing_example = "gemm --m 8 --n 8 --k 8 --dtype f32 --compute f32"},
      {.id = "ODN006", .name = "onednn-strided-operand", .title = "an operand has no axis of unit stride", .level = Level::slows,
       .blame = Blame::spec, .scope = "cpu-onednn", .applies = is_false(Id::quantized),
       .requires_that = all({any({one_of(Id::x_layout, dense), at_most(Id::m, 1), at_most(Id::k, 1)}), any({one_of(Id::w_layout, dense), at_most(Id::k, 1), at_most(Id::n, 1)})}),
       .effect = "the operand is copied to a dense matrix first",
       .fix = {"make the operand contiguous once", Keeps::function, {Change::make_contiguous}}, .source = matmul_of,
       .blocked_example = "gemm --x 8x8 --w 8x8 --x-strides 32x2", .passing_example = "gemm --x 8x8 --w 8x8 --trans-w"},
      {.id = "ODN007", .name = "onednn-integer-epilogue", .title = "an epilogue on an integer result would be computed in f32",
       .level = Level::blocks, .blame = Blame::library_version, .scope = "cpu-onednn",
       .applies = all({integers(), one_of(Id::dtype_out, {"s32", "s8", "u8"})}), .requires_that = equals(Id::epilogue, "none"),
       .effect = "passed over; sums above 2^24 would be rounded on the way through f32",
       .fix = {"take an f32 result, or apply the epilogue afterwards", Keeps::function, {Change::cast_dtype}}, .source = matmul_of,
       .blocked_example = "gemm --m 8 --n 8 --k 8 --dtype s8 --epilogue relu",
       .passing_example = "gemm --m 8 --n 8 --k 8 --dtype s8 --epilogue none"},
      {.id = "ODN013", .name = "onednn-int8-saturates", .title = "8-bit products saturate without 8-bit dot products", .level = Level::blocks,
       .blame = Blame::hardware, .scope = "cpu-onednn", .applies = integers(), .requires_that = one_of(Id::onednn_isa, dot),
       .effect = "passed over; pairs of products are added in 16 bits and clipped there, so results over the whole range are wrong",
       .fix = {"keep one operand within 7 bits and use another backend to check, or use a processor with VNNI", Keeps::precision, {}},
       .source = {"8-bit matmul of oneDNN 2.6.3 and 3.2.0, run on AVX2 without VNNI", "2.6.3", "2026-11-29"},
       .blocked_example = "gemm --m 8 --n 8 --k 8 --dtype s8", .passing_example = "gemm --m 8 --n 8 --k 8 --dtype f32"},
      {.id = "ODN008", .name = "onednn-empty-reduction", .title = "the reduction has no elements", .level = Level::blocks, .blame = Blame::spec,
       .scope = "cpu-onednn", .applies = always(), .requires_that = at_least(Id::k, 1),
       .effect = "passed over; the library does nothing for empty operands and leaves the result unwritten",
       .fix = {"fill the result with zeros (or the bias) without a product", Keeps::function, {}}, .source = matmul_of,
       .blocked_example = "gemm --x 4x0 --w 0x4", .passing_example = "gemm --x 4x1 --w 1x4"},
      {.id = "ODN009", .name = "onednn-isa-capped", .title = "an environment variable caps what oneDNN may use", .level = Level::warns,
       .blame = Blame::setting, .scope = "cpu-onednn", .applies = always(), .requires_that = is_false(Id::onednn_isa_capped),
       .effect = "wider vectors and newer types of the processor stay unused",
       .fix = {"unset ONEDNN_MAX_CPU_ISA and DNNL_MAX_CPU_ISA", Keeps::function, {Change::change_setting}}, .source = matmul_of,
       .blocked_example = "gemm --m 8 --n 8 --k 8", .passing_example = "gemm --m 8 --n 8 --k 8"},
      {.id = "ODN010", .name = "onednn-reasons-untold", .title = "this oneDNN does not tell why it passes implementations over",
       .level = Level::informs, .blame = Blame::library_version, .scope = "cpu-onednn", .applies = is_true(Id::onednn_available),
       .requires_that = version_in(Id::onednn_version, "3.2", ""), .effect = "a refusal comes without the library's own reasons",
       .fix = {"use oneDNN 3.2 or newer", Keeps::function, {Change::change_version}}, .source = {"verbose log of oneDNN", "3.2", "2026-11-29"},
       .blocked_example = "gemm --m 8 --n 8 --k 8", .passing_example = "gemm --m 8 --n 8 --k 8"},
      {.id = "ODN011", .name = "onednn-quantized-weights", .title = "the weights are quantized", .level = Level::blocks, .blame = Blame::build,
       .scope = "cpu-onednn", .applies = always(), .requires_that = is_false(Id::quantized),
       .effect = "passed over; weights with scales per group are not handed to oneDNN here",
       .fix = {"use cpu-packed, or dequantize the weights once", Keeps::function, {}}, .source = matmul_of,
       .blocked_example = "gemm --m 1 --n 64 --k 64 --quant w8a16", .passing_example = "gemm --m 1 --n 64 --k 64"},
      {.id = "ODN012", .name = "onednn-not-eager", .title = "the mode is not eager", .level = Level::blocks, .blame = Blame::spec,
       .scope = "cpu-onednn", .applies = always(), .requires_that = equals(Id::mode, "eager"),
       .effect = "passed over; nothing is compiled or captured on the processor",
       .fix = {"use --mode eager", Keeps::function, {Change::change_setting}}, .source = matmul_of,
       .blocked_example = "gemm --m 8 --n 8 --k 8 --mode captured", .passing_example = "gemm --m 8 --n 8 --k 8 --mode eager"},
  };
  return table;
}

}  // namespace dd::backends::cpu_onednn
