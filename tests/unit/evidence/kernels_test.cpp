// The kernel-name table: every row can be reached, no row rests on one word, and names of both profilers read alike.
#include <cctype>
#include <set>
#include <string>

#include "evidence/kernels/kernels.hpp"
#include "evidence/kernels/mangled.hpp"
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

// Real names by kind, with what they must be taken for. Written down before the table was asked.
TEST_CASE("names of many makers", "[evidence][kernels]") {
  struct Expected {
    const char* name;
    Role role;
    Tri tensor_cores;
    const char* provider;  // part of it
    const char* dtype;     // "" where the name does not tell, or it does not matter
  };
  constexpr auto yes = Tri::yes, no = Tri::no, open = Tri::unknown;
  const Expected table[] = {
      // attention
      {"pytorch_fmha::fmha_fwd_loop_kernel<FMHA_kernel_traits<256, 64, 16, 1, 4, 8u, __half>, false, false, false>", Role::attention, yes, "flash-attn-1", ""},
      {"void fmha_bwd_dq_dk_dv_loop_kernel<FMHA_kernel_traits<128, 64, 16, 1, 8, 8u, cutlass::half_t>, false, true, -1>(FMHA_dgrad_params)", Role::attention, yes, "flash-attn-1", "fp16"},
      {"void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, cute::tuple<cute::C<1>, cute::C<1>, cute::C<1> >, cutlass::bfloat16_t, float>>>>", Role::attention, yes, "flash-attn-3", "bf16"},
      {"void cutlass::device_kernel<flash::FlashAttnFwdCombine<cute::tuple<cute::C<8>, cute::C<128> >, 6, 256, 1, false>>", Role::attention, no, "flash-attn-3", ""},
      {"kernel_cutlass_kernel_flash_attncuteflash_fwd_sm100FlashAttentionForwardSm100_object_at__tensorptrbf16gmemalign16o", Role::attention, yes, "flash-attn-4", "bf16"},
      {"kernel_cutlass_kernel_flash_attncuteflash_bwd_preprocessFlashAttentionBackwardPreprocess_object_at__tensorptrbf16", Role::attention, no, "flash-attn-4", ""},
      {"void cutlass::device_kernel<cutlass::fmha::kernel::Sm100FmhaFwdKernelTmaWarpspecialized<cute::tuple<int, int, int>, cutlass::bfloat16_t>>", Role::attention, yes, "cutlass FMHA", "bf16"},
      {"void flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<(int)128>>", Role::attention, yes, "flash-attn-2", ""},
      {"fmha_cutlassB_f16_aligned_64x64_k64_dropout_sm80(PyTorchMemEffAttention::AttentionBackwardKernel<cutlass::arch::Sm80, cutlass::half_t>::Params)", Role::attention, open, "memory-efficient", "fp16"},
      {"void attention_kernel_batched_impl<AttentionKernel<cutlass::half_t, cutlass::arch::Sm80, true, 64, 64, 64, true, true> >(int)", Role::attention, open, "memory-efficient", "fp16"},
      {"fmhaSm100fKernel_QkvE4m3OBfloat16H128PagedKvCausalP16VarSeqQ16Kv128PersistentSwapsAbForGen", Role::attention, yes, "trtllm-gen", ""},
      {"_ZN5aiter30fmha_fwd_hd128_bf16_rtna_groupE.kd", Role::attention, yes, "aiter", "bf16"},
      {"void flash_attn_ext_f16<256, 256, 8, 8, false>(char const*, char const*)", Role::attention, open, "ggml", ""},
      {"void flash_attn_tile<256, 256, 16, 2, false, false>(char const*)", Role::attention, open, "ggml", ""},
      {"void tensorrt_llm::kernels::mmha::masked_multihead_attention_kernel<unsigned short, unsigned short, 128>(int)", Role::attention, no, "TensorRT-LLM", ""},
      // products of the vendor libraries
      {"nvjet_sm120_tst_mma_64x64x128_3_32x32x128_tmaAB_alignCD4_bz_TNNN", Role::gemm, yes, "nvjet", "bf16"},
      {"nvjet_sm100_tst_64x32_64x16_2x1_2cta_h_bz_splitK_TNT", Role::gemm, yes, "nvjet", "bf16"},
      {"turing_fp16_s1688gemm_fp16_256x128_ldg8_f2f_stages_32x1_tn", Role::gemm, yes, "cublas", "fp16"},
      {"void cutlass::Kernel2<cutlass_75_wmma_tensorop_f16_s161616gemm_f16_16x16_128x2_tn_align8>(cutlass_75_wmma_tensorop_f16_s161616gemm_f16_16x16_128x2_tn_align8::Params)", Role::gemm, yes, "cublas cutlass", "fp16"},
      {"void cutlass::Kernel2<cutlass_80_simt_sgemm_64x64_8x5_tn_align1>(cutlass_80_simt_sgemm_64x64_8x5_tn_align1::Params)", Role::gemm, no, "cublas cutlass", "fp32"},
      {"volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn", Role::gemm, yes, "cublas", "fp16"},
      {"void gemv2T_kernel_val<int, int, __half, __half, __half, float, 128, 16, 2, 4, false, false, cublasGemvParamsEx<int>>(int)", Role::gemm, no, "cublas", "fp16"},
      {"sgemm_32x32x32_NT_vec", Role::gemm, no, "cublas", ""},
      {"void gemm_kernel2x2_core<float, 128, 32, 2, 4, 2, 4, 2>(float*)", Role::gemm, no, "cublas", ""},
      {"maxwell_sgemmBatched_64x64_raggedMn_nn", Role::gemm, no, "cublas", "fp32"},
      // products of engines and extensions
      {"void marlin::Marlin<(long)1125899906910725, (long)1125899906843648, (long)1125899906910725>(int4 const*)", Role::gemm, yes, "Marlin", ""},
      {"Marlin<(int)256, (int)1, (int)8, (int)8, (int)4, (int)8>(const int4 *, const int4 *, int4 *)", Role::gemm, yes, "Marlin", ""},
      {"void at::native::tinygemm_m16n8k16_chunk_kernel<at::native::ALayout_RM<1>, at::native::BLayout_TC_int4<8, 128>>(void const*)", Role::gemm, yes, "tinygemm", ""},
      {"ampere_hgemm_W8A16_perc_f16_f16_MtilexNtilex32_mma16816_multistage_AN_BTN32K16_CN_splitk_kernel", Role::gemm, yes, "AllSpark", ""},
      {"void deep_gemm::sm100_fp8_fp4_gemm_1d1d_impl<(cute::UMMA::Major)0, (cute::UMMA::Major)0, 128u>(int)", Role::gemm, yes, "DeepGEMM", ""},
      {"void vllm::gptq::gemm_half_q_half_gptq_4bit_kernel<true, 4>(__half const*)", Role::gemm, no, "ExLlama", ""},
      {"void kgemm_4bit_inference_naive<__half, 128, 16>(int, int, int, __half*)", Role::gemm, no, "bitsandbytes", ""},
      {"void mul_mat_q<(ggml_type)12, (int)128, (bool)0>(char const*, int const*)", Role::gemm, open, "ggml", ""},
      {"void mul_mat_vec_q<(ggml_type)14, (int)1, (bool)1, (bool)0>(void const*)", Role::gemm, no, "ggml", ""},
      {"bmm_E2m1_E2m1E2m1_Fp32_bA16_bB16_bC16_t128x64x256", Role::gemm, yes, "trtllm-gen", ""},
      {"void cutlass::device_kernel<cutlass::gemm::kernel::GemmUniversal<cute::tuple<int, int, int, int>, cutlass::gemm::collective::CollectiveMma<cutlass::gemm::MainloopSm90TmaGmmaWarpSpecializedFP8<4>, cute::tuple<int>, cutlass::float_e4m3_t>>>(int)", Role::gemm, yes, "cutlass 3", "fp8"},
      {"_ZN7cutlass13device_kernelIN10flashinfer4gemm22DeviceGemmFp4GemmSm100INS_12float_e2m1_tEEEEEvNT_6ParamsE", Role::gemm, open, "cutlass 3", "fp4"},
      {"void cutlass::Kernel2<vllm::enable_sm80_to_sm89<cutlass::gemm::kernel::DefaultGemmUniversalWithVisitor<signed char, cutlass::arch::OpClassTensorOp>>>(int)", Role::gemm, yes, "cutlass 2", "int8"},
      {"void ck::kernel_gemm_xdl_cshuffle_v3<ck::GridwiseGemmMultiD_ABScale_xdl_cshuffle_v3<ck::tensor_layout::gemm::RowMajor>>(int)", Role::gemm, yes, "composable_kernel", ""},
      {"_gemm_a8w8_blockscale_kernel_GROUP_K_128_GROUP_N_128_BLOCK_SIZE_M_64", Role::gemm, yes, "aiter", ""},
      {"void wvSplitK_hf_sml_<__hip_bfloat16, 64, 2, 16, 8, 2, 1>(int)", Role::gemm, no, "ROCm", ""},
      {"gemm_fusion_dot_12", Role::gemm, yes, "XLA", ""},
      // beside the products
      {"void mul_mat_q_stream_k_fixup<(ggml_type)8, (int)16, (bool)0>(int)", Role::gemm_aux, no, "ggml", ""},
      {"void quantize_mmq_q8_1<(mmq_q8_1_ds_layout)0, false>(float const*)", Role::quantize, no, "ggml", ""},
      {"_ZN5aiter37dynamic_per_group_scaled_quant_kernelIDF16bDB8_Li32EEEvPT0_PfPKT_PKfiliibPKii", Role::quantize, no, "engine", ""},
      {"void kDequantizeBlockwise<__half, 512, 64, 8, 2>(float*, unsigned char*, float*, __half*, int, int)", Role::dequantize, no, "bitsandbytes", ""},
      {"void transformer_engine::normalization::rmsnorm_fwd_general_kernel<transformer_engine::normalization::Kernel_traits>(int)", Role::norm, no, "", ""},
      {"void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<1>(int)", Role::collective, no, "", ""},
      {"wrapped_transpose", Role::layout, no, "XLA", ""},
      {"void convert_unary<float, __half>(void const*, __half*, long)", Role::cast, no, "ggml", ""},
      {"void Eigen::internal::EigenMetaKernel<Eigen::TensorEvaluator<int>>", Role::other, no, "TensorFlow", ""},
      // names that only sound like something: local kernels of somebody
      {"_varlen_prefill_kernel", Role::unknown, open, "", ""},
      {"w4a16_v3_kernel", Role::unknown, open, "", ""},
      {"my_gemm_kernel_v2(float const*)", Role::unknown, open, "", ""},
      {"flash_decode_my_kernel", Role::unknown, open, "", ""},
  };
  for (const Expected& each : table) {
    INFO(each.name);
    const KernelClass kind = classify_kernel(each.name);
    INFO("row " << (kind.known() ? kind.row->id : "none"));
    CHECK(role_name(kind.role) == role_name(each.role));
    CHECK(tri_name(kind.tensor_cores) == tri_name(each.tensor_cores));
    if (kind.known()) CHECK(kind.row->provider.find(each.provider) != std::string_view::npos);
    if (each.dtype[0] != 0) CHECK(kind.dtype == each.dtype);
  }
}

