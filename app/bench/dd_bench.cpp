// Measures this machine's peak of fused multiply-adds and prints what share of it the references and CPU kernels reach,
// and how the kernels compare with each other. All figures are ratios of times taken in one run (best of several; one
// thread by its processor time, several threads by the clock, so run it on a quiet machine). Nothing is asserted.
//   dd_bench [--json] [--threads N] [--quick]
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "measure.hpp"
#include "ops/attention/attention.hpp"
#include "ops/gemm/gemm.hpp"
#include "ops/tensor/fill.hpp"

using namespace dd::ops;
using namespace dd::bench;

namespace {

struct Options {
  bool json = false;
  bool quick = false;
  int threads = 0;
};

struct Case {
  std::vector<float> q, k, v, out;
  AttentionProblem problem;
  TensorView out_view;
  explicit Case(std::int64_t length) {
    const std::int64_t n = 8 * length * 64;
    for (auto* t : {&q, &k, &v, &out}) t->resize(static_cast<std::size_t>(n));
    problem.q = contiguous(q.data(), DType::f32, {1, 8, length, 64});
    problem.k = contiguous(k.data(), DType::f32, {1, 8, length, 64});
    problem.v = contiguous(v.data(), DType::f32, {1, 8, length, 64});
    out_view = contiguous(out.data(), DType::f32, {1, 8, length, 64});
    fill(problem.q, {FillKind::normal, 1, 0, 1.0, 0, 0});
    fill(problem.k, {FillKind::normal, 1, 1, 1.0, 0, 0});
    fill(problem.v, {FillKind::normal, 1, 2, 1.0, 0, 0});
    problem.scale = default_scale(64);
  }
};

void attention_figures(const Options& o, double peak_one, double peak_all, int all) {
  for (const std::int64_t length : {std::int64_t{1024}, std::int64_t{4096}}) {
    if (o.quick && length > 1024) continue;
    Case c(length);
    const std::string shape = "1x8x" + std::to_string(length) + "x64";
    const double operations = 4.0 * 8 * static_cast<double>(length) * static_cast<double>(length) * 64;
    for (const int threads : all == 1 ? std::vector<int>{1} : std::vector<int>{1, all}) {
      const std::string where = shape + " threads=" + std::to_string(threads);
      const int repeats = length > 1024 ? 2 : 5;
      c.problem.causal = false;
      const double full = best_of(
          repeats,
          [&] {
            attention_reference(c.problem, {}, {threads, nullptr});
          },
          threads);
      c.problem.causal = true;
      const double causal = best_of(
          repeats,
          [&] {
            attention_reference(c.problem, {}, {threads, nullptr});
          },
          threads);
      c.problem.causal = false;
      report("reference share of f64 peak " + where, operations / full / (threads == 1 ? peak_one : peak_all), "share",
             "(" + std::to_string(full * 1e3) + " ms)");
      report("reference causal / full " + where, causal / full, "ratio");
      if (threads == 1 && length == 1024) {
        const double naive = best_of(
            1,
            [&] {
              attention_naive(c.problem, {}, {1, nullptr});
            },
            1);
        report("naive / reference " + where, naive / full, "ratio");
      }
    }
  }
}

void gemm_figures(double peak_one, double peak_all, int all) {
  constexpr std::int64_t n = 1024;
  std::vector<float> x(n * n), w(n * n);
  GemmProblem g;
  g.x = contiguous(x.data(), DType::f32, {1, n, n});
  g.w = contiguous(w.data(), DType::f32, {1, n, n});
  fill(g.x, {FillKind::normal, 1, 0, 1.0, 0, 0});
  fill(g.w, {FillKind::normal, 1, 1, 1.0, 0, 0});
  for (const int threads : all == 1 ? std::vector<int>{1} : std::vector<int>{1, all}) {
    const double t = best_of(
        5,
        [&] {
          gemm_reference(g, false, {threads, nullptr});
        },
        threads);
    report("gemm reference share of f64 peak 1024 threads=" + std::to_string(threads),
           2.0 * n * n * n / t / (threads == 1 ? peak_one : peak_all), "share");
  }
}

void flash_figures(int all, double peak_all_f32) {
  Case c(2048);
  const auto flash = [&] { return attention_flash_cpu(c.problem, c.out_view, {all, nullptr}).ok(); };
  // Memory before BLAS starts its threads: a forked child has only the thread that forked.
  const double flash_memory = peak_memory(flash);
  report("cpu-flash peak memory 1x8x2048x64", flash_memory, "MiB", "above inputs and output");
  report("cpu-math scores 1x8x2048x64", attention_math_bytes(c.problem) / 1048576, "MiB", "allocated by design");
  report("cpu-math peak memory 1x8x2048x64", peak_memory([&] {
           return attention_math_cpu(c.problem, c.out_view, own_blas(), {all, nullptr}).ok();
         }),
         "MiB", "with the built-in product");
  const double flash_time = best_of(
      5, [&] { flash(); }, all);
  report("cpu-flash share of f32 peak 1x8x2048x64", 4.0 * 8 * 2048.0 * 2048 * 64 / flash_time / peak_all_f32, "share");
  OpenBlas blas(all);
  if (!blas.available()) {
    report("cpu-math / cpu-flash 1x8x2048x64", -1, "ratio", "libopenblas.so.0 cannot be opened");
    return;
  }
  const auto table = blas.table();
  const double math_time = best_of(
      3,
      [&] {
        attention_math_cpu(c.problem, c.out_view, table, {all, nullptr});
      },
      all);
  report("cpu-math / cpu-flash 1x8x2048x64", math_time / flash_time, "ratio", "time; above 1 means flash is faster");
}

void packed_figures(int all) {
  constexpr std::int64_t n = 4096, k = 4096, group = 128;
  OpenBlas blas(all);
  std::vector<unsigned char> codes(n * k), zeros(k / group * n);
  std::vector<float> x(k), out(n);
  std::vector<std::uint16_t> scales(k / group * n);
  for (const DType dtype : {DType::u4, DType::s4, DType::u8, DType::s8})
    for (const bool by_depth : {false, true}) {
      GemmProblem g;
      g.x = contiguous(x.data(), DType::f32, {1, 1, k});
      g.w = contiguous(codes.data(), dtype, {1, k, n});
      if (by_depth) {
        g.w.stride[1] = 1;
        g.w.stride[2] = k;
      }
      g.w_quant.emplace();
      g.w_quant->scale = contiguous(scales.data(), DType::f16, {k / group, n});
      if (dtype == DType::u4 || dtype == DType::u8) g.w_quant->zero = contiguous(zeros.data(), dtype, {k / group, n});
      g.w_quant->group_size = group;
      fill(g.x, {FillKind::normal, 1, 0, 1.0, 0, 0});
      fill(g.w, {FillKind::uniform, 1, 1, 1.0, 0, 0});
      fill(g.w_quant->scale, {FillKind::uniform, 1, 2, 1.0, 0, 0});
      if (g.w_quant->zero) fill(*g.w_quant->zero, {FillKind::uniform, 1, 3, 1.0, 0, 0});
      const auto view = contiguous(out.data(), DType::f32, {1, 1, n});
      const double packed = best_of(
          5,
          [&] {
            packed_gemm_cpu(g, view, {all, nullptr});
          },
          all);
      const std::string name = "cpu-dequant / cpu-packed m=1 " + std::string(dd::core::to_text(dtype)) +
                               (by_depth ? " [N,K]" : " [K,N]") + (g.w_quant->zero ? " zero points" : "");
      if (!blas.available()) {
        report(name, -1, "ratio", "libopenblas.so.0 cannot be opened");
        continue;
      }
      const auto table = blas.table();
      const double dense = best_of(
          2,
          [&] {
            dequant_gemm_cpu(g, view, table, {all, nullptr});
          },
          all);
      report(name, dense / packed, "ratio", "time; above 1 means packed is faster");
    }
}

}  // namespace

