// Small traces made here, one for each era and trap of the profiler's format, and for damage of every kind.
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "evidence/answer/report.hpp"
#include "evidence/answer/rules.hpp"
#include "evidence/open.hpp"
#include "evidence/trace/event.hpp"
#include "evidence/trace/scan.hpp"
#include "made.hpp"
#include "spec/parse.hpp"
#include "support/catch.hpp"

using namespace dd::evidence;
using namespace made;

TEST_CASE("one product from operator to verdict", "[evidence]") {
  const TraceAnswer answer = read(trace_of(one_product(), R"("deviceProperties": [{"id": 0, "name": "GPU", "computeMajor": 9, "computeMinor": 0, "numSms": 132, "warpSize": 32}])"));
  CHECK_FALSE(answer.partial);
  CHECK(answer.verdict.gemm == PathVerdict::fast_path);
  CHECK(answer.verdict.sdpa == PathVerdict::none);
  REQUIRE(answer.gemms.size() == 1);
  CHECK(answer.gemms[0].m == 64);
  CHECK(answer.gemms[0].k == 512);
  CHECK(answer.gemms[0].n == 256);
  CHECK(answer.gemms[0].gpu_us == Approx(8.0));
  REQUIRE(answer.specs.size() == 1);
  const auto spec = dd::spec::parse_json(answer.specs[0]);
  REQUIRE(spec.ok());
  CHECK(answer.specs[0].find("\"sm_90\"") != std::string::npos);
}

TEST_CASE("plain, gzip and a bare list read alike", "[evidence]") {
  const std::string text = trace_of(one_product());
  const std::string list = "[" + fmt::format("{}", fmt::join(one_product(), ",")) + "]";
  for (const std::string& form : {text, gzip(text), list, gzip(list), "\xef\xbb\xbf" + text}) {
    const TraceAnswer answer = read(form);
    CHECK(answer.verdict.gemm == PathVerdict::fast_path);
    CHECK_FALSE(answer.partial);
  }
}

TEST_CASE("categories of 2021 and threads as text", "[evidence]") {
  std::string text = trace_of({R"({"ph": "X", "cat": "Operator", "name": "aten::mm", "pid": 1, "tid": "77", "ts": 100, "dur": 10, "args": {"External id": 2}})",
                               R"({"ph": "X", "cat": "Runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 77, "ts": 105, "dur": 1, "args": {"correlation": 9, "external id": 2}})",
                               R"({"ph": "X", "cat": "Kernel", "name": "volta_sgemm_128x64_nn", "pid": 0, "tid": "stream 7", "ts": 120, "dur": 30, "args": {"correlation": 9, "external id": 2}})"});
  const TraceAnswer answer = read(text);
  CHECK(answer.linking.launch_call_inside_an_op == 1);
  CHECK(answer.verdict.gemm == PathVerdict::fallback);
}

TEST_CASE("devices as the profiler of 2021 lists them", "[evidence]") {
  const TraceAnswer a = read(trace_of(one_product(), R"("schemaVersion": 1, "computeProperties": [{"id": 0, "name": "Tesla V100-DGXS-32GB", "major": 7, "minor": 0, "warpSize": 32, "multiProcessorCount": 80}])"));
  REQUIRE(a.devices.size() == 1);
  CHECK((a.devices[0].major == 7 && a.devices[0].minor == 0 && a.devices[0].processors == 80));
  REQUIRE(a.specs.size() == 1);
  CHECK(a.specs[0].find(R"("target":"sm_70")") != std::string::npos);
}

TEST_CASE("an operator recorded twice counts once", "[evidence]") {
  auto events = one_product();
  events.push_back(op("aten::mm", 9, 30, 4));
  const TraceAnswer answer = read(trace_of(events));
  CHECK(answer.gemm_ops.at("aten::mm") == 1);
  CHECK(answer.gemm_ops_recorded_twice == 1);
}

