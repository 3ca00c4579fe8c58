// The attention kernels' very source, run on the CPU over a grid of shapes, against double arithmetic.
#include "attention_oracle.hpp"
#include "attention/flash.cuh"
#include "attention/launch.hpp"
#include "attention/naive.cuh"
#include "attention/softmax.cuh"
#include "support/catch.hpp"

using namespace dd::kernels;
using namespace dd::kernels::test;

namespace {

using Runner = void (*)(const AttentionArgs&);
template <class T>
Runner flash_runner(int dim, bool plain) {
#define DD_FLASH(d, rows, step, plain_step, tiles) \
  if (dim == d) return plain ? &Flash<T, d, rows, plain_step, tiles, true>::run : &Flash<T, d, rows, step, tiles, false>::run;
#include "attention/instances.def"
#undef DD_FLASH
  return nullptr;
}

void launch(const LaunchShape& s, const std::function<void()>& kernel, host::Order order = host::Order::forward) {
  REQUIRE(fits_grid(s));
  host::launch(dim3(static_cast<unsigned>(s.grid[0]), static_cast<unsigned>(s.grid[1]), static_cast<unsigned>(s.grid[2])),
               dim3(static_cast<unsigned>(s.threads)), static_cast<std::size_t>(s.shared_bytes), kernel, in_order(order));
}

template <class T>
void run_flash(const FlashInstance& instance, AttentionProblem<T>& p, bool plain, host::Order order = host::Order::forward) {
  launch(flash_launch(instance, p.args, plain), [&] { flash_runner<T>(instance.dim, plain)(p.args); }, order);
}

// By the kernel that takes every call, and by the plain one where that may be used.
template <class T>
void check_flash(const FlashInstance& instance, const AttentionCase& c, double scale = 0) {
  for (const bool plain : {false, true}) {
    INFO("flash " << instance.dim << (plain ? " plain " : " ") << c.text());
    AttentionProblem<T> p(c);
    if (scale != 0) p.args.scale = scale;
    if (plain && !flash_is_plain(p.args)) continue;
    run_flash(instance, p, plain);
    CHECK(p.compare() == "");
  }
}

template <class T>
void check_naive(const AttentionCase& c) {
  INFO("naive " << c.text());
  AttentionProblem<T> p(c);
  launch(naive_attention_launch(p.args, sizeof(Acc<T>)), [&] { attention_naive<T>(p.args); });
  CHECK(p.compare() == "");
}

// Scores in, probabilities out, against the oracle's weights.
template <class T, class A>
void check_softmax(const AttentionCase& c, host::Order order = host::Order::forward) {
  INFO("softmax " << c.text());
  AttentionProblem<T> p(c);
  Tensor<A> scores(layout(c.batch, c.heads, c.q_len, c.kv_len));
  Tensor<T> weights(layout(c.batch, c.heads, c.q_len, c.kv_len));
  for (int b = 0; b < c.batch; ++b)
    for (int h = 0; h < c.heads; ++h)
      for (int i = 0; i < c.q_len; ++i)
        for (int j = 0; j < c.kv_len; ++j) {
          double s = 0;
          for (int d = 0; d < c.dim; ++d) s += p.q.get(b, h, i, d) * p.k.get(b, h / (c.heads / c.kv_heads), j, d);
          scores.data()[scores.layout.at(b, h, i, j)] = static_cast<A>(s);
        }
  launch(softmax_launch(p.args), [&] { attention_softmax<T, A>(p.args, scores.data(), weights.data()); }, order);
  CHECK(weights.check_written() == "");
  double worst = 0;
  for (int b = 0; b < c.batch; ++b)
    for (int h = 0; h < c.heads; ++h)
      for (int i = 0; i < c.q_len; ++i) {
        const OracleRow want = p.row(b, h, i);
        for (int j = 0; j < c.kv_len; ++j) {
          const double w = want.weights[static_cast<std::size_t>(j)], error = std::fabs(weights.get(b, h, i, j) - w);
          worst = std::fmax(worst, error / (w * (roundoff<T>() * 1.01 + 64 * (sizeof(A) == 8 ? 0x1p-53 : 0x1p-24)) + 0x1p-25));
          REQUIRE(!std::isnan(error));
        }
      }
  CHECK(worst <= 1.0);
}

// Lengths around the tile edges of every instance, each with another mixture of features.
std::vector<AttentionCase> mixed_cases(const FlashInstance& f) {
  std::vector<AttentionCase> cases;
  const int lengths[][2] = {{1, 1},           {f.rows, f.step},     {f.rows + 1, f.step + 1}, {f.rows - 1, 2 * f.step - 1},
                            {17, 3 * f.step + 5}, {f.rows + 40, 7}, {5, 2 * f.step},          {2 * f.rows + 3, 33}};
  int n = 0;
  for (const auto& l : lengths)
    for (int causal = 0; causal < 3; ++causal, ++n) {
      AttentionCase c;
      c.q_len = l[0];
      c.kv_len = l[1];
      c.causal = causal;
      c.mask = static_cast<MaskKind>(n % 4);
      c.mask_per_head = n % 3 == 1;
      c.dropout = n % 5 == 2;
      c.interleaved = n % 2 == 1;
      c.pad = n % 3 == 2 ? 8 : 0;
      c.heads = 2;
      c.kv_heads = n % 2 + 1;
      c.batch = n % 6 == 0 ? 2 : 1;
      c.dim = n % 4 == 3 ? f.dim - 8 : f.dim;
      c.v_dim = n % 7 == 6 ? f.dim - 24 : c.dim;
      cases.push_back(c);
    }
  return cases;
}

}  // namespace

