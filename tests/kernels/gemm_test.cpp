// The matrix product kernels' very source, run on the CPU over odd sizes, orientations and epilogues, against double.
#include <fmt/format.h>

#include "gemm/launch.hpp"
#include "gemm/naive.cuh"
#include "gemm/wmma.cuh"
#include "support/catch.hpp"
#include "tensors.hpp"

using namespace dd::kernels;
using namespace dd::kernels::test;

namespace {

struct GemmCase {
  int batch = 1, m = 1, n = 1, k = 1;
  bool xt = false, wt = false;
  int pad = 0;        // elements after each line
  int offset = 0;     // elements that both bases are moved by
  int activation = act_none, bias = bias_none;
  int out = 0;        // the result: 0 rows dense, 1 columns dense, 2 every other element of its rows
  std::string text() const {
    return fmt::format("{}x{}x{}x{} {}{} pad{} offset{} act{} bias{} out{}", batch, m, n, k, xt ? 't' : 'n', wt ? 't' : 'n', pad,
                       offset, activation, bias, out);
  }
};

// A matrix of rows x columns stored with its rows dense (transposed) or its columns dense.
Layout4 matrix(int batch, int rows, int columns, bool transposed, int pad) {
  const std::int64_t line = (transposed ? rows : columns) + pad, lines = transposed ? columns : rows;
  Layout4 l{{1, batch, rows, columns}, {0, lines * line, line, 1}};
  if (transposed) std::swap(l.stride[2], l.stride[3]);
  return l;
}

double activated(double v, int activation) {
  if (activation == act_relu) return std::fmax(v, 0.0);
  if (activation == act_gelu_erf) return 0.5 * v * (1 + std::erf(v / std::sqrt(2.0)));
  if (activation == act_gelu_tanh) return 0.5 * v * (1 + std::tanh(std::sqrt(2 / 3.14159265358979323846) * (v + 0.044715 * v * v * v)));
  return v;
}

template <class TX, class TW, class TO>
struct GemmProblem {
  GemmCase c;
  Tensor<TX> x, bias;
  Tensor<TW> w;
  Tensor<float> bias_f;
  Tensor<TO> out;
  GemmArgs args{};
  explicit GemmProblem(const GemmCase& cc, bool integers = false)
      : c(cc),
        x(shifted(matrix(c.batch, c.m, c.k, c.xt, c.pad), c.offset)),
        bias(layout(1, 1, 1, c.n)),
        w(shifted(matrix(c.batch, c.k, c.n, c.wt, c.pad), c.offset)),
        bias_f(layout(1, 1, 1, c.n)),
        out(result(c)) {
    std::mt19937_64 random(11);
    if (integers) {
      x.fill_integers(random, std::is_unsigned_v<TX> ? 0 : -5, 5);
      w.fill_integers(random, -5, 5);
      bias.fill_integers(random, 0, 5);
      bias_f.fill_integers(random, -5, 5);
    } else {
      x.fill_normal(random);
      w.fill_normal(random);
      bias.fill_normal(random);
      bias_f.fill_normal(random);
    }
    args.x = x.data() + c.offset;
    args.w = w.data() + c.offset;
    args.bias = c.bias == bias_f32 ? static_cast<const void*>(bias_f.data()) : bias.data();
    args.out = out.data();
    for (int i = 0; i < 3; ++i) {
      args.x_stride[i] = x.layout.stride[i + 1];
      args.w_stride[i] = w.layout.stride[i + 1];
      args.out_stride[i] = out.layout.stride[i + 1];
    }
    args.batch = c.batch;
    args.m = c.m;
    args.n = c.n;
    args.k = c.k;
    args.activation = c.activation;
    args.bias_kind = c.bias;
  }
  // Room for the offset: one more leading index with that stride.
  static Layout4 shifted(Layout4 l, int offset) {
    if (offset) {
      l.shape[0] = 2;
      l.stride[0] = offset;
    }
    return l;
  }

  static Layout4 result(const GemmCase& c) {
    Layout4 l = matrix(c.batch, c.m, c.n, c.out == 1, c.pad);
    if (c.out == 2)
      for (int i = 1; i < 4; ++i) l.stride[i] *= 2;
    return l;
  }

