// The quantized kernels' very source, run on the CPU over group sizes, odd K and both packings, against double.
#include <fmt/format.h>

#include "quant/dequantize.cuh"
#include "quant/launch.hpp"
#include "quant/packed.cuh"
#include "quant/rescale.cuh"
#include "support/catch.hpp"
#include "tensors.hpp"

using namespace dd::kernels;
using namespace dd::kernels::test;

namespace {

struct QuantCase {
  int m = 1, n = 8, k = 64, group = 64;
  bool zeros = false, f32_scales = false, per_tensor = false;
  int pad_bytes = 0;  // after each packed column
  int x_pad = 0;
  int out = 0;  // the result: 0 rows dense, 1 columns dense, 2 every other element of its rows
  std::string text() const {
    return fmt::format("m{} n{} k{} group{} zeros{} f32{} tensor{} pad{} xpad{} out{}", m, n, k, group, zeros, f32_scales,
                       per_tensor, pad_bytes, x_pad, out);
  }
};

template <class T, int Bits>
struct QuantProblem {
  QuantCase c;
  int groups;
  std::int64_t packed_stride;
  Tensor<T> x, scales, out;
  Tensor<float> scales_f;
  Tensor<std::uint8_t> packed, zeros;
  QuantArgs args{};

  explicit QuantProblem(const QuantCase& cc)
      : c(cc),
        groups((c.k + c.group - 1) / c.group),
        packed_stride((c.k * Bits + 7) / 8 + c.pad_bytes),
        x(layout(1, 1, c.m, c.k, false, c.x_pad)),
        scales(layout(1, 1, groups, c.n)),
        out(result(c)),
        scales_f(layout(1, 1, groups, c.n)),
        packed({{1, 1, c.n, (c.k * Bits + 7) / 8}, {0, 0, packed_stride, 1}}),
        zeros(layout(1, 1, groups, c.n)) {
    std::mt19937_64 random(9);
    x.fill_normal(random);
    packed.fill_integers(random, 0, 255);
    zeros.fill_integers(random, 0, (1 << Bits) - 1);
    scales.each([&](std::int64_t i) {
      const double v = (0.5 + static_cast<double>(random() % 1000) / 1000) / (1 << Bits);
      scales.data()[i] = make_value<T>(v);
      scales_f.data()[i] = static_cast<float>(v);
    });
    args.x = x.data();
    args.packed = packed.data();
    args.scales = c.f32_scales ? static_cast<const void*>(scales_f.data()) : scales.data();
    args.zeros = c.zeros ? zeros.data() : nullptr;
    args.out = out.data();
    args.x_stride = x.layout.stride[2];
    args.packed_stride = packed_stride;
    args.scale_stride[0] = args.zero_stride[0] = c.per_tensor ? 0 : c.n;
    args.scale_stride[1] = args.zero_stride[1] = c.per_tensor ? 0 : 1;
    args.out_stride[0] = out.layout.stride[2];
    args.out_stride[1] = out.layout.stride[3];
    args.m = c.m;
    args.n = c.n;
    args.k = c.k;
    args.group = c.group;
    args.scale_kind = c.f32_scales ? scale_f32 : scale_as_x;
  }
  static Layout4 result(const QuantCase& c) {
    if (c.out == 1) return {{1, 1, c.m, c.n}, {0, 0, 1, c.m + 1}};
    if (c.out == 2) return {{1, 1, c.m, c.n}, {0, 0, 2 * c.n, 2}};
    return layout(1, 1, c.m, c.n, false, 8);
  }
  double weight(int k, int n) {
    const std::uint8_t byte = packed.data()[n * packed_stride + (Bits == 4 ? k / 2 : k)];
    int code = Bits == 4 ? (k % 2 ? byte >> 4 : byte & 15) : byte;
    if (!c.zeros && code >= 1 << (Bits - 1)) code -= 1 << Bits;
    const int g = c.per_tensor ? 0 : k / c.group, col = c.per_tensor ? 0 : n;
    const double scale = c.f32_scales ? scales_f.get(0, 0, g, col) : scales.get(0, 0, g, col);
    return scale * (code - (c.zeros ? zeros.get(0, 0, g, col) : 0.0));
  }
  std::string compare(bool weights_rounded) {
    if (std::string s = out.check_written(); !s.empty()) return s;
    for (int i = 0; i < c.m; ++i)
      for (int j = 0; j < c.n; ++j) {
        double sum = 0, size = 0;
        for (int k = 0; k < c.k; ++k) {
          const double term = x.get(0, 0, i, k) * weight(k, j);
          sum += term;
          size += std::fabs(term);
        }
        const double bound = roundoff<T>() * std::fabs(sum) * 1.001 + (weights_rounded ? roundoff<T>() * size : 0) +
                             0x1p-24 * (c.k + 16) * size + 1e-7;
        const double got = out.get(0, 0, i, j);
        if (!(std::fabs(got - sum) <= bound)) return fmt::format("at {},{} wanted {} got {}", i, j, sum, got);
      }
    return "";
  }
};

void launch(const LaunchShape& s, const std::function<void()>& kernel, host::Order order = host::Order::forward) {
  REQUIRE(fits_grid(s));
  host::launch(dim3(static_cast<unsigned>(s.grid[0]), static_cast<unsigned>(s.grid[1]), static_cast<unsigned>(s.grid[2])),
               dim3(static_cast<unsigned>(s.threads)), static_cast<std::size_t>(s.shared_bytes), kernel, in_order(order));
}

using Runner = void (*)(const QuantArgs&);
template <class T, int Bits>
Runner few_runner(int rows, bool fast) {
  switch (rows * 2 + fast) {
    case 2: return &packed_few_rows<T, Bits, 1, false>;
    case 3: return &packed_few_rows<T, Bits, 1, true>;
    case 4: return &packed_few_rows<T, Bits, 2, false>;
    case 5: return &packed_few_rows<T, Bits, 2, true>;
    case 8: return &packed_few_rows<T, Bits, 4, false>;
    case 9: return &packed_few_rows<T, Bits, 4, true>;
  }
  return nullptr;
}

template <class T, int Bits>
bool check_few(const QuantCase& c) {
  QuantProblem<T, Bits> p(c);
  const bool fast = few_rows_fast(p.args, Bits);
  INFO("few rows, bits " << Bits << " fast " << fast << " " << c.text());
  const Runner run = few_runner<T, Bits>(few_rows_at_once(c.m), fast);
  launch(few_rows_launch(p.args), [&] { run(p.args); });
  CHECK(p.compare(false) == "");
  return fast;
}
template <class T, int Bits>
void check_tiles(const QuantCase& c, host::Order order = host::Order::forward) {
  INFO("tiles, bits " << Bits << " " << c.text());
  QuantProblem<T, Bits> p(c);
  const bool aligned = packed_x_aligned(p.args);
  launch(packed_tiles_launch(p.args), [&] { aligned ? PackedTiles<T, Bits, true>::run(p.args) : PackedTiles<T, Bits, false>::run(p.args); },
         order);
  CHECK(p.compare(true) == "");
}
template <class T, int Bits>
void check_dequantize(const QuantCase& c, bool transposed) {
  INFO("dequantize, bits " << Bits << " " << c.text());
  QuantProblem<T, Bits> p(c);
  Layout4 l = layout(1, 1, c.k, c.n, false, 3);
  // Columns at addresses of any kind, or all of them at multiples of 16 bytes.
  if (transposed) l = Layout4{{1, 1, c.k, c.n}, {0, 0, 1, c.zeros ? c.k + 3 : (c.k + 7) / 8 * 8 + 8}};
  Tensor<T> full(l);
  p.args.out = full.data();
  p.args.out_stride[0] = l.stride[2];
  p.args.out_stride[1] = l.stride[3];
  launch(dequantize_launch(p.args), [&] { dequantize<T, Bits>(p.args); });
  CHECK(full.check_written() == "");
  int wrong = 0;
  for (int k = 0; k < c.k; ++k)
    for (int n = 0; n < c.n; ++n) {
      const double want = p.weight(k, n);
      wrong += !(std::fabs(full.get(0, 0, k, n) - want) <= roundoff<T>() * std::fabs(want) + 1e-7);
    }
  CHECK(wrong == 0);
}

std::vector<QuantCase> mixed_cases() {
  std::vector<QuantCase> cases;
  int n = 0;
  for (int k : {1, 31, 32, 63, 96, 128, 500, 1024, 1536})
    for (int group : {8, 16, 20, 32, 64, 128, 0}) {
      QuantCase c;
      c.k = k;
      c.group = group == 0 || group > k ? k : group;
      c.n = n % 3 == 0 ? 9 : n % 3 == 1 ? 64 : 70;
      c.zeros = n % 2;
      c.f32_scales = n % 5 == 2;
      c.per_tensor = c.group == k && n % 4 == 3;
      c.pad_bytes = n % 4 == 1 ? 16 : 0;
      c.x_pad = n % 3 == 2 ? 1 : 0;
      c.out = n % 5 == 1 ? 1 : n % 5 == 3 ? 2 : 0;
      ++n;
      cases.push_back(c);
    }
  return cases;
}

}  // namespace

