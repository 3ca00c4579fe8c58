// The kernel-name table: every row can be reached, no row rests on one word, and names of both profilers read alike.
#include <cctype>
#include <set>
#include <string>

#include "evidence/kernels/kernels.hpp"
#include "evidence/kernels/pattern.hpp"
#include "support/catch.hpp"

using namespace dd::evidence;

namespace {

// Words of a literal: cut at signs, at underscores and where lower case turns to upper case.
int words_in(const std::string& text) {
  int count = 0;
  bool inside = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool letter = std::isalnum(c) != 0;
    const bool turn = i > 0 && std::isupper(c) != 0 && std::islower(static_cast<unsigned char>(text[i - 1])) != 0;
    if (letter && (!inside || turn)) ++count;
    inside = letter;
  }
  return count;
}

bool matches(std::string_view pattern, std::string_view name) {
  std::uint32_t steps = 10000;
  return NamePattern(pattern).found_in(name, steps);
}

}  // namespace

TEST_CASE("pattern language", "[evidence][kernels]") {
  CHECK(matches("sm#_gemm", "xx_sm90_gemm_f16"));
  CHECK_FALSE(matches("sm#_gemm", "xx_sm_gemm_f16"));
  CHECK(matches("^a*z$", "a_b9z"));
  CHECK_FALSE(matches("^a*z$", "a b z"));
  CHECK(matches("a%z", "xx a <b> z"));
  CHECK(matches("~flash::f", "void flash::f"));
  CHECK_FALSE(matches("~flash::f", "pytorch_flash::f"));
  CHECK(matches("x{1|2|}y", "x2y"));
  CHECK(matches("x{1|2|}y", "xy"));
  CHECK_FALSE(matches("x{1|2|}y", "x3y"));
  CHECK(matches("{ab|cd}_{e|f}", "cd_f"));
}

TEST_CASE("a hostile name costs a bounded number of steps", "[evidence][kernels]") {
  const std::string name(1 << 20, 'a');
  std::uint32_t steps = 5000;
  CHECK_FALSE(NamePattern("a*b*c*d").found_in(name, steps));
  CHECK(steps == 0);
  CHECK_FALSE(classify_kernel(name).known());
  CHECK_FALSE(classify_kernel("at::native::" + std::string(1 << 22, '<')).known());
}

TEST_CASE("rows have unique ids and say everything", "[evidence][kernels]") {
  std::set<std::string_view> ids;
  for (const KernelRow& row : kernel_rows()) {
    INFO(row.id);
    CHECK(ids.insert(row.id).second);
    CHECK_FALSE(row.family.empty());
    CHECK_FALSE(row.provider.empty());
    CHECK_FALSE(row.operation.empty());
    CHECK_FALSE(row.patterns[0].empty());
    CHECK(row.role != Role::unknown);
  }
}

TEST_CASE("no row rests on one word", "[evidence][kernels]") {
  for (const KernelRow& row : kernel_rows())
    for (const std::string_view text : row.patterns) {
      if (text.empty()) continue;
      for (const std::string& literal : NamePattern(text).literals()) {
        INFO(row.id << ": " << text << " -> " << literal);
        CHECK(words_in(literal) >= 2);
      }
    }
  for (const char* word : {"flash", "flash_", "gemm", "sgemm", "attention", "softmax", "winograd", "embedding", "dropout", "cast", "copy", "triton",
                           "fmha", "sdpa", "cutlass", "nvjet", "Cijk", "kernel", "Kernel2", "device_kernel", "conv", "relu", "elementwise",
                           "rotary", "silu", "reduce", "my_flash_thing", "flash_decoder", "attn", "marlin", "nccl", "cub", "thrust", ""}) {
    INFO(word);
    CHECK_FALSE(classify_kernel(word).known());
  }
}

