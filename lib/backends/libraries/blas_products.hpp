// Products through OpenBLAS with the calls counted for the evidence: as a table for kernels that take a BLAS, and as the
// library-call and kernel entries that a report shows.
#pragma once
#include <atomic>
#include <cstdint>
#include <string>

#include "backends/libraries/openblas.hpp"
#include "ops/attention/attention.hpp"
#include "report/report.hpp"

namespace dd::backends {

struct BlasCalls {
  const OpenBlas* blas = nullptr;
  std::atomic<std::int64_t> sgemm{0}, dgemm{0};
  std::string lacking;  // why it runs fewer threads than it should, or none at all
};

// Row-major C = alpha op(A) op(B) + beta C; false when a size does not fit the library's 32-bit integers.
bool blas_sgemm(void* calls, bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, float alpha, const float* a,
                std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c, std::int64_t ldc);
bool blas_dgemm(void* calls, bool trans_a, bool trans_b, std::int64_t m, std::int64_t n, std::int64_t k, double alpha, const double* a,
                std::int64_t lda, const double* b, std::int64_t ldb, double beta, double* c, std::int64_t ldc);
// Sets up `calls` and the library's threads; false where it cannot have a single buffer.
bool open_blas(BlasCalls& calls, const OpenBlas& blas, int threads);
// The table over OpenBLAS, or over own products where OpenBLAS cannot be used.
ops::BlasTable blas_table(BlasCalls& calls, int threads);
// Library calls made, and the kernel set that served them (named by the library; the kernel itself is not observed).
void describe_blas_calls(const BlasCalls& calls, report::Evidence& evidence);

}  // namespace dd::backends
