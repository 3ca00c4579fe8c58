// The simulation itself: what it computes, and that it catches what a device would not forgive.
#include "support/catch.hpp"
#include "tensors.hpp"

using namespace dd::kernels;
using host::LaunchError;

namespace {
std::string error_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const LaunchError& e) {
    return e.what();
  }
  return "";
}
void must_contain(const std::string& text, const std::string& part) {
  INFO(text);
  CHECK(text.find(part) != std::string::npos);
}
}  // namespace

TEST_CASE("every thread of every block runs once, with its indices") {
  std::vector<int> seen(3 * 2 * 2 * 64, 0);
  host::launch(dim3(3, 2, 2), dim3(64), 0, [&] {
    seen[((blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x) * blockDim.x + threadIdx.x] += 1;
  });
  for (int s : seen) CHECK(s == 1);
}

TEST_CASE("shuffles move values between lanes") {
  std::vector<int> out(64, -1), first(64, -1);
  host::launch(dim3(1), dim3(64), 0, [&] {
    const int lane = static_cast<int>(threadIdx.x);
    out[threadIdx.x] = __shfl_xor_sync(full_warp, lane, 5);
    first[threadIdx.x] = __shfl_sync(full_warp, lane, 3);
  });
  for (int i = 0; i < 64; ++i) {
    CHECK(out[static_cast<std::size_t>(i)] == (i ^ 5));
    CHECK(first[static_cast<std::size_t>(i)] == i / 32 * 32 + 3);
  }
}

TEST_CASE("mma.m16n8k16 and ldmatrix multiply 16x16 by 16x8") {
  std::mt19937_64 random(3);
  test::Tensor<__half> a(test::layout(1, 1, 16, 16)), b(test::layout(1, 1, 16, 16));  // b as [n][k], 16 columns
  a.fill_normal(random);
  b.fill_normal(random);
  test::Tensor<float> c(test::layout(1, 1, 16, 16)), ct(test::layout(1, 1, 16, 16));
  host::launch(dim3(1), dim3(32), 2 * 512, [&] {
    auto* sa = reinterpret_cast<__half*>(shared_memory());
    auto* sb = sa + 256;
    for (unsigned i = threadIdx.x; i < 32; i += 32) {
      store16(sa + i * 8, load16(a.data() + i * 8));
      store16(sb + i * 8, load16(b.data() + i * 8));
    }
    __syncthreads();
    const int lane = static_cast<int>(threadIdx.x);
    std::uint32_t fa[4], fb[4], ft[4];
    ldmatrix_x4(fa, sa + lane % 16 * 16 + lane / 16 * 8);
    ldmatrix_x4(fb, sb + (lane % 8 + lane / 16 * 8) * 16 + lane / 8 % 2 * 8);
    ldmatrix_x4_trans(ft, sb + lane % 16 * 16 + lane / 16 * 8);
    float acc[2][4] = {}, acc_t[2][4] = {};
    for (int n = 0; n < 2; ++n) {
      mma_16816<__half>(acc[n], fa, fb[2 * n], fb[2 * n + 1]);
      mma_16816<__half>(acc_t[n], fa, ft[2 * n], ft[2 * n + 1]);
    }
    for (int n = 0; n < 2; ++n)
      for (int e = 0; e < 4; ++e) {
        const int at = (lane / 4 + e / 2 * 8) * 16 + n * 8 + lane % 4 * 2 + e % 2;
        c.data()[at] = acc[n][e];
        ct.data()[at] = acc_t[n][e];
      }
  });
  CHECK(c.check_written() == "");
  for (int i = 0; i < 16; ++i)
    for (int j = 0; j < 16; ++j) {
      double want = 0, want_t = 0;
      for (int k = 0; k < 16; ++k) {
        want += a.get(0, 0, i, k) * b.get(0, 0, j, k);
        want_t += a.get(0, 0, i, k) * b.get(0, 0, k, j);
      }
      CHECK(c.get(0, 0, i, j) == Approx(want).margin(1e-4));
      CHECK(ct.get(0, 0, i, j) == Approx(want_t).margin(1e-4));
    }
}

TEST_CASE("half conversion is exact both ways and rounds to even") {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto bits = static_cast<std::uint16_t>(i);
    const float f = half_bits_to_float(bits);
    if (std::isnan(f))
      CHECK(std::isnan(half_bits_to_float(float_to_half_bits(f))));
    else if (float_to_half_bits(f) != bits)
      FAIL("half " << i << " does not survive");
  }
  CHECK(float_to_half_bits(1.0f + 0x1p-11f) == 0x3c00);             // halfway, even below
  CHECK(float_to_half_bits(1.0f + 0x1p-10f + 0x1p-11f) == 0x3c02);  // halfway, even above
  CHECK(float_to_half_bits(65519.0f) == 0x7bff);
  CHECK(float_to_half_bits(65520.0f) == 0x7c00);
  CHECK(float_to_half_bits(0x1p-25f) == 0);       // halfway to the least subnormal
  CHECK(float_to_half_bits(0x1.8p-25f) == 1);
  CHECK(from_float<__nv_bfloat16>(1.0f + 0x1p-8f).bits == 0x3f80);
  CHECK(from_float<__nv_bfloat16>(1.0f + 0x1p-7f + 0x1p-8f).bits == 0x3f82);
}

