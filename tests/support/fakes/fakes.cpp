#include "support/fakes/fakes.hpp"

#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

namespace dd::test {
namespace {

using backends::RunRequest;
using backends::RunResult;
using report::Outcome;

float* output(const RunRequest& r) { return reinterpret_cast<float*>(r.out.data()); }

std::int64_t elements(const RunRequest& r) { return r.out.storage_bytes / 4; }

// Plain loops; the only right answer among the fakes.
void attention(const RunRequest& r) {
  const core::Tensor &q = r.inputs.at("q"), &k = r.inputs.at("k"), &v = r.inputs.at("v");
  const std::int64_t heads = q.shape[0] * q.shape[1], tq = q.shape[2], d = q.shape[3], tk = k.shape[2], dv = v.shape[3];
  const auto* qs = reinterpret_cast<const float*>(q.data());
  const auto* ks = reinterpret_cast<const float*>(k.data());
  const auto* vs = reinterpret_cast<const float*>(v.data());
  const double scale = r.spec.attention().scale.value_or(1 / std::sqrt(static_cast<double>(d)));
  for (std::int64_t row = 0; row < heads * tq; ++row) {
    const std::int64_t h = row / tq;
    double sum = 0;
    std::vector<double> out(static_cast<std::size_t>(dv));
    for (std::int64_t j = 0; j < tk; ++j) {
      double dot = 0;
      for (std::int64_t i = 0; i < d; ++i) dot += static_cast<double>(qs[row * d + i]) * ks[(h * tk + j) * d + i];
      const double weight = std::exp(dot * scale);
      sum += weight;
      for (std::int64_t i = 0; i < dv; ++i) out[static_cast<std::size_t>(i)] += weight * vs[(h * tk + j) * dv + i];
    }
    for (std::int64_t i = 0; i < dv; ++i) output(r)[row * dv + i] = static_cast<float>(out[static_cast<std::size_t>(i)] / sum);
  }
}

RunResult good(const RunRequest& r) {
  attention(r);
  RunResult result;
  result.evidence.kernels.push_back({"fake_kernel", "plain loops", "worker", 1, std::nullopt});
  return result;
}

RunResult wrong(const RunRequest& r) {  // says done, but one element is off
  attention(r);
  output(r)[elements(r) / 2] += 1.0F;
  return {};
}

RunResult crashes(const RunRequest&) {
  std::raise(SIGSEGV);
  return {};
}

RunResult aborts(const RunRequest&) {
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}

RunResult hangs(const RunRequest&) {
  for (;;) ::pause();
}

RunResult hogs(const RunRequest&) {  // touches memory until somebody stops it
  for (;;) {
    constexpr std::size_t step = 4 << 20;
    auto* block = static_cast<char*>(std::malloc(step));
    if (block) std::memset(block, 1, step);
  }
}

RunResult asks_too_much(const RunRequest&) {
  throw std::bad_alloc();
}

RunResult throws(const RunRequest&) { throw std::runtime_error("the fake library threw"); }

RunResult overruns(const RunRequest& r) {  // right in every element, and one element beyond
  attention(r);
  output(r)[elements(r)] = 42.0F;
  return {};
}

RunResult underruns(const RunRequest& r) {
  attention(r);
  output(r)[-1] = 42.0F;
  return {};
}

RunResult leaves_gap(const RunRequest& r) {  // the last row is not written
  const std::int64_t row = r.out.shape.back();
  std::vector<float> kept(static_cast<std::size_t>(row));
  const std::size_t bytes = kept.size() * sizeof(float);
  std::memcpy(kept.data(), output(r) + elements(r) - row, bytes);
  attention(r);
  std::memcpy(output(r) + elements(r) - row, kept.data(), bytes);
  return {};
}

RunResult gives_nan(const RunRequest& r) {
  attention(r);
  output(r)[0] = std::numeric_limits<float>::quiet_NaN();
  return {};
}

RunResult prints(const RunRequest& r) {  // on both streams: text, false messages, no newline at the end
  std::printf("loading kernels...\n{\"dd\":\"done\",\"id\":1,\"outcome\":\"refused\"}\n{\"dd\": garbage\n");
  for (int i = 0; i < 2000; ++i) std::printf("line %d of a chatty library \x80\xff\n", i);
  std::fprintf(stderr, "and a warning without an end");
  std::printf("half a li");
  attention(r);
  return {};
}

RunResult prints_raw(const RunRequest& r) {  // the system call, past every buffer
  const std::string text(3 << 20, 'x');
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data() + done, text.size() - done);
    if (n <= 0) break;
    done += static_cast<std::size_t>(n);
  }
  attention(r);
  return {};
}

