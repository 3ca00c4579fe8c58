#include "backends/tables.hpp"

namespace dd::backends::cuda_math {

using namespace rules;
using facts::Id;

std::span<const Rule> rules() {
  static const Source code = {"cuBLAS products around this tool's softmax kernel, kernels/attention/softmax.cuh", "0.1", "2026-11-29"};
  static const auto row = [](std::string_view id, std::string_view name, std::string_view title, Condition needs, std::string_view effect, Fix fix,
                             std::string_view blocked, std::string_view passing, Condition applies = always(), Blame blame = Blame::spec, Level level = Level::blocks) {
    return Rule{.id = id, .name = name, .title = title, .level = level, .blame = blame, .scope = "cuda-math", .applies = std::move(applies),
                .requires_that = std::move(needs), .effect = effect, .fix = std::move(fix), .source = code, .blocked_example = blocked, .passing_example = passing};
  };
  static const Rule table[] = {
      row("CMT001", "cuda-math-dtype", "q, k and v are not of one type among f64, f32, f16 and bf16",
          all({one_of(Id::dtype, {"f64", "f32", "f16", "bf16"}), equals(Id::dtype_k, Id::dtype), equals(Id::dtype_v, Id::dtype)}),
          "passed over; there is no instance of the softmax kernel for it", {"cast q, k and v to one of these types", Keeps::precision, {Change::cast_dtype}},
          "sdpa --q 1x8x64x64 --dtype f8_e4m3", "sdpa --q 1x8x64x64 --dtype f64"),
      row("CMT002", "cuda-math-no-backward", "gradients are needed", is_false(Id::requires_grad), "passed over; only the forward pass exists",
          {"run inference without gradients", Keeps::meaning, {Change::disable_grad}}, "sdpa --q 1x8x64x64 --train", "sdpa --q 1x8x64x64"),
      row("CMT003", "cuda-math-ragged", "q, k and v are ragged", is_false(Id::nested), "passed over; the batched products take one length for the whole batch",
          {"pad to one length and mask the rest", Keeps::function, {}}, "sdpa --b 2 --h 2 --sq 64 --d 64 --nested 64,32", "sdpa --b 2 --h 2 --sq 64 --d 64"),
      row("CMT004", "cuda-math-mask-dtype", "a float mask is neither f32 nor of q's type", any({equals(Id::mask_dtype, "f32"), equals(Id::mask_dtype, Id::dtype)}),
          "passed over; the softmax kernel has no loader for it", {"cast the mask to f32", Keeps::function, {Change::cast_mask}},
          "sdpa --q 1x2x64x64 --dtype f16 --mask bf16", "sdpa --q 1x2x64x64 --dtype f16 --mask f32", equals(Id::mask_kind, "float")),
      row("CMT005", "cuda-math-last-axis-strided", "the last axis of q, k or v is not of unit stride",
          all({equals(Id::q_last_stride, 1), equals(Id::k_last_stride, 1), equals(Id::v_last_stride, 1)}),
          "passed over; a leading dimension cannot say it, and this tool makes no hidden copy",
          {"make q, k and v contiguous along the head size", Keeps::function, {Change::make_contiguous}}, "sdpa --q 1x2x64x32 --q-strides 4096x2048x1x64 --dtype f16",
          "sdpa --q 1x2x64x32 --layout bshd --dtype f16"),
      row("CMT006", "cuda-math-empty", "an extent is 0", all({at_least(Id::batch, 1), at_least(Id::q_heads, 1), at_least(Id::q_len, 1), at_least(Id::kv_len, 1), at_least(Id::head_dim, 1), at_least(Id::head_dim_v, 1)}),
          "passed over; there is nothing to multiply", {"skip the call: the result is empty or zero", Keeps::function, {}}, "sdpa --b 1 --h 1 --sq 8 --skv 0 --d 8",
          "sdpa --b 1 --h 1 --sq 8 --skv 8 --d 8"),
      row("CMT007", "cuda-math-architecture", "the GPU is older than compute capability 8.0", at_least(Id::compute_capability, 80), "passed over; this build has no code for it",
          {"build with its architecture in DD_CUDA_ARCHITECTURES", Keeps::function, {Change::change_setting}}, "sdpa --q 1x8x64x64 --target sm_75",
          "sdpa --q 1x8x64x64 --target sm_90", always(), Blame::build),
      row("CMT008", "cuda-math-scores-materialised", "the score matrix is larger than 1 MiB and is written out", at_most(Id::score_bytes, 1 << 20),
          "time and memory grow with query length times key length", {"clear what keeps the call off cuda-flash", Keeps::function, {}}, "sdpa --q 1x8x2048x64 --dtype f16",
          "sdpa --q 1x2x64x32 --dtype f16", always(), Blame::heuristic, Level::slows),
      row("CMT009", "cuda-math-result-rows", "the rows of the result are not dense", equals(Id::out_layout, "row"),
          "passed over; cuBLAS writes dense rows, and this tool makes no hidden copy", {"make the result contiguous along the head size", Keeps::function, {Change::make_contiguous}},
          "sdpa --q 1x2x64x32 --dtype f16 --out-strides 4096x2048x1x64", "sdpa --q 1x2x64x32 --dtype f16 --out-strides 5120x2560x40x1"),
  };
  return table;
}

}  // namespace dd::backends::cuda_math