TEST_CASE("order in the file does not matter, and ties go to the operator that began", "[evidence]") {
  auto events = one_product();
  std::reverse(events.begin(), events.end());
  CHECK(read(trace_of(events)).verdict.gemm == PathVerdict::fast_path);
  // The call starts in the microsecond in which the first operator ends and the second begins.
  const TraceAnswer answer = read(trace_of({op("aten::add", 0, 10, 1), op("aten::mm", 10, 10, 2), call("cudaLaunchKernel", 10, 5), kernel(bf16_kernel, 30, 4, 5)}));
  REQUIRE(answer.gemms.size() == 1);
  CHECK(answer.gemms[0].main_class == "xmma sm90 tensor-core bf16bf16");
}

TEST_CASE("external ids that repeat the correlation are not believed", "[evidence]") {
  std::vector<std::string> events;
  for (int i = 0; i < 20; ++i) {
    events.push_back(op("aten::mm", 100.0 * i, 50, 1000 + i));
    events.push_back(call("cudaLaunchKernel", 100.0 * i + 10, 1001 + i, 1001 + i));
    events.push_back(kernel(bf16_kernel, 100.0 * i + 60, 5, 1001 + i, 1001 + i));
  }
  const TraceAnswer answer = read(trace_of(events));
  CHECK(answer.linking.external_id_equals_correlation == 20);
  CHECK(answer.linking.external_id_names_wrong_op == 19);
  CHECK_FALSE(answer.linking.external_id_trusted);
  CHECK(answer.gemm_by_class.at("xmma sm90 tensor-core bf16bf16").count == 20);
}

TEST_CASE("an exporter without correlation keys", "[evidence]") {
  const TraceAnswer answer = read(trace_of({R"({"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 10, "dur": 20, "args": {"External id": 513}})",
      R"({"ph": "X", "cat": "cuda_runtime", "name": "hipGetDevicePropertiesR0600", "pid": 1, "tid": 1, "ts": 5, "dur": 1, "args": {"External id": 25}})",
      R"({"ph": "X", "cat": "cuda_runtime", "name": "hipExtModuleLaunchKernel", "pid": 1, "tid": 1, "ts": 12, "dur": 1, "args": {"External id": 25}})",
      R"({"ph": "X", "cat": "kernel", "name": "Cijk_Ailk_Bljk_BBS_BH_MT64x64x64_MI16x16x16x1_SN", "pid": 2, "tid": 0, "ts": 40, "dur": 9, "args": {"External id": 25}})"}));
  CHECK(answer.linking.external_id_as_correlation);
  CHECK(answer.verdict.gemm == PathVerdict::fast_path);
}

TEST_CASE("graph replay is judged by name and says so", "[evidence]") {
  std::vector<std::string> events = {op("aten::add", 0, 5, 1), call("cudaGraphLaunch", 10, 77)};
  for (int i = 0; i < 6; ++i) events.push_back(kernel("nvjet_sm103_tst_64x16_64x16_4x1_v_bz_TNT", 20 + 5 * i, 4, 77));
  const TraceAnswer answer = read(trace_of(events));
  CHECK(answer.linking.graph_replay == 6);
  CHECK(answer.verdict.gemm == PathVerdict::fast_path);
  CHECK(answer.verdict.attribution == "graph_replay_only");
  CHECK(answer.gemms.empty());
}

TEST_CASE("what was launched before the window is not given to anybody", "[evidence]") {
  auto events = one_product();
  events.push_back(kernel(bf16_kernel, 1, 8, 12));
  const TraceAnswer answer = read(trace_of(events));
  CHECK(answer.linking.launched_before_window == 1);
  CHECK(answer.gemms[0].count == 1);
  CHECK(answer.verdict.attribution == "op_level_partial");
}

TEST_CASE("no GPU events: cannot tell", "[evidence]") {
  const TraceAnswer answer = read(trace_of({op("aten::addmm", 1, 5, 3)}));
  CHECK(answer.verdict.gemm == PathVerdict::cannot_tell);
  CHECK(answer.verdict.attribution == "no_gpu_events");
}

