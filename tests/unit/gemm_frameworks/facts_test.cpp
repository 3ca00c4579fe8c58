// Facts of products: layouts as BLAS can use them, folding, versions, calibrated limits.
#include "diagnosed.hpp"

#include "frameworks/bitsandbytes/rules.hpp"
#include "frameworks/gemm/set.hpp"
#include "frameworks/ggml/rules.hpp"

using namespace dd;
using facts::Id;
using frameworks::gemm::blas_layout;

TEST_CASE("a matrix is row, column or strided") {
  CHECK(blas_layout(4, 8, 8, 1) == "row");
  CHECK(blas_layout(4, 8, 16, 1) == "row");       // slice of rows
  CHECK(blas_layout(4, 8, 1, 4) == "column");
  CHECK(blas_layout(4, 8, 1, 9) == "column");
  CHECK(blas_layout(4, 8, 16, 2) == "strided");   // every second column
  CHECK(blas_layout(4, 8, 0, 1) == "strided");    // expanded rows
  CHECK(blas_layout(4, 8, 7, 1) == "strided");    // rows overlap
  CHECK(blas_layout(1, 8, 0, 1) == "row");        // the stride of a size-1 axis does not matter
  CHECK(blas_layout(4, 1, 1, 77) == "row");
}

TEST_CASE("BLAS sees the operands swapped") {
  const auto f = test::facts_of(test::spec_of("gemm --x 32x64 --w 64x48 --trans-w --dtype bf16 --target sm_90"));
  CHECK(frameworks::gemm::text(f, Id::blas_form) == "TN");
  CHECK(frameworks::gemm::integer(f, Id::blas_m) == 48);
  CHECK(frameworks::gemm::integer(f, Id::blas_n) == 32);
  CHECK(frameworks::gemm::integer(f, Id::lda) == 64);
  CHECK(frameworks::gemm::integer(f, Id::ldb) == 64);
  CHECK(frameworks::gemm::integer(f, Id::ldc) == 48);
  CHECK(frameworks::gemm::integer(f, Id::a_extent_bytes) == 128);
  CHECK(frameworks::gemm::integer(f, Id::c_extent_bytes) == 96);
}

TEST_CASE("leading axes: a size-1 axis with an odd stride keeps them from folding") {
  const auto odd = test::facts_of(test::spec_of("gemm --x 384x1x4096 --x-strides 4096x1572864x1 --w 4096x4096 --dtype bf16 --target sm_90 --framework torch"));
  CHECK(frameworks::gemm::flag(odd, Id::leading_contiguous) == false);
  const auto even = test::facts_of(test::spec_of("gemm --x 384x1x4096 --w 4096x4096 --dtype bf16 --target sm_90 --framework torch"));
  CHECK(frameworks::gemm::flag(even, Id::leading_contiguous) == true);
  CHECK(frameworks::gemm::integer(even, Id::rows) == 384);
}

TEST_CASE("vLLM snapshots from dates and releases") {
  facts::Version v;
  REQUIRE(frameworks::gemm::parse_vllm_version("2026-08", v));
  CHECK(v == facts::Version::of(2026, 8));
  REQUIRE(frameworks::gemm::parse_vllm_version("0.10.1", v));
  CHECK(v == facts::Version::of(2025, 8));
  REQUIRE(frameworks::gemm::parse_vllm_version("0.6.3", v));
  CHECK(v == facts::Version::of(2024, 9));
  CHECK_FALSE(frameworks::gemm::parse_vllm_version("2026-13", v));
  CHECK_FALSE(frameworks::gemm::parse_vllm_version("newest", v));
}

