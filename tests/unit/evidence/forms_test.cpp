// Files in other clothes: events line by line, the profiler before Kineto, Chrome traces of other tools, other GPUs' words,
// exports of other Nsight versions, and what library logs give as specs.
#include <fmt/ranges.h>
#include <sqlite3.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "evidence/logs/logs.hpp"
#include "evidence/answer/report.hpp"
#include "made.hpp"
#include "spec/parse.hpp"
#include "support/catch.hpp"

using namespace dd::evidence;
using namespace made;
using Json = nlohmann::json;

TEST_CASE("one event a line, whole and cut", "[evidence][forms]") {
  const std::string lines = fmt::format("{}\n", fmt::join(one_product(), "\n"));
  const TraceAnswer whole = read(lines);
  CHECK(whole.verdict.gemm == PathVerdict::fast_path);
  CHECK_FALSE(whole.partial);
  const TraceAnswer cut = read(lines.substr(0, lines.size() - 30));
  CHECK(cut.partial);
  CHECK(cut.gemm_ops.at("aten::mm") == 1);
  // A damaged line costs that line.
  auto events = one_product();
  events.insert(events.begin() + 1, R"({"ph": "X", "cat": "cpu_op", "name": "aten::add, "pid" 1 "ts": )");
  const TraceAnswer damaged = read(fmt::format("{}\n", fmt::join(events, "\n")));
  CHECK(damaged.gemm_ops.count("aten::mm") == 1);
  CHECK_FALSE(damaged.warnings.empty());
}

TEST_CASE("the profiler before Kineto", "[evidence][forms]") {
  const TraceAnswer answer = read(R"([{"name": "aten::addmm", "ph": "X", "ts": 1.5, "dur": 9.25, "tid": 1, "pid": "CPU functions", "args": {}},
      {"name": "aten::mm", "ph": "X", "ts": 20, "dur": 9, "tid": 1, "pid": "CPU functions", "args": {}},
      {"name": "aten::mm", "ph": "s", "ts": 20, "tid": 1, "pid": "CPU functions", "id": 3, "cat": "cpu_to_cuda", "args": {}}])");
  CHECK(answer.format == "kineto-json");
  CHECK(answer.gemm_ops.at("aten::mm") == 1);
  CHECK(answer.gemm_ops.at("aten::addmm") == 1);
  CHECK(answer.verdict.gemm == PathVerdict::cannot_tell);
  CHECK_FALSE(answer.partial);
}

TEST_CASE("Chrome traces of other tools are told apart", "[evidence][forms]") {
  // XLA's profiler: no categories, kernels by name on a stream's line.
  const std::string xla = R"({"displayTimeUnit": "ns", "traceEvents": [{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "/device:GPU:0"}},
      {"ph": "X", "pid": 1, "tid": 3, "ts": 1.0, "dur": 5.0, "name": "nvjet_hsh_128x256_64x4_2x1_v_bz_TNN", "args": {"hlo_op": "dot.3"}},
      {"ph": "X", "pid": 1, "tid": 3, "ts": 9.0, "dur": 2.0, "name": "loop_add_fusion", "args": {"hlo_op": "add.4"}},
      {"ph": "X", "pid": 1, "tid": 4, "ts": 9.0, "dur": 2.0, "name": "dot.3", "args": {}}]})";
  const TraceAnswer named = read(xla);
  CHECK(named.format == "chrome-trace");
  CHECK(named.partial);
  CHECK(named.verdict.gemm == PathVerdict::fast_path);
  CHECK(named.verdict.attribution == "kernel_names_only");
  CHECK(named.kernels_seen == 2);
  REQUIRE_FALSE(named.warnings.empty());
  CHECK(named.warnings[0].find("not of the torch profiler") != std::string::npos);
  // A browser's trace: nothing to judge.
  const TraceAnswer browser = read(R"([{"ph": "X", "cat": "devtools.timeline", "name": "Paint", "pid": 1, "tid": 2, "ts": 1, "dur": 2}, {"ph": "B", "cat": "v8", "name": "V8.GC", "pid": 1, "tid": 2, "ts": 1}])");
  CHECK(browser.format == "chrome-trace");
  CHECK(browser.verdict.gemm == PathVerdict::none);
  CHECK(browser.warnings[0].find("devtools.timeline") != std::string::npos);
  // Only frames and flows of the torch profiler: still its file.
  CHECK(read(R"({"traceEvents": [{"ph": "X", "cat": "python_function", "name": "f", "pid": 1, "tid": 2, "ts": 1, "dur": 2, "args": {}}]})").format == "kineto-json");
  // An event without a category beside real ones is no kernel.
  auto events = one_product();
  events.insert(events.begin(), R"({"ph": "X", "name": "ampere_sgemm_128x128_tn", "pid": 9, "tid": 2, "ts": 1, "dur": 2})");
  CHECK(read(trace_of(events)).kernels_seen == 1);
}

