// Packed and quantized products on a processor: what each entry point of torch takes there. Seen by calling them, on AVX2.
#include "frameworks/torch_gemm/rules.hpp"

namespace dd::frameworks::torch_gemm {
namespace {

using namespace rules;
using I = facts::Id;

constexpr Source seen{"calls of the entry points on a processor with AVX2", "PyTorch 2.8.0 and 2.15.0", "2026-11-29"};

#define W4(M, K, N, REST) "gemm --x " M "x" K " --w " K "x" N " --dtype bf16 --quant w4a16:" REST " --framework torch --target cpu"
#define W8(X, K, N, REST) "gemm --x " X "x" K " --w " K "x" N " --dtype bf16 --quant w8a16:" REST " --framework torch --target cpu"
#define IMM(X) "gemm --x " X " --w 128x64 --dtype s8 --out-dtype s32 --framework torch --target cpu"
#define SMM(X, TORCH) "gemm --x " X " --w 128x64 --dtype f8_e4m3 --out-dtype bf16 --framework torch --target cpu --torch-version " TORCH

const std::vector<Rule>& int4_table() {
  static const std::vector<Rule> rows = {
      {"TIG020", "int4pack-activation-type", "the activations are not FP32, BF16 or FP16", stops, Blame::spec, "torch-cpu-int4pack", always(), one_of(I::dtype, {"f32", "bf16", "f16"}), "RuntimeError",
       {"cast the activations", less_precise, {Change::cast_dtype}}, seen, W4("4", "128", "64", "group=32") " --extra dtype_x=f64", W4("4", "128", "64", "group=32"), 10},
      {"TIG021", "int4pack-input-layout", "the activations are not a contiguous matrix", stops, Blame::spec, "torch-cpu-int4pack", always(), all({is_true(I::x_contiguous), equals(I::x_rank, 2)}), "RuntimeError",
       {"reshape to two contiguous axes", same, {Change::make_contiguous}}, seen, W4("2x4", "128", "64", "group=32"), W4("4", "128", "64", "group=32"), 11},
      {"TIG022", "int4pack-group", "the group is not 32, 64, 128 or 256, or does not divide K", stops, Blame::checkpoint, "torch-cpu-int4pack", always(),
       any({all({one_of(I::quant_group, {32, 64, 128, 256}), multiple_of(I::k, I::quant_group)}), all({one_of(I::quant_group, {-1, 0}), one_of(I::k, {32, 64, 128, 256})})}), "RuntimeError",
       {"quantize again with a group of 128", less_precise, {Change::regroup}}, seen, W4("4", "512", "64", "group=512"), W4("4", "512", "64", "group=128"), 12},
      {"TIG023", "int4pack-n-not-16", "N is not a multiple of 16", stops, Blame::spec, "torch-cpu-int4pack", always(), multiple_of(I::n, 16), "RuntimeError when the weight is packed",
       {"pad N with zeros and slice the result", same, {Change::pad_n}}, seen, W4("4", "128", "24", "group=32"), W4("4", "128", "64", "group=32"), 13},
      {"TIG024", "int4pack-act-order", "the weight was quantized in activation order", stops, Blame::checkpoint, "torch-cpu-int4pack", always(), unless(is_true(I::quant_act_order)),
       "the kernel knows groups of neighbours only", {"quantize again without activation order, or permute x and the weight beforehand", same, {Change::regroup}}, seen,
       W4("4", "128", "64", "group=32:act-order"), W4("4", "128", "64", "group=32"), 14},
  };
  return rows;
}

const std::vector<Rule>& int8_table() {
  static const std::vector<Rule> rows = {
      {"TWE001", "int8pack-activation-type", "the activations are not FP32, BF16 or FP16", stops, Blame::spec, "torch-int8pack", always(), one_of(I::dtype, {"f32", "bf16", "f16"}), "RuntimeError",
       {"cast the activations", less_precise, {Change::cast_dtype}}, seen, W8("4", "128", "64", "group=channel") " --extra dtype_x=f64", W8("4", "128", "64", "group=channel"), 10},
      {"TWE002", "int8pack-input-layout", "the activations are not a matrix with dense rows", stops, Blame::spec, "torch-int8pack", always(), all({equals(I::x_layout, "row"), equals(I::x_rank, 2)}), "RuntimeError",
       {"reshape to two contiguous axes", same, {Change::make_contiguous}}, seen, W8("2x4", "128", "64", "group=channel"), W8("4", "128", "64", "group=channel"), 11},
      {"TWE003", "int8pack-grouped-scales", "the weight is scaled in groups along K", stops, Blame::checkpoint, "torch-int8pack", always(), one_of(I::quant_group, {-1, 0}), "the kernel takes one scale a column",
       {"quantize again with one scale a column", less_precise, {Change::regroup}}, seen, W8("4", "128", "64", "group=32"), W8("4", "128", "64", "group=channel"), 12},
      {"TWE004", "int8pack-zero-points", "the weight has zero points, activation order or unsigned codes", stops, Blame::checkpoint, "torch-int8pack", always(),
       all({unless(is_true(I::quant_zero_point)), unless(is_true(I::quant_act_order)), differs(I::dtype_w, "u8")}), "the kernel takes signed codes and a scale", {"quantize again, symmetric", less_precise, {Change::regroup}}, seen,
       W8("4", "128", "64", "group=channel:zero"), W8("4", "128", "64", "group=channel"), 13},
      {"TWE005", "int8pack-bf16-tail-crashes", "BF16 activations with a K that is no multiple of 8", stops, Blame::library_version, "torch-int8pack", equals(I::dtype, "bf16"), multiple_of(I::k, 8),
       "the process ends by a segmentation fault; it is not run here", {"pad K with zeros", same, {Change::pad_k}}, seen, W8("4", "100", "64", "group=channel"), W8("4", "128", "64", "group=channel"), 14},
  };
  return rows;
}

const std::vector<Rule>& int_mm_table() {
  static const std::vector<Rule> rows = {
      {"TIM020", "int-mm-cpu-rank", "an operand is not a matrix", stops, Blame::spec, "torch-cpu-int-mm", always(), all({equals(I::x_rank, 2), equals(I::w_rank, 2)}), "RuntimeError",
       {"reshape to two axes", same, {Change::make_contiguous}}, seen, IMM("2x4x128"), IMM("4x128"), 10},
      {"TIM021", "int-mm-cpu-type", "an operand is not signed 8 bit", stops, Blame::spec, "torch-cpu-int-mm", always(), all({equals(I::dtype, "s8"), equals(I::dtype_w, "s8")}), "RuntimeError",
       {"shift the codes by 128 and correct the sums", same, {Change::cast_dtype}}, seen, IMM("4x128") " --extra dtype_w=u8", IMM("4x128"), 11},
      {"TIM022", "int-mm-cpu-scales", "the weight has scales in groups, zero points or activation order", stops, Blame::checkpoint, "torch-cpu-int-mm", is_true(I::quantized),
       all({one_of(I::quant_group, {-1, 0}), unless(is_true(I::quant_zero_point)), unless(is_true(I::quant_act_order))}), "sums of integers can be scaled by row and column only",
       {"quantize again with one scale a column", less_precise, {Change::regroup}}, seen, "gemm --x 4x128 --w 128x64 --dtype s8:s8 --quant w8a8:group=32 --framework torch --target cpu",
       "gemm --x 4x128 --w 128x64 --dtype s8:s8 --quant w8a8:group=channel --framework torch --target cpu", 12},
  };
  return rows;
}

const std::vector<Rule>& cpu_scaled_table() {
  static const std::vector<Rule> rows = {
      {"TSM030", "scaled-mm-cpu-rank", "an operand is not a matrix", stops, Blame::spec, "torch-cpu-scaled-mm", always(), all({equals(I::x_rank, 2), equals(I::w_rank, 2)}), "RuntimeError",
       {"reshape to two axes", same, {Change::make_contiguous}}, seen, SMM("2x4x128", "2.8.0"), SMM("4x128", "2.8.0"), 10},
      {"TSM031", "scaled-mm-cpu-row-scales", "scales of rows and columns, before they were taken on processors", stops, Blame::library_version, "torch-cpu-scaled-mm", is_true(I::quantized),
       version_in(I::torch_version, "2.9", ""), "2.8.0 ends in an internal assertion, 2.15.0 takes them; the releases between were not seen", {"use one scale for each operand, or a newer PyTorch", less_precise, {Change::change_version}},
       seen, "gemm --x 4x128 --w 128x64 --dtype f8_e4m3 --out-dtype bf16 --quant w8a8:group=channel --framework torch --target cpu --torch-version 2.8.0",
       "gemm --x 4x128 --w 128x64 --dtype f8_e4m3 --out-dtype bf16 --quant w8a8:group=channel --framework torch --target cpu --torch-version 2.15.0", 11},
      {"TSM032", "scaled-mm-cpu-widens", "FP8 operands are widened to FP32 and multiplied there", Level::slows, Blame::hardware, "torch-cpu-scaled-mm", always(), unless(equals(I::device_type, "cpu")),
       "both operands are written out in FP32 on every call; only processors with AMX have another way", {"keep the weight in BF16 on this processor", less_precise, {Change::cast_dtype}}, seen, SMM("4x128", "2.8.0"),
       "gemm --x 4x128 --w 128x64 --trans-w --dtype f8_e4m3 --out-dtype bf16 --framework torch --target sm_90 --torch-version 2.8.0", 60},
  };
  return rows;
}

#undef W4
#undef W8
#undef IMM
#undef SMM

}  // namespace

std::span<const Rule> cpu_int4pack_rules() { return int4_table(); }
std::span<const Rule> int8pack_rules() { return int8_table(); }
std::span<const Rule> cpu_int_mm_rules() { return int_mm_table(); }
std::span<const Rule> cpu_scaled_mm_rules() { return cpu_scaled_table(); }

}  // namespace dd::frameworks::torch_gemm