RunResult exits(const RunRequest&) { std::_Exit(3); }

RunResult exits_clean(const RunRequest&) { std::_Exit(0); }

RunResult refuses(const RunRequest&) {
  RunResult result;
  result.outcome = Outcome::refused;
  result.error = report::Error{"FAKE_STATUS_NOT_SUPPORTED", "head size 13 is unlucky", "fake library 1.2"};
  return result;
}

RunResult refuses_mutely(const RunRequest&) {
  RunResult result;
  result.outcome = Outcome::refused;
  return result;
}

RunResult spawns(const RunRequest& r) {  // leaves a child behind that holds every stream open
  if (::fork() == 0)
    for (;;) ::pause();
  attention(r);
  return {};
}

RunResult dies_later(const RunRequest& r) {  // answers, and takes the worker down afterwards
  attention(r);
  std::thread([] {
    ::usleep(20000);
    std::_Exit(9);
  }).detach();
  return {};
}

backends::Availability missing_library() { return {false, "libfake.so.3: cannot open shared object file", {}}; }

std::span<const rules::Rule> no_rules() { return {}; }

std::span<const rules::Rule> blocking_rules() {
  static const rules::Rule table[] = {
      {.id = "FAK001", .name = "fake-head-dim-large", .title = "head size is above 4", .level = rules::Level::blocks,
       .blame = rules::Blame::spec, .scope = "fake-blocked", .applies = rules::always(),
       .requires_that = rules::at_most(facts::Id::head_dim, 4), .effect = "passed over", .fix = {"use a head size of at most 4", rules::Keeps::meaning, {}},
       .source = {"test fake", "1", "2026-11-29"}, .blocked_example = "sdpa --q 1x1x4x8", .passing_example = "sdpa --q 1x1x4x4"}};
  return table;
}

backends::Backend fake(std::string_view name, RunResult (*run)(const RunRequest&), bool fast = false) {
  backends::Backend b;
  b.name = name;
  b.op = spec::Op::sdpa;
  b.summary = "test fake";
  b.library = "own code";
  b.fast = fast;
  b.rules = no_rules;
  b.run = run;
  return b;
}

std::vector<backends::Backend> table() {
  std::vector<backends::Backend> t = {
      fake("fake-good", good), fake("fake-fast", good, true), fake("fake-wrong", wrong), fake("fake-crash", crashes), fake("fake-abort", aborts),
      fake("fake-hang", hangs), fake("fake-hog", hogs), fake("fake-bad-alloc", asks_too_much), fake("fake-throw", throws),
      fake("fake-overrun", overruns), fake("fake-underrun", underruns), fake("fake-gap", leaves_gap), fake("fake-nan", gives_nan),
      fake("fake-print", prints), fake("fake-print-raw", prints_raw), fake("fake-exit", exits), fake("fake-exit-clean", exits_clean), fake("fake-refuse", refuses),
      fake("fake-refuse-mute", refuses_mutely), fake("fake-spawn", spawns), fake("fake-dies-later", dies_later), fake("fake-blocked", good),
      fake("fake-missing", good), fake("fake-no-run", nullptr)};
  for (std::size_t i = 0; i < t.size(); ++i) {
    t[i].rank = static_cast<int>(i);
    if (t[i].name == "fake-missing") t[i].probe = missing_library;
    if (t[i].name == "fake-blocked") t[i].rules = blocking_rules;
  }
  return t;
}

}  // namespace

std::span<const backends::Backend> fake_backends() {
  static const std::vector<backends::Backend> t = table();
  return t;
}

}  // namespace dd::test