TEST_CASE("attention: fused, decomposed, and written out with shapes that prove it", "[evidence]") {
  const std::string qkv = R"(, "Input type": ["c10::BFloat16", "c10::BFloat16", "c10::BFloat16", "", "Scalar", "Scalar", "", "Scalar"], "Input Dims": [[1, 8, 128, 64], [1, 8, 128, 64], [1, 8, 128, 64], [], [], [], [], []], "Input Strides": [[65536, 8192, 64, 1], [65536, 8192, 64, 1], [65536, 8192, 64, 1], [], [], [], [], []], "Concrete Inputs": ["", "", "", "", "0.", "True", "", "False"])";
  const TraceAnswer fused = read(trace_of({op("aten::scaled_dot_product_attention", 0, 50, 1, qkv), op("aten::_scaled_dot_product_flash_attention", 5, 40, 2), call("cudaLaunchKernel", 10, 7),
                                           kernel("void pytorch_flash::flash_fwd_kernel<int>", 60, 9, 7)}));
  CHECK(fused.verdict.sdpa == PathVerdict::fast_path);
  REQUIRE(fused.attention.size() == 1);
  CHECK(fused.attention[0].backend == "flash");
  REQUIRE(fused.specs.size() == 1);
  CHECK(fused.specs[0].find("\"is_causal\":true") != std::string::npos);

  const TraceAnswer math = read(trace_of({op("aten::scaled_dot_product_attention", 0, 90, 1, qkv), op("aten::_scaled_dot_product_attention_math", 5, 80, 2), op("aten::bmm", 10, 10, 3),
      call("cudaLaunchKernel", 12, 7), kernel(bf16_kernel, 100, 9, 7), op("aten::_softmax", 30, 10, 4), call("cudaLaunchKernel", 32, 8),
      kernel("void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, false>(int)", 120, 9, 8)}));
  CHECK(math.verdict.sdpa == PathVerdict::fallback);
  CHECK(math.attention[0].served_by == "decomposed");

  const auto bmm = [](int a, int b, int c) { return fmt::format(R"(, "Input type": ["float", "float"], "Input Dims": [[4, {}, {}], [4, {}, {}]])", a, b, b, c); };
  const std::string scores = R"(, "Input type": ["float"], "Input Dims": [[2, 2, 128, 96]])";
  const TraceAnswer written = read(trace_of({op("aten::bmm", 0, 10, 1, bmm(128, 64, 96)), op("aten::_softmax", 20, 10, 2, scores), op("aten::bmm", 40, 10, 3, bmm(128, 96, 64)),
                                             call("cudaLaunchKernel", 2, 5), kernel("ampere_sgemm_128x128_tn", 60, 9, 5)}));
  CHECK(written.written_out_attention == 1);
  CHECK(written.verdict.sdpa == PathVerdict::fallback);
  // A router's softmax between two products of other shapes is no attention.
  const TraceAnswer router = read(trace_of({op("aten::bmm", 0, 10, 1, bmm(128, 64, 32)), op("aten::_softmax", 20, 10, 2, scores), op("aten::bmm", 40, 10, 3, bmm(16, 96, 64))}));
  CHECK(router.written_out_attention == 0);
}

TEST_CASE("a cut file gives what stands before the cut, and says so", "[evidence]") {
  const std::string text = trace_of(one_product(), {}, R"("traceName": "x")");
  const auto end_of_list = text.find("\n]");
  const TraceAnswer answer = read(text.substr(0, end_of_list));
  CHECK(answer.partial);
  REQUIRE_FALSE(answer.warnings.empty());
  CHECK(answer.verdict.gemm == PathVerdict::fast_path);
  for (std::size_t cut = 0; cut < text.size(); cut += 7) {
    const TraceAnswer part = read(text.substr(0, cut));
    if (cut < end_of_list) CHECK((part.partial || part.format == "unknown"));
  }
  const TraceAnswer short_gzip = read(gzip(text).substr(0, 200));
  CHECK(short_gzip.partial);
}

