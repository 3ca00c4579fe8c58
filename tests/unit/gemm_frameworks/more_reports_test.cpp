// Further public reports, each in the project's own words as a command line, with the rule that names the cause and where
// it was read. The verdict has to name it, not only a finding somewhere in the report.
#include "diagnosed.hpp"
#include "session/what_if.hpp"

using namespace dd;

namespace {

struct FoundReport {
  const char* link;
  const char* spec;
  const char* rule;
};

#define TORCH " --framework torch --target "
#define VLLM " --framework vllm --target "
#define SCALED "gemm --x 256x4096 --w 4096x4096 --trans-w --dtype f8_e4m3 --out-dtype bf16 --extra call=scaled_mm"
const FoundReport found_reports[] = {
    {"pytorch#192707: row-wise FP8 refused by the library on 12.0", SCALED " --extra scale_recipe=rowwise --torch-version 2.10.0" TORCH "sm_120", "TSM020"},
    {"pytorch#198126: MXFP8 takes one operand layout only on 12.x", "gemm --x 256x4096 --w 4096x4096 --dtype f8_e4m3 --out-dtype bf16 --extra call=scaled_mm --extra scale_recipe=mxfp8 --torch-version 2.14.0" TORCH "sm_120", "TSM010"},
    {"pytorch#132005: two E5M2 operands", "gemm --x 256x4096 --w 4096x4096 --trans-w --dtype f8_e5m2 --out-dtype bf16 --extra call=scaled_mm --torch-version 2.4.0" TORCH "sm_90", "TSM006"},
    {"pytorch#118703: Ada refused although it multiplies FP8", SCALED " --torch-version 2.2.0" TORCH "sm_89", "TSM021"},
    {"ComfyUI-HunyuanVideoWrapper#98: FP8 fast mode on a 3090", SCALED " --torch-version 2.5.1" TORCH "sm_86", "TSM001"},
    {"FlashRT#21: FP8 with a row-major weight on Ada, status 15", "gemm --x 256x4096 --w 4096x4096 --dtype f8_e4m3 --out-dtype bf16 --framework cublas --target sm_89", "CLT054"},
    {"FasterTransformer#721: INT8 result on V100", "gemm --x 256x4096 --w 4096x4096 --trans-w --dtype s8 --out-dtype s8 --framework cublas --target sm_70", "CLT040"},
    {"pytorch#44428: integers on the GPU", "gemm --x 64x64 --w 64x64 --dtype s8 --extra call=matmul" TORCH "sm_80", "TMM003"},
    {"pytorch#73115: transposed activations go to a batched product", "gemm --x 128x1024x1024 --x-strides 1048576x1x1024 --w 1024x128 --dtype f32 --tf32 on --torch-version 2.6.0" TORCH "sm_80", "TMM007"},
    {"scdownstream#202: deterministic algorithms without the workspace variable", "gemm --x 128x256 --w 256x64 --dtype f32 --deterministic" TORCH "sm_80", "TMM020"},
    {"pytorch#172440: grouped product wants 16-byte strides", "gemm --x 3x6x8 --w 3x8x5 --dtype bf16 --extra call=grouped_mm --torch-version 2.9.0" TORCH "sm_90", "TGR001"},
    {"pytorch#187095: grouped FP8 on 10.3", "gemm --x 8x512x4096 --w 8x4096x1024 --dtype f8_e4m3 --out-dtype bf16 --extra call=scaled_grouped_mm" TORCH "sm_103", "TGR010"},
    {"pytorch#146508: FP16 on a processor without FP16 arithmetic", "gemm --x 512x512 --w 512x512 --dtype f16 --extra cpu_fp16=false --torch-version 2.6.0" TORCH "cpu", "TMK003"},
    {"oneDNN capped by its environment variable", "gemm --x 512x512 --w 512x512 --dtype bf16 --extra cpu_bf16=true --env ONEDNN_MAX_CPU_ISA=AVX2" TORCH "cpu", "TMK011"},
    {"gpt-fast#124: INT4 on a 2080 Ti", "gemm --x 1x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=32 --extra call=weight_int4pack_mm" TORCH "rtx-2080-ti", "TIG005"},
    {"ao#876: INT4 of an FP32 model", "gemm --x 1x4096 --w 4096x4096 --dtype f32 --quant w4a32:group=128 --framework torchao --target sm_80", "TAO002"},
    {"ao#1268: FP8 with 15 output features", "gemm --x 2x32 --w 32x15 --trans-w --dtype bf16 --framework torchao --target sm_90", "TAO011"},
    {"ao#1110: tile-packed INT4 on a T4", "gemm --x 1x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=128 --framework torchao --target t4", "TAO002"},
    {"TransformerEngine#1422: width of 712", "gemm --x 896x712 --w 712x1024 --trans-w --dtype f8_e4m3 --out-dtype bf16 --framework transformer-engine --target sm_90", "TEN001"},
    {"TransformerEngine#232: 50 rows", "gemm --x 50x4096 --w 4096x16384 --trans-w --dtype f8_e4m3 --out-dtype bf16 --framework transformer-engine --target sm_90", "TEN001"},
    {"llm-compressor#57: K of 7392 at four ranks", "gemm --x 16x29568 --w 29568x8192 --dtype f16 --quant w8a16:group=channel:packing=gptq --extra k_full=29568 --extra k_part=7392 --package-version vllm=0.5.3" VLLM "sm_86", "VLM045"},
    {"vllm#13640: AWQ groups straddle two ranks", "gemm --x 16x29568 --w 29568x8192 --dtype f16 --quant w4a16:group=128:zero:packing=awq --extra k_full=29568 --extra k_part=14784 --package-version vllm=0.7.2" VLLM "sm_80", "VLM121"},
    {"vllm#54311: INT8 claimed by CUTLASS on a 5080", "gemm --x 64x4096 --w 4096x4096 --trans-w --dtype s8 --out-dtype bf16" VLLM "sm_120", "VLM160"},
    {"vllm#58241: block FP8 on Ada passes CUTLASS over", "gemm --x 64x5120 --w 5120x5120 --trans-w --dtype f8_e4m3 --out-dtype bf16 --extra scale_recipe=128x128" VLLM "sm_89", "VLM152"},
    {"vllm#5183: FP8 on Ada with CUDA 12.1", "gemm --x 64x4096 --w 4096x4096 --trans-w --dtype f8_e4m3 --out-dtype bf16 --cuda-version 12.1" VLLM "sm_89", "VLM143"},
    {"vllm#5975: FP8 checkpoint on A100", "gemm --x 64x4096 --w 4096x4096 --trans-w --dtype f8_e4m3 --out-dtype bf16" VLLM "sm_80", "VLM143"},
    {"vllm#4781: BF16 with the first GPTQ kernels", "gemm --x 16x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=128:packing=gptq --extra quantization=gptq --package-version vllm=0.4.2" VLLM "sm_80", "VLM110"},
    {"vllm#1545: AWQ slower than FP16 for long prompts", "gemm --x 2048x4096 --w 4096x4096 --dtype f16 --quant w4a16:group=128:zero:packing=awq --extra quantization=awq --package-version vllm=0.2.1" VLLM "sm_80", "VLM131"},
    {"vllm#19563: NVFP4 below Blackwell is weight-only", "gemm --x 64x4096 --w 4096x4096 --trans-w --dtype f4_e2m1 --out-dtype bf16 --extra scale_recipe=nvfp4" VLLM "sm_90", "VLM169"},
    {"VLLM_DISABLED_KERNELS left over from a test", "gemm --x 16x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=128:packing=gptq --env VLLM_DISABLED_KERNELS=MacheteLinearKernel,ConchLinearKernel" VLLM "sm_90", "VLM001"},
    {"bitsandbytes#537: batches before 0.50", "gemm --x 8x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=64:packing=nf4 --framework bitsandbytes --package-version bitsandbytes=0.40.0 --target sm_80", "BNB003"},
    {"bitsandbytes#118: INT8 on a P40", "gemm --x 64x4096 --w 4096x4096 --dtype f16 --quant w8a8:group=channel:packing=int8 --framework bitsandbytes --target sm_61", "BNB020"},
    {"bitsandbytes#490: LLM.int8 slower than BF16", "gemm --x 1x4096 --w 4096x4096 --dtype bf16 --quant w8a8:group=channel:packing=int8 --extra outlier_threshold=6 --extra outliers=true --framework bitsandbytes --target sm_80", "BNB025"},
    {"AutoAWQ#172: long context is slower than FP16", "gemm --x 4096x4096 --w 4096x4096 --dtype f16 --quant w4a16:group=128:zero:packing=awq --framework autoawq --target sm_80", "AWQ002"},
    {"llama.cpp#7676: quantized prompt on Volta goes through cuBLAS", "gemm --x 512x4096 --w 4096x4096 --dtype f32 --extra quant_type=Q4_K --framework ggml --target sm_70", "GGM034"},
    {"CTranslate2#1865: INT8 with a vocabulary of 51866 on a 5090", "gemm --x 24x1280 --w 1280x51866 --trans-w --dtype s8 --out-dtype s32 --framework cublas --target rtx-5090", "CUB010"},
    {"vllm#23320: an MLP of 3420 features on A100", "gemm --x 16x1280 --w 1280x3420 --dtype bf16 --quant w4a16:group=128:packing=gptq --package-version vllm=0.10.1" VLLM "a100-80", "VLM045"},
    {"torchao: K of 4100 with groups of 128 is skipped", "gemm --x 1x4100 --w 4100x4096 --dtype bf16 --quant w4a16:group=128 --framework torchao --target a100-80", "TAO001"},
    {"bitsandbytes: K of 4100 with blocks of 64", "gemm --x 1x4100 --w 4100x4096 --dtype bf16 --quant w4a16:group=64:packing=nf4 --framework bitsandbytes --target a100-80", "BNB006"},
    {"half precision on a GTX 1080", "gemm --x 4096x4096 --w 4096x4096 --dtype f16" TORCH "sm_61", "TMM055"},
    {"double precision on a 4090", "gemm --x 4096x4096 --w 4096x4096 --dtype f64" TORCH "rtx-4090", "TMM056"},
    {"llama.cpp#28455: a q5_1 cache leaves the GPU", "sdpa --q 1x32x512x128 --k 1x8x4096x128 --v 1x8x4096x128 --gqa --mask float:512x4096 --dtype f16 --framework ggml --extra kv_type_k=q5_1 --extra kv_type_v=q5_1 --target rtx-4090", "GGM051"},
    {"lmstudio#2246: K of q8_0 with V of q4_0", "sdpa --q 1x32x512x128 --k 1x8x4096x128 --v 1x8x4096x128 --gqa --mask float:512x4096 --dtype f16 --framework ggml --extra kv_type_k=q8_0 --extra kv_type_v=q4_0 --target rtx-3090", "GGM051"},
    {"llama.cpp#20375: vision heads of 88", "sdpa --q 1x16x512x88 --dtype f16 --framework ggml --target rtx-4090", "GGM050"},
    {"llama.cpp: built with GGML_CUDA_FORCE_CUBLAS", "gemm --x 512x4096 --w 4096x4096 --dtype f32 --extra quant_type=Q4_K --built-with ggml_force_cublas=on --framework ggml --target sm_89", "GGM031"},
};

std::string plain_repro(const spec::OpSpec&) { return "dispatchdoctor gemm"; }

bool mentions(const report::Verdict& v, const std::string& rule) {
  if (v.summary.find(rule) != std::string::npos) return true;
  for (const std::string& line : v.because)
    if (!line.starts_with("fix: ") && line.find(rule) != std::string::npos) return true;
  return false;
}

}  // namespace

TEST_CASE("further public reports: the verdict names the cause") {
  for (const FoundReport& r : found_reports) {
    const spec::OpSpec spec = test::spec_of(r.spec);
    const frameworks::Framework* framework = frameworks::find_framework(spec.context.framework, spec);
    REQUIRE(framework);
    const auto target = facts::find_profile(spec.context.target);
    session::WhatIfOptions options;
    options.repro = plain_repro;
    const report::Case c = session::what_if(spec, "1", *framework, target.ok() ? &*target : nullptr, options);
    std::string all = c.verdict.summary;
    for (const std::string& line : c.verdict.because) all += "\n  " + line;
    INFO(r.link << "\n" << r.spec << "\nshould name " << r.rule << "\n" << all);
    CHECK(mentions(c.verdict, r.rule));
  }
}
