// Attention in double by the definition, one row at a time, from the very values that the kernel gets.
#pragma once
#include <fmt/format.h>

#include <functional>

#include "attention/args.hpp"
#include "tensors.hpp"

namespace dd::kernels::test {

struct OracleRow {
  std::vector<double> out;      // v_dim
  std::vector<double> abs_sum;  // sum of weight * |v|, what rounding errors scale with
  std::vector<double> weights;  // after dropout
};

struct AttentionCase {
  int batch = 1, heads = 1, kv_heads = 1, q_len = 1, kv_len = 1, dim = 8, v_dim = 8;
  int causal = 0;  // 0 none, 1 top left, 2 bottom right
  MaskKind mask = mask_none;
  bool mask_per_head = false;
  bool dropout = false;
  bool interleaved = false;
  int pad = 0;
  std::string text() const {
    return fmt::format("b{} h{}/{} q{} kv{} d{}/{} causal{} mask{}{}{}{} pad{}", batch, heads, kv_heads, q_len, kv_len,
                       dim, v_dim, causal, static_cast<int>(mask), mask_per_head ? "h" : "", dropout ? " dropout" : "",
                       interleaved ? " bshd" : "", pad);
  }
};

template <class T>
struct AttentionProblem {
  AttentionCase c;
  Tensor<T> q, k, v, out;
  Tensor<std::uint8_t> bool_mask, keep;
  Tensor<T> mask_t;
  Tensor<float> mask_f;
  AttentionArgs args{};

  static Layout4 mask_layout(const AttentionCase& c) {
    Layout4 l{{1, c.mask_per_head ? c.heads : 1, c.q_len, c.kv_len}, {0, 0, c.kv_len, 1}};
    if (c.mask_per_head) l.stride[1] = static_cast<std::int64_t>(c.q_len) * c.kv_len;
    return l;
  }
  explicit AttentionProblem(const AttentionCase& cc, std::uint64_t seed = 1)
      : c(cc),
        q(layout(c.batch, c.heads, c.q_len, c.dim, c.interleaved, c.pad)),
        k(layout(c.batch, c.kv_heads, c.kv_len, c.dim, c.interleaved, c.pad)),
        v(layout(c.batch, c.kv_heads, c.kv_len, c.v_dim, c.interleaved, c.pad)),
        out(layout(c.batch, c.heads, c.q_len, c.v_dim, c.interleaved, c.pad)),
        bool_mask(mask_layout(c)),
        keep(layout(c.batch, c.heads, c.q_len, c.kv_len)),
        mask_t(mask_layout(c)),
        mask_f(mask_layout(c)) {
    std::mt19937_64 random(seed);
    q.fill_normal(random);
    k.fill_normal(random);
    v.fill_normal(random);
    bool_mask.fill_integers(random, 0, 1);
    keep.fill_integers(random, 0, 1);
    mask_t.fill_normal(random);
    mask_f.fill_normal(random);
    if (c.mask == mask_float_f32 || c.mask == mask_float_as_q) {  // some hidden by minus infinity
      mask_f.each([&](std::int64_t i) {
        if (i % 7 == 3) {
          mask_f.data()[i] = -INFINITY;
          mask_t.data()[i] = make_value<T>(-INFINITY);
        }
      });
    }
    args.q = q.data();
    args.k = k.data();
    args.v = v.data();
    args.out = out.data();
    const void* masks[] = {nullptr, bool_mask.data(), mask_t.data(), mask_f.data()};
    args.mask = masks[c.mask];
    args.keep = c.dropout ? keep.data() : nullptr;
    for (int i = 0; i < 4; ++i) {
      args.q_stride[i] = q.layout.stride[i];
      args.k_stride[i] = k.layout.stride[i];
      args.v_stride[i] = v.layout.stride[i];
      args.out_stride[i] = out.layout.stride[i];
      args.mask_stride[i] = mask_f.layout.stride[i];
      args.keep_stride[i] = keep.layout.stride[i];
    }
    args.batch = c.batch;
    args.heads = c.heads;
    args.kv_heads = c.kv_heads;
    args.q_len = c.q_len;
    args.kv_len = c.kv_len;
    args.dim = c.dim;
    args.v_dim = c.v_dim;
    args.mask_kind = c.mask;
    args.causal = c.causal != 0;
    args.causal_offset = c.causal == 2 ? c.kv_len - c.q_len : 0;
    args.scale = 1.0 / std::sqrt(static_cast<double>(c.dim));
    args.keep_scale = 2.0;
  }

