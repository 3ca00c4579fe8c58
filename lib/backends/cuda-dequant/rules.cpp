#include "backends/tables.hpp"

namespace dd::backends::cuda_dequant {

using namespace rules;
using facts::Id;

std::span<const Rule> rules() {
  static const Source code = {"dequantize kernel of this tool (kernels/quant/dequantize.cuh), then cublasGemmEx", "0.1", "2026-11-29"};
  static const auto row = [](std::string_view id, std::string_view name, std::string_view title, Condition needs, std::string_view effect, Fix fix,
                             std::string_view blocked, std::string_view passing, Blame blame = Blame::spec, Level level = Level::blocks) {
    return Rule{.id = id, .name = name, .title = title, .level = level, .blame = blame, .scope = "cuda-dequant", .applies = always(),
                .requires_that = std::move(needs), .effect = effect, .fix = std::move(fix), .source = code, .blocked_example = blocked, .passing_example = passing};
  };
  static const Rule table[] = {
      row("CDQ001", "cuda-dequant-activation-dtype", "x is neither f16 nor bf16", one_of(Id::dtype, {"f16", "bf16"}), "passed over; the kernel writes these two types",
          {"cast x to f16 or bf16", Keeps::precision, {Change::cast_dtype}}, "gemm --m 1 --n 64 --k 64 --dtype f32:s8:f32 --quant w8a32", "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16"),
      row("CDQ002", "cuda-dequant-act-order", "groups follow an activation order", is_false(Id::quant_act_order), "passed over; the kernel walks groups in order",
          {"reorder the weights when the checkpoint is loaded", Keeps::function, {Change::regroup}}, "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w4a16:group=32:act-order",
          "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w4a16:group=32", Blame::checkpoint),
      row("CDQ003", "cuda-dequant-epilogue", "an epilogue is fused", equals(Id::epilogue, "none"), "passed over; the handle API has no epilogue",
          {"apply bias and activation afterwards", Keeps::function, {}}, "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16 --epilogue relu",
          "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16"),
      row("CDQ004", "cuda-dequant-result-dtype", "the result is neither f32 nor of x's type", any({equals(Id::dtype_out, "f32"), equals(Id::dtype_out, Id::dtype)}),
          "passed over; the library has no such row", {"take the result in f32 or in the type of x", Keeps::function, {Change::cast_dtype}},
          "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16 --out-dtype bf16", "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16 --out-dtype f32"),
      row("CDQ005", "cuda-dequant-no-dense-axis", "x has no axis of unit stride", one_of(Id::x_layout, {"row", "column"}), "passed over; a leading dimension cannot say it",
          {"make x contiguous", Keeps::function, {Change::make_contiguous}}, "gemm --x 8x64 --w 64x8 --x-strides 256x2 --dtype f16 --quant w8a16",
          "gemm --x 8x64 --w 64x8 --dtype f16 --quant w8a16"),
      row("CDQ006", "cuda-dequant-packing-unknown", "the packed order of the weights is another tool's", any({unless(applicable(Id::quant_packing)), one_of(Id::quant_packing, {"", "none"})}),
          "passed over; codes are read in plain row-major order", {"unpack the weights to row-major codes", Keeps::function, {Change::change_setting}},
          "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w4a16:group=32:packing=marlin", "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w4a16:group=32", Blame::checkpoint),
      row("CDQ007", "cuda-dequant-weight-type", "the weights are not 8- or 4-bit integer codes", one_of(Id::dtype_w, {"s8", "u8", "s4", "u4"}), "passed over; the kernel unpacks no such codes",
          {"requantize to w8 or w4", Keeps::precision, {}}, "gemm --m 1 --n 64 --k 64 --quant w8a16 --dtype f16:f8_e4m3:f16", "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16",
          Blame::checkpoint),
      row("CDQ008", "cuda-dequant-architecture", "the GPU is older than compute capability 8.0", at_least(Id::compute_capability, 80), "passed over; this build has no code for it",
          {"build with its architecture in DD_CUDA_ARCHITECTURES", Keeps::function, {Change::change_setting}}, "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16 --target sm_75",
          "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16 --target sm_90", Blame::build),
      row("CDQ009", "cuda-dequant-arithmetic", "other arithmetic than f32 is asked for", equals(Id::compute, "f32"), "passed over; sums are kept in f32",
          {"use --compute f32", Keeps::meaning, {Change::change_setting}}, "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16 --compute f16",
          "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16"),
      row("CDQ010", "cuda-dequant-empty", "an extent is 0", all({at_least(Id::m, 1), at_least(Id::n, 1), at_least(Id::k, 1)}), "passed over; there is nothing to multiply",
          {"skip the call: the result is empty or zero", Keeps::function, {}}, "gemm --m 1 --n 64 --k 0 --dtype f16 --quant w8a16", "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16"),
      row("CDQ011", "cuda-dequant-materialised", "the dequantized weights are larger than 1 MiB and are written out in full", at_most(Id::dequantized_bytes, 1 << 20),
          "several times the bytes of the packed weights are written and read again in every call", {"clear what keeps the call off cuda-packed", Keeps::function, {}},
          "gemm --m 1 --n 4096 --k 4096 --dtype f16 --quant w4a16:group=128", "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w4a16:group=32", Blame::heuristic, Level::slows),
      row("CDQ012", "cuda-dequant-result-rows", "the rows of the result are not dense", equals(Id::out_layout, "row"),
          "passed over; cuBLAS writes dense rows, and this tool makes no hidden copy", {"make the result contiguous", Keeps::function, {Change::make_contiguous}},
          "gemm --m 2 --n 64 --k 64 --dtype f16 --quant w8a16 --out-strides 1x2", "gemm --m 2 --n 64 --k 64 --dtype f16 --quant w8a16 --out-strides 80x1"),
  };
  return table;
}

}  // namespace dd::backends::cuda_dequant
