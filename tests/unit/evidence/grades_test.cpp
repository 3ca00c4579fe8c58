// How much a verdict claims: names and pasted lines are never graded like recordings, a failed call has no path, and
// what a recording of the processor hides is not called absent.
#include <string>

#include "evidence/answer/by_name.hpp"
#include "evidence/answer/report.hpp"
#include "evidence/logs/logs.hpp"
#include "evidence/logs/torch_lines.hpp"
#include "made.hpp"
#include "support/catch.hpp"

using namespace dd::evidence;
using namespace made;

namespace {

bool has_finding(const TraceAnswer& a, std::string_view id) {
  for (const EvidenceFinding& f : a.findings)
    if (f.id == id) return true;
  return false;
}

bool says(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a name alone is a reading, with its reason and the next step", "[evidence][grades]") {
  const TraceAnswer slow = answer_kernels({"ampere_sgemm_128x128_tn"});
  CHECK(slow.verdict.grade == "modelled");
  CHECK(slow.verdict.gemm == PathVerdict::fallback);
  CHECK(has_finding(slow, "EVD011"));
  CHECK(has_finding(slow, "EVD008"));
  for (const char* part : {"cublas", "matrix product", "fp32", "no tensor cores", "not the fast path"}) CHECK(says(slow.verdict.gemm_why, part));
  const TraceAnswer narrow = answer_kernels({"cutlass_80_tensorop_bf16_s16816gemm_bf16_256x128_64x3_tn_align2"});
  CHECK(narrow.verdict.gemm == PathVerdict::mixed);
  CHECK(says(narrow.verdict.gemm_why, "loads of 2 elements"));
  CHECK(has_finding(narrow, "EVD010"));
  const TraceAnswer fused = answer_kernels({"fmha_cutlassF_f16_notaligned_64x64_rf_sm80"});
  CHECK(fused.verdict.sdpa == PathVerdict::fast_path);
  CHECK(has_finding(fused, "EVD022"));
  CHECK(answer_kernels({"dd_attention_naive_f32"}).verdict.sdpa == PathVerdict::fallback);
  const TraceAnswer other = answer_kernels({"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"});
  CHECK(other.verdict.gemm == PathVerdict::none);
  CHECK(says(other.verdict.other_why, "no verdict follows"));
  CHECK(read(trace_of(one_product())).verdict.grade == "traced");
  CHECK(read("ampere_sgemm_128x128_tn\n").verdict.grade == "modelled");
}

TEST_CASE("a call that failed has no path, and the lines around it say why", "[evidence][grades]") {
  const TraceAnswer a = read(
      "UserWarning: Memory efficient kernel not used because:\n"
      "UserWarning: Mem Efficient attention requires last dimension of inputs to be divisible by 4. Got Query.size(-1): 63, Key.size(-1): 63, Value.size(-1): 63 instead.\n"
      "UserWarning: Flash attention kernel not used because:\n"
      "UserWarning: Expected query, key and value to all be of dtype: {Half, BFloat16}. Got Query dtype: float, Key dtype: float, and Value dtype: float instead.\n"
      "RuntimeError: No available kernel. Aborting execution.\n");
  CHECK(a.verdict.sdpa == PathVerdict::no_path);
  CHECK(verdict_name(a.verdict.sdpa) == "cannot-tell");
  CHECK(a.verdict.grade == "asked");
  CHECK(says(a.verdict.sdpa_why, "nothing ran"));
  CHECK(says(a.verdict.sdpa_why, "torch-efficient (TEF014)"));  // the head size, not a difference between q and k
  CHECK(says(a.verdict.sdpa_why, "torch-flash (TFL027)"));
  std::vector<std::string> messages;
  CHECK(exit_code({a}, {"fast"}, true, messages) == 3);
  CHECK(read("RuntimeError: CUDA error: CUBLAS_STATUS_NOT_SUPPORTED when calling `cublasGemmEx(...)`\n").verdict.gemm == PathVerdict::no_path);
  CHECK(read("[info] saw CUBLAS_STATUS_NOT_SUPPORTED once\n").verdict.gemm == PathVerdict::cannot_tell);
  CHECK(read("UserWarning: Flash attention kernel not used because:\n").verdict.sdpa == PathVerdict::cannot_tell);
}

TEST_CASE("the numbers in a line choose between the checks that print it", "[evidence][grades]") {
  const auto first = [](const char* line, const char* backend) {
    const auto rules = rules_behind(line, backend);
    return rules.empty() ? std::string() : std::string(rules.front()->id);
  };
  const char* unequal = "Mem Efficient attention requires last dimension of inputs to be divisible by 4. Got Query.size(-1): 64, Key.size(-1): 32, Value.size(-1): 64 instead.";
  CHECK(first(unequal, "torch-efficient") == "TEF013");
  CHECK(first("Flash attention requires q,k,v to have the same last dimension and to be less than or equal to 256. Got Query.size(-1): 320, Key.size(-1): 320, Value.size(-1): 320 instead.", "torch-flash") == "TFL010");
  CHECK(rules_behind("a kettle is divisible by 4", "").empty());
}

TEST_CASE("refusals weigh as what they are when readers are joined", "[evidence][grades]") {
  using enum PathVerdict;
  CHECK(joined(no_path, fallback) == no_path);
  CHECK(joined(fast_path, no_path) == mixed);
  CHECK(joined(cannot_tell, no_path) == no_path);
  CHECK(weaker("traced", "asked") == "asked");
  CHECK(weaker("modelled", "asked") == "modelled");
  const TraceAnswer both = read("onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx512_core,undef,src:f32::blocked:ab::f0 wei:f32::blocked:ab::f0 dst:f32::blocked:ab::f0,,,8x8:8x8,1\nampere_sgemm_128x128_tn\n");
  CHECK(both.verdict.grade == "modelled");
}

TEST_CASE("what a recording of the processor hides is not called absent", "[evidence][processor]") {
  const TraceAnswer hidden = read(trace_of({op("Torch-Compiled Region: 0/0", 1, 50, 1), op("aten::empty", 5, 2, 2)}));
  CHECK(hidden.verdict.gemm == PathVerdict::cannot_tell);
  CHECK(hidden.verdict.sdpa == PathVerdict::cannot_tell);
  CHECK(says(hidden.verdict.gemm_why, "compiled region"));
  // With GPU events the kernels inside are in the file.
  CHECK(read(trace_of({op("Torch-Compiled Region: 0/0", 1, 50, 1), call("cudaLaunchKernel", 5, 9), kernel("triton_poi_fused_add_0", 60, 3, 9)})).verdict.gemm == PathVerdict::none);
  const std::string packed = R"(, "Input type": ["float", "", "Scalar"], "Input Dims": [[2, 32, 64], [], []], "Input Strides": [[2048, 64, 1], [], []], "Concrete Inputs": ["", "", "True"])";
  CHECK(read(trace_of({op("quantized::linear_dynamic", 1, 9, 1, packed)})).verdict.gemm == PathVerdict::fast_path);
  CHECK(read(trace_of({op("quantized::linear_dynamic", 1, 9, 1, packed), call("cudaLaunchKernel", 50, 9)})).verdict.gemm == PathVerdict::cannot_tell);
  const std::string linear = R"(, "Input type": ["float", "float", "float", "", "Scalar"], "Input Dims": [[8, 64], [1459233, 1], [192, 64], [], []], "Input Strides": [[64, 1], [], [64, 1], [], []], "Concrete Inputs": ["", "", "", "", "8"])";
  const TraceAnswer frozen = read(trace_of({op("mkl::_mkl_linear", 1, 9, 1, linear)}));
  REQUIRE(frozen.gemms.size() == 1);
  CHECK((frozen.gemms[0].m == 8 && frozen.gemms[0].n == 192 && frozen.gemms[0].k == 64));
  REQUIRE(frozen.specs.size() == 1);
  CHECK(says(frozen.specs[0], R"("w":{"shape":[64,192],"dtype":"f32","strides":[1,64]})"));
  CHECK(says(frozen.specs[0], R"("target":"cpu")"));
}

TEST_CASE("attention made of products inside one operator is a decomposition", "[evidence][processor]") {
  const auto events = {op("aten::_native_multi_head_attention", 0, 100, 1), op("aten::bmm", 10, 5, 2), op("aten::_softmax", 20, 5, 3), op("aten::bmm", 30, 5, 4)};
  CHECK(read(trace_of(events)).verdict.sdpa == PathVerdict::fallback);
  CHECK(read(trace_of({op("aten::_native_multi_head_attention", 0, 100, 1), op("aten::mm", 10, 5, 2)})).verdict.sdpa == PathVerdict::cannot_tell);
}

TEST_CASE("a rule of some releases is named as the possible reason", "[evidence][processor]") {
  // Grouped heads on a processor, release unknown: older ones leave them to the math backend.
  const std::string inputs = R"(, "Input type": ["float", "float", "float", "", "Scalar", "Scalar", "", "Scalar"], "Input Dims": [[1, 8, 16, 32], [1, 2, 16, 32], [1, 2, 16, 32], [], [], [], [], []], "Input Strides": [[4096, 512, 32, 1], [1024, 512, 32, 1], [1024, 512, 32, 1], [], [], [], [], []], "Concrete Inputs": ["", "", "", "", "0.", "False", "", "True"])";
  const std::string plain = R"(, "Input type": ["float", "float", "float", "", "Scalar", "Scalar", "", "Scalar"], "Input Dims": [[1, 8, 16, 32], [1, 8, 16, 32], [1, 8, 16, 32], [], [], [], [], []], "Input Strides": [[4096, 512, 32, 1], [4096, 512, 32, 1], [4096, 512, 32, 1], [], [], [], [], []], "Concrete Inputs": ["", "", "", "", "0.", "False", "", "False"])";
  const auto of = [](const std::string& in) { return read(trace_of({op("aten::scaled_dot_product_attention", 0, 90, 1, in), op("aten::_scaled_dot_product_attention_math", 5, 80, 2)}, R"("deviceProperties": [])")); };
  const TraceAnswer grouped = of(inputs), unexplained = of(plain);
  bool named = false;
  for (const EvidenceFinding& f : grouped.findings) named = named || (f.id.starts_with("TCP") && f.status == "unknown");
  CHECK(named);
  bool open = false;
  for (const EvidenceFinding& f : unexplained.findings) {
    CHECK_FALSE((f.id.starts_with("TCP") && f.status != "met"));
    open = open || (f.id == "EVD020" && says(f.seen, "do not explain 1 of them"));
  }
  CHECK(open);
}

TEST_CASE("kernels that engines launch count, with or without an operator of their own", "[evidence][engines]") {
  auto events = one_product();
  events.push_back(call("cudaLaunchKernel", 100, 901));  // an extension, outside any operator
  events.push_back(kernel("ampere_sgemm_128x128_tn", 120, 800, 901));
  const TraceAnswer outside = read(trace_of(events));
  CHECK(outside.verdict.gemm == PathVerdict::mixed);
  CHECK(says(outside.verdict.gemm_why, "launched by other code"));
  events.push_back(op("_C::gptq_marlin_gemm", 95, 20, 8));
  CHECK(read(trace_of(events)).verdict.gemm == PathVerdict::mixed);
  const std::string flash = "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>>(flash::Flash_fwd_params)";
  const TraceAnswer math = read(trace_of({op("aten::_scaled_dot_product_attention_math", 0, 50, 1), call("cudaLaunchKernel", 80, 7), kernel(flash, 90, 5, 7)}));
  CHECK(math.verdict.sdpa == PathVerdict::mixed);
  CHECK(says(math.verdict.sdpa_why, "outside attention operators"));
}
