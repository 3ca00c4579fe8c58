// A deterministic stand-in for a fuzzer, for any compiler: seeds are mutated by a fixed sequence, so a failure repeats.
// usage: dd_fuzz_evidence [rounds]
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "targets.hpp"

namespace {

struct Random {
  std::uint64_t state = 88172645463325252ull;
  std::uint64_t next(std::uint64_t below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return below == 0 ? 0 : state % below;
  }
};

const std::vector<std::string>& trace_seeds() {
  static const std::vector<std::string> seeds = {
      R"({"schemaVersion": 1, "deviceProperties": [{"name": "g", "computeMajor": 9, "numSms": 1}], "traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1.5, "dur": 9, "args": {"External id": 5, "Input Dims": [[4, 4], [4, 4]], "Input type": ["float", "float"], "Input Strides": [[4, 1], [4, 1]]}}, {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 2, "dur": 1, "args": {"correlation": 7}}, {"ph": "X", "cat": "kernel", "name": "ampere_sgemm_32x32_tn", "pid": 0, "tid": 7, "ts": 9, "dur": 3, "args": {"correlation": 7, "grid": [1, 2, 3]}}]})",
      R"([{"ph": "X", "cat": "Operator", "name": "aten::bmm", "pid": 1, "tid": "1", "ts": 100, "dur": 9, "args": {"Input dims": [[2, 4, 4]]}}, {"ph": "s", "id": 1, "cat": "async", "name": "launch"}])"};
  return seeds;
}

const std::vector<std::string>& log_seeds() {
  static const std::vector<std::string> seeds = {
      "onednn_verbose,v1,primitive,exec,cpu,matmul,brg_matmul:avx512_core,undef,src:f32::blocked:ab::f0 wei:f32::blocked:ab::f0 dst:f32::blocked:ab::f0,,,256x512:512x1024,22.4409\n"
      "onednn_verbose,v1,primitive,create:dispatch,matmul,cpu,matmul,ref:any,undef,src:f16::blocked:ab::f0,,,256x512:512x1024,unsupported datatype,src/cpu/x.hpp:94\n",
      "I! cuBLAS (v13.4.1) function cublasStatus_t cublasSgemm_v2(int) called:\ni!  m: type=int; val=512\ni!  lda: type=int; val=3\ni!  A: type=float; val=POINTER (IN HEX:0x0x504e20404)\ni!Process=1; MathMode=CUBLAS_DEFAULT_MATH\n",
      "[2025-09-10 17:32:51][cublasLt][1][Api][cublasLtMatmul] Adesc=[type=R_32F rows=1 ld=1] computeDesc=[computeType=COMPUTE_32F]\n",
      "E! CuDNN (v91002 17) function cudnnBackendFinalize() called:\ne! Error: CUDNN_STATUS_NOT_SUPPORTED; Reason: x\n[cudnn_frontend] Error: No execution plans support the graph.\n"};
  return seeds;
}

std::string mutated(std::string text, Random& random) {
  static const std::vector<std::string> pieces = {"{", "}", "[", "]", "\"", "\\", ",", ":", "null", "1e999", "-", "99999999999999999999", "\xff", "\n", "traceEvents", "\"ph\": \"X\"", "_", "="};
  for (std::uint64_t n = 1 + random.next(6); n > 0; --n) {
    const std::size_t at = random.next(text.size() + 1);
    switch (random.next(5)) {
      case 0: text.insert(at, pieces[random.next(pieces.size())]); break;
      case 1: text.erase(at, random.next(20)); break;
      case 2:
        if (at < text.size()) text[at] = static_cast<char>(random.next(256));
        break;
      case 3: text.insert(at, text.substr(random.next(text.size() + 1), random.next(200))); break;
      default: text.insert(at, std::string(random.next(300), "[{\"0"[random.next(4)])); break;
    }
    if (text.size() > 20000) text.resize(20000);
  }
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 400;
  Random random;
  std::string database = "SQLite format 3";
  database.resize(4096, 0);
  for (int i = 0; i < rounds; ++i) {
    std::string text = trace_seeds()[random.next(trace_seeds().size())];
    for (std::uint64_t n = random.next(4); n > 0; --n) text = mutated(text, random);
    fuzz::trace(text);
    fuzz::log(mutated(log_seeds()[random.next(log_seeds().size())], random));
    fuzz::log(text);
    fuzz::kernel(mutated("void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_128x64_64x6_tn_align8>(int)", random));
    fuzz::kernel(mutated("Cijk_Alik_Bljk_BBS_BH_MT128x64x64_MI16x16x1_SN_GSU2", random));
    if (i % 20 == 0) fuzz::database(mutated(database, random));
  }
  std::cout << rounds << " rounds done\n";
  return 0;
}
