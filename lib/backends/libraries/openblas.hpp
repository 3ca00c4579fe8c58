// OpenBLAS through its C interface, opened at run time (DD_OPENBLAS: path of another build). It is asked which kernel set
// it picked; whether the processor could do better, and whether a variable pins the choice, are facts that rules read.
#pragma once
#include <cstdint>
#include <string>

#include "backends/libraries/shared_library.hpp"
#include "facts/facts.hpp"

namespace dd::backends {

struct OpenBlas {
  using Sgemm = void(int order, int trans_a, int trans_b, int m, int n, int k, float alpha, const float* a, int lda, const float* b,
                     int ldb, float beta, float* c, int ldc);
  using Dgemm = void(int order, int trans_a, int trans_b, int m, int n, int k, double alpha, const double* a, int lda,
                     const double* b, int ldb, double beta, double* c, int ldc);
  SharedLibrary library;
  std::string problem;   // why it cannot be used; empty: it can
  std::string config;    // as openblas_get_config says
  std::string version;   // 0.3.21
  std::string core;      // kernel set: Haswell, Zen, SkylakeX, …
  std::string core_isa;  // widest vector extension of that set: sse, avx, avx2, avx512; empty: not known
  std::string pinned;    // value of OPENBLAS_CORETYPE; empty: the library chose
  Sgemm* sgemm = nullptr;
  Dgemm* dgemm = nullptr;
  void (*set_threads)(int) = nullptr;

  bool ok() const { return problem.empty(); }
};

// Opened on first use; opened again when DD_OPENBLAS has changed since.
const OpenBlas& openblas();
// Sets the number of threads and returns it: fewer than wanted where memory or a limit on it (ulimit -v) does not hold the
// library's buffers, and 0 where it holds none. A product would then ask the system for its buffer for ever.
int take_threads(const OpenBlas& blas, int wanted);
// Why it could not be as many, in words.
std::string threads_lacking(int taken, int wanted);
// Vector extension of a kernel set by its name (OpenBLAS 0.3.x, any case); empty for a name that is not known.
std::string_view isa_of_core(std::string_view core);
void add_openblas_facts(facts::FactSet& facts);

}  // namespace dd::backends