TEST_CASE("broken strings and numbers cost one event, not the file", "[evidence]") {
  auto events = one_product();
  events.insert(events.begin() + 1, R"({"ph": "X", "cat": "cpu_op", "name": "aten::add "quoted" name", "pid": 1, "tid": 7, "ts": 1, "dur": 2, "args": {"External id": 99}})");
  TraceAnswer answer = read(trace_of(events));
  CHECK(answer.verdict.gemm == PathVerdict::fast_path);
  CHECK_FALSE(answer.warnings.empty());

  events = one_product();
  events.insert(events.begin() + 1, "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"lost \" quote\", \"pid\": 1, \"tid\": 7, \"ts\": 1, \"dur\": 2}");
  CHECK(read(trace_of(events)).gemm_ops.count("aten::mm") == 1);

  events = one_product();
  events.push_back(R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 1e300, "dur": 1, "args": {}})");
  events.push_back(R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": "soon", "dur": -5, "args": {}})");
  events.push_back(R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 99999999999999999999999999, "dur": 1})");
  events.push_back(R"({"ph": "X", "cat": "cpu_op", "name": {"a": 1}, "pid": [], "tid": null, "ts": 5, "dur": 1, "args": 7})");
  answer = read(trace_of(events));
  CHECK(answer.verdict.gemm == PathVerdict::fast_path);
  CHECK(answer.partial);
}

TEST_CASE("deep nesting and empty files", "[evidence]") {
  CHECK(read("").partial);
  CHECK(read("{}").partial);
  CHECK(read("[]").partial);
  CHECK(read(std::string(2000000, '[')).partial);
  CHECK(read("{\"traceEvents\": [" + std::string(300000, '[') + std::string(300000, ']') + "," + one_product()[0] + "]}").gemm_ops.count("aten::mm") == 1);
  std::string deep = "{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": 1, \"tid\": 7, \"ts\": 1, \"dur\": 2, \"args\": {\"Input Dims\": ";
  deep += std::string(100000, '[') + std::string(100000, ']') + "}}";
  CHECK(read(trace_of({deep})).gemm_ops.at("aten::mm") == 1);
  CHECK(read("{\"deviceProperties\": " + std::string(100000, '[') + std::string(100000, ']') + ", \"traceEvents\": []}").devices.empty());
}

TEST_CASE("a compressed bomb stops at the stated limit", "[evidence]") {
  ExpandLimit limit;
  limit.free_bytes = 1 << 20;
  OpenOptions options;
  options.limit = limit;
  const std::string bomb = gzip(std::string(64 << 20, ' ') + trace_of(one_product()));
  const TraceAnswer answer = answer_memory("\x1f\x8b" + bomb.substr(2), "bomb", options);
  CHECK(answer.partial);
  REQUIRE_FALSE(answer.warnings.empty());
}

TEST_CASE("environments are not carried along", "[evidence]") {
  const std::string secret = "hf_SECRETTOKEN";
  const std::string before = R"("metadata": {"system": {"env": {"HF_TOKEN": ")" + secret + R"(", "torch": "9.9.9"}, "torch": {"version": "2"}, "torch_version": "2.6.0+cu124"}}, "env": ")" + secret + R"(", "distributedInfo": {"x": ")" + secret + "\"}";
  const TraceAnswer answer = read(trace_of(one_product(), before));
  CHECK(answer.header.at("torch") == "2.6.0+cu124");
  CHECK(to_json(answer, true).dump().find(secret) == std::string::npos);
}

TEST_CASE("the block scanner agrees with the plain one", "[evidence]") {
  std::uint32_t random = 12345;
  for (int round = 0; round < 400; ++round) {
    std::string text = "{";
    for (int i = 0; i < 300; ++i) {
      random = random * 1664525u + 1013904223u;
      text += "{}[]\"\\,: abc"[(random >> 16) % 12];
    }
    const char *a = text.data(), *b = a;
    const char* end = a + text.size();
    ScanState x, y;
    const bool done_a = scan_to_close(a, end, x), done_b = scan_to_close_plain(b, end, y);
    REQUIRE(done_a == done_b);
    REQUIRE(a == b);
    REQUIRE(x.depth == y.depth);
    REQUIRE(x.in_string == y.in_string);
  }
}

TEST_CASE("times are read as decimals", "[evidence]") {
  long long ns = 0;
  CHECK((read_time("1606910596297023", ns) && ns == 1606910596297023000ll));
  CHECK((read_time("12.3456", ns) && ns == 12345));
  CHECK((read_time("-1.5", ns) && ns == -1500));
  CHECK((read_time("1.5e3", ns) && ns == 1500000));
  CHECK_FALSE(read_time("NaN", ns));
  CHECK_FALSE(read_time("1e400", ns));
  CHECK_FALSE(read_time("", ns));
  CHECK_FALSE(read_time("99999999999999999999", ns));
}