TEST_CASE("launches of other runtimes", "[evidence][forms]") {
  for (const auto& [category, name] : {std::pair{"xpu_runtime", "urEnqueueKernelLaunch"}, {"cuda_driver", "cuLaunchKernelEx"}, {"hip_runtime", "hipLaunchKernel"}, {"privateuse1_runtime", "aclnnLaunch"}}) {
    INFO(category);
    const TraceAnswer answer = read(trace_of({op("aten::mm", 10, 20, 5), fmt::format(R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 1, "tid": 7, "ts": 15, "dur": 1, "args": {{"correlation": 900}}}})", category, name),
                                              kernel("Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x192x64_MI16x16x1_SN", 40, 8, 900)}));
    CHECK(answer.linking.launch_call_inside_an_op == 1);
    CHECK(answer.verdict.gemm == PathVerdict::fast_path);
  }
}

TEST_CASE("bytes wrapped twice, and text of another width", "[evidence][forms]") {
  const std::string text = trace_of(one_product());
  CHECK(read(gzip(gzip(text))).verdict.gemm == PathVerdict::fast_path);
  std::string wide = "\xff\xfe";
  for (const char c : text) wide += c, wide += '\0';
  CHECK(read(wide).verdict.gemm == PathVerdict::fast_path);
  CHECK_FALSE(read(wide).partial);
  CHECK(read(wide.substr(0, wide.size() - 1)).verdict.gemm == PathVerdict::fast_path);
  std::string packed = text;
  for (int i = 0; i < 9; ++i) packed = gzip(packed);
  const TraceAnswer refused = read(packed);
  CHECK(refused.partial);
  CHECK(refused.format == "unknown");
  // A bomb inside a bomb stops at the same limit.
  OpenOptions options;
  options.limit.free_bytes = 1 << 20;
  CHECK(answer_memory(gzip(gzip(std::string(64 << 20, ' ') + text)), "bomb", options).partial);
}

namespace {

std::string sqlite_file(const std::vector<std::string>& statements) {
  const auto path = (std::filesystem::temp_directory_path() / fmt::format("dd-forms-{}.sqlite", std::hash<std::string>{}(statements.front() + std::to_string(statements.size())))).string();
  std::filesystem::remove(path);
  sqlite3* db = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &db) == SQLITE_OK);
  for (const std::string& each : statements) {
    INFO(each);
    REQUIRE(sqlite3_exec(db, each.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  }
  sqlite3_close(db);
  return path;
}

TraceAnswer read_database(const std::vector<std::string>& statements) {
  const std::string path = sqlite_file(statements);
  auto answer = answer_file(path);
  std::filesystem::remove(path);
  REQUIRE(answer.ok());
  return *answer;
}

}  // namespace

TEST_CASE("exports of other Nsight Systems versions", "[evidence][forms]") {
  const std::string names = fmt::format("INSERT INTO StringIds VALUES(1, '{}'), (2, 'cudaLaunchKernel_v7000')", bf16_kernel);
  // Before 2021: no process in the kernel row, no text ids, short names only.
  const TraceAnswer old = read_database({"CREATE TABLE StringIds(id INTEGER, value TEXT)", names,
      "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start INTEGER, end INTEGER, shortName INTEGER, deviceId INTEGER, correlationId INTEGER)",
      "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES(10, 30, 1, 0, 5)"});
  CHECK(old.format == "nsys-sqlite");
  CHECK(old.verdict.gemm == PathVerdict::fast_path);
  CHECK(old.verdict.attribution == "kernel_names_only");
  // Graphs traced as a whole: said, because their kernels are missing.
  const TraceAnswer graphs = read_database({"CREATE TABLE StringIds(id INTEGER, value TEXT)", "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE(start INTEGER, end INTEGER, graphId INTEGER)",
                                            "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES(1, 2, 3)"});
  CHECK(graphs.header.count("graph_trace") == 1);
  // A database of somebody else.
  const TraceAnswer other = read_database({"CREATE TABLE photos(id INTEGER)"});
  CHECK(other.partial);
  REQUIRE_FALSE(other.warnings.empty());
  CHECK(other.warnings[0].find("Nsight Systems") != std::string::npos);
}

