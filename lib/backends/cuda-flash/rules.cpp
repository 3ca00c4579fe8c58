#include "attention/launch.hpp"
#include "backends/tables.hpp"

namespace dd::backends::cuda_flash {

using namespace rules;
using facts::Id;

static_assert(kernels::flash_largest_dim == 256, "the texts below name the largest instance");

std::span<const Rule> rules() {
  static const Source kernel = {"flash kernel for a GPU, kernels/attention/flash.cuh and instances.def", "0.1", "2026-11-29"};
  static const auto row = [](std::string_view id, std::string_view name, std::string_view title, Condition needs, std::string_view effect,
                             Fix fix, std::string_view blocked, std::string_view passing) {
    return Rule{.id = id, .name = name, .title = title, .level = Level::blocks, .blame = Blame::spec, .scope = "cuda-flash",
                .applies = always(), .requires_that = std::move(needs), .effect = effect, .fix = std::move(fix), .source = kernel,
                .blocked_example = blocked, .passing_example = passing};
  };
  static const std::vector<std::string> half = {"f16", "bf16"};
  static const Rule table[] = {
      row("CFL001", "cuda-flash-dtype", "q, k and v are not all f16 or all bf16",
          all({one_of(Id::dtype, half), equals(Id::dtype_k, Id::dtype), equals(Id::dtype_v, Id::dtype)}),
          "passed over; the tensor-core instructions that the kernel uses take these two types",
          {"cast q, k and v to bf16 or f16", Keeps::precision, {Change::cast_dtype}}, "sdpa --q 1x8x256x64 --dtype f32", "sdpa --q 1x8x256x64 --dtype f16"),
      row("CFL002", "cuda-flash-head-dim-too-large", "a head size is above 256", all({at_most(Id::head_dim, 256), at_most(Id::head_dim_v, 256)}),
          "passed over; no instance of the kernel holds it", {"split the heads, or use cuda-naive", Keeps::meaning, {}},
          "sdpa --q 1x8x256x264 --dtype f16", "sdpa --q 1x8x256x256 --dtype f16"),
      row("CFL003", "cuda-flash-head-dim-unaligned", "a head size is not a multiple of 8", all({multiple_of(Id::head_dim, 8), multiple_of(Id::head_dim_v, 8)}),
          "passed over; rows are copied 16 bytes at a time",
          {"pad q, k and v with zeros to a multiple of 8, keep the scale of the true head size, slice the output", Keeps::function, {Change::pad_head_dim}},
          "sdpa --q 1x8x256x100 --dtype f16", "sdpa --q 1x8x256x104 --dtype f16"),
      row("CFL004", "cuda-flash-last-axis-strided", "the last axis of q, k or v is not of unit stride",
          all({equals(Id::q_last_stride, 1), equals(Id::k_last_stride, 1), equals(Id::v_last_stride, 1)}), "passed over; rows are copied 16 bytes at a time",
          {"make q, k and v contiguous along the head size", Keeps::function, {Change::make_contiguous}},
          "sdpa --q 1x2x64x32 --q-strides 4096x2048x1x64 --dtype f16", "sdpa --q 1x2x64x32 --layout bshd --dtype f16"),
      row("CFL005", "cuda-flash-base-unaligned", "q, k or v does not start at a multiple of 16 bytes",
          all({multiple_of(Id::q_align_bytes, 16), multiple_of(Id::k_align_bytes, 16), multiple_of(Id::v_align_bytes, 16)}),
          "passed over; rows are copied 16 bytes at a time", {"move the tensor to an offset that is a multiple of 16 bytes", Keeps::function, {Change::align_offset}},
          "sdpa --q 1x8x256x64 --dtype f16 --q-offset 1", "sdpa --q 1x8x256x64 --dtype f16 --q-offset 8"),
      row("CFL006", "cuda-flash-rows-unaligned", "a row, head or batch stride of q, k or v is not a multiple of 16 bytes", multiple_of(Id::qkv_stride_align_bytes, 16),
          "passed over; rows are copied 16 bytes at a time", {"make q, k and v contiguous", Keeps::function, {Change::make_contiguous}},
          "sdpa --q 1x2x64x32 --q-strides 4224x2112x33x1 --dtype f16", "sdpa --q 1x2x64x32 --q-strides 5120x2560x40x1 --dtype f16"),
      {.id = "CFL007", .name = "cuda-flash-mask-dtype", .title = "a float mask is neither f32 nor of q's type", .level = Level::blocks, .blame = Blame::spec,
       .scope = "cuda-flash", .applies = equals(Id::mask_kind, "float"), .requires_that = any({equals(Id::mask_dtype, "f32"), equals(Id::mask_dtype, Id::dtype)}),
       .effect = "passed over; the kernel has no loader for it", .fix = {"cast the mask to f32", Keeps::function, {Change::cast_mask}}, .source = kernel,
       .blocked_example = "sdpa --q 1x2x64x64 --dtype f16 --mask bf16", .passing_example = "sdpa --q 1x2x64x64 --dtype f16 --mask f32"},
      row("CFL008", "cuda-flash-no-backward", "gradients are needed and the kernel keeps nothing for them", is_false(Id::requires_grad),
          "passed over; the softmax statistics that a backward pass reads are not stored", {"run inference without gradients", Keeps::meaning, {Change::disable_grad}},
          "sdpa --q 1x8x256x64 --dtype f16 --train", "sdpa --q 1x8x256x64 --dtype f16"),
      row("CFL009", "cuda-flash-ragged", "q, k and v are ragged", is_false(Id::nested), "passed over; the kernel takes one length for the whole batch",
          {"pad to one length and mask the rest", Keeps::function, {}}, "sdpa --b 2 --h 2 --sq 64 --d 64 --dtype f16 --nested 64,32", "sdpa --b 2 --h 2 --sq 64 --d 64 --dtype f16"),
      {.id = "CFL010", .name = "cuda-flash-architecture", .title = "the GPU is older than compute capability 8.0", .level = Level::blocks, .blame = Blame::hardware,
       .scope = "cuda-flash", .applies = always(), .requires_that = at_least(Id::compute_capability, 80), .effect = "passed over; its asynchronous copies and bf16 products are missing there",
       .fix = {"use cuda-naive, or another GPU", Keeps::function, {}}, .source = kernel, .blocked_example = "sdpa --q 1x8x256x64 --dtype f16 --target sm_75",
       .passing_example = "sdpa --q 1x8x256x64 --dtype f16 --target sm_90"},
      row("CFL011", "cuda-flash-grid", "heads or batch are above 65535", all({at_most(Id::q_heads, 65535), at_most(Id::batch, 65535)}), "passed over; a launch has no room for more",
          {"split the batch", Keeps::function, {Change::split_batch}}, "sdpa --q 65536x1x1x64 --dtype f16", "sdpa --q 64x1x1x64 --dtype f16"),
      row("CFL012", "cuda-flash-empty", "batch, heads or the query length is 0", all({at_least(Id::batch, 1), at_least(Id::q_heads, 1), at_least(Id::q_len, 1)}),
          "passed over; the driver launches no empty grid", {"skip the call: the result is empty", Keeps::function, {}}, "sdpa --b 1 --h 1 --sq 0 --skv 8 --d 8 --dtype f16",
          "sdpa --b 1 --h 1 --sq 8 --skv 0 --d 8 --dtype f16"),
  };
  return table;
}

}  // namespace dd::backends::cuda_flash