TEST_CASE("library logs of every form", "[evidence][logs]") {
  const TraceAnswer old = read("mkldnn_verbose,exec,reorder,jit:uni,undef,in:f32_nchw out:f32_nChw8c,num:1,2x16x7x7,0.529\n");
  REQUIRE(old.calls.size() == 1);
  CHECK(old.calls[0].implementation == "jit:uni");
  const TraceAnswer reference = read("[2026-01-01] [info] onednn_verbose,v1,primitive,exec,cpu,matmul,ref:any,undef,src:f16::blocked:ab::f0 wei:f16::blocked:ab::f0 dst:f16::blocked:ab::f0,,,64x64:64x64,9.5\n");
  CHECK(reference.verdict.gemm == PathVerdict::fallback);
  const TraceAnswer lt = read("[2025-09-10 17:32:51][cublasLt][133267][Api][cublasLtMatmul] Adesc=[type=R_32F rows=8 cols=8 ld=8] computeDesc=[computeType=COMPUTE_32F scaleType=R_32F]\n"
                              "[cublasLt][52944][Error][cublasLtMatmulAlgoGetHeuristic] Failed to query heuristics.\n");
  CHECK(lt.verdict.gemm == PathVerdict::cannot_tell);
  REQUIRE(lt.calls.size() == 1);
  CHECK(lt.calls[0].fields.at("Adesc.type") == "R_32F");
  CHECK(lt.findings.size() == 2);
  // All levels on: one product is an API line, a query and a trace line; it counts once, with the algorithm of the trace line.
  const std::string types = "Adesc=[type=R_16BF rows=64 cols=32 ld=65] Bdesc=[type=R_16BF rows=64 cols=16 ld=64] Cdesc=[type=R_16BF rows=32 cols=16 ld=32] Ddesc=[type=R_16BF rows=32 cols=16 ld=32] computeDesc=[computeType=COMPUTE_32F scaleType=R_32F transa=OP_T]";
  const TraceAnswer all = read("[t][cublasLt][1][Api][cublasLtMatmulAlgoGetHeuristic] " + types + "\n[t][cublasLt][1][Api][cublasLtTSTMatmul] A=0X7F08 " + types + "\n[t][cublasLt][1][Trace][cublasLtTSTMatmul] A=0X7F08 " + types + " algo=[algoId=21 tile=MATMUL_TILE_64x64] workSpace=0X0 stream=0X0\n");
  REQUIRE(all.calls.size() == 1);
  CHECK(all.calls[0].count == 1);
  CHECK(all.calls[0].fields.at("algo.algoId") == "21");
  CHECK(all.verdict.gemm_why.find("1 products launched") != std::string::npos);
  CHECK(all.findings.size() == 2);  // the leading dimension, and the address
  REQUIRE(all.specs.size() == 1);
  CHECK(all.specs[0].find(R"("w":{"shape":[64,32],"dtype":"bf16","strides":[1,65],"offset":4})") != std::string::npos);
  const TraceAnswer query = read("[t][cublasLt][1][Api][cublasLtMatmulAlgoGetHeuristic] " + types + "\n");
  CHECK(query.verdict.gemm_why.find("no product") != std::string::npos);
  const TraceAnswer cudnn = read("E! CuDNN (v91002 17) function cudnnBackendFinalize() called:\ne!     Error: CUDNN_STATUS_NOT_SUPPORTED; Reason: head dim 72 is not a multiple of 8\n"
                                 "[cudnn_frontend] Error: No execution plans support the graph.\n");
  CHECK(cudnn.verdict.sdpa == PathVerdict::fallback);
  bool carried = false;  // the general message carries the specific cause
  for (const EvidenceFinding& f : cudnn.findings) carried = carried || (f.id == "EVD058" && f.seen.find("head dim 72") != std::string::npos);
  CHECK(carried);
  const std::string graph = "[cudnn_frontend] INFO: Validating SDPANode sdpa...\n[cudnn_frontend] ERROR: engine 4 declined. CUDNN_STATUS_NOT_SUPPORTED because (status) at plans.h:60\n";
  const TraceAnswer ran = read(graph + "[cudnn_frontend] INFO: Executing eng8_k24=0...\n[cudnn_frontend] INFO: Executed eng8_k24=0.\n");
  CHECK(ran.verdict.sdpa == PathVerdict::fast_path);
  CHECK(ran.verdict.grade == "traced");
  CHECK(ran.findings.empty());  // an engine that declined before another ran refused nothing
  CHECK(read(graph + "[cudnn_frontend] INFO: Executed eng8_k24=0.\n[cudnn_frontend] Error: No valid execution plans built.\n").verdict.sdpa == PathVerdict::mixed);
  CHECK(read(graph).verdict.sdpa == PathVerdict::fallback);
  const TraceAnswer unaligned = read("I! cuBLAS (v13.4.1) function cublasStatus_t cublasGemmEx(cublasHandle_t) called:\ni!  lda: type=int; val=1001\ni!  Atype: type=cudaDataType_t; val=CUDA_R_16F(2)\n"
                                     "i!  A: type=void; val=POINTER (IN HEX:0x0x504e20402)\ni!Process=1; MathMode=CUBLAS_DEFAULT_MATH\n");
  CHECK(unaligned.findings.size() == 2);
}