TEST_CASE("names of inference engines and older libraries", "[evidence][kernels]") {
  const struct {
    const char* name;
    Role role;
    const char* family;
    const char* dtype;
  } cases[] = {
      {"kernel_cutlass_kernel_flashinfergemmkernelsdense_blockscaled_gemm_sm100Sm100BlockScaledPersistentDenseGemmKernel_object_at__TiledMMA", Role::gemm, "gemm", ""},
      {"kernel_cutlass_kernel___main__BlackwellFusedMultiHeadAttentionForward_object_at__TiledMMA", Role::attention, "attention-fused", ""},
      {"kernel_cutlass_kernel_flashinferquantizationkernelsnvfp4_quantizeNVFP4QuantizeSwizzledKernel_object_at", Role::quantize, "quantize", ""},
      {"_w8a8_block_fp8_matmul", Role::gemm, "gemm-quantized", ""},
      {"void fused_a_gemm_kernel<1, 2112, 7168, 16, 8, 256, 16>(__nv_bfloat16*)", Role::gemm, "gemm", ""},
      {"FmhaSm100aKernel_QE4m3KvE2m1OE4m3H128PagedKvCausalP32VarSeqQ128Kv128PersistentContext", Role::attention, "attention-paged", "fp8"},
      {"void fmhaReductionKernel<128, true, __nv_bfloat16>(fmhaReductionParams)", Role::attention, "attention-helper", "bf16"},
      {"void flashinfer::BatchDecodeWithPagedKVGQAKernel<(flashinfer::RotaryMode)0, false, 16ul>", Role::attention, "attention-paged", ""},
      {"fused_fused_dequantize3_NT_matmul12_kernel", Role::gemm, "gemm-quantized", ""},
      {"void dequantize_mul_mat_vec_q4_K", Role::gemm, "gemv-quantized", ""},
      {"dequantize_block_q4_0", Role::dequantize, "dequantize", ""},
      {"void cutlass::Kernel2<cutlass_75_wmma_tensorop_h161616gemm_32x32_128x2_tn_align8>(T1::Params)", Role::gemm, "gemm", "fp16"},
      {"sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_stage3_warpsize2x2x1_tensor16x8x8_kernel", Role::gemm, "gemm", "tf32"},
      {"ampere_zgemm_32x32_nn", Role::gemm, "gemm", "complex128"},
      {"volta_cgemm_32x32_tn", Role::convolution, "convolution", ""},
      {"void RNN_blockPersist_fp_LSTM_HMMA<__half, __half, float, 1, 128>", Role::other, "recurrent", ""},
      {"ref_sdpa", Role::attention, "attention-plain", ""},
  };
  for (const auto& each : cases) {
    INFO(each.name);
    const KernelClass kind = classify_kernel(each.name);
    REQUIRE(kind.known());
    CHECK(kind.role == each.role);
    CHECK(kind.row->family == each.family);
    if (*each.dtype != 0) CHECK(kind.dtype == each.dtype);
  }
  for (const char* open : {"_fwd_kernel", "matmul_kernel", "kernel_cutlass_kernel_other_thing", "fused_kernel"}) CHECK_FALSE(classify_kernel(open).known());
}

TEST_CASE("a mangled name is spelled out, whatever it holds", "[evidence][kernels]") {
  CHECK(spelled_out("_ZN5flash16flash_fwd_kernelILi64ELb0EEEvi") == "flash::flash_fwd_kernel<");
  CHECK(spelled_out("_ZN12_GLOBAL__N_120softmax_warp_forwardIfEEvi").find("(anonymous namespace)::softmax_warp_forward") != std::string::npos);
  CHECK(spelled_out("_ZN7cutlass13device_kernelIN5flash16FlashAttnFwdSm90IN4cute5tupleIJEEEEEEEvi").find("cutlass::device_kernel<flash::FlashAttnFwdSm90<cute::tuple<") == 0);
  CHECK(spelled_out("").empty());
  CHECK(spelled_out("_Z99999999999999999999").empty());
  std::uint32_t random = 7;
  for (int round = 0; round < 300; ++round) {
    std::string text = "_ZN";
    for (int i = 0; i < 200; ++i) {
      random = random * 1664525u + 1013904223u;
      text += "NIELSTK_0123456789abvi"[(random >> 16) % 22];
    }
    CHECK(spelled_out(text).size() <= 3 * text.size() + 32);
  }
}
