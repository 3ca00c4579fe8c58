#include "evidence/link/families.hpp"

#include <array>

namespace dd::evidence {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

bool is_gemm_op(std::string_view name) {
  static constexpr std::array<std::string_view, 11> names = {"aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm", "aten::_scaled_mm",
      "aten::_int_mm", "aten::_addmm_activation", "aten::_grouped_mm", "aten::_scaled_grouped_mm", "aten::_scaled_mm_v2", "aten::_scaled_grouped_mm_v2"};
  for (const std::string_view each : names)
    if (each == name) return true;
  return is_packed_product_op(name) || is_library_linear_op(name);
}

// Weights in a packed or sparse form, multiplied as they lie.
bool is_packed_product_op(std::string_view name) {
  if (name.starts_with("aten::"))
    return name.starts_with("aten::_weight_int4pack_mm") || name == "aten::_weight_int8pack_mm" || name.starts_with("aten::_dyn_quant_matmul_4bit") ||
           name == "aten::_cslt_sparse_mm" || name == "aten::_mixed_dtypes_linear";
  return name.starts_with("quantized::linear") || name.starts_with("onednn::qlinear_pointwise") || name.starts_with("onednn::linear_dynamic_fp16") || name == "quantized::matmul";
}

// What the compiler and the front ends call in place of aten::addmm on a processor.
bool is_library_linear_op(std::string_view name) {
  return name == "mkl::_mkl_linear" || name.starts_with("mkldnn::_linear_pointwise") || name == "aten::mkldnn_linear" || name == "mkldnn_prepacked::linear_run" || name.starts_with("torch_ipex::ipex_linear") ||
         name == "torch_ipex::ipex_MKLSGEMM";
}

bool is_compiled_region(std::string_view name) {
  return name.starts_with("Torch-Compiled Region") || name.starts_with("CompiledFunction") || name.starts_with("CompiledFxGraph") || name.starts_with("AOTInductorModel") || name == "fused_region";
}

bool is_attention_op(std::string_view name) {
  if (name.starts_with("autograd::")) return false;
  if (name.starts_with("aten::"))
    return contains(name, "scaled_dot_product") || contains(name, "_flash_attention_") || contains(name, "_efficient_attention_") ||
           contains(name, "_cudnn_attention_") || name == "aten::_fused_sdp_choice" || contains(name, "_native_multi_head_attention");
  // Engines and packages name their own: namespace, then a word of the family with more around it.
  static constexpr std::array<std::string_view, 22> parts = {"vllm::unified_attention", "vllm::unified_mla_attention", "flash_attn::_flash_attn_",
      "flash_attn::flash_attn_", "flash_attn_3::", "xformers::efficient_attention_", "xformers_flash::flash_", "xformers_flash3::",
      "aiter::mha_", "aiter::fmha_", "aiter::_flash_attn_", "aiter::flash_attn_",
      "aiter::paged_attention", "_vllm_fa2_C::", "_vllm_fa3_C::", "_C::paged_attention", "sgl_kernel::fwd", "sgl_kernel::cutlass_mla_decode", "npu::npu_fusion_attention", "npu::npu_prompt_flash_attention",
      "npu::npu_incre_flash_attention", "npu::npu_fused_infer_attention"};
  for (const std::string_view each : parts)
    if (name.starts_with(each)) return true;
  if (name.starts_with("sglang")) return contains(name, "mha__") || contains(name, "attention_with_output") || contains(name, "mha_batch") || contains(name, "unified_attention");
  if (name.starts_with("torch_attn::") || name.starts_with("flashinfer::") || name.starts_with("transformer_engine::"))
    return contains(name, "attention") || contains(name, "prefill") || contains(name, "decode") || contains(name, "attn_fwd") || contains(name, "attn_bwd");
  // Functions of packages from before they had operators of their own, and their backward nodes.
  if (name.starts_with("FlashAttn") || name.starts_with("FlashAttention") || name.starts_with("FusedAttn")) return contains(name, "Func");
  return name == "flex_attention" || name == "_fMHA" || name == "_fMHABackward" || name == "_attention" || name == "_attentionBackward";
}

bool is_backward_attention(std::string_view name) { return is_attention_op(name) && (contains(name, "backward") || contains(name, "Backward") || contains(name, "_bwd")); }

AttentionWay attention_way(std::string_view name) {
  if (!is_attention_op(name) || name == "aten::scaled_dot_product_attention" || name == "aten::_fused_sdp_choice") return AttentionWay::open;
  if (!name.starts_with("aten::")) return AttentionWay::engine;
  if (contains(name, "_for_cpu")) return AttentionWay::cpu_flash;
  if (contains(name, "_attention_math")) return AttentionWay::math;
  if (contains(name, "cudnn")) return AttentionWay::cudnn;
  if (contains(name, "efficient")) return AttentionWay::efficient;
  if (contains(name, "flash")) return AttentionWay::flash;
  return AttentionWay::engine;
}

std::string_view way_name(AttentionWay way) {
  static constexpr std::string_view names[] = {"open", "flash", "efficient", "cudnn", "math", "cpu-flash", "engine"};
  return names[static_cast<std::size_t>(way)];
}

bool is_graph_launch(std::string_view call) { return contains(call, "GraphLaunch"); }

bool is_sync_call(std::string_view call) {
  return contains(call, "Synchronize") || call.starts_with("hipMemcpyWithStream") || call == "cudaMemcpy" || call == "hipMemcpy" ||
         call.starts_with("cudaMemcpy_v");
}

}  // namespace dd::evidence