TEST_CASE("products of library logs as specs", "[evidence][forms]") {
  const auto spec_of = [](const std::string& text) {
    const TraceAnswer answer = read(text);
    REQUIRE(answer.specs.size() == 1);
    REQUIRE(dd::spec::parse_json(answer.specs[0]).ok());
    return Json::parse(answer.specs[0]);
  };
  const Json lt = spec_of("[cublasLt][1][Trace][cublasLtSSSMatmul] A=0X1 Adesc=[type=R_32F rows=1000 cols=500 ld=1000] B=0X2 Bdesc=[type=R_32F rows=500 cols=64 ld=512] C=0X3 Cdesc=[type=R_32F rows=1000 cols=64 ld=1000] "
                          "D=0X4 Ddesc=[type=R_32F rows=1000 cols=64 ld=1000] computeDesc=[computeType=COMPUTE_32F_FAST_TF32 scaleType=R_32F epilogue=RELU_BIAS]\n");
  CHECK(lt["x"]["shape"] == Json({64, 500}));
  CHECK(lt["x"]["strides"] == Json({512, 1}));
  CHECK(lt["w"]["shape"] == Json({500, 1000}));
  CHECK(lt["compute"] == "tf32");
  CHECK(lt["epilogue"] == "bias+relu");
  const Json turned = spec_of("[cublasLt][1][Trace][cublasLtTSTMatmul] Adesc=[type=R_16BF rows=512 cols=256 ld=512] Bdesc=[type=R_16BF rows=512 cols=64 ld=512] Cdesc=[type=R_16BF rows=256 cols=64 ld=256] "
                              "Ddesc=[type=R_16BF rows=256 cols=64 ld=256] computeDesc=[computeType=COMPUTE_32F scaleType=R_32F transa=OP_T]\n");
  CHECK(turned["w"]["shape"] == Json({512, 256}));
  CHECK(turned["w"]["strides"] == Json({1, 512}));
  CHECK(turned["x"]["dtype"] == "bf16");
  const Json one = spec_of("onednn_verbose,exec,cpu,matmul,brg:avx512_core_bf16,undef,src_bf16::blocked:abc:f0 wei_bf16::blocked:acb:f0 dst_f32::blocked:abc:f0,,,8x128x64:8x64x32:8x128x32,5.8811\n");
  CHECK(one["w"]["strides"] == Json({2048, 1, 64}));
  CHECK(one["out_dtype"] == "f32");
  // Lists of pointers, row order, odd sizes: no spec rather than a wrong one.
  CHECK(read("[cublasLt][1][Trace][cublasLtMatmul] Adesc=[type=R_16F rows=8 cols=9 ld=8] Bdesc=[type=R_16F rows=8 cols=8 ld=8] Ddesc=[type=R_16F rows=8 cols=8 ld=8] computeDesc=[computeType=COMPUTE_32F]\n").specs.empty());
}

TEST_CASE("oneDNN on GPUs, and layers", "[evidence][forms]") {
  const TraceAnswer a = read("onednn_verbose,v1,primitive,exec,gpu:0,matmul,ocl:ref:any,undef,src:f16::blocked:ab::f0 wei:f16::blocked:ab::f0 dst:f16::blocked:ab::f0,attr-scratchpad:user,,64x64:64x64,4.1\n"
                             "onednn_verbose,v1,primitive,exec,cpu,inner_product,brgemm:avx512_core,forward_inference,src:f32::blocked:ab::f0 wei:f32:a:blocked:AB16b64a::f0 bia:f32::blocked:a::f0 dst:f32::blocked:ab::f0,attr-scratchpad:user,,mb8ic64oc192,0.01\n"
                             "onednn_verbose,v1,info,gpu,gemm,consider:G gemm HHS TNN 16 16 aB wg 4x2 sys,score:4337337.5\n"
                             "onednn_verbose,v1,primitive,create_nested:kernel_cache_hit,gpu:0,gemm,jit:gemm:any,undef,src_a:f16::blocked:ab::f0 src_b:f16::blocked:ba::f0 dst:f16::blocked:ab::f0,,,4x8:8x4,0.01\n");
  CHECK(a.verdict.gemm == PathVerdict::mixed);
  const auto r = to_report(a);
  REQUIRE(r.operators.size() == 2);
  CHECK(r.operators[0].verdict == "fallback");  // the GPU's reference says "ref" behind its language
  REQUIRE(a.specs.size() == 2);
  CHECK(a.specs[1] == R"({"op":"gemm","x":{"shape":[8,64],"dtype":"f32"},"w":{"shape":[64,192],"dtype":"f32","strides":[1,64]},"out_dtype":"f32","epilogue":"bias","bias":{"shape":[192],"dtype":"f32"},"context":{"target":"cpu"}})");
}

