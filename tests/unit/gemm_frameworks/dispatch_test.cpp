// Which candidate each framework picks, and why the others are passed over.
#include "diagnosed.hpp"

using namespace dd;
using test::diagnosed;
using test::names;

TEST_CASE("vLLM: the list is walked until a kernel accepts, each refusal with its reason") {
  const auto a100 = diagnosed("gemm --x 16x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=128:packing=gptq --framework vllm --target sm_80 --built-with conch=off");
  CHECK(a100.selected == "vllm-marlin");
  CHECK(a100.find("vllm-machete")->first_reason->id == "VLM010");
  CHECK(a100.find("vllm-allspark")->first_reason->id == "VLM033");
  const auto h100 = diagnosed("gemm --x 16x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=128:packing=gptq --framework vllm --target sm_90");
  CHECK(h100.selected == "vllm-machete");
  const auto v100 = diagnosed("gemm --x 16x4096 --w 4096x4096 --dtype f16 --quant w4a16:group=128:packing=gptq --framework vllm --target sm_70 --built-with conch=off");
  CHECK(v100.selected == "vllm-exllama");
}

TEST_CASE("vLLM: kernels named in the environment are passed over, each with the rule that says so") {
  const std::string line = "gemm --x 16x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=128:packing=gptq --framework vllm --target sm_90";
  const auto one = diagnosed(line + " --env VLLM_DISABLED_KERNELS=MacheteLinearKernel");
  CHECK(one.selected == "vllm-marlin");
  CHECK(one.find("vllm-machete")->first_reason->id == "VLM001");
  CHECK(one.find("vllm-marlin")->standing == frameworks::Standing::eligible);
  const auto two = diagnosed(line + " --built-with conch=on --env VLLM_DISABLED_KERNELS=MacheteLinearKernel,MarlinLinearKernel");
  CHECK(two.selected == "vllm-conch");
  const auto other = diagnosed(line + " --env VLLM_DISABLED_KERNELS=SomebodyElsesKernel");
  CHECK(other.selected == "vllm-machete");
  CHECK_FALSE(names(other, "VLM001"));
  const auto int8 = diagnosed("gemm --x 64x4096 --w 4096x4096 --trans-w --dtype s8 --out-dtype bf16 --framework vllm --target sm_120 --env VLLM_DISABLED_KERNELS=CutlassInt8ScaledMMLinearKernel");
  CHECK(int8.selected == "vllm-int8-triton");
}

TEST_CASE("vLLM: when no kernel accepts, the selector's own error is named") {
  const auto d = diagnosed("gemm --x 16x11008 --w 11008x4096 --dtype bf16 --quant w4a16:group=128:packing=gptq --extra k_full=11008 --extra k_part=1376 --built-with conch=off --framework vllm --target sm_80");
  CHECK(d.error);
  CHECK(names(d, "VLM002"));
}

TEST_CASE("vLLM: an unknown package leaves the choice open instead of guessing") {
  const auto d = diagnosed("gemm --x 16x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=128:packing=gptq --extra n_part=1380 --framework vllm --target sm_80 --package-version vllm=2025.8");
  CHECK(d.find("vllm-marlin")->standing == frameworks::Standing::refused);
  CHECK(d.undetermined);
}

TEST_CASE("vLLM: INT8 on Blackwell is chosen and then fails") {
  const auto d = diagnosed("gemm --x 64x4096 --w 4096x4096 --trans-w --dtype s8 --out-dtype bf16 --framework vllm --target sm_100");
  CHECK(d.selected == "vllm-int8-cutlass");
  CHECK(d.error);
  CHECK(names(d, "VLM160"));
}

TEST_CASE("vLLM: an asymmetric GPTQ checkpoint fails in 2026 and takes the legacy kernels in 2025") {
  const std::string line = "gemm --x 16x4096 --w 4096x4096 --dtype f16 --quant w4a16:group=128:zero:packing=gptq --framework vllm --target sm_90";
  const auto now = diagnosed(line);
  CHECK(now.error);
  REQUIRE(now.call_error);
  CHECK(now.call_error->id == "VLM100");
  CHECK(diagnosed(line + " --package-version vllm=2025.8").selected == "vllm-gptq-legacy");
}

