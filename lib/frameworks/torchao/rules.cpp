#include "frameworks/torchao/rules.hpp"

namespace dd::frameworks::torchao {
namespace {

using namespace rules;
using I = facts::Id;
constexpr auto stops = Level::blocks, slow = Level::slows;
constexpr auto same = Keeps::function, less_precise = Keeps::precision;

constexpr Source api{"torchao/quantization/quant_api.py", "main, 2026-08-21", "2026-08-22"};
constexpr Source tiles{"torchao Int4TilePackedTo4dTensor", "main, 2026-08-21", "2026-08-22"};
constexpr Source inference{"torchao/float8/inference.py", "main, 2026-08-21", "2026-08-22"};
constexpr Source reports{"hqq discussion of the torchao backend", "November 2024", "2026-08-25"};
constexpr Source kernels{"torchao int8 workflow, kernels.py", "main, 2026-08-21", "2026-08-22"};

#define I4(K, N, DTYPE, ARCH) "gemm --x 1x" K " --w " K "x" N " --dtype " DTYPE " --quant w4a16:group=128 --framework torchao --target " ARCH
#define F8(K, N, ARCH) "gemm --x 64x" K " --w " K "x" N " --trans-w --dtype bf16 --framework torchao --target " ARCH
#define IMM(M, N) "gemm --x " M "x4096 --w 4096x" N " --dtype s8 --out-dtype s32 --framework torchao --extra call=safe_int_mm --target sm_90"

const std::vector<Rule>& int4_table() {
  static const std::vector<Rule> rows = {
      {"TAO001", "int4-layer-skipped", "K is not a multiple of the group size", stops, Blame::checkpoint, "torchao-int4", always(), equals(I::group_rest_layer, 0), "the layer silently stays in 16 bit, with one line in the log at info level",
       {"choose a group size that divides K", less_precise, {Change::regroup}}, api, I4("4096", "4096", "bf16", "sm_90") " --extra k_full=4160", I4("4096", "4096", "bf16", "sm_90"), 10},
      {"TAO002", "int4-not-bf16", "the model is not BF16, or the chip is older than 8.0", stops, Blame::setting, "torchao-int4", always(), all({equals(I::dtype, "bf16"), at_least(I::compute_capability, 80)}), "the packed kernel refuses",
       {"convert the model to BF16", less_precise, {Change::cast_dtype}}, tiles, I4("4096", "4096", "f16", "sm_90"), I4("4096", "4096", "bf16", "sm_90"), 11},
      {"TAO003", "int4-pads", "K is not a multiple of 1024, or N not of 8", slow, Blame::spec, "torchao-int4", always(), all({multiple_of(I::k, 1024), multiple_of(I::n, 8)}), "the weight is padded, and the activations in every call",
       {"nothing but other extents", same, {Change::pad_k}}, tiles, I4("11008", "4096", "bf16", "sm_90"), I4("4096", "4096", "bf16", "sm_90"), 30},
      {"TAO004", "int4-kernel-made-for-few-rows", "the packed kernel is made for few rows", Level::warns, Blame::heuristic, "torchao-int4", always(), at_most(I::rows, 8.0), "it streams the weight once per few rows, so from about 8 rows on the 16-bit layer may be faster",
       {"use a kernel made for batches (Marlin, Machete, GemLite), or the 16-bit layer", same, {Change::change_setting}}, reports, "gemm --x 64x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=128 --framework torchao --target sm_90",
       I4("4096", "4096", "bf16", "sm_90"), 70},
  };
  return rows;
}

const std::vector<Rule>& float8_table() {
  static const std::vector<Rule> rows = {
      {"TAO010", "float8-chip", "a chip without FP8 products", stops, Blame::hardware, "torchao-float8", always(), at_least(I::compute_capability, 89), "the configuration asserts", {"quantize weights only, to INT8 or INT4", less_precise, {Change::regroup}}, api,
       F8("4096", "4096", "sm_80"), F8("4096", "4096", "sm_90"), 10},
      {"TAO011", "float8-layer-skipped", "an extent of the weight is not a multiple of 16", stops, Blame::spec, "torchao-float8", always(), all({multiple_of(I::k, 16), multiple_of(I::n, 16)}), "the layer silently stays in 16 bit",
       {"pad the weight", same, {Change::pad_k, Change::pad_n}}, api, F8("4096", "50257", "sm_90"), F8("4096", "4096", "sm_90"), 11},
      {"TAO012", "float8-per-row-not-bf16", "per-row scales with a weight that is not BF16", stops, Blame::setting, "torchao-float8", all({equals(I::scale_recipe, "rowwise"), applicable(I::weight_dtype)}), equals(I::weight_dtype, "bf16"), "the configuration asserts",
       {"convert the model to BF16", less_precise, {Change::cast_dtype}}, api, F8("4096", "4096", "sm_90") " --extra scale_recipe=rowwise --extra weight_dtype=f32", F8("4096", "4096", "sm_90") " --extra scale_recipe=rowwise --extra weight_dtype=bf16", 12},
      {"TAO013", "float8-relayout", "the activations are column-major, or the weight is stored row-major as (K, N)", slow, Blame::spec, "torchao-float8", always(), all({differs(I::x_layout, "column"), differs(I::w_layout, "row")}), "operands are laid out anew in every call",
       {"keep the weight contiguous as (N, K)", same, {Change::transpose_view}}, inference, "gemm --x 64x4096 --w 4096x4096 --dtype bf16 --framework torchao --target sm_90", F8("4096", "4096", "sm_90"), 30},
  };
  return rows;
}

const std::vector<Rule>& int_mm_table() {
  static const std::vector<Rule> rows = {
      {"TAO020", "integer-weight-made-contiguous", "the second operand is column-major in eager mode", slow, Blame::heuristic, "torchao-safe-int-mm",
       all({multiple_of(I::k, 8), multiple_of(I::n, 8), differs(I::mode, "compiled")}), differs(I::w_layout, "column"), "it is copied in every call, which undoes the layout that the library prefers",
       {"compile the call, or use a Triton kernel", same, {Change::change_setting}}, kernels, IMM("64", "4096") " --trans-w", IMM("64", "4096"), 30},
      {"TAO021", "integer-product-on-cpu", "K or N is not a multiple of 8, or the tensors are on the CPU", stops, Blame::spec, "torchao-safe-int-mm", always(),
       all({multiple_of(I::k, 8), multiple_of(I::n, 8), differs(I::k, 0), differs(I::n, 0), unless(equals(I::device_type, "cpu"))}), "both operands are moved to the CPU, multiplied there and moved back, without a warning",
       {"pad K and N to multiples of 8", same, {Change::pad_k, Change::pad_n}}, kernels, IMM("64", "50257"), IMM("64", "4096"), 60},
      {"TAO022", "integer-product-in-f32", "16 rows or fewer on a GPU", stops, Blame::spec, "torchao-safe-int-mm", always(), above(I::rows, 16.0), "the refusal is caught and the product runs in FP32, which is inexact for long reductions",
       {"pad the rows to 32", same, {Change::pad_m}}, kernels, IMM("8", "4096"), IMM("64", "4096"), 61},
  };
  return rows;
}

#undef I4
#undef F8
#undef IMM

}  // namespace

std::span<const Rule> int4_rules() { return int4_table(); }
std::span<const Rule> float8_rules() { return float8_table(); }
std::span<const Rule> safe_int_mm_rules() { return int_mm_table(); }

}  // namespace dd::frameworks::torchao
