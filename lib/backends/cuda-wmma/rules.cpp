#include "backends/tables.hpp"

namespace dd::backends::cuda_wmma {

using namespace rules;
using facts::Id;

std::span<const Rule> rules() {
  static const Source kernel = {"tensor-core product kernel, kernels/gemm/wmma.cuh and instances.def", "0.1", "2026-11-29"};
  static const auto row = [](std::string_view id, std::string_view name, std::string_view title, Condition needs, std::string_view effect, Fix fix,
                             std::string_view blocked, std::string_view passing, Level level = Level::blocks, Condition applies = always()) {
    return Rule{.id = id, .name = name, .title = title, .level = level, .blame = Blame::spec, .scope = "cuda-wmma", .applies = std::move(applies),
                .requires_that = std::move(needs), .effect = effect, .fix = std::move(fix), .source = kernel, .blocked_example = blocked, .passing_example = passing};
  };
  static const Rule table[] = {
      row("CWM001", "cuda-wmma-dtype", "x and w are not both f16 or both bf16", all({one_of(Id::dtype, {"f16", "bf16"}), equals(Id::dtype_w, Id::dtype)}),
          "passed over; the fragments that the kernel uses hold these two types", {"cast x and w to bf16 or f16", Keeps::precision, {Change::cast_dtype}},
          "gemm --m 64 --n 64 --k 64 --dtype f32", "gemm --m 64 --n 64 --k 64 --dtype f16"),
      row("CWM002", "cuda-wmma-result-dtype", "the result is neither f32 nor of x's type", any({equals(Id::dtype_out, "f32"), equals(Id::dtype_out, Id::dtype)}),
          "passed over; there is no instance that writes it", {"take the result in f32 or in the type of x", Keeps::function, {Change::cast_dtype}},
          "gemm --m 64 --n 64 --k 64 --dtype f16 --out-dtype bf16", "gemm --m 64 --n 64 --k 64 --dtype f16 --out-dtype f32"),
      row("CWM003", "cuda-wmma-no-dense-axis", "an operand has no axis of unit stride", all({one_of(Id::x_layout, {"row", "column"}), one_of(Id::w_layout, {"row", "column"})}),
          "passed over; tiles are read along a dense axis", {"make the operand contiguous", Keeps::function, {Change::make_contiguous}},
          "gemm --x 8x8 --w 8x8 --x-strides 32x2 --dtype f16", "gemm --x 8x8 --w 8x8 --trans-x --dtype f16"),
      row("CWM004", "cuda-wmma-quantized", "the weights are quantized", is_false(Id::quantized), "passed over; the kernel does not read codes and scales",
          {"use cuda-packed", Keeps::function, {}}, "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16", "gemm --m 1 --n 64 --k 64 --dtype f16"),
      row("CWM005", "cuda-wmma-arithmetic", "other arithmetic than f32 is asked for", equals(Id::compute, "f32"), "passed over; sums are kept in f32",
          {"use --compute f32", Keeps::meaning, {Change::change_setting}}, "gemm --m 64 --n 64 --k 64 --dtype f16 --compute f16", "gemm --m 64 --n 64 --k 64 --dtype f16"),
      row("CWM006", "cuda-wmma-bias-dtype", "the bias is neither f32 nor of x's type", any({equals(Id::dtype_bias, "f32"), equals(Id::dtype_bias, Id::dtype)}),
          "passed over; the kernel has no loader for it", {"cast the bias to f32", Keeps::function, {Change::cast_dtype}},
          "gemm --m 8 --n 8 --k 8 --dtype f16 --bias --bias-dtype bf16", "gemm --m 8 --n 8 --k 8 --dtype f16 --bias --bias-dtype f32", Level::blocks, is_true(Id::has_bias)),
      {.id = "CWM007", .name = "cuda-wmma-architecture", .title = "the GPU is older than compute capability 8.0", .level = Level::blocks, .blame = Blame::hardware,
       .scope = "cuda-wmma", .applies = always(), .requires_that = at_least(Id::compute_capability, 80),
       .effect = "passed over; asynchronous copies and bf16 fragments are missing there", .fix = {"use cuda-naive, or another GPU", Keeps::function, {}}, .source = kernel,
       .blocked_example = "gemm --m 64 --n 64 --k 64 --dtype f16 --target sm_75", .passing_example = "gemm --m 64 --n 64 --k 64 --dtype f16 --target sm_90"},
      row("CWM008", "cuda-wmma-grid", "the batch is above 65535", at_most(Id::gemm_batch, 65535), "passed over; a launch has no room for more",
          {"split the batch", Keeps::function, {Change::split_batch}}, "gemm --m 1 --n 1 --k 1 --batch 65536 --dtype f16", "gemm --m 1 --n 1 --k 1 --batch 64 --dtype f16"),
      row("CWM009", "cuda-wmma-unaligned", "a base or a line of x or w is not a multiple of 16 bytes",
          all({multiple_of(Id::x_align_bytes, 16), multiple_of(Id::w_align_bytes, 16), multiple_of(Id::x_line_bytes, 16), multiple_of(Id::w_line_bytes, 16)}),
          "tiles are copied element by element instead of 16 bytes at a time",
          {"pad the leading dimensions to multiples of 8 elements", Keeps::function, {Change::pad_k}}, "gemm --m 64 --n 64 --k 65 --dtype f16",
          "gemm --m 64 --n 64 --k 72 --dtype f16", Level::slows),
      row("CWM010", "cuda-wmma-rows", "m is above 8388480", at_most(Id::m, 128 * 65535), "passed over; a launch has 65535 blocks along this axis, of 128 rows each",
          {"split x along its rows", Keeps::function, {Change::split_batch}}, "gemm --m 8388481 --n 8 --k 8 --dtype f16", "gemm --m 8388480 --n 8 --k 8 --dtype f16"),
      row("CWM011", "cuda-wmma-empty", "batch, m or n is 0", all({at_least(Id::gemm_batch, 1), at_least(Id::m, 1), at_least(Id::n, 1)}),
          "passed over; the driver launches no empty grid", {"skip the call: the result is empty", Keeps::function, {}}, "gemm --m 0 --n 8 --k 8 --dtype f16",
          "gemm --m 8 --n 8 --k 0 --dtype f16"),
  };
  return table;
}

}  // namespace dd::backends::cuda_wmma
