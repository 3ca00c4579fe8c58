#include "backends/libraries/blas_products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <climits>

#include "ops/simd/kernels.hpp"
#include "ops/tensor/parallel.hpp"

namespace dd::backends {
namespace {

constexpr int row_major = 101, no_trans = 111, trans = 112;

bool fits(std::initializer_list<std::int64_t> sizes) {
  for (std::int64_t size : sizes)
    if (size < 0 || size > INT_MAX) return false;
  return true;
}

template <class T, class F>
bool product(F* function, bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, T alpha, const T* a,
             std::int64_t lda, const T* b, std::int64_t ldb, T beta, T* c, std::int64_t ldc) {
  if (!function || !fits({m, n, k, lda, ldb, ldc})) return false;
  if (m == 0 || n == 0) return true;
  if (k == 0 && beta == T{0}) {  // an empty sum, without relying on what the library makes of empty operands
    for (std::int64_t row = 0; row < m; ++row) std::fill_n(c + row * ldc, n, T{0});
    return true;
  }
  function(row_major, trans_a ? trans : no_trans, trans_b ? trans : no_trans, static_cast<int>(m), static_cast<int>(n),
           static_cast<int>(k), alpha, a, static_cast<int>(lda), b, static_cast<int>(ldb), beta, c, static_cast<int>(ldc));
  return true;
}

}  // namespace

bool blas_sgemm(void* context, bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const float* a,
                std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc) {
  auto& calls = *static_cast<BlasCalls*>(context);
  ++calls.sgemm;
  return product<float>(calls.blas->sgemm, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

bool blas_dgemm(void* context, bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha, const double* a,
                std::int64_t lda, const double* b, std::int64_t ldb, double beta, double* c, std::int64_t ldc) {
  auto& calls = *static_cast<BlasCalls*>(context);
  ++calls.dgemm;
  return product<double>(calls.blas->dgemm, trans_a, trans_b, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

bool open_blas(BlasCalls& calls, const OpenBlas& blas, int threads) {
  const int wanted = ops::thread_count(threads), taken = take_threads(blas, wanted);
  if (taken < wanted) calls.lacking = threads_lacking(taken, wanted);
  if (taken > 0) calls.blas = &blas;
  return taken > 0;
}

ops::BlasTable blas_table(BlasCalls& calls, int threads) {
  const OpenBlas& blas = openblas();
  if (!blas.ok()) return ops::own_blas();
  if (!open_blas(calls, blas, threads)) return ops::own_blas();
  ops::BlasTable table;
  table.sgemm = blas_sgemm;
  table.dgemm = blas_dgemm;
  table.context = &calls;
  return table;
}

void describe_blas_calls(const BlasCalls& calls, report::Evidence& evidence) {
  if (!calls.blas) {
    evidence.kernels.push_back({"own product", fmt::format("{} kernels; {}", ops::simd::kernels().name, calls.lacking.empty() ? openblas().problem : calls.lacking), "worker", 1, {}});
    return;
  }
  const OpenBlas& blas = *calls.blas;
  const auto add = [&](const char* call, const char* kernel, std::int64_t count) {
    if (count == 0) return;
    evidence.library_calls.push_back({call, "OpenBLAS " + blas.version, "worker", count, {}});
    evidence.kernels.push_back({fmt::format("{} of kernel set {}", kernel, blas.core.empty() ? "unknown" : blas.core),
                                "set named by openblas_get_corename; the kernel itself was not observed", "library", count, {}});
  };
  add("cblas_sgemm", "sgemm", calls.sgemm);
  add("cblas_dgemm", "dgemm", calls.dgemm);
  if (!calls.lacking.empty()) evidence.notes.push_back(calls.lacking);
  if (!blas.pinned.empty()) evidence.notes.push_back("OPENBLAS_CORETYPE=" + blas.pinned + " pins the kernel set");
}

}  // namespace dd::backends