TEST_CASE("row limits of the fused 4-bit kernel, both sides of the bands") {
  using frameworks::bitsandbytes::fused_limits;
  // Hopper with 132 multiprocessors: bands at N = 25280, 16832, 8384, 4160.
  CHECK(fused_limits(25281, 4096, 90, 132).rows == 64);
  CHECK(fused_limits(25280, 4096, 90, 132).rows == 48);
  CHECK(fused_limits(16833, 4096, 90, 132).rows == 48);
  CHECK(fused_limits(16832, 4096, 90, 132).rows == 32);
  CHECK(fused_limits(8385, 4096, 90, 132).rows == 32);
  CHECK(fused_limits(8384, 4096, 90, 132).rows == 16);
  CHECK(fused_limits(4161, 4096, 90, 132).rows == 16);
  CHECK(fused_limits(4096, 4096, 90, 132).rows < 8);
  CHECK(fused_limits(28672, 4096, 80, 108).rows == 128);
  // RTX 3090 (82), T4 (40), RTX 4090 (128), L4 (58), RTX 5090 (170): the chips whose memory is not stacked.
  CHECK(fused_limits(5248, 4096, 86, 82).rows == 128);
  CHECK(fused_limits(5184, 4096, 86, 82).rows == 64);
  CHECK(fused_limits(2560, 4096, 86, 82).rows == 16);
  CHECK(fused_limits(7680, 4096, 75, 40).rows == 128);
  CHECK(fused_limits(7680, 7680, 75, 40).rows == 64);
  CHECK(fused_limits(1280, 4096, 75, 40).rows == 64);
  CHECK(fused_limits(1216, 4096, 75, 40).rows == 32);
  CHECK(fused_limits(4096, 4096, 89, 128).rows == 8);
  CHECK(fused_limits(4096, 11008, 89, 128).rows == 64);
  CHECK(fused_limits(24576, 4096, 89, 128).rows == 256);
  CHECK(fused_limits(4096, 4096, 89, 58).rows == 32);
  CHECK(fused_limits(4096, 2048, 89, 58).rows == 64);
  CHECK(fused_limits(8192, 4096, 120, 170).rows == 64);
  CHECK(fused_limits(8128, 4096, 120, 170).rows == 8);
  CHECK(fused_limits(8704, 4096, 120, 170).rows == 64);
  CHECK(fused_limits(8704, 8704, 120, 170).rows == 96);
  // Fewer than 4 Mi elements, whatever the chip; on Turing the rows asked for matter.
  CHECK(fused_limits(2048, 512, 80, 108).rows == 1536);
  CHECK(fused_limits(2304, 512, 80, 108).rows == 512);
  CHECK(fused_limits(1024, 1024, 90, 132).rows == 32);
  CHECK(fused_limits(1024, 1024, 86, 82).rows == 23);
  CHECK(fused_limits(1024, 512, 86, 82).rows == 32);
  CHECK(fused_limits(2560, 1024, 86, 82).rows == 192);
  CHECK(fused_limits(2048, 1536, 86, 82).rows == 16);
  CHECK(fused_limits(2688, 1536, 86, 82).rows == 4);
  CHECK(fused_limits(1536, 1536, 75, 40, 9).rows == 64);
  CHECK(fused_limits(1536, 1536, 75, 40, 8).rows == 4);
  // A bare 8.6 comes with 16 to 84 multiprocessors: there is nothing to assume.
  CHECK_FALSE(fused_limits(4096, 4096, 86, 0).known);
  CHECK(fused_limits(4096, 4096, 90, 0).known);
  CHECK(fused_limits(4096, 8192, 90, 132).narrow_band);
  CHECK_FALSE(fused_limits(4096, 4096, 90, 132).narrow_band);
}

TEST_CASE("columns of ggml's quantized vector kernel by chip and format") {
  using frameworks::ggml::mmvq_columns;
  CHECK(mmvq_columns("Q4_K", 90) == 8);
  CHECK(mmvq_columns("Q4_K", 89) == 7);
  CHECK(mmvq_columns("Q2_K", 89) == 4);
  CHECK(mmvq_columns("Q4_K", 120) == 5);
  CHECK(mmvq_columns("Q6_K", 120) == 7);
  CHECK(mmvq_columns("Q2_K", 121) == 6);
}

TEST_CASE("hostile numbers do not wrap") {
  const auto f = test::facts_of(test::spec_of("gemm --m 288230376151711744 --n 1 --k 1 --dtype f16 --target sm_90"));
  CHECK(frameworks::gemm::integer(f, Id::largest_extent) == 288230376151711744);
}