TEST_CASE("ggml: kernels in order, the last one dequantizes") {
  const auto few = diagnosed("gemm --x 8x4096 --w 4096x4096 --dtype f32 --extra quant_type=Q4_K --framework ggml --target sm_89");
  CHECK(few.selected == "ggml-mmq");
  CHECK(few.find("ggml-mmvq")->first_reason->id == "GGM021");
  const auto rare = diagnosed("gemm --x 512x4096 --w 4096x4096 --dtype f32 --extra quant_type=IQ1_M --framework ggml --target sm_90");
  CHECK(rare.selected == "ggml-cublas");
  CHECK(names(rare, "GGM040"));
  const auto attention = diagnosed("sdpa --q 1x32x1x160 --k 1x8x4096x160 --v 1x8x4096x160 --gqa --dtype f16 --framework ggml --target sm_90");
  CHECK(attention.selected == "ggml-unfused-attention");
  // A V cache in blocks leaves nothing but the processor there, and that only where flash attention is forced: the verdict says so.
  const auto quantized = diagnosed("sdpa --q 1x32x1x160 --k 1x8x4096x160 --v 1x8x4096x160 --gqa --dtype f16 --framework ggml --target sm_90 --extra kv_type_k=q8_0 --extra kv_type_v=q8_0");
  CHECK(quantized.error);
  const rules::Rule* reason = quantized.find("ggml-unfused-attention")->first_reason;
  REQUIRE(reason);
  CHECK(reason->id == "GGM056");
  CHECK(reason->title.find("the CPU computes it where -fa is on") != std::string_view::npos);
  CHECK(reason->fix.text.find("alone only moves the operator") != std::string_view::npos);
}

TEST_CASE("torch: extents that cuBLAS is not given") {
  const auto wide = diagnosed("gemm --m 2147483648 --n 16 --k 16 --dtype bf16 --framework torch --torch-version 2.8.0 --target sm_90");
  CHECK(names(wide, "TMM057"));
  CHECK_FALSE(wide.selected);
  CHECK(diagnosed("gemm --m 2147483647 --n 16 --k 16 --dtype bf16 --framework torch --torch-version 2.8.0 --target sm_90").selected == "torch-mm");
}

TEST_CASE("vLLM: a kernel is asked from the release on that brought it") {
  const auto has = [](const char* version, const char* kernel) {
    return diagnosed(std::string("gemm --x 16x4096 --w 4096x4096 --dtype f16 --quant w8a16:group=channel:packing=gptq --framework vllm --target sm_80 --package-version vllm=") + version).find(kernel) != nullptr;
  };
  CHECK_FALSE(has("0.5.3", "vllm-machete"));
  CHECK(has("0.6.3", "vllm-machete"));
  CHECK_FALSE(has("0.7.3", "vllm-allspark"));
  CHECK(has("0.8.0", "vllm-allspark"));
  CHECK_FALSE(has("0.6.3", "vllm-exllama"));
  CHECK(has("0.6.4", "vllm-exllama"));
  CHECK_FALSE(has("0.9.2", "vllm-conch"));
  CHECK(has("0.10.0", "vllm-conch"));
  const std::string line = "gemm --x 16x1280 --w 1280x3420 --dtype bf16 --quant w4a16:group=128:packing=gptq --framework vllm --target sm_80 --package-version vllm=0.10.1 --built-with conch=";
  CHECK(diagnosed(line + "off").error);
  CHECK(diagnosed(line + "on").selected == "vllm-conch");
}

TEST_CASE("MXFP8 in any layout on 12.x from cuBLAS 13.6 on") {
  const std::string call = "gemm --x 256x4096 --w 4096x4096 --dtype f8_e4m3 --out-dtype bf16 --extra scale_recipe=mxfp8 --target sm_120 --package-version cublas=";
  CHECK(diagnosed(call + "13.5.1 --framework cublas").find("cublaslt")->first_reason->id == "CLT054");
  CHECK(diagnosed(call + "13.6.0 --framework cublas").selected == "cublaslt");
  CHECK(diagnosed(call + "13.5.1 --extra call=scaled_mm --torch-version 2.14.0 --framework torch").find("torch-scaled-mm")->first_reason->id == "TSM010");
  CHECK(diagnosed(call + "13.6.0 --extra call=scaled_mm --torch-version 2.14.0 --framework torch").selected == "torch-scaled-mm");
}

