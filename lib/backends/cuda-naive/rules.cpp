#include "backends/tables.hpp"

namespace dd::backends::cuda_naive {

using namespace rules;
using facts::Id;

namespace {

const Source loops = {"straight-loop kernels for a GPU, kernels/attention/naive.cuh and kernels/gemm/naive_types.def", "0.1", "2026-11-29"};

Rule row(std::string_view id, std::string_view name, std::string_view title, Condition needs, std::string_view effect, Fix fix,
         std::string_view blocked, std::string_view passing, Condition applies = always(), Blame blame = Blame::spec) {
  return Rule{.id = id, .name = name, .title = title, .level = Level::blocks, .blame = blame, .scope = "cuda-naive", .applies = std::move(applies),
              .requires_that = std::move(needs), .effect = effect, .fix = std::move(fix), .source = loops, .blocked_example = blocked, .passing_example = passing};
}

}  // namespace

std::span<const Rule> attention_rules() {
  static const Rule table[] = {
      row("CNV001", "cuda-naive-dtype", "q, k and v are not of one type among f64, f32, f16 and bf16",
          all({one_of(Id::dtype, {"f64", "f32", "f16", "bf16"}), equals(Id::dtype_k, Id::dtype), equals(Id::dtype_v, Id::dtype)}),
          "passed over; there is no instance for it", {"cast q, k and v to one of these types", Keeps::precision, {Change::cast_dtype}},
          "sdpa --q 1x8x64x64 --dtype f8_e4m3", "sdpa --q 1x8x64x64 --dtype f64"),
      row("CNV002", "cuda-naive-no-backward", "gradients are needed", is_false(Id::requires_grad), "passed over; only the forward pass exists",
          {"run inference without gradients", Keeps::meaning, {Change::disable_grad}}, "sdpa --q 1x8x64x64 --train", "sdpa --q 1x8x64x64"),
      row("CNV003", "cuda-naive-ragged", "q, k and v are ragged", is_false(Id::nested), "passed over; the kernel takes one length for the whole batch",
          {"pad to one length and mask the rest", Keeps::function, {}}, "sdpa --b 2 --h 2 --sq 64 --d 64 --nested 64,32", "sdpa --b 2 --h 2 --sq 64 --d 64"),
      row("CNV004", "cuda-naive-mask-dtype", "a float mask is neither f32 nor of q's type", any({equals(Id::mask_dtype, "f32"), equals(Id::mask_dtype, Id::dtype)}),
          "passed over; the kernel has no loader for it", {"cast the mask to f32", Keeps::function, {Change::cast_mask}},
          "sdpa --q 1x2x64x64 --dtype f16 --mask bf16", "sdpa --q 1x2x64x64 --dtype f16 --mask f32", equals(Id::mask_kind, "float")),
      row("CNV005", "cuda-naive-value-dim-too-large", "the head size of v is above 3072", at_most(Id::head_dim_v, 3072), "passed over; the running sums do not fit into shared memory",
          {"split v along its last axis and concatenate the outputs", Keeps::function, {}}, "sdpa --b 1 --h 1 --sq 4 --d 8 --dv 3080", "sdpa --b 1 --h 1 --sq 4 --d 8 --dv 3072"),
      row("CNV006", "cuda-naive-architecture", "the GPU is older than compute capability 8.0", at_least(Id::compute_capability, 80), "passed over; this build has no code for it",
          {"build with its architecture in DD_CUDA_ARCHITECTURES", Keeps::function, {Change::change_setting}}, "sdpa --q 1x8x64x64 --target sm_75",
          "sdpa --q 1x8x64x64 --target sm_90", always(), Blame::build),
  };
  return table;
}

std::span<const Rule> gemm_rules() {
  static const auto types = [] {
    const auto to = [](std::vector<std::string> x, const char* w, std::vector<std::string> out) {
      return all({one_of(Id::dtype, std::move(x)), equals(Id::dtype_w, w), one_of(Id::dtype_out, std::move(out))});
    };
    return any({to({"f64"}, "f64", {"f64"}), to({"f32"}, "f32", {"f32"}), to({"f16"}, "f16", {"f16", "f32"}), to({"bf16"}, "bf16", {"bf16", "f32"}),
                to({"f8_e4m3"}, "f8_e4m3", {"f16", "bf16", "f32"}), to({"f8_e5m2"}, "f8_e4m3", {"f16", "f32"}), to({"s8", "u8"}, "s8", {"s32"})});
  };
  static const Rule table[] = {
      row("CNV020", "cuda-naive-product-dtype", "there is no instance for these element types", types(), "passed over",
          {"cast the operands to one type among f64, f32, f16 and bf16, or take the result in another", Keeps::precision, {Change::cast_dtype}},
          "gemm --m 8 --n 8 --k 8 --dtype f32:f16", "gemm --m 8 --n 8 --k 8 --dtype bf16 --out-dtype f32"),
      row("CNV021", "cuda-naive-quantized", "the weights are quantized", is_false(Id::quantized), "passed over; the kernel does not read codes and scales",
          {"use cuda-packed", Keeps::function, {}}, "gemm --m 1 --n 64 --k 64 --dtype f16 --quant w8a16", "gemm --m 1 --n 64 --k 64 --dtype f16"),
      row("CNV022", "cuda-naive-integer-epilogue", "an integer product with an epilogue", equals(Id::epilogue, "none"), "passed over; integers go out as they are summed",
          {"apply the epilogue afterwards", Keeps::function, {}}, "gemm --m 8 --n 8 --k 8 --dtype s8 --epilogue relu", "gemm --m 8 --n 8 --k 8 --dtype s8",
          one_of(Id::dtype, {"s8", "u8"})),
      row("CNV023", "cuda-naive-bias-dtype", "the bias is neither f32 nor of x's type", any({equals(Id::dtype_bias, "f32"), equals(Id::dtype_bias, Id::dtype)}),
          "passed over; the kernel has no loader for it", {"cast the bias to f32", Keeps::function, {Change::cast_dtype}},
          "gemm --m 8 --n 8 --k 8 --dtype f16 --bias --bias-dtype bf16", "gemm --m 8 --n 8 --k 8 --dtype f16 --bias --bias-dtype f32", is_true(Id::has_bias)),
      row("CNV024", "cuda-naive-product-architecture", "the GPU is older than compute capability 8.0", at_least(Id::compute_capability, 80),
          "passed over; this build has no code for it", {"build with its architecture in DD_CUDA_ARCHITECTURES", Keeps::function, {Change::change_setting}},
          "gemm --m 8 --n 8 --k 8 --target sm_75", "gemm --m 8 --n 8 --k 8 --target sm_90", always(), Blame::build),
  };
  return table;
}

}  // namespace dd::backends::cuda_naive