TEST_CASE("a pasted line is enough", "[evidence][logs]") {
  CHECK(read("ampere_sgemm_128x128_tn").verdict.gemm == PathVerdict::fallback);
  CHECK(read("nvjet_tst_128x256_64x4_2x1_v_bz_TNN\n").verdict.gemm == PathVerdict::fast_path);
  CHECK(read("flash").verdict.sdpa == PathVerdict::none);
  const TraceAnswer error = read("RuntimeError: No available kernel. Aborting execution.");
  REQUIRE(error.findings.size() == 1);
  CHECK(error.findings[0].id == "EVD060");
}

TEST_CASE("requirements and exit codes", "[evidence]") {
  std::vector<std::string> messages;
  const TraceAnswer good = read(trace_of(one_product())), open = read(trace_of({op("aten::mm", 1, 5, 3)})), slow = read("ampere_sgemm_128x128_tn"), nothing = read(trace_of({op("aten::add", 1, 5, 3)}));
  CHECK(exit_code({good}, {"fast"}, false, messages) == 0);
  CHECK(exit_code({slow}, {}, false, messages) == 0);
  CHECK(exit_code({good, slow}, {"fast"}, false, messages) == 3);
  CHECK(exit_code({open}, {"fast"}, false, messages) == 3);
  CHECK(exit_code({open}, {"fast"}, true, messages) == 0);
  CHECK(exit_code({good}, {"backend=flash"}, false, messages) == 3);
  CHECK(messages.size() == 3);
  (void)nothing;
}

TEST_CASE("every evidence rule has its text", "[evidence]") {
  for (const auto& row : evidence_rules()) {
    INFO(row.id);
    CHECK(row.id.starts_with("EVD"));
    CHECK_FALSE(row.name.empty());
    CHECK_FALSE(row.title.empty());
    CHECK_FALSE(row.effect.empty());
    CHECK_FALSE(row.fix.text.empty());
    CHECK_FALSE(finding_of(row.id, "seen").required.empty());
  }
}

TEST_CASE("what got slower after an upgrade", "[evidence][diff]") {
  auto after_events = one_product();
  after_events[2] = kernel("ampere_sgemm_128x128_tn", 40, 80, 900, 5);
  const Difference d = compare(read(trace_of(one_product())), read(trace_of(after_events)));
  CHECK(d.worse);
  REQUIRE(d.operators.size() == 1);
  CHECK(d.operators[0].worse);
  CHECK(d.operators[0].before == "xmma sm90 tensor-core bf16bf16");
  CHECK(d.operators[0].after == "ampere_sgemm fp32, no tensor cores");
  REQUIRE(d.verdicts.size() == 1);
  CHECK(d.verdicts[0] == "gemm: fast-path -> fallback");
  const Difference same = compare(read(trace_of(one_product())), read(trace_of(one_product())));
  CHECK_FALSE(same.worse);
  CHECK(same.operators.empty());
}
