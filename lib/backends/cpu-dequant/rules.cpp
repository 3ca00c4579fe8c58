#include "backends/tables.hpp"

namespace dd::backends::cpu_dequant {

using namespace rules;
using facts::Id;

std::span<const Rule> rules() {
  static const Source code = {"dequantizing product of this tool", "0.1", "2026-11-29"};
  static const Rule table[] = {
      {.id = "CPU040", .name = "dequant-weights-not-quantized", .title = "the weights are not quantized", .level = Level::blocks,
       .blame = Blame::spec, .scope = "cpu-dequant", .applies = always(), .requires_that = is_true(Id::quantized),
       .effect = "passed over; there are no codes and scales to read", .fix = {"quantize the weights", Keeps::precision, {}},
       .source = code, .blocked_example = "gemm --m 1 --n 64 --k 64", .passing_example = "gemm --m 1 --n 64 --k 64 --quant w4a16:group=32"},
      {.id = "CPU041", .name = "dequant-packing-unknown", .title = "the packed order of the weights is another tool's",
       .level = Level::blocks, .blame = Blame::checkpoint, .scope = "cpu-dequant", .applies = is_true(Id::quantized),
       .requires_that = any({unless(applicable(Id::quant_packing)), one_of(Id::quant_packing, {"", "none"})}),
       .effect = "passed over; codes are read in plain row-major order",
       .fix = {"unpack the weights to row-major codes", Keeps::function, {Change::change_setting}}, .source = code,
       .blocked_example = "gemm --m 1 --n 64 --k 64 --quant w4a16:group=32:packing=marlin",
       .passing_example = "gemm --m 1 --n 64 --k 64 --quant w4a16:group=32"},
      {.id = "CPU042", .name = "dequant-weight-type-unsupported", .title = "the weights are not 8- or 4-bit integer codes",
       .level = Level::blocks, .blame = Blame::checkpoint, .scope = "cpu-dequant", .applies = is_true(Id::quantized),
       .requires_that = one_of(Id::dtype_w, {"s8", "u8", "s4", "u4"}), .effect = "passed over; no unpacking loop for such codes",
       .fix = {"requantize to w8 or w4", Keeps::precision, {}}, .source = code,
       .blocked_example = "gemm --m 1 --n 64 --k 64 --quant w8a16 --dtype f16:f8_e4m3:f16",
       .passing_example = "gemm --m 1 --n 64 --k 64 --quant w8a16"},
      {.id = "CPU043", .name = "dequant-integer-activations-without-scales", .title = "x holds integers that have no scales",
       .level = Level::blocks, .blame = Blame::spec, .scope = "cpu-dequant", .applies = is_true(Id::quantized),
       .requires_that = any({one_of(Id::dtype, {"f64", "f32", "f16", "bf16", "f8_e4m3", "f8_e5m2"}),
                             all({one_of(Id::dtype, {"s8", "u8"}), equals(Id::quant_act_bits, 8)})}),
       .effect = "passed over; only 8-bit activations come with scales",
       .fix = {"use a scheme with 8-bit or float activations", Keeps::precision, {}}, .source = code,
       .blocked_example = "gemm --m 1 --n 64 --k 64 --quant w4a4", .passing_example = "gemm --m 1 --n 64 --k 64 --quant w8a8"},
      {.id = "CPU044", .name = "dequant-arithmetic-f64", .title = "f64 arithmetic is asked for", .level = Level::blocks, .blame = Blame::spec,
       .scope = "cpu-dequant", .applies = is_true(Id::quantized),
       .requires_that = all({differs(Id::dtype, "f64"), differs(Id::compute, "f64")}),
       .effect = "passed over; the arithmetic is f32", .fix = {"use f32 activations and --compute f32", Keeps::precision, {Change::cast_dtype}},
       .source = code, .blocked_example = "gemm --m 1 --n 64 --k 64 --quant w8a32 --dtype f32:s8:f32 --compute f64",
       .passing_example = "gemm --m 1 --n 64 --k 64 --quant w8a32 --dtype f32:s8:f32 --compute f32"},
      {.id = "CPU045", .name = "dequant-not-eager", .title = "the mode is not eager", .level = Level::blocks, .blame = Blame::spec,
       .scope = "cpu-dequant", .applies = always(), .requires_that = equals(Id::mode, "eager"),
       .effect = "passed over; nothing is compiled or captured on the processor",
       .fix = {"use --mode eager", Keeps::function, {Change::change_setting}}, .source = code,
       .blocked_example = "gemm --m 1 --n 64 --k 64 --quant w8a16 --mode captured",
       .passing_example = "gemm --m 1 --n 64 --k 64 --quant w8a16 --mode eager"},
      {.id = "CPU046", .name = "dequant-weights-exceed-memory", .title = "the dequantized weights do not fit into memory",
       .level = Level::blocks, .blame = Blame::hardware, .scope = "cpu-dequant", .applies = is_true(Id::quantized),
       .requires_that = at_most(Id::dequantized_bytes, Id::memory_available),
       .effect = "passed over; the whole matrix is written in f32", .fix = {"use cpu-packed", Keeps::function, {}}, .source = code,
       .blocked_example = "gemm --m 1 --n 4194304 --k 4194304 --quant w4a16:group=128",
       .passing_example = "gemm --m 1 --n 64 --k 64 --quant w4a16:group=32"},
      {.id = "CPU047", .name = "dequant-weights-materialised",
       .title = "the dequantized weights are larger than 1 MiB and are written out in full", .level = Level::slows,
       .blame = Blame::heuristic, .scope = "cpu-dequant", .applies = is_true(Id::quantized),
       .requires_that = at_most(Id::dequantized_bytes, 1 << 20),
       .effect = "several times the bytes of the packed weights are written and read again in every call",
       .fix = {"clear what keeps the call off cpu-packed", Keeps::function, {}}, .source = code,
       .blocked_example = "gemm --m 1 --n 4096 --k 4096 --quant w4a16:group=128",
       .passing_example = "gemm --m 1 --n 64 --k 64 --quant w4a16:group=32"},
      {.id = "CPU048", .name = "dequant-without-blas", .title = "no BLAS library could be opened", .level = Level::slows,
       .blame = Blame::build, .scope = "cpu-dequant", .applies = always(), .requires_that = is_true(Id::blas_available),
       .effect = "the product runs on this tool's own loops",
       .fix = {"install OpenBLAS, or name one with DD_OPENBLAS", Keeps::function, {Change::change_setting}}, .source = code,
       .blocked_example = "gemm --m 1 --n 64 --k 64 --quant w8a16", .passing_example = "gemm --m 1 --n 64 --k 64 --quant w8a16"},
  };
  return table;
}

}  // namespace dd::backends::cpu_dequant
