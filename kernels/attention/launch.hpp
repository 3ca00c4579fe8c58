// Geometry of the attention kernels, and the list of fused instances as data.
#pragma once
#include <cfloat>
#include <cstddef>

#include "../common/launch.hpp"
#include "args.hpp"

namespace dd::kernels {

struct FlashInstance {
  int dim, rows, step, plain_step, tiles;
  constexpr int threads() const { return 32 * rows / (16 * tiles); }
  constexpr int shared_bytes(bool plain) const { return (rows + 2 * (plain ? plain_step : step)) * (dim + 8) * 2; }
};
inline constexpr FlashInstance flash_instances[] = {
#define DD_FLASH(d, rows, step, plain_step, tiles) {d, rows, step, plain_step, tiles},
#include "instances.def"
#undef DD_FLASH
};
inline constexpr int flash_largest_dim = flash_instances[sizeof flash_instances / sizeof flash_instances[0] - 1].dim;

// The smallest instance that holds both head sizes; null when none does.
inline const FlashInstance* flash_instance_for(std::int64_t dim, std::int64_t v_dim) {
  const std::int64_t wanted = dim > v_dim ? dim : v_dim;
  for (const FlashInstance& i : flash_instances)
    if (wanted <= i.dim) return &i;
  return nullptr;
}
// Whether the plain kernel may be used. Its scale must stay positive and finite as the f32 factor of an exponent.
inline bool flash_is_plain(const AttentionArgs& a) {
  const float factor = static_cast<float>(a.scale * log2_e);
  return a.mask_kind == mask_none && !a.keep && factor >= FLT_MIN && factor <= FLT_MAX;
}
inline LaunchShape flash_launch(const FlashInstance& i, const AttentionArgs& a, bool plain) {
  return {{blocks_for(a.q_len, i.rows), a.heads, a.batch}, i.threads(), i.shared_bytes(plain)};
}

constexpr int naive_attention_warps = 4;
inline LaunchShape naive_attention_launch(const AttentionArgs& a, int accumulator_bytes) {
  const std::int64_t rows = static_cast<std::int64_t>(a.batch) * a.heads * a.q_len;
  return {{blocks_for(rows, naive_attention_warps), 1, 1},
          32 * naive_attention_warps,
          naive_attention_warps * a.v_dim * accumulator_bytes};
}

inline LaunchShape softmax_launch(const AttentionArgs& a) {
  const int threads = a.kv_len >= 1024 ? 256 : 128;
  return {{static_cast<std::int64_t>(a.batch) * a.heads * a.q_len, 1, 1}, threads, threads / 32 * 8};
}

}  // namespace dd::kernels
