#include "ops/tensor/fill.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <vector>

#include "ops/tensor/convert.hpp"
#include "ops/tensor/parallel.hpp"
#include "ops/tensor/philox.hpp"

namespace dd::ops {
namespace {

constexpr double pi = 3.14159265358979323846;

// Own log, sine and cosine: the C library's differ in the last bit between versions, and then seeds would not replay
// everywhere. Only + - * / on doubles are used (this file is compiled without contraction to FMA). x in (0, 1].
double log_of(double x) {
  auto bits = std::bit_cast<std::uint64_t>(x);
  int exponent = static_cast<int>(bits >> 52) - 1023;
  double m = std::bit_cast<double>((bits & 0xfffffffffffffu) | std::uint64_t{1023} << 52);
  if (m > 1.4142135623730951) {
    m *= 0.5;
    ++exponent;
  }
  const double z = (m - 1.0) / (m + 1.0), z2 = z * z;
  double sum = 0.0;
  for (int k = 21; k >= 1; k -= 2) sum = sum * z2 + 1.0 / k;
  return 2.0 * z * sum + exponent * 0.69314718055994530942;
}

// Sine and cosine of 2 pi t, t in [0, 1).
void sin_cos_turn(double t, double& sine, double& cosine) {
  const int quadrant = static_cast<int>(t * 4.0);
  const double x = (t * 4.0 - quadrant) * (pi / 2), x2 = x * x;
  double s = 1.0, c = 1.0;
  for (int k = 20; k >= 2; k -= 2) {
    s = 1.0 - s * x2 / (k * (k + 1));
    c = 1.0 - c * x2 / (k * (k - 1));
  }
  s *= x;
  const double values[4] = {s, c, -s, -c};
  sine = values[quadrant & 3];
  cosine = values[(quadrant + 1) & 3];
}

std::array<double, 4> normals(const std::array<std::uint32_t, 4>& w) {
  std::array<double, 4> out{};
  for (int pair = 0; pair < 2; ++pair) {
    const double u = (w[2 * pair] + 1.0) * 0x1p-32;
    const double radius = std::sqrt(-2.0 * log_of(u));
    double sine = 0, cosine = 0;
    sin_cos_turn(w[2 * pair + 1] * 0x1p-32, sine, cosine);
    out[2 * pair] = radius * cosine;
    out[2 * pair + 1] = radius * sine;
  }
  return out;
}

struct IntegerRange {
  std::int64_t low, high;
};

IntegerRange whole_range(DType dtype) {
  switch (dtype) {
    case DType::s8:
      return {-128, 127};
    case DType::u8:
      return {0, 255};
    case DType::s4:
      return {-8, 7};
    case DType::u4:
      return {0, 15};
    default:
      return {-100, 100};  // s32: products must not overflow the accumulator
  }
}

// Affine map of a standard normal into an integer type's range.
double normal_in(DType dtype, double x) {
  switch (dtype) {
    case DType::s8:
    case DType::s32:
      return 32.0 * x;
    case DType::u8:
      return 128.0 + 32.0 * x;
    case DType::s4:
      return 2.0 * x;
    case DType::u4:
      return 8.0 + 2.0 * x;
    default:
      return x;
  }
}

double pick(IntegerRange range, std::uint32_t word) {
  const auto span = static_cast<std::uint64_t>(range.high - range.low + 1);
  return static_cast<double>(range.low + static_cast<std::int64_t>(span * word >> 32));
}

std::array<double, 4> group_of_four(DType dtype, const Fill& fill, std::uint64_t group) {
  const auto lo = static_cast<std::uint32_t>(group), hi = static_cast<std::uint32_t>(group >> 32);
  const auto w = philox({lo, hi, fill.stream, 0}, fill.seed);
  std::array<double, 4> out{};
  if (dtype == DType::boolean) {
    for (int i = 0; i < 4; ++i) out[i] = static_cast<double>(w[i] >> 31);
    return out;
  }
  if (dtype == DType::f8_e8m0) {
    for (int i = 0; i < 4; ++i) out[i] = std::ldexp(1.0, static_cast<int>(pick({-3, 3}, w[i])));
    return out;
  }
  const bool floating = core::is_float(dtype);
  if (fill.kind == FillKind::integers) {
    IntegerRange range{fill.low, fill.high};
    if (fill.low >= fill.high) {
      const bool is_signed = core::info(dtype).is_signed;
      range = is_signed ? IntegerRange{-2, 2} : IntegerRange{0, 4};
    }
    for (int i = 0; i < 4; ++i) out[i] = pick(range, w[i]);
  } else if (fill.kind == FillKind::uniform) {
    for (int i = 0; i < 4; ++i)
      out[i] = floating ? fill.scale * (w[i] * 0x1p-31 - 1.0) : pick(whole_range(dtype), w[i]);
  } else {
    out = normals(w);
    if (fill.kind == FillKind::outliers) {
      const auto rare = philox({lo, hi, fill.stream, 1}, fill.seed);
      for (int i = 0; i < 4; ++i) out[i] *= rare[i] >> 24 == 0 ? 64.0 : 1.0;
    }
    for (int i = 0; i < 4; ++i) out[i] = floating ? fill.scale * out[i] : normal_in(dtype, out[i]);
  }
  return out;
}

// True when no two logical positions share an element (sufficient test).
bool disjoint(const TensorView& view) {
  std::vector<std::pair<std::int64_t, std::int64_t>> axes;
  for (int axis = 0; axis < view.rank; ++axis)
    if (view.shape[axis] > 1) axes.emplace_back(std::abs(view.stride[axis]), view.shape[axis]);
  std::sort(axes.begin(), axes.end());
  std::int64_t reach = 0;
  for (const auto& [stride, size] : axes) {
    if (stride <= reach) return false;
    reach += stride * (size - 1);
  }
  return true;
}

}  // namespace

std::optional<FillKind> fill_kind_from(std::string_view name) {
  for (FillKind kind : {FillKind::normal, FillKind::uniform, FillKind::integers, FillKind::outliers})
    if (name == name_of(kind)) return kind;
  return std::nullopt;
}

std::string_view name_of(FillKind kind) {
  constexpr std::string_view names[] = {"normal", "uniform", "integers", "outliers"};
  return names[static_cast<int>(kind)];
}

double fill_value(DType dtype, const Fill& fill, std::uint64_t flat) {
  return group_of_four(dtype, fill, flat / 4)[flat % 4];
}

void fill(const TensorView& view, const Fill& fill, int threads) {
  TensorView used = view;
  // A broadcast axis holds one element: give it the value of its first position.
  for (int axis = 0; axis < used.rank; ++axis)
    if (used.stride[axis] == 0 && used.shape[axis] > 1) used.shape[axis] = 1;
  const std::int64_t n = element_count(used);
  const bool shared_bytes = core::info(used.dtype).bits < 8;
  if (shared_bytes || !disjoint(used)) threads = 1;  // in order, so that the last position wins everywhere
  constexpr std::int64_t chunk = 8192;
  parallel_for((n + chunk - 1) / chunk, {threads, nullptr}, [&](std::int64_t task, int) {
    for (std::int64_t first = task * chunk; first < std::min(n, (task + 1) * chunk); first += 4) {
      const auto values = group_of_four(used.dtype, fill, static_cast<std::uint64_t>(first) / 4);
      for (std::int64_t i = first; i < std::min(n, first + 4); ++i)
        store(used.data, used.dtype, element_index(used, i), values[i - first], Overflow::saturate);
    }
  });
}

std::int64_t exact_integer_limit(DType dtype, DType accumulator, std::int64_t k) {
  const auto exact = [](DType d) -> double {
    switch (d) {
      case DType::s32:
        return 2147483647.0;
      case DType::s8:
        return 127.0;
      case DType::u8:
        return 255.0;
      case DType::s4:
        return 7.0;
      case DType::u4:
        return 15.0;
      case DType::boolean:
        return 1.0;
      case DType::f8_e8m0:
        return 0.0;
      default:
        return std::ldexp(1.0, core::info(d).mantissa_bits + 1);
    }
  };
  if (k < 1) return static_cast<std::int64_t>(exact(dtype));
  auto r = static_cast<std::int64_t>(std::sqrt(exact(accumulator) / static_cast<double>(k)));
  return std::min(r, static_cast<std::int64_t>(exact(dtype)));
}

void dropout_keep(std::uint64_t seed, std::int64_t b, std::int64_t h, std::int64_t i, std::int64_t j, std::int64_t n,
                  double p, std::uint8_t* keep) {
  constexpr std::uint64_t domain = 0x64726f706f757421u;  // keeps the mask apart from the data of the same seed
  const double clamped = p > 0.0 ? std::min(p, 1.0) : 0.0;
  const auto threshold = static_cast<std::uint64_t>(clamped * 0x1p32);
  for (std::int64_t at = j; at < j + n;) {
    const auto w = philox({static_cast<std::uint32_t>(at / 4), static_cast<std::uint32_t>(i),
                           static_cast<std::uint32_t>(h), static_cast<std::uint32_t>(b)},
                          seed ^ domain);
    for (std::int64_t lane = at % 4; lane < 4 && at < j + n; ++lane, ++at) keep[at - j] = w[lane] >= threshold;
  }
}

}  // namespace dd::ops