TEST_CASE("flash: every instance over lengths, masks, alignments and groups") {
  int ran = 0;
  for (const FlashInstance& f : flash_instances)
    for (const AttentionCase& c : mixed_cases(f)) {
      if (++ran % 2 == 0)
        check_flash<__half>(f, c);
      else
        check_flash<__nv_bfloat16>(f, c);
    }
  CHECK(ran == 24 * static_cast<int>(std::size(flash_instances)));
}

TEST_CASE("flash: both types at the plain causal case of every instance") {
  for (const FlashInstance& f : flash_instances)
    for (int causal = 0; causal < 3; ++causal) {
      AttentionCase c;
      c.q_len = f.rows + 9;
      c.kv_len = 2 * f.plain_step + 11;
      c.dim = c.v_dim = f.dim;
      c.causal = causal;
      check_flash<__half>(f, c);
      check_flash<__nv_bfloat16>(f, c, causal == 0 ? 0.02 : 0.9);
    }
}

TEST_CASE("flash: the plain kernel of every instance over lengths, alignments, groups and empty rows") {
  int ran = 0;
  for (const FlashInstance& f : flash_instances)
    for (AttentionCase c : mixed_cases(f)) {
      c.mask = mask_none;
      c.dropout = false;
      if (c.kv_len == 7) c.kv_len = f.plain_step + 1;
      AttentionProblem<__half> p(c);
      REQUIRE(flash_is_plain(p.args));
      INFO("flash plain " << f.dim << " " << c.text());
      run_flash(f, p, true);
      CHECK(p.compare() == "");
      ++ran;
    }
  CHECK(ran == 24 * static_cast<int>(std::size(flash_instances)));
}

TEST_CASE("flash: the plain kernel takes a call without mask and dropout whose scale is positive") {
  AttentionProblem<__half> p(AttentionCase{});
  CHECK(flash_is_plain(p.args));
  for (const double scale : {0.0, -0.5, 1e-40, 1e39, static_cast<double>(INFINITY), static_cast<double>(NAN)}) {
    AttentionArgs a = p.args;
    a.scale = scale;
    CHECK_FALSE(flash_is_plain(a));
  }
  AttentionArgs a = p.args;
  a.mask_kind = mask_bool;
  CHECK_FALSE(flash_is_plain(a));
  a = p.args;
  a.keep = p.keep.data();
  CHECK_FALSE(flash_is_plain(a));
}

TEST_CASE("flash: a scale that is not positive") {
  for (const double scale : {-0.25, 1e-300}) {
    AttentionCase c;
    c.q_len = 20;
    c.kv_len = 70;
    c.dim = c.v_dim = 32;
    c.causal = 1;
    check_flash<__half>(flash_instances[0], c, scale);
  }
}

TEST_CASE("flash: the result may lie in any way") {
  for (const FlashInstance& f : flash_instances) {
    AttentionCase c;
    c.batch = c.heads = c.kv_heads = 2;
    c.q_len = 19;
    c.kv_len = 21;
    c.dim = f.dim;
    c.v_dim = f.dim - 8;
    const std::int64_t rows = c.q_len, v = c.v_dim, odd = v + 1;
    struct {
      std::int64_t stride[4], offset;
    } const layouts[] = {{{2 * rows * v, rows * v, v, 1}, 1},            // dense, at an odd element
                         {{2 * rows * v, rows * v, v, 1}, 2},            // dense, pairs on 4 bytes
                         {{2 * rows * odd, rows * odd, odd, 1}, 0},      // every other row at an odd element
                         {{2 * rows * odd, rows * odd, odd, 1}, 1},      // and the others
                         {{2 * rows * v, rows * v, 1, rows}, 0},         // rows dense
                         {{4 * rows * v, 2 * rows * v, 2 * v, 2}, 0},    // every other element
                         {{2, 1, 4 * v, 4}, 0}};                         // heads innermost
    for (const auto& l : layouts) {
      INFO("flash " << f.dim << " out strides " << l.stride[0] << "," << l.stride[1] << "," << l.stride[2] << "," << l.stride[3] << " offset " << l.offset);
      AttentionProblem<__half> p(c);
      p.place_output(l.stride, l.offset);
      run_flash(f, p, l.offset == 0);
      CHECK(p.compare() == "");
    }
  }
}