  std::string compare(bool exact = false) {
    if (std::string s = out.check_written(); !s.empty()) return s;
    const double unit = std::is_same_v<TX, double> ? 0x1p-53 : 0x1p-24;
    for (int b = 0; b < c.batch; ++b)
      for (int i = 0; i < c.m; ++i)
        for (int j = 0; j < c.n; ++j) {
          double sum = 0, abs_sum = 0;
          for (int k = 0; k < c.k; ++k) {
            const double xv = value_of(x.data()[c.offset + x.layout.at(0, b, i, k)]);
            const double wv = value_of(w.data()[c.offset + w.layout.at(0, b, k, j)]);
            sum += xv * wv;
            abs_sum += std::fabs(xv * wv);
          }
          if (c.bias == bias_as_x) sum += bias.get(0, 0, 0, j);
          if (c.bias == bias_f32) sum += bias_f.get(0, 0, 0, j);
          const double want = activated(sum, c.activation), got = out.get(0, b, i, j);
          const double bound = exact ? 0 : 1.2 * unit * (c.k + 4) * (abs_sum + std::fabs(sum)) + roundoff<TO>() * std::fabs(want) * 1.001 + 1e-6;
          if (!(std::fabs(got - want) <= bound)) return fmt::format("at {},{},{} wanted {} got {}", b, i, j, want, got);
        }
    return "";
  }
};

void launch(const LaunchShape& s, const std::function<void()>& kernel, host::Order order = host::Order::forward) {
  REQUIRE(fits_grid(s));
  host::launch(dim3(static_cast<unsigned>(s.grid[0]), static_cast<unsigned>(s.grid[1]), static_cast<unsigned>(s.grid[2])),
               dim3(static_cast<unsigned>(s.threads)), static_cast<std::size_t>(s.shared_bytes), kernel, in_order(order));
}

using Runner = void (*)(const GemmArgs&);
template <class T, class TO, bool XT, bool WT, bool Aligned>
Runner tile_runner(int rows) {
#define DD_GEMM(r, cols, wr, wc) \
  if (rows == r) return &GemmWmma<T, TO, r, cols, wr, wc, XT, WT, Aligned>::run;
#include "gemm/instances.def"
#undef DD_GEMM
  return nullptr;
}
template <class T, class TO>
Runner runner(int rows, bool xt, bool wt, bool aligned) {
  const Runner all[] = {tile_runner<T, TO, false, false, false>(rows), tile_runner<T, TO, false, false, true>(rows),
                        tile_runner<T, TO, false, true, false>(rows),  tile_runner<T, TO, false, true, true>(rows),
                        tile_runner<T, TO, true, false, false>(rows),  tile_runner<T, TO, true, false, true>(rows),
                        tile_runner<T, TO, true, true, false>(rows),   tile_runner<T, TO, true, true, true>(rows)};
  return all[4 * xt + 2 * wt + aligned];
}

template <class T, class TO>
bool check_wmma(const GemmInstance& instance, const GemmCase& c, bool exact = false) {
  GemmProblem<T, T, TO> p(c, exact);
  const bool aligned = aligned16(p.args.x, p.args.x_stride[c.xt ? 2 : 1], p.args.x_stride[0]) &&
                       aligned16(p.args.w, p.args.w_stride[c.wt ? 2 : 1], p.args.w_stride[0]);
  INFO("wmma " << instance.rows << " " << c.text() << " aligned " << aligned);
  const Runner run = runner<T, TO>(instance.rows, c.xt, c.wt, aligned);
  launch(gemm_launch(instance, p.args, c.xt, c.wt), [&] { run(p.args); });
  CHECK(p.compare(exact) == "");
  return aligned;
}

template <class TX, class TW, class TO>
void check_naive(const GemmCase& c, bool integers) {
  INFO("naive " << c.text());
  GemmProblem<TX, TW, TO> p(c, integers);
  launch(gemm_naive_launch(p.args), [&] { gemm_naive<TX, TW, TO>(p.args); });
  CHECK(p.compare(integers) == "");
}

}  // namespace