TEST_CASE("products of AMD's library logs", "[evidence][forms]") {
  const TraceAnswer bench = read("hipblaslt-bench --api_method c -m 1024 -n 512 -k 256 --lda 1024 --ldb 256 --ldc 1024 --ldd 1024  --stride_a 0 --stride_b 0  --alpha 1.000000 --beta -1.000000 --transA N --transB N --batch_count 1  --a_type f16_r --b_type f16_r "
                                 "--c_type f16_r --d_type f16_r --scale_type f32_r --bias_vector --activation_type relu --compute_type f32_r --algo_method index --solution_index 56073\n");
  CHECK(bench.format == "cublaslt-log");
  REQUIRE(bench.specs.size() == 1);
  CHECK(bench.specs[0] == R"({"op":"gemm","x":{"shape":[512,256],"dtype":"f16","strides":[256,1]},"w":{"shape":[256,1024],"dtype":"f16","strides":[1024,1]},"out_dtype":"f16","compute":"f32","epilogue":"bias+relu","bias":{"shape":[1024],"dtype":"f16"}})");
  CHECK(bench.calls[0].fields.at("solution_index") == "56073");
  const TraceAnswer rocblas = read("./rocblas-bench -f gemm_ex --transposeA T --transposeB N -m 8 -n 16 -k 32 --lda 32 --ldb 32 --ldc 8 --a_type bf16_r --b_type bf16_r --c_type bf16_r --d_type bf16_r --compute_type f32_r\n");
  REQUIRE(rocblas.specs.size() == 1);
  CHECK(rocblas.calls[0].library == "rocBLAS");
  CHECK(rocblas.specs[0].find(R"("w":{"shape":[32,8],"dtype":"bf16","strides":[1,32]})") != std::string::npos);
  const TraceAnswer lines = read("[2023-06-12 21:16:46][HIPBLASLT][690719][Api][rocblaslt_matmul_desc_create] matmulDesc=0x7f10 computeType=COMPUTE_32F scaleType=R_32F\n"
                                 "[2023-06-12 21:16:46][HIPBLASLT][690719][Trace][rocblaslt_matmul] A=0x7f00 Adesc=[type=R_16F rows=64 cols=32 ld=64 batch_count=2 batch_stride=2048] B=0x7f20 Bdesc=[type=R_16F rows=16 cols=64 ld=16 batch_count=2 batch_stride=1024] "
                                 "C=0x7f30 Cdesc=[type=R_16F rows=32 cols=16 ld=32] D=0x7f30 Ddesc=[type=R_16F rows=32 cols=16 ld=32] computeDesc=[computeType=COMPUTE_32F scaleType=R_32F transA=OP_T transB=OP_T epilogue=EPILOGUE_DEFAULT biasPointer=0x0] workSpace=0x0 alpha=1 beta=0 stream=0x0\n");
  REQUIRE(lines.calls.size() == 1);
  CHECK(lines.calls[0].library == "hipBLASLt");
  REQUIRE(lines.specs.size() == 1);
  CHECK(lines.specs[0].find(R"("x":{"shape":[2,16,64],"dtype":"f16","strides":[1024,1,16]})") != std::string::npos);
}

TEST_CASE("kernel names given by hand", "[evidence][forms]") {
  const TraceAnswer answer = answer_kernels({"ampere_sgemm_128x128_tn", "somebodys_kernel"});
  CHECK(answer.verdict.gemm == PathVerdict::fallback);
  CHECK(answer.kernels.size() == 2);
  CHECK(answer.kernels_unclassified == 1);
  CHECK(answer_kernels({"flash"}).verdict.sdpa == PathVerdict::none);
}
