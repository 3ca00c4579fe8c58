#include "measure.hpp"

#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "core/clock.hpp"
#include "ops/simd/kernels.hpp"

namespace dd::bench {
namespace {

struct Figure {
  std::string name;
  double value;
  std::string unit;
  std::string note;
};

std::vector<Figure> figures;
bool json_output = false;

// Processor time of this thread: what one thread takes, whatever else the machine is doing.
double thread_time() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

void use_json() {
  json_output = true;
}

void report(const std::string& name, double value, const std::string& unit, const std::string& note) {
  figures.push_back({name, value, unit, note});
  if (json_output) return;
  if (value < 0)
    std::printf("%-60s unavailable  %s\n", name.c_str(), note.c_str());
  else
    std::printf("%-60s %9.3f %-5s %s\n", name.c_str(), value, unit.c_str(), note.c_str());
  std::fflush(stdout);
}

void print_json(int threads) {
  std::printf("{\"isa\": \"%s\", \"threads\": %d, \"figures\": [", std::string(ops::simd::kernels().name).c_str(),
              threads);
  for (std::size_t i = 0; i < figures.size(); ++i) {
    const Figure& f = figures[i];
    std::printf("%s\n  {\"name\": \"%s\", \"unit\": \"%s\", ", i ? "," : "", f.name.c_str(), f.unit.c_str());
    if (f.value < 0)
      std::printf("\"value\": null, ");
    else
      std::printf("\"value\": %.6g, ", f.value);
    std::printf("\"note\": \"%s\"}", f.note.c_str());
  }
  std::printf("\n]}\n");
}

double best_of(int repeats, const std::function<void()>& work, int threads) {
  double best = 1e300;
  for (int n = 0; n < std::max(repeats, 1); ++n) {
    const double start = threads == 1 ? thread_time() : core::now();
    work();
    best = std::min(best, (threads == 1 ? thread_time() : core::now()) - start);
  }
  return best;
}

double peak(int threads, bool wide) {
  const auto& k = ops::simd::kernels();
  double operations = 0;
  const auto run = [&] {
    ops::parallel_for(threads, {threads, nullptr}, [&](std::int64_t task, int) {
      double sink_wide = 0;
      float sink_narrow = 0;
      const double done = wide ? k.peak_f64(100000, &sink_wide) : k.peak_f32(100000, &sink_narrow);
      if (task == 0) operations = done;
    });
  };
  const double seconds = best_of(15, run, threads);
  return operations * threads / seconds;
}

double peak_memory(const std::function<bool()>& work) {
  std::fflush(stdout);
  int channel[2];
  if (pipe(channel) != 0) return -1;
  const pid_t child = fork();
  if (child == 0) {
    rusage before{}, after{};
    getrusage(RUSAGE_SELF, &before);
    const bool ok = work();
    getrusage(RUSAGE_SELF, &after);
    const double mib = ok ? static_cast<double>(after.ru_maxrss - before.ru_maxrss) / 1024 : -1;
    const bool sent = write(channel[1], &mib, sizeof mib) == static_cast<ssize_t>(sizeof mib);
    _exit(sent ? 0 : 1);
  }
  close(channel[1]);
  double mib = -1;
  if (child < 0 || read(channel[0], &mib, sizeof mib) != static_cast<ssize_t>(sizeof mib)) mib = -1;
  close(channel[0]);
  int status = 0;
  if (child > 0) waitpid(child, &status, 0);
  return mib;
}

OpenBlas::OpenBlas(int threads) {
  void* handle = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
  if (!handle) return;
  sgemm_ = reinterpret_cast<Sgemm>(dlsym(handle, "cblas_sgemm"));
  if (auto* set = reinterpret_cast<void (*)(int)>(dlsym(handle, "openblas_set_num_threads"))) set(threads);
}

ops::BlasTable OpenBlas::table() {
  ops::BlasTable blas;
  blas.context = this;
  blas.sgemm = [](void* self, bool ta, bool tb, std::int64_t m, std::int64_t n, std::int64_t k, float alpha,
                  const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float beta, float* c,
                  std::int64_t ldc) {
    const auto i = [](std::int64_t x) { return static_cast<int>(x); };
    constexpr int row_major = 101, plain = 111, transposed = 112;
    static_cast<OpenBlas*>(self)->sgemm_(row_major, ta ? transposed : plain, tb ? transposed : plain, i(m), i(n), i(k),
                                         alpha, a, i(lda), b, i(ldb), beta, c, i(ldc));
    return true;
  };
  return blas;
}

}  // namespace dd::bench
