// Test tensors for the kernels: strided, between guard bands, inputs surrounded by NaN so that a stray read shows in the
// result, outputs poisoned so that a stray or missing write shows. Values are read back as double.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "common/numeric.cuh"

namespace dd::kernels::test {

template <class T>
inline double value_of(T v) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<double>(v);
  else
    return to_float(v);
}
template <class T>
inline T make_value(double v) {
  if constexpr (std::is_arithmetic_v<T>)
    return static_cast<T>(v);
  else
    return from_float<T>(static_cast<float>(v));
}
// Half the distance between neighbours, relative: 2^-(fraction bits + 1).
template <class T>
inline double roundoff() {
  if constexpr (std::is_same_v<T, double>) return 0x1p-53;
  if constexpr (std::is_same_v<T, float>) return 0x1p-24;
  if constexpr (std::is_same_v<T, __half>) return 0x1p-11;
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return 0x1p-8;
  return 0;
}

struct Layout4 {
  std::int64_t shape[4];
  std::int64_t stride[4];
  std::int64_t at(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) const {
    return a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3];
  }
  std::int64_t extent() const {
    std::int64_t last = 0;
    for (int i = 0; i < 4; ++i) last += (shape[i] - 1) * stride[i];
    return last + 1;
  }
};
// [batch, heads, rows, columns] with `pad` elements after each row; heads inside rows when `interleaved` (bshd).
inline Layout4 layout(std::int64_t b, std::int64_t h, std::int64_t t, std::int64_t d, bool interleaved = false,
                      std::int64_t pad = 0) {
  const std::int64_t row = d + pad;
  if (interleaved) return {{b, h, t, d}, {t * h * row, row, h * row, 1}};
  return {{b, h, t, d}, {h * t * row, t * row, row, 1}};
}

template <class T>
class Tensor {
 public:
  // `offset` elements past an address that is aligned for anything.
  explicit Tensor(const Layout4& l, std::int64_t offset = 0)
      : layout(l), offset_(offset), storage_(static_cast<std::size_t>(l.extent() + offset + 2 * guard) * sizeof(T) + 64, poison) {}
  T* data() {
    auto p = reinterpret_cast<std::uintptr_t>(storage_.data());
    return reinterpret_cast<T*>((p + 63) / 64 * 64) + guard + offset_;
  }
  void fill_normal(std::mt19937_64& random, double sigma = 1.0) {
    std::normal_distribution<double> normal(0.0, sigma);
    each([&](std::int64_t i) { data()[i] = make_value<T>(normal(random)); });
  }
  void fill_integers(std::mt19937_64& random, int low, int high) {
    each([&](std::int64_t i) { data()[i] = make_value<T>(low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1))); });
  }
  double get(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) { return value_of(data()[layout.at(a, b, c, d)]); }

  // Empty when exactly the tensor's own elements were written, else what is wrong.
  std::string check_written() {
    std::vector<bool> own(static_cast<std::size_t>(layout.extent()), false);
    each([&](std::int64_t i) { own[static_cast<std::size_t>(i)] = true; });
    std::int64_t unwritten = 0, stray = 0;
    for (std::int64_t i = -guard; i < layout.extent() + guard; ++i) {
      const bool inside = i >= 0 && i < layout.extent() && own[static_cast<std::size_t>(i)];
      const bool poisoned = is_poison(data() + i);
      unwritten += inside && poisoned;
      stray += !inside && !poisoned;
    }
    if (unwritten) return std::to_string(unwritten) + " elements unwritten";
    if (stray) return std::to_string(stray) + " elements written outside";
    return "";
  }
  template <class F>
  void each(F&& f) {
    for (std::int64_t a = 0; a < layout.shape[0]; ++a)
      for (std::int64_t b = 0; b < layout.shape[1]; ++b)
        for (std::int64_t c = 0; c < layout.shape[2]; ++c)
          for (std::int64_t d = 0; d < layout.shape[3]; ++d) f(layout.at(a, b, c, d));
  }

  Layout4 layout;

 private:
  static constexpr std::int64_t guard = 128;  // a multiple of 64 keeps the data's alignment for every type
  static constexpr unsigned char poison = std::is_integral_v<T> ? 0xA5 : 0xFF;  // NaN in every float type
  static bool is_poison(const T* p) {
    unsigned char bytes[sizeof(T)];
    std::memcpy(bytes, p, sizeof(T));
    for (unsigned char b : bytes)
      if (b != poison) return false;
    return true;
  }
  std::int64_t offset_;
  std::vector<unsigned char> storage_;
};

inline host::LaunchOptions in_order(host::Order order) {
  host::LaunchOptions options;
  options.order = order;
  options.seed = 7;
  return options;
}
constexpr host::Order all_orders[] = {host::Order::forward, host::Order::reverse, host::Order::shuffled, host::Order::warp_first};

}  // namespace dd::kernels::test