TEST_CASE("ggml: products with experts") {
  const auto chosen = [](const char* tokens, const char* type, const char* target, const char* n = "4096") {
    return diagnosed(std::string("gemm --x ") + tokens + "x4096 --w 4096x" + n + " --dtype f32 --extra call=mul_mat_id --extra quant_type=" + type + " --framework ggml --target " + target).selected;
  };
  // The limits of the vector kernel are others than without experts.
  CHECK(chosen("8", "Q4_K", "sm_89") == "ggml-mmvq-id");
  CHECK(chosen("9", "Q4_K", "sm_89") == "ggml-mmq");
  CHECK(chosen("5", "Q3_K", "sm_86") == "ggml-mmvq-id");
  CHECK(chosen("6", "Q3_K", "sm_86") == "ggml-mmq");
  CHECK(chosen("5", "Q4_K", "sm_61") == "ggml-mmvq-id");
  CHECK(chosen("6", "Q4_K", "sm_61") == "ggml-mmq");
  CHECK(chosen("8", "Q4_K", "sm_70") == "ggml-mmvq-id");
  CHECK(chosen("128", "F16", "sm_90") == "ggml-mmf-id");
  CHECK(chosen("129", "F16", "sm_90") == "ggml-sorted-experts");
  CHECK(chosen("512", "F16", "sm_90", "1024") == "ggml-mmf-id");
  CHECK(chosen("8", "IQ1_M", "sm_90") == "ggml-mmvq-id");
  const auto sorted = diagnosed("gemm --x 64x4096 --w 4096x4096 --dtype f32 --extra call=mul_mat_id --extra quant_type=IQ1_M --framework ggml --target sm_90");
  CHECK(sorted.selected == "ggml-sorted-experts");
  CHECK(names(sorted, "GGM076"));
  CHECK(names(sorted, "GGM030"));
}

TEST_CASE("bitsandbytes: one row is fused, a batch on an old version is dequantized") {
  CHECK(diagnosed("gemm --x 1x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=64:packing=nf4 --framework bitsandbytes --target sm_90 --package-version bitsandbytes=0.49.0").selected == "bnb-4bit");
  const auto two = diagnosed("gemm --x 2x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=64:packing=nf4 --framework bitsandbytes --target sm_90 --package-version bitsandbytes=0.49.0");
  CHECK(two.selected == "bnb-dequantize");
  CHECK(names(two, "BNB003"));
}

TEST_CASE("torch: bias fused where the conditions hold, else a product after a copy") {
  const std::string line = "gemm --x 4096x4096 --w 4096x4096 --trans-w --bias --dtype bf16 --target sm_90 --framework torch --torch-version 2.6.0";
  CHECK(diagnosed(line).selected == "torch-addmm-lt");
  const auto off = diagnosed(line + " --env DISABLE_ADDMM_CUDA_LT=1");
  CHECK(off.selected == "torch-mm");
  CHECK(names(off, "TAD001"));
  const auto batched = diagnosed("gemm --x 8x1024x4096 --x-strides 4096x32768x1 --w 4096x4096 --dtype bf16 --target sm_90 --framework torch");
  CHECK(batched.selected == "torch-bmm");
  CHECK(names(batched, "TMM007"));
  CHECK(diagnosed("gemm --x 8x1024x4096 --w 4096x4096 --dtype bf16 --target sm_90 --framework torch").selected == "torch-mm");
}

TEST_CASE("torch: scaled products raise with the first check, and all others that fail are listed") {
  const auto d = diagnosed("gemm --x 64x4088 --w 4088x1000 --dtype f8_e4m3 --out-dtype bf16 --framework torch --torch-version 2.6.0 --extra call=scaled_mm --target sm_80");
  CHECK(d.error);
  CHECK(d.find("torch-scaled-mm")->first_reason->id == "TSM001");
  for (const char* id : {"TSM001", "TSM003", "TSM004", "TSM010"}) CHECK(names(d, id));
}

TEST_CASE("every framework serves its products and has an order") {
  for (const frameworks::Framework* framework : frameworks::all_frameworks()) {
    const auto spec = test::spec_of("gemm --x 16x4096 --w 4096x4096 --dtype f16 --target sm_90");
    if (!framework->serves(spec)) continue;
    INFO(framework->name());
    const auto d = frameworks::diagnose(*framework, spec, facts::FactSet());
    CHECK_FALSE(d.candidates.empty());
    CHECK_FALSE(d.priorities.empty());
    CHECK_FALSE(framework->tables().empty());
  }
}
