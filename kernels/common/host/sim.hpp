// Runs a kernel's very source on the CPU: every block in turn, its threads as fibers, barriers and warp collectives as
// rendezvous. Deterministic for a given order. What a device would fault on or leave undefined (misaligned vector
// access, lanes of a warp at different collectives, a thread that leaves while others wait at a barrier, shared memory
// touched outside its size, a launch beyond the limits) throws LaunchError.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>

namespace dd::kernels {

struct uint3 {
  unsigned x = 0, y = 0, z = 0;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};

// The names that CUDA provides inside a kernel.
extern thread_local uint3 threadIdx;
extern thread_local uint3 blockIdx;
extern thread_local dim3 blockDim;
extern thread_local dim3 gridDim;

namespace host {

struct LaunchError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Which runnable thread goes next. A kernel without a missing barrier gives the same bits under all of them.
// warp_first lets a warp run as far as it can before the next one does anything.
enum class Order { forward, reverse, shuffled, warp_first };

struct LaunchOptions {
  Order order = Order::forward;
  std::uint64_t seed = 1;                       // for Order::shuffled
  std::size_t max_shared_bytes = 227 * 1024;    // per block, compute capability 9.0
};

void launch(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& kernel,
            const LaunchOptions& options = {});

// Used by gpu.hpp to give the device functions their meaning on the CPU.
unsigned char* shared_memory();
void barrier();
using Complete = void (*)(void* const* lane_args);  // sees the 32 lanes' arguments at once
void warp_collective(const char* name, void* lane_arg, Complete complete);
// Ends the launch with LaunchError. The failing fiber is abandoned, so nothing on its stack may own memory: plain texts only.
[[noreturn]] void fail(const char* what, const char* more = "");
void require_aligned(const void* pointer, std::size_t bytes, const char* what);
void async_copy(void* to, const void* from, std::size_t copy_bytes, std::size_t fill_bytes);
void async_commit();
void async_wait(unsigned groups_left);

}  // namespace host
}  // namespace dd::kernels