TEST_CASE("few rows: group sizes, odd k, zero points, both widths") {
  int n = 0, fast = 0;
  for (QuantCase c : mixed_cases()) {
    const int rows[] = {1, 2, 3, 8, 5, 11};
    c.m = rows[n % 6];
    fast += check_few<__half, 4>(c);
    fast += check_few<__half, 8>(c);
    fast += check_few<__nv_bfloat16, 4>(c);
    fast += check_few<__nv_bfloat16, 8>(c);
    ++n;
  }
  CHECK(fast > n / 2);
  CHECK(fast < 3 * n);
}

TEST_CASE("few rows: the fast variant at every row count, width and sign") {
  for (int m : {1, 2, 4, 7, 8, 9})
    for (int zeros = 0; zeros < 2; ++zeros) {
      QuantCase c;
      c.m = m;
      c.n = 13;
      c.k = 2048;
      c.group = 128;
      c.zeros = zeros;
      CHECK(check_few<__half, 4>(c));
      CHECK(check_few<__half, 8>(c));
      CHECK(check_few<__nv_bfloat16, 4>(c));
    }
}

TEST_CASE("tiles: group sizes, odd k, zero points, both widths") {
  int n = 0;
  for (QuantCase c : mixed_cases()) {
    if (c.k > 600 && n % 3) {
      ++n;
      continue;
    }
    const int rows[] = {1, 16, 64, 65, 33};
    c.m = rows[n % 5];
    check_tiles<__half, 4>(c);
    check_tiles<__nv_bfloat16, 8>(c);
    if (n % 2) check_tiles<__half, 8>(c);
    if (n % 2 == 0) check_tiles<__nv_bfloat16, 4>(c);
    ++n;
  }
}

