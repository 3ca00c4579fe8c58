#define DD_ISA portable
#define DD_VECTOR_BYTES 16
#define DD_ROWS 4
#include "ops/simd/all.inc"
