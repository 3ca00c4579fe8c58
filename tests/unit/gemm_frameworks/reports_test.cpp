// Public reports of slow or refused products, each as the command line that says what was known of it and the rule that
// names its settled cause. Those that rules alone cannot find are listed with the reason.
#include "diagnosed.hpp"

using namespace dd;

namespace {

struct Report {
  const char* id;
  const char* spec;  // nullptr: not found by rules
  const char* rule;  // or why not
};

#define TORCH " --framework torch --target "
const Report reports[] = {
    {"G001", "gemm --x 64x1024 --x-offset 1 --w 1024x1024 --trans-w --bias --dtype f16 --torch-version 1.13.0" TORCH "sm_80", "TAD012"},
    {"G002", "gemm --x 64x1024 --x-offset 2 --w 1024x1024 --trans-w --bias --dtype f32 --torch-version 2.0.0" TORCH "sm_90", "TAD012"},
    {"G003", "gemm --x 64x1024 --w 1024x1024 --trans-w --bias --dtype f16 --extra bias_align_bytes=4" TORCH "sm_75", "TAD010"},
    {"G005", "gemm --x 64x1024 --w 1024x1024 --dtype f32 --extra w_file_offset_bytes=42862" TORCH "sm_80", "TMM036"},
    {"G010", "gemm --x 64x1024 --w 1024x1024 --dtype f32 --extra w_file_offset_bytes=316294" TORCH "sm_120", "TMM036"},
    {"G011", "gemm --x 64x1024 --w 1024x1024 --dtype f16 --extra w_file_offset_bytes=1775" TORCH "sm_80", "TMM036"},
    {"G013", "gemm --x 400x1024 --w 1024x1024 --dtype f16 --extra pointer_array_align_bytes=8 --framework cublas --target sm_80", "CUB007"},
    {"G015", "gemm --x 2x20569856 --w 20569856x13 --dtype bf16 --mode compiled" TORCH "sm_80", "TMM029"},
    {"G017", "gemm --x 16x2047x2047 --w 16x2047x128 --dtype f16 --framework cublas --target sm_90", "CUB006"},
    {"G018", "gemm --x 512x1024 --w 1024x33708 --dtype f16 --framework cublas --target sm_70", "CUB006"},
    {"G021", "gemm --x 32x3072 --x-offset 1 --w 3072x4000000 --dtype f16 --torch-version 2.7.0" TORCH "sm_80", "TMM030"},
    {"G025", "gemm --x 1x256 --w 256x5120 --trans-w --dtype f8_e4m3 --out-dtype bf16 --framework transformer-engine --target sm_90", "TEN001"},
    {"G026", "gemm --x 40x4096 --w 4096x4096 --trans-w --dtype f8_e4m3 --out-dtype bf16 --extra scale_recipe=mxfp8 --framework transformer-engine --target sm_100", "TEN005"},
    {"G028", "gemm --x 8x64 --w 64x64 --trans-w --dtype s8 --out-dtype s32 --extra call=int_mm" TORCH "sm_80", "TIM001"},
    {"G029", "gemm --x 1x1024 --w 1024x1024 --trans-w --dtype s8 --out-dtype s32 --extra call=int_mm --mode compiled --torch-version 2.7.1" TORCH "sm_120", "TIM001"},
    {"G033", "gemm --x 256x4096 --w 4096x4096 --trans-w --dtype f8_e4m3 --out-dtype bf16 --extra scale_recipe=rowwise --framework cublas --target sm_120", "CLT056"},
    {"G034", "gemm --x 256x4096 --w 4096x4096 --trans-w --dtype f8_e4m3 --out-dtype bf16 --extra scale_recipe=rowwise --framework cublas --target sm_89", "CLT056"},
    {"G038", "gemm --x 256x4096 --w 4096x4096 --trans-w --dtype f8_e4m3 --out-dtype bf16 --extra scale_recipe=128x128 --framework vllm --target sm_89", "VLM152"},
    {"G042", "gemm --x 256x4096 --w 4096x4096 --trans-w --dtype f4_e2m1 --out-dtype bf16 --extra scale_recipe=mxfp4 --framework vllm --package-version vllm=0.12.0 --target sm_120", "VLM175"},
    {"G045", "gemm --x 16x4096 --w 4096x4096 --dtype f8_e4m3 --out-dtype bf16 --quant w4a8:group=128 --extra weight_type=s4 --framework vllm --package-version vllm=0.15.1 --built-with conch=off --target sm_100", "VLM020"},
    {"G046", "gemm --x 4096x4096 --w 4096x4096 --dtype bf16" TORCH "sm_75", "TMM031"},
    {"G047", "gemm --x 4096x4096 --w 4096x4096 --dtype bf16" TORCH "sm_70", "TMM031"},
    {"G048", "gemm --x 2x896 --w 896x4864 --dtype f16 --extra tensor_cores=false" TORCH "sm_75", "TMM032"},
    {"G053", "gemm --x 16x10944 --w 10944x4096 --dtype f16 --quant w4a16:group=64:zero:packing=awq --framework vllm --package-version vllm=0.6.3 --target sm_80", "VLM045"},
    {"G055", "gemm --x 16x11008 --w 11008x4096 --dtype f16 --quant w4a16:group=128:packing=gptq --extra k_full=11008 --extra k_part=1376 --framework vllm --package-version vllm=0.6.3 --target sm_80", "VLM044"},
    {"G060", "gemm --x 16x4096 --w 4096x4096 --dtype f16 --quant w4a16:group=128:act-order:packing=gptq --extra fused_qkv=true --framework gptqmodel --target sm_80", "GPM006"},
    {"G061", "gemm --x 16x4096 --w 4096x4096 --dtype f16 --quant w4a16:group=128:packing=gptq --extra fast_kernel_opt_in=false --framework gptqmodel --target sm_80", "GPM007"},
    {"G063", "gemm --x 16x4096 --w 4096x4096 --dtype f16 --quant w4a16:group=128:packing=gptq --extra checkpoint_format=gptq_v2 --framework gptqmodel --target sm_80", "GPM008"},
    {"G066", "gemm --x 64x7168 --w 7168x2112 --trans-w --dtype f8_e4m3 --out-dtype bf16 --extra scale_recipe=128x128 --extra tuned_config=false --framework vllm --target sm_90", "VLM155"},
    {"G067", "gemm --x 8x4096 --w 4096x4096 --dtype f32 --quant w4a32:group=64:packing=nf4 --framework bitsandbytes --target sm_86", "BNB007"},
    {"G068", "gemm --x 2x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=64:packing=nf4 --framework bitsandbytes --package-version bitsandbytes=0.49.0 --target sm_86", "BNB003"},
    {"G071", "gemm --x 64x4096 --w 4096x4096 --dtype bf16 --quant w4a16:group=64 --framework torchao --target sm_89", "TAO004"},
    {"G074", "gemm --x 1x32 --w 32x10 --dtype f16 --quant w4a16:group=32 --framework torchao --target sm_80", "TAO002"},
    {"G076", "gemm --x 4096x4096 --w 4096x4096 --dtype f32" TORCH "sm_80", "TMM025"},
    {"G077", "gemm --x 4096x4096 --w 4096x4096 --dtype f32 --extra call=linear" TORCH "sm_80", "TMM025"},
    {"G078", "gemm --x 4096x320 --w 320x320 --dtype f32 --torch-version 1.12.0" TORCH "sm_86", "TMM025"},
    {"G079", "gemm --x 1000x1000 --w 1000x1000 --dtype f32 --torch-version 2.1.2 --extra call=mm" TORCH "sm_86", "TMM025"},
    {"G081", "gemm --x 4096x4096 --w 4096x4096 --dtype f16" TORCH "sm_89", "TMM033"},
    {"G082", "gemm --x 64x14336 --w 14336x4096 --trans-w --dtype bf16 --extra few_tiles_long_k=true" TORCH "sm_86", "TMM035"},
    {"G083", nullptr, "needs what the compiler generated; no field of a spec tells the accumulator type"},
    {"G085", "gemm --x 64x4096 --w 4096x4096 --trans-w --dtype f8_e4m3 --out-dtype bf16 --extra call=scaled_mm --torch-version 2.7.0" TORCH "sm_90", "TSM019"},
    {"G087", "gemm --x 64x4096 --w 4096x4096 --dtype f32 --env CUBLAS_WORKSPACE_CONFIG=:4096:8 --torch-version 2.0.0" TORCH "sm_80", "TMM034"},
    {"G088", "gemm --x 4096x4096 --w 4096x4096 --bias --dtype bf16 --extra bias_rank=2 --torch-version 2.7.0" TORCH "sm_90", "TAD003"},
    {"G089", "gemm --x 4096x4096 --w 4096x4096 --epilogue bias+gelu --bias --dtype bf16 --cuda-version 11.4 --torch-version 2.1.0" TORCH "sm_80", "TAD009"},
    {"G091", "gemm --x 384x1x4096 --x-strides 4096x1572864x1 --w 4096x4096 --dtype bf16" TORCH "sm_90", "TMM007"},
    {"G094", "gemm --x 5x5 --w 10x5x3 --dtype f32" TORCH "sm_80", "TMM008"},
    {"G098", "gemm --x 64x4096 --w 4096x4096 --dtype f16 --extra capturing=true --framework cublas --target sm_89", "CUB008"},
    {"G099", "gemm --x 64x4096 --w 4096x4096 --dtype f16 --extra capturing=true --package-version cublas=13.5.1 --framework cublas --target sm_80", "CLT024"},
    {"G101", "gemm --x 64x512 --w 512x512 --dtype f32 --extra first_call=true" TORCH "cpu", "TMK008"},
    {"G107", "gemm --x 512x512 --w 512x512 --dtype bf16 --extra cpu_bf16=false --torch-version 2.9.1" TORCH "cpu", "TMK002"},
    {"G108", nullptr, "the library's choice for prepacked weights on AArch64 shows in its log only"},
    {"G111", "gemm --x 4x4096 --w 4096x4096 --dtype bf16 --extra dtype_w=s4 --extra weights_tag=any" TORCH "cpu", "TMK009"},
    {"G112", nullptr, "no fault: a declined candidate in a log; the log reader judges the line that ran"},
    {"G114", nullptr, "which of two engines is faster for a shape has to be measured"},
    {"G116", "gemm --x 4000x4000 --w 4000x4000 --dtype f32 --extra blas_library=mkl --extra cpu_vendor=amd" TORCH "cpu", "TMK010"},
    {"G117", "gemm --x 1x4096 --w 4096x4096 --dtype f32 --extra accuracy_level=0 --framework onnxruntime --target cpu", "ORT001"},
    {"G118", "gemm --x 1x4096 --w 4096x4096 --dtype f16 --extra accuracy_level=4 --framework onnxruntime --target cpu", "ORT002"},
    {"G120", "gemm --x 1x14464 --w 14464x4096 --dtype f32 --extra quant_type=Q3_K --framework ggml --target sm_90", "GGM060"},
    {"G121", "gemm --x 1x2688 --w 2688x4096 --dtype f32 --extra quant_type=Q4_K --framework ggml --target sm_90", "GGM060"},
    {"G122", nullptr, "from which batch on dequantizing wins differs by type and has to be measured"},
};

}  // namespace

TEST_CASE("public reports: the rule that names the cause is among the findings") {
  int found = 0, all = 0;
  for (const Report& report : reports) {
    ++all;
    if (!report.spec) {
      CHECK(std::string(report.rule).size() > 20);
      continue;
    }
    ++found;
    INFO(report.id << ": " << report.spec << " should name " << report.rule);
    CHECK(test::names(test::diagnosed(report.spec), report.rule));
  }
  CHECK(all == 60);
  CHECK(found >= 54);
}
