// Compiled with AVX-512 F, BW, DQ, VL enabled (see CMakeLists.txt); empty on other architectures.
#if defined(__AVX512F__) && defined(__AVX512DQ__)
#define DD_ISA avx512
#define DD_VECTOR_BYTES 64
#define DD_ROWS 8
#include "ops/simd/all.inc"
#else
#include "ops/simd/kernels.hpp"
const dd::ops::simd::Kernels* dd::ops::simd::avx512_kernels() {
  return nullptr;
}
#endif