TEST_CASE("matrix products are read in full", "[evidence][kernels]") {
  const auto misaligned = classify_kernel(
      "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align2>(cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align2::Params)");
  REQUIRE(misaligned.known());
  CHECK(misaligned.row->id == "cutlass-misaligned");
  CHECK(misaligned.label == "cutlass80 tensor-core bf16 align2");
  CHECK(misaligned.alignment == 2);
  CHECK(misaligned.layout == "tn");
  CHECK(misaligned.tile_m == 256);
  CHECK(misaligned.tensor_cores == Tri::yes);

  const auto tf32 = classify_kernel("void cutlass::Kernel<cutlass_80_tensorop_s1688gemm_64x64_32x4_nn_align4>(int)");
  CHECK(tf32.row->id == "cutlass-tf32");
  CHECK(tf32.dtype == "tf32");
  const auto wmma = classify_kernel("void cutlass::Kernel2<cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_32x32_128x2_tn_align8>(int)");
  CHECK(wmma.wmma);
  CHECK(wmma.label == "cutlass80 wmma bf16 align8");
  // align16 is not align1
  CHECK(classify_kernel("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64_64x6_tn_align16>(int)").row->id == "cutlass-tensorop");

  CHECK(classify_kernel("sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize64x256x8_stage3_warpsize1x4x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas").tensor_cores == Tri::no);
  CHECK(classify_kernel("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas").label ==
        "xmma sm90 tensor-core bf16bf16");
  CHECK(classify_kernel("nvjet_sm103_tst_32x64_64x16_4x1_v_bz_splitK_TNN").label == "nvjet tensor-core bf16 splitK");
  CHECK(classify_kernel("nvjet_qqtst_128x256_128x6_2x1_2cta_v_bz_TNT").dtype == "fp8");
  CHECK(classify_kernel("volta_sgemm_64x32_sliced1x4_tn").label == "volta_sgemm fp32, no tensor cores");
  CHECK(classify_kernel("ampere_bf16_s16816gemm_bf16_128x256_ldg8_f2f_stages_64x3_nn").tensor_cores == Tri::yes);

  const auto rocblas = classify_kernel("Cijk_Ailk_Bljk_BBS_BH_MT256x128x64_MI16x16x16x1_SN_1LDSB0_GSU2_ISA942");
  CHECK(rocblas.label == "Tensile rocBLAS bf16");
  CHECK(rocblas.split_k == 2);
  CHECK(classify_kernel("Cijk_Alik_Bljk_SB_Bias_AS_SAV_UserArgs_MT64x16x32_MI16x16x1_SN").label == "Tensile hipBLASLt fp32");
  CHECK(classify_kernel("Cijk_Ailk_Bljk_SB_MT64x64x16_SN_1LDSB0").tensor_cores == Tri::unknown);
  CHECK(classify_kernel("Cijk_B_PostGSU2").role == Role::gemm_aux);
}

TEST_CASE("attention is told from what only sounds like it", "[evidence][kernels]") {
  CHECK(classify_kernel("cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x128_4x").row->provider == "cudnn");
  CHECK(classify_kernel("void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64>>(int)").label == "flash2 (torch built-in) fwd");
  CHECK(classify_kernel("void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<(int)128>>").row->id == "fa2-forward");
  CHECK(classify_kernel("void vllm::reshape_and_cache_flash_kernel<__hip_bfloat16>(int)").role == Role::other);
  CHECK(classify_kernel("fmha_cutlassF_bf16_notaligned_64x128_rf_sm80").alignment == 1);
  CHECK(classify_kernel("attn_fwd.kd").role == Role::attention);
  CHECK(classify_kernel("void (anonymous namespace)::softmax_warp_forward<float, float, float, 10, true>(int)").role == Role::softmax);
}

TEST_CASE("casts, layout changes and copies, in the spelling of both profilers", "[evidence][kernels]") {
  CHECK(classify_kernel("void at::native::elementwise_kernel<128, 4, at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}>>(int)").role == Role::layout);
  CHECK(classify_kernel("void at::native::elementwise_kernel<(int)128, (int)4, void at::native::gpu_kernel_impl_nocast<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda() (instance 3)]>>").role == Role::layout);
  CHECK(classify_kernel("void at::native::vectorized_elementwise_kernel<4, at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}>").role == Role::cast);
  CHECK(classify_kernel("void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda()], at::native::memory::LoadWithCast<1>>").role == Role::cast);
  CHECK(classify_kernel("void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}>>").role == Role::copy_or_cast);
  CHECK(classify_kernel("void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, unsigned int, 1, 128, 1>(float*)").role == Role::concat);
}