TEST_CASE("flash: grouped heads read their own keys") {
  for (int kv_heads : {1, 2, 3, 6}) {
    AttentionCase c;
    c.heads = 6;
    c.kv_heads = kv_heads;
    c.q_len = 20;
    c.kv_len = 40;
    c.dim = c.v_dim = 32;
    check_flash<__half>(flash_instances[0], c);
  }
}

TEST_CASE("flash: the same bits in every thread order") {
  for (const FlashInstance& f : flash_instances) {
    AttentionCase c;
    c.q_len = f.rows + 3;
    c.kv_len = 3 * f.step + 3;
    c.dim = c.v_dim = f.dim;
    c.causal = 2;
    for (const bool plain : {false, true}) {
      std::vector<__half> first;
      for (host::Order order : all_orders) {
        AttentionProblem<__half> p(c);
        run_flash(f, p, plain, order);
        std::vector<__half> out(p.out.data(), p.out.data() + p.out.layout.extent());
        if (first.empty()) first = out;
        CHECK(std::memcmp(first.data(), out.data(), out.size() * sizeof(__half)) == 0);
      }
    }
  }
}

TEST_CASE("flash: rows with nothing to attend to are zeros, infinite scores are NaN") {
  AttentionCase c;
  c.q_len = 70;
  c.kv_len = 10;
  c.dim = c.v_dim = 64;
  c.causal = 2;  // the first 60 rows see nothing
  for (const bool plain : {false, true}) {
    AttentionProblem<__half> p(c);
    p.q.data()[p.q.layout.at(0, 0, 65, 3)] = make_value<__half>(INFINITY);
    run_flash(*flash_instance_for(64, 64), p, plain);
    for (int i = 0; i < 60; ++i)
      for (int d = 0; d < 64; ++d) REQUIRE(p.out.get(0, 0, i, d) == 0.0);
    CHECK(std::isnan(p.out.get(0, 0, 65, 0)));
    CHECK(!std::isnan(p.out.get(0, 0, 66, 0)));
  }
}

TEST_CASE("flash: the instance table is sorted and finds the smallest") {
  int before = 0;
  for (const FlashInstance& f : flash_instances) {
    CHECK(f.dim > before);
    CHECK(flash_instance_for(before + 1, 1) == &f);
    CHECK(flash_instance_for(1, f.dim) == &f);
    CHECK(std::max(f.shared_bytes(false), f.shared_bytes(true)) <= 99 * 1024);  // fits the smallest opt-in limit of compute capability 8.x
    before = f.dim;
  }
  CHECK(flash_instance_for(flash_largest_dim + 1, 8) == nullptr);
}

TEST_CASE("naive: every type, odd sizes, masks, alignments") {
  int n = 0;
  for (int q_len : {1, 5, 33})
    for (int kv_len : {1, 7, 40})
      for (int causal = 0; causal < 3; ++causal, ++n) {
        AttentionCase c;
        c.batch = 2;
        c.heads = 4;
        c.kv_heads = n % 2 ? 2 : 4;
        c.q_len = q_len;
        c.kv_len = kv_len;
        c.dim = n % 3 ? 37 : 8;
        c.v_dim = n % 4 ? c.dim : 70;
        c.causal = causal;
        c.mask = static_cast<MaskKind>(n % 4);
        c.mask_per_head = n % 3 == 0;
        c.dropout = n % 5 == 1;
        c.interleaved = n % 2;
        c.pad = n % 3;
        check_naive<double>(c);
        check_naive<float>(c);
        check_naive<__half>(c);
        check_naive<__nv_bfloat16>(c);
      }
}

TEST_CASE("softmax: every type, odd sizes, masks, alignments") {
  int n = 0;
  for (int q_len : {1, 5})
    for (int kv_len : {1, 31, 130, 1025})
      for (int causal = 0; causal < 3; ++causal, ++n) {
        AttentionCase c;
        c.batch = n % 3 ? 1 : 2;
        c.heads = 2;
        c.kv_heads = n % 2 + 1;
        c.q_len = q_len;
        c.kv_len = kv_len;
        c.causal = causal;
        c.mask = static_cast<MaskKind>(n % 4);
        c.dropout = n % 5 == 1;
        check_softmax<double, double>(c);
        check_softmax<float, float>(c);
        check_softmax<__half, float>(c);
        check_softmax<__nv_bfloat16, float>(c);
      }
}

TEST_CASE("softmax: right in every thread order") {
  AttentionCase c;
  c.q_len = 6;
  c.kv_len = 1500;
  c.causal = 2;
  for (host::Order order : all_orders) check_softmax<float, float>(c, order);
}
