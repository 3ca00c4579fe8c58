#include "backends/tables.hpp"

namespace dd::backends::cuda_packed {

using namespace rules;
using facts::Id;

std::span<const Rule> rules() {
  static const Source kernel = {"packed-weight kernels for a GPU, kernels/quant", "0.1", "2026-11-29"};
  static const auto row = [](std::string_view id, std::string_view name, std::string_view title, Condition needs, std::string_view effect, Fix fix,
                             std::string_view blocked, std::string_view passing, Blame blame = Blame::spec) {
    return Rule{.id = id, .name = name, .title = title, .level = Level::blocks, .blame = blame, .scope = "cuda-packed", .applies = always(),
                .requires_that = std::move(needs), .effect = effect, .fix = std::move(fix), .source = kernel, .blocked_example = blocked, .passing_example = passing};
  };
  static const Rule table[] = {
      row("CPK001", "cuda-packed-activation-dtype", "x is neither f16 nor bf16", one_of(Id::dtype, {"f16", "bf16"}), "passed over; there is no instance for it",
          {"cast x to f16 or bf16", Keeps::precision, {Change::cast_dtype}}, "gemm --m 1 --n 64 --k 64 --dtype f32:s8:f32 --quant w8a32", "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16"),
      row("CPK002", "cuda-packed-act-order", "groups follow an activation order", is_false(Id::quant_act_order), "passed over; the kernel walks groups in order",
          {"reorder the weights when the checkpoint is loaded", Keeps::function, {Change::regroup}}, "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w4a16:group=32:act-order",
          "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w4a16:group=32", Blame::checkpoint),
      row("CPK003", "cuda-packed-epilogue", "an epilogue is fused", equals(Id::epilogue, "none"), "passed over; the kernel writes plain sums",
          {"apply bias and activation afterwards", Keeps::function, {}}, "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16 --epilogue relu",
          "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16"),
      row("CPK004", "cuda-packed-result-dtype", "the result is not of x's type", equals(Id::dtype_out, Id::dtype), "passed over; there is no instance that writes it",
          {"take the result in the type of x", Keeps::function, {Change::cast_dtype}}, "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16 --out-dtype f32",
          "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16"),
      row("CPK005", "cuda-packed-strided-rows", "the rows of x are not dense", equals(Id::x_layout, "row"), "passed over; activations are read along k",
          {"make x contiguous", Keeps::function, {Change::make_contiguous}}, "gemm --m 2 --n 64 --k 64 --dtype f16 --trans-x --quant w8a16",
          "gemm --m 2 --n 64 --k 64 --dtype f16 --quant w8a16"),
      row("CPK006", "cuda-packed-architecture", "the GPU is older than compute capability 8.0", at_least(Id::compute_capability, 80),
          "passed over; asynchronous copies and bf16 fragments are missing there", {"use another GPU", Keeps::function, {}},
          "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16 --target sm_75", "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16 --target sm_90", Blame::hardware),
      row("CPK007", "cuda-packed-rows", "m is above 4194240", at_most(Id::m, 64 * 65535), "passed over; a launch has 65535 blocks along this axis, of 64 rows each",
          {"split x along its rows", Keeps::function, {Change::split_batch}}, "gemm --m 4194241 --n 8 --k 8 --dtype f16 --quant w8a16",
          "gemm --m 4194240 --n 8 --k 8 --dtype f16 --quant w8a16"),
      row("CPK008", "cuda-packed-empty", "m or n is 0", all({at_least(Id::m, 1), at_least(Id::n, 1)}), "passed over; the driver launches no empty grid",
          {"skip the call: the result is empty", Keeps::function, {}}, "gemm --m 0 --n 64 --k 64 --dtype f16 --quant w8a16", "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16"),
  };
  return table;
}

}  // namespace dd::backends::cuda_packed