  // Lets the result lie in another way.
  void place_output(const std::int64_t (&stride)[4], std::int64_t offset) {
    Layout4 l = out.layout;
    for (int i = 0; i < 4; ++i) args.out_stride[i] = l.stride[i] = stride[i];
    out = Tensor<T>(l, offset);
    args.out = out.data();
  }

  // -infinity where the key does not take part.
  double score(int b, int h, int i, int j) {
    if (c.causal == 1 && j > i) return -INFINITY;
    if (c.causal == 2 && j > i + c.kv_len - c.q_len) return -INFINITY;
    const int mh = c.mask_per_head ? h : 0, g = h / (c.heads / c.kv_heads);
    if (c.mask == mask_bool && bool_mask.get(0, mh, i, j) == 0) return -INFINITY;
    double s = 0;
    for (int d = 0; d < c.dim; ++d) s += q.get(b, h, i, d) * k.get(b, g, j, d);
    s *= args.scale;
    if (c.mask == mask_float_as_q) s += mask_t.get(0, mh, i, j);
    if (c.mask == mask_float_f32) s += mask_f.get(0, mh, i, j);
    return s;
  }
  OracleRow row(int b, int h, int i) {
    OracleRow r;
    r.weights.resize(static_cast<std::size_t>(c.kv_len));
    double largest = -INFINITY, total = 0;
    for (int j = 0; j < c.kv_len; ++j) {
      r.weights[static_cast<std::size_t>(j)] = score(b, h, i, j);
      largest = std::fmax(largest, r.weights[static_cast<std::size_t>(j)]);
    }
    for (double& w : r.weights) {
      w = largest == -INFINITY ? 0.0 : std::exp(w - largest);
      total += w;
    }
    r.out.assign(static_cast<std::size_t>(c.v_dim), 0.0);
    r.abs_sum = r.out;
    const int g = h / (c.heads / c.kv_heads);
    for (int j = 0; j < c.kv_len; ++j) {
      double& w = r.weights[static_cast<std::size_t>(j)];
      if (total > 0) w /= total;
      if (c.dropout) w *= keep.get(b, h, i, j) != 0 ? args.keep_scale : 0.0;
      for (int d = 0; d < c.v_dim; ++d) {
        r.out[static_cast<std::size_t>(d)] += w * v.get(b, g, j, d);
        r.abs_sum[static_cast<std::size_t>(d)] += w * std::fabs(v.get(b, g, j, d));
      }
    }
    return r;
  }

  // Rounding the weights and the result once each, and f32 (or f64) sums of the lengths at hand.
  double bound(double value, double abs_sum) const {
    const double sums = (std::is_same_v<T, double> ? 0x1p-53 : 0x1p-24) * (2.0 * c.dim + c.kv_len + 32);
    return roundoff<T>() * (std::fabs(value) + abs_sum) * 1.01 + sums * abs_sum + 1e-30;
  }
  // Empty when all of out is right; else the first difference.
  std::string compare() {
    if (std::string s = out.check_written(); !s.empty()) return s;
    for (int b = 0; b < c.batch; ++b)
      for (int h = 0; h < c.heads; ++h)
        for (int i = 0; i < c.q_len; ++i) {
          const OracleRow want = row(b, h, i);
          for (int d = 0; d < c.v_dim; ++d) {
            const double w = want.out[static_cast<std::size_t>(d)], got = out.get(b, h, i, d);
            if (!(std::fabs(got - w) <= bound(w, want.abs_sum[static_cast<std::size_t>(d)])))
              return fmt::format("at {},{},{},{} wanted {} got {}", b, h, i, d, w, got);
          }
        }
    return "";
  }
};

}  // namespace dd::kernels::test