TEST_CASE("wmma: every instance, orientation and type over odd sizes and epilogues") {
  int n = 0, aligned = 0;
  const int sizes[][3] = {{1, 1, 1}, {64, 64, 32}, {65, 63, 33}, {127, 129, 95}, {17, 200, 64}, {130, 8, 7}, {3, 72, 160}};
  for (const GemmInstance& instance : gemm_instances)
    for (const auto& s : sizes)
      for (int orientation = 0; orientation < 4; ++orientation)
        for (int kind = 0; kind < 2; ++kind, ++n) {
          GemmCase c;
          c.m = s[0];
          c.n = s[1];
          c.k = s[2];
          c.xt = orientation & 1;
          c.wt = orientation & 2;
          c.batch = n % 5 == 0 ? 2 : 1;
          c.activation = n % 4;
          c.bias = n % 3;
          if (kind) {  // line strides that are multiples of 8 whatever the size
            const auto up = [](int v) { return (v + 7) / 8 * 8 - v; };
            c.pad = 0;
            if (up(c.xt ? c.m : c.k) == up(c.wt ? c.k : c.n)) c.pad = up(c.xt ? c.m : c.k);
          }
          if (n % 7 == 3) c.offset = 1;
          c.out = n % 5 == 1 ? 1 : n % 5 == 3 ? 2 : 0;
          switch (n % 4) {
            case 0: aligned += check_wmma<__half, __half>(instance, c); break;
            case 1: aligned += check_wmma<__half, float>(instance, c); break;
            case 2: aligned += check_wmma<__nv_bfloat16, __nv_bfloat16>(instance, c); break;
            default: aligned += check_wmma<__nv_bfloat16, float>(instance, c); break;
          }
        }
  CHECK(aligned > n / 5);
  CHECK(aligned < n);
}

TEST_CASE("wmma: whole numbers come out exact") {
  for (const GemmInstance& instance : gemm_instances)
    for (int k : {32, 96, 41}) {
      GemmCase c;
      c.m = 40;
      c.n = 136;
      c.k = k;
      check_wmma<__half, float>(instance, c, true);
      check_wmma<__nv_bfloat16, float>(instance, c, true);
    }
}

TEST_CASE("wmma: the same bits in every thread order") {
  GemmCase c;
  c.m = 72;
  c.n = 136;
  c.k = 200;
  c.bias = bias_as_x;
  for (const GemmInstance& instance : gemm_instances)
    for (bool aligned : {false, true}) {
      std::vector<float> first;
      for (host::Order order : all_orders) {
        GemmProblem<__half, __half, float> p(c);
        const Runner run = runner<__half, float>(instance.rows, false, false, aligned);
        launch(gemm_launch(instance, p.args, false, false), [&] { run(p.args); }, order);
        std::vector<float> out(p.out.data(), p.out.data() + p.out.layout.extent());
        if (first.empty()) first = out;
        CHECK(first == out);
      }
    }
}

TEST_CASE("naive: every listed type") {
  for (int n = 0; n < 8; ++n) {
    GemmCase c;
    c.batch = n % 2 + 1;
    c.m = 5 + n;
    c.n = 70 - 9 * n;
    c.k = n * n + 1;
    c.xt = n & 1;
    c.wt = n & 2;
    c.pad = n % 3;
    c.bias = n % 3;
    c.activation = n % 4;
    c.out = n % 3;
    check_naive<double, double, double>(c, false);
    check_naive<float, float, float>(c, false);
    check_naive<__half, __half, __half>(c, false);
    check_naive<__half, __half, float>(c, false);
    check_naive<__nv_bfloat16, __nv_bfloat16, __nv_bfloat16>(c, false);
    check_naive<__nv_bfloat16, __nv_bfloat16, float>(c, false);
    c.activation = act_none;
    if (c.bias == bias_f32) c.bias = bias_none;
    check_naive<std::int8_t, std::int8_t, std::int32_t>(c, true);
    check_naive<std::uint8_t, std::int8_t, std::int32_t>(c, true);
  }
}

TEST_CASE("naive: 8-bit floats") {
  Tensor<f8_e4m3> w(layout(1, 1, 9, 4));
  Tensor<f8_e5m2> x(layout(1, 1, 3, 9));
  std::mt19937_64 random(5);
  w.each([&](std::int64_t i) { w.data()[i].bits = static_cast<std::uint8_t>(random() % 0x60 | (random() & 0x80)); });
  x.each([&](std::int64_t i) { x.data()[i].bits = static_cast<std::uint8_t>(random() % 0x50 | (random() & 0x80)); });
  Tensor<float> out(layout(1, 1, 3, 4));
  GemmArgs a{x.data(), w.data(), nullptr, out.data(), {0, 9, 1}, {0, 4, 1}, {0, 4, 1}, 1, 3, 4, 9, act_none, bias_none};
  launch(gemm_naive_launch(a), [&] { gemm_naive<f8_e5m2, f8_e4m3, float>(a); });
  CHECK(out.check_written() == "");
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) {
      double want = 0, size = 0;
      for (int k = 0; k < 9; ++k) {
        want += x.get(0, 0, i, k) * w.get(0, 0, k, j);
        size += std::fabs(x.get(0, 0, i, k) * w.get(0, 0, k, j));
      }
      CHECK(std::fabs(out.get(0, 0, i, j) - want) <= 16 * 0x1p-24 * size);
    }
}