TEST_CASE("8-bit floats decode as OCP says") {
  CHECK(to_float(f8_e4m3{0x7e}) == 448.0f);
  CHECK(to_float(f8_e4m3{0x01}) == 0x1p-9f);
  CHECK(to_float(f8_e4m3{0x08}) == 0x1p-6f);
  CHECK(to_float(f8_e4m3{0xb8}) == -1.0f);
  CHECK(std::isnan(to_float(f8_e4m3{0x7f})));
  CHECK(to_float(f8_e5m2{0x7b}) == 57344.0f);
  CHECK(to_float(f8_e5m2{0x01}) == 0x1p-16f);
  CHECK(to_float(f8_e5m2{0xbc}) == -1.0f);
  CHECK(std::isinf(to_float(f8_e5m2{0x7c})));
}

TEST_CASE("a missing barrier shows as a difference between orders") {
  const auto sum_with = [](host::Order order, bool barrier) {
    float result = 0;
    host::launch(dim3(1), dim3(64), 64 * 4, [&] {
      auto* s = reinterpret_cast<float*>(shared_memory());
      s[threadIdx.x] = 1.0f;
      if (barrier) __syncthreads();
      float sum = 0;
      for (int i = 0; i < 64; ++i) sum += s[i];
      if (threadIdx.x == 32) result = sum;
    }, test::in_order(order));
    return result;
  };
  for (host::Order order : test::all_orders) {
    CHECK(sum_with(order, true) == 64.0f);
    CHECK(std::isnan(sum_with(order, false)));
  }
}

TEST_CASE("an asynchronous copy lands at its wait, not before") {
  alignas(16) float source[128];
  for (int i = 0; i < 128; ++i) source[i] = static_cast<float>(i);
  bool early_nan = true, late_right = true;
  host::launch(dim3(1), dim3(32), 512, [&] {
    auto* s = reinterpret_cast<float*>(shared_memory());
    const unsigned i = threadIdx.x;
    cp_async16(s + i * 4, source + i * 4, i == 3 ? 8 : 16);
    cp_async_commit();
    early_nan = early_nan && std::isnan(s[i * 4]);
    cp_async_wait<0>();
    late_right = late_right && s[i * 4] == source[i * 4] && s[i * 4 + 3] == (i == 3 ? 0.0f : source[i * 4 + 3]);
  });
  CHECK(early_nan);
  CHECK(late_right);
}

TEST_CASE("what a device would fault on is an error") {
  must_contain(error_of([] { host::launch(dim3(1), dim3(33), 0, [] {}); }), "multiple of 32");
  must_contain(error_of([] { host::launch(dim3(1, 65536), dim3(32), 0, [] {}); }), "limits");
  must_contain(error_of([] { host::launch(dim3(1), dim3(32), 300000, [] {}); }), "shared memory 300000");
  must_contain(error_of([] { host::launch(dim3(1), dim3(32), 64, [] { shared_memory()[64 + threadIdx.x] = 1; }); }),
               "shared memory written 64 bytes");
  must_contain(error_of([] { host::launch(dim3(1), dim3(32), 64, [] { load16(shared_memory() + 8); }); }), "multiple of 16");
  must_contain(error_of([] {
                 host::launch(dim3(1), dim3(64), 0, [] {
                   if (threadIdx.x < 32) __syncthreads();
                 });
               }),
               "32 at a barrier, 0 at a collective, 32 have left");
  must_contain(error_of([] {
                 host::launch(dim3(1), dim3(32), 0, [] {
                   if (threadIdx.x != 5) __syncwarp();
                 });
               }),
               "31 at __syncwarp, 1 have left");
  must_contain(error_of([] {
                 host::launch(dim3(1), dim3(32), 0, [] {
                   if (threadIdx.x < 4)
                     __syncwarp();
                   else
                     __shfl_sync(full_warp, 1, 0);
                 });
               }),
               "different collectives");
  // The simulator is usable after each of these.
  int runs = 0;
  host::launch(dim3(1), dim3(32), 0, [&] { ++runs; });
  CHECK(runs == 32);
}
