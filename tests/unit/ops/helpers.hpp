// Buffers with guard bands, random problems and loops over the instruction sets, for the tests of ops.
#pragma once
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "ops/attention/attention.hpp"
#include "ops/gemm/gemm.hpp"
#include "ops/tensor/convert.hpp"
#include "ops/tensor/fill.hpp"

namespace dd::ops::test {

// Runs body(name) under every instruction set of this machine and goes back to the one before.
template <class F>
void each_isa(F body) {
  const std::string before(simd::kernels().name);
  for (std::string_view name : simd::available_isas()) {
    simd::set_isa(name);
    body(name);
  }
  simd::set_isa(before);
}

// A tensor in its own heap block of exactly the bytes needed (so that the address sanitizer sees any overrun), in a
// layout given by an order of axes and extra elements behind each row, filled with `fill`.
struct Tensor {
  std::vector<unsigned char> bytes;
  TensorView view;

  Tensor(DType dtype, std::vector<std::int64_t> shape, std::vector<int> order = {}, std::int64_t gap = 0,
         std::int64_t offset = 0) {
    view.dtype = dtype;
    view.rank = static_cast<int>(shape.size());
    view.offset = offset;
    if (order.empty())
      for (int axis = 0; axis < view.rank; ++axis) order.push_back(axis);
    std::int64_t stride = 1;
    for (int n = view.rank - 1; n >= 0; --n) {
      const int axis = order[static_cast<std::size_t>(n)];
      view.shape[axis] = shape[static_cast<std::size_t>(axis)];
      view.stride[axis] = stride;
      stride *= view.shape[axis];
      if (n == view.rank - 1) stride += gap;
    }
    std::int64_t last = offset;
    for (int axis = 0; axis < view.rank; ++axis)
      last += std::max<std::int64_t>(view.shape[axis] - 1, 0) * view.stride[axis];
    bytes.resize(static_cast<std::size_t>(core::bytes_of(dtype, last + 1)));
    bytes.shrink_to_fit();
    view.data = bytes.data();
  }
  Tensor(const Tensor&) = delete;
  Tensor(Tensor&& other) noexcept : bytes(std::move(other.bytes)), view(other.view) { view.data = bytes.data(); }

  Tensor& filled(const Fill& how) {
    fill(view, how, 1);
    return *this;
  }
  double at(std::int64_t flat) const { return load(view.data, view.dtype, element_index(view, flat)); }
  void set(std::int64_t flat, double value) { store(view.data, view.dtype, element_index(view, flat), value); }
};

inline std::vector<double> values(const TensorView& view) {
  std::vector<double> out(static_cast<std::size_t>(element_count(view)));
  read_all(view, out.data());
  return out;
}

// Same value, or both NaN, or both the same infinity, or within tolerance.
inline bool near(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (std::isinf(a) || std::isinf(b)) return a == b;
  return std::fabs(a - b) <= tolerance;
}

inline std::size_t far_apart(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  std::size_t n = a.size() == b.size() ? 0 : std::max(a.size(), b.size());
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) n += near(a[i], b[i], tolerance) ? 0 : 1;
  return n;
}

// Bits equal, so that NaN equals NaN and 0 differs from -0.
inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0);
}

struct Random {
  std::mt19937_64 engine;
  explicit Random(std::uint64_t seed) : engine(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(high - low + 1));
  }
  bool chance(int percent) { return between(0, 99) < percent; }
  template <class T>
  T pick(std::initializer_list<T> list) {
    return *(list.begin() + between(0, static_cast<std::int64_t>(list.size()) - 1));
  }
};

// An attention problem that owns its tensors.
struct Attention {
  std::vector<Tensor> tensors;
  AttentionProblem problem;

  Attention(std::int64_t b, std::int64_t hq, std::int64_t hkv, std::int64_t tq, std::int64_t tk, std::int64_t d,
            std::int64_t dv, DType dtype = DType::f32, std::uint64_t seed = 1, std::vector<int> order = {},
            std::int64_t gap = 0) {
    tensors.reserve(4);
    const std::int64_t offset = gap > 0 ? 2 * gap : 0;
    tensors.emplace_back(dtype, std::vector<std::int64_t>{b, hq, tq, d}, order, gap, offset);
    tensors.emplace_back(dtype, std::vector<std::int64_t>{b, hkv, tk, d}, order, gap, offset);
    tensors.emplace_back(dtype, std::vector<std::int64_t>{b, hkv, tk, dv}, order, gap, offset);
    for (std::uint32_t n = 0; n < 3; ++n) tensors[n].filled({FillKind::normal, seed, n, 1.0, 0, 0});
    problem.q = tensors[0].view;
    problem.k = tensors[1].view;
    problem.v = tensors[2].view;
    problem.scale = core::is_float(dtype) ? default_scale(d) : 1e-3;
  }
  Tensor& mask(DType dtype, std::vector<std::int64_t> shape, const Fill& how = {FillKind::normal, 9, 3, 1.0, 0, 0}) {
    tensors.emplace_back(dtype, std::move(shape));
    tensors.back().filled(how);
    problem.mask = tensors.back().view;
    return tensors.back();
  }
};

}  // namespace dd::ops::test