TEST_CASE("tiles: right in every thread order") {
  QuantCase c;
  c.m = 70;
  c.n = 70;
  c.k = 160;
  c.group = 32;
  for (host::Order order : all_orders) check_tiles<__half, 4>(c, order);
}

TEST_CASE("dequantize: group sizes, odd k, zero points, both widths, both orientations") {
  int n = 0;
  for (const QuantCase& c : mixed_cases()) {
    check_dequantize<__half, 4>(c, n % 2);
    check_dequantize<__half, 8>(c, n % 2 == 0);
    check_dequantize<__nv_bfloat16, 4>(c, n % 2 == 0);
    check_dequantize<__nv_bfloat16, 8>(c, n % 2);
    ++n;
  }
}

namespace {

template <class T>
void check_rescale(int batch, int m, int n, int pad) {
  INFO("rescale " << batch << "x" << m << "x" << n << " pad " << pad);
  Tensor<std::int32_t> sums(layout(1, batch, m, n));
  Tensor<float> rows(layout(1, 1, 1, m)), columns(layout(1, 1, 1, n));
  Tensor<T> out(layout(1, batch, m, n, false, pad));
  std::mt19937_64 random(5);
  sums.fill_integers(random, -100000, 100000);
  rows.fill_normal(random);
  columns.fill_normal(random);
  RescaleArgs a{};
  a.sums = sums.data();
  a.row_scales = rows.data();
  a.column_scales = columns.data();
  a.out = out.data();
  for (int i = 0; i < 3; ++i) a.out_stride[i] = out.layout.stride[i + 1];
  a.batch = batch;
  a.m = m;
  a.n = n;
  launch(rescale_launch(a), [&] { rescale<T>(a); });
  CHECK(out.check_written() == "");
  int wrong = 0;
  for (int b = 0; b < batch; ++b)
    for (int i = 0; i < m; ++i)
      for (int j = 0; j < n; ++j) {
        const double want = sums.get(0, b, i, j) * rows.get(0, 0, 0, i) * columns.get(0, 0, 0, j);
        if (std::is_same_v<T, __half> && std::fabs(want) >= 65504) continue;
        wrong += !(std::fabs(out.get(0, b, i, j) - want) <= (roundoff<T>() + 0x1p-22) * std::fabs(want) + 1e-7);
      }
  CHECK(wrong == 0);
}

}  // namespace

TEST_CASE("rescale: every type, batches, odd sizes, padded rows") {
  int i = 0;
  for (int batch : {1, 3})
    for (int m : {1, 5, 16})
      for (int n : {1, 31, 100}) {
        const int pad = i++ % 2 * 3;
        check_rescale<__half>(batch, m, n, pad);
        check_rescale<__nv_bfloat16>(batch, m, n, pad);
        check_rescale<float>(batch, m, n, pad);
      }
}
