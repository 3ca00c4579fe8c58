// Compiled with AVX2 and FMA enabled (see CMakeLists.txt); empty on other architectures.
#if defined(__AVX2__) && defined(__FMA__)
#define DD_ISA avx2
#define DD_VECTOR_BYTES 32
#define DD_ROWS 4
#include "ops/simd/all.inc"
#else
#include "ops/simd/kernels.hpp"
const dd::ops::simd::Kernels* dd::ops::simd::avx2_kernels() {
  return nullptr;
}
#endif