int main(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; ++i) {
    if (!std::strcmp(argv[i], "--json"))
      o.json = true;
    else if (!std::strcmp(argv[i], "--quick"))
      o.quick = true;
    else if (!std::strcmp(argv[i], "--threads") && i + 1 < argc && std::atoi(argv[i + 1]) > 0)
      o.threads = std::atoi(argv[++i]);
    else {
      std::fprintf(stderr, "usage: dd_bench [--json] [--quick] [--threads N]\n");
      return 2;
    }
  }
  if (o.json) use_json();
  const int all = thread_count(o.threads);
  if (!o.json) std::printf("instruction set %s, %d threads\n", std::string(simd::kernels().name).c_str(), all);
  const double one = peak(1, true), many = peak(all, true), one_f32 = peak(1, false), many_f32 = peak(all, false);
  report("f64 peak threads=1", one / 1e9, "GF/s");
  report("f64 peak threads=" + std::to_string(all), many / 1e9, "GF/s");
  report("f32 peak threads=1", one_f32 / 1e9, "GF/s");
  report("f32 peak threads=" + std::to_string(all), many_f32 / 1e9, "GF/s");
  attention_figures(o, one, many, all);
  gemm_figures(one, many, all);
  flash_figures(all, many_f32);
  packed_figures(all);
  if (o.json) print_json(all);
  return 0;
}
