// A libcublas.so.13 for tests without a GPU. See fake_blas.hpp. dd_fake_cublas_calls() tells what was called.
#include "fake_blas.hpp"

#include <cstring>

namespace {

std::string calls;
struct Handle {
  void* stream = nullptr;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  int math = 0;
};

int run(fake::Product p, int compute, const void* alpha, const void* beta) {
  if (!alpha || !beta) return fake::invalid_value;
  if (const int status = p.check()) return status;
  if (!fake::row_exists(p.a.type, p.b.type, p.d.type, compute)) return fake::not_supported;
  p.alpha = fake::scalar(alpha, fake::scalar_type(compute));
  p.beta = fake::scalar(beta, fake::scalar_type(compute));
  return fake::enqueue([p] { p.run(); });
}

void note(const char* name, int ta, int tb, int m, int n, int k, int batch, Handle* h) {
  calls += std::string(name) + " " + (ta ? "T" : "N") + (tb ? "T" : "N") + " " + std::to_string(m) + "x" + std::to_string(n) + "x" + std::to_string(k) + " batch " + std::to_string(batch) +
           (h->stream ? " stream" : " no-stream") + (h->workspace ? " workspace " + std::to_string(h->workspace_bytes) : " no-workspace") + " math " + std::to_string(h->math) + "\n";
}

}  // namespace

extern "C" {

const char* dd_fake_cublas_calls() {
  static std::string last;
  last.swap(calls);
  calls.clear();
  return last.c_str();
}
int cublasGetProperty(int type, int* value) { return *value = type == 0 ? 13 : type == 1 ? 1 : 0, 0; }
const char* cublasGetStatusName(int status) { return status == 15 ? "CUBLAS_STATUS_NOT_SUPPORTED" : status == 3 ? "CUBLAS_STATUS_ALLOC_FAILED" : "CUBLAS_STATUS_OTHER"; }
const char* cublasGetStatusString(int status) { return status == 15 ? "the stand-in does not offer this" : "the stand-in was told to fail"; }
int cublasCreate_v2(void** handle) {
  if (const int status = fake::fault("cublasCreate")) return status;
  return *handle = new Handle, 0;
}
int cublasDestroy_v2(void* handle) { return delete static_cast<Handle*>(handle), 0; }
int cublasSetStream_v2(void* handle, void* stream) {
  if (const int status = fake::fault("cublasSetStream")) return status;
  auto* h = static_cast<Handle*>(handle);
  *h = {stream, nullptr, 0, h->math};
  return 0;
}
int cublasSetMathMode(void* handle, int mode) {
  if (const int status = fake::fault("cublasSetMathMode")) return status;
  if (mode & ~31) return fake::invalid_value;
  static_cast<Handle*>(handle)->math = mode;
  return 0;
}
int cublasSetWorkspace_v2(void* handle, void* workspace, std::size_t bytes) {
  if (const int status = fake::fault("cublasSetWorkspace")) return status;
  auto* h = static_cast<Handle*>(handle);
  h->workspace = workspace;
  h->workspace_bytes = bytes;
  return 0;
}
int cublasGemmEx(void* handle, int ta, int tb, int m, int n, int k, const void* alpha, const void* a, int type_a, int lda, const void* b, int type_b, int ldb, const void* beta, void* c, int type_c,
                 int ldc, int compute, int) {
  note("cublasGemmEx", ta, tb, m, n, k, 1, static_cast<Handle*>(handle));
  if (const int status = fake::fault("cublasGemmEx")) return status;
  return run({ta != 0, tb != 0, m, n, k, 1, {a, type_a, lda, 0}, {b, type_b, ldb, 0}, {c, type_c, ldc, 0}, 1, 0}, compute, alpha, beta);
}
int cublasGemmStridedBatchedEx(void* handle, int ta, int tb, int m, int n, int k, const void* alpha, const void* a, int type_a, int lda, long long stride_a, const void* b, int type_b, int ldb,
                               long long stride_b, const void* beta, void* c, int type_c, int ldc, long long stride_c, int batch, int compute, int) {
  note("cublasGemmStridedBatchedEx", ta, tb, m, n, k, batch, static_cast<Handle*>(handle));
  if (const int status = fake::fault("cublasGemmStridedBatchedEx")) return status;
  return run({ta != 0, tb != 0, m, n, k, batch, {a, type_a, lda, stride_a}, {b, type_b, ldb, stride_b}, {c, type_c, ldc, stride_c}, 1, 0}, compute, alpha, beta);
}
}
