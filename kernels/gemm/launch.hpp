// Geometry of the matrix product kernels, and the tile shapes as data.
#pragma once
#include "../common/launch.hpp"
#include "args.hpp"

namespace dd::kernels {

struct GemmInstance {
  int rows, cols, warp_rows, warp_cols;
  constexpr int threads() const { return 32 * (rows / warp_rows) * (cols / warp_cols); }
  constexpr int shared_bytes(bool xt, bool wt) const {
    const int x = xt ? 32 * (rows + 8) : rows * 40, w = wt ? cols * 40 : 32 * (cols + 8);
    return 3 * (x + w) * 2;
  }
};
inline constexpr GemmInstance gemm_instances[] = {
#define DD_GEMM(rows, cols, warp_rows, warp_cols) {rows, cols, warp_rows, warp_cols},
#include "instances.def"
#undef DD_GEMM
};

// The large tile once it fills a good part of the device, the small one otherwise.
inline int gemm_instance_for(const GemmArgs& a, int sm_count) {
  const std::int64_t blocks = blocks_for(a.m, gemm_instances[0].rows) * blocks_for(a.n, gemm_instances[0].cols) * a.batch;
  return blocks * 2 >= sm_count ? 0 : 1;
}
inline LaunchShape gemm_launch(const GemmInstance& i, const GemmArgs& a, bool xt, bool wt) {
  return {{blocks_for(a.n, i.cols), blocks_for(a.m, i.rows), a.batch}, i.threads(), i.shared_bytes(xt, wt)};
}
inline LaunchShape gemm_naive_launch(const GemmArgs& a) {
  return {{blocks_for(static_cast<std::int64_t>(a.batch) * a.m * a.n, 256), 1, 1}, 256, 0};
}

// Whether 16-byte copies may be used for an operand: base, line stride and batch stride all multiples of 16 bytes.
inline bool aligned16(const void* base, std::int64_t line_stride, std::int64_t batch_stride) {
  return reinterpret_cast<std::uintptr_t>(base) % 16 == 0 && line_stride % 8 == 0 && batch_stride % 8 == 0;
}

}  // namespace dd::kernels
