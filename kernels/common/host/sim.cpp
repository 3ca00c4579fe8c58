#include "host/sim.hpp"

#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

#include "host/fiber.hpp"

namespace dd::kernels {

thread_local uint3 threadIdx;
thread_local uint3 blockIdx;
thread_local dim3 blockDim;
thread_local dim3 gridDim;

namespace host {
namespace {

constexpr unsigned warp_size = 32;
constexpr std::size_t guard_bytes = 256;
constexpr unsigned char guard_value = 0xA5;
constexpr unsigned char poison_value = 0xFF;  // a NaN in every float type

enum class State { ready, at_collective, at_barrier };

struct AsyncCopy {
  void* to;
  const void* from;
  std::size_t copy_bytes, fill_bytes;
};

struct SimThread {
  Fiber fiber;
  State state = State::ready;
  unsigned index = 0;
  std::vector<AsyncCopy> open;                  // issued, not yet committed
  std::vector<std::vector<AsyncCopy>> groups;   // committed, not yet waited for
};

struct Warp {
  void* args[warp_size] = {};
  Complete complete = nullptr;
  const char* name = "";
  unsigned arrived = 0;
};

struct Block {
  std::vector<std::unique_ptr<SimThread>> threads;
  std::vector<Warp> warps;
  std::vector<unsigned char> shared;
  std::size_t shared_bytes = 0;
  unsigned at_barrier = 0;
  SimThread* running = nullptr;
  const std::function<void()>* kernel = nullptr;
  std::string error;

  unsigned char* shared_begin() {
    auto address = reinterpret_cast<std::uintptr_t>(shared.data()) + guard_bytes;
    return reinterpret_cast<unsigned char*>((address + 127) & ~std::uintptr_t{127});
  }
};

thread_local Block* current = nullptr;

std::string where() {
  return "block (" + std::to_string(blockIdx.x) + "," + std::to_string(blockIdx.y) + "," + std::to_string(blockIdx.z) +
         ") thread " + std::to_string(threadIdx.x);
}

void thread_entry(void* arg) { (*static_cast<Block*>(arg)->kernel)(); }

void prepare_shared(Block& block) {
  std::fill(block.shared.begin(), block.shared.end(), guard_value);
  std::memset(block.shared_begin(), poison_value, block.shared_bytes);
}

void check_shared(Block& block) {
  const unsigned char* begin = block.shared_begin();
  const unsigned char* end = begin + block.shared_bytes;
  for (const unsigned char* p = block.shared.data(); p != block.shared.data() + block.shared.size(); ++p)
    if ((p < begin || p >= end) && *p != guard_value)
      throw LaunchError("shared memory written " + std::to_string(p - begin) + " bytes from its start, it has " +
                        std::to_string(block.shared_bytes) + "; block " + std::to_string(blockIdx.x));
}

[[noreturn]] void report_stuck(const Block& block) {
  unsigned barrier_count = 0, collective_count = 0, left = 0;
  const char* name = "";
  for (const auto& t : block.threads) {
    if (t->fiber.finished()) {
      ++left;
    } else if (t->state == State::at_barrier) {
      ++barrier_count;
    } else {
      ++collective_count;
      name = block.warps[t->index / warp_size].name;
    }
  }
  throw LaunchError("threads wait for each other for ever: " + std::to_string(barrier_count) + " at a barrier, " +
                    std::to_string(collective_count) + " at " + (collective_count ? name : "a collective") + ", " +
                    std::to_string(left) + " have left the kernel; block " + std::to_string(blockIdx.x));
}

void resume(Block& block, SimThread& t) {
  block.running = &t;
  threadIdx = uint3{t.index, 0, 0};
  t.fiber.resume();
  if (!block.error.empty()) throw LaunchError(block.error);
}

bool runnable(const SimThread& t) { return !t.fiber.finished() && t.state == State::ready; }

// Runs each warp until all its lanes wait for other warps or have finished.
bool pass_by_warps(Block& block) {
  bool progressed = false;
  for (std::size_t first = 0; first < block.threads.size(); first += warp_size)
    for (bool again = true; again;) {
      again = false;
      for (std::size_t i = first; i < first + warp_size; ++i)
        if (runnable(*block.threads[i])) {
          resume(block, *block.threads[i]);
          again = progressed = true;
        }
    }
  return progressed;
}

bool pass_in_order(Block& block, const std::vector<unsigned>& order) {
  bool progressed = false;
  for (unsigned index : order)
    if (runnable(*block.threads[index])) {
      resume(block, *block.threads[index]);
      progressed = true;
    }
  return progressed;
}

void run_block(Block& block, const std::vector<unsigned>& order, bool by_warps) {
  for (auto& t : block.threads) {
    t->state = State::ready;
    t->open.clear();
    t->groups.clear();
    t->fiber.start(&thread_entry, &block);
  }
  for (auto& w : block.warps) w = Warp{};
  block.at_barrier = 0;
  prepare_shared(block);
  while (by_warps ? pass_by_warps(block) : pass_in_order(block, order)) {
  }
  for (const auto& t : block.threads)
    if (!t->fiber.finished()) report_stuck(block);
  check_shared(block);
}

std::vector<unsigned> make_order(unsigned count, const LaunchOptions& options) {
  std::vector<unsigned> order(count);
  std::iota(order.begin(), order.end(), 0u);
  if (options.order == Order::reverse) {
    std::vector<unsigned>(order.rbegin(), order.rend()).swap(order);
  } else if (options.order == Order::shuffled) {
    std::mt19937_64 engine(options.seed);
    for (unsigned i = count; i > 1; --i) std::swap(order[i - 1], order[engine() % i]);
  }
  return order;
}

void check_limits(dim3 grid, dim3 block, std::size_t shared_bytes, const LaunchOptions& options) {
  if (block.y != 1 || block.z != 1) throw LaunchError("only one-dimensional blocks are simulated");
  if (block.x == 0 || block.x > 1024 || block.x % warp_size != 0)
    throw LaunchError("block size " + std::to_string(block.x) + " is not a multiple of 32 up to 1024");
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535)
    throw LaunchError("grid " + std::to_string(grid.x) + "x" + std::to_string(grid.y) + "x" + std::to_string(grid.z) +
                      " is outside the device's limits");
  if (shared_bytes > options.max_shared_bytes)
    throw LaunchError("shared memory " + std::to_string(shared_bytes) + " bytes, the limit is " +
                      std::to_string(options.max_shared_bytes));
}

}  // namespace

void launch(dim3 grid, dim3 block_size, std::size_t shared_bytes, const std::function<void()>& kernel,
            const LaunchOptions& options) {
  check_limits(grid, block_size, shared_bytes, options);
  Block block;
  block.kernel = &kernel;
  block.shared_bytes = shared_bytes;
  block.shared.resize(shared_bytes + 2 * guard_bytes + 128);
  block.warps.resize(block_size.x / warp_size);
  for (unsigned i = 0; i < block_size.x; ++i) {
    block.threads.push_back(std::make_unique<SimThread>());
    block.threads.back()->index = i;
  }
  const std::vector<unsigned> order = make_order(block_size.x, options);
  struct Restore {
    Block* previous = current;
    ~Restore() { current = previous; }
  } restore;
  current = &block;
  gridDim = grid;
  blockDim = block_size;
  for (unsigned z = 0; z < grid.z; ++z)
    for (unsigned y = 0; y < grid.y; ++y)
      for (unsigned x = 0; x < grid.x; ++x) {
        blockIdx = uint3{x, y, z};
        run_block(block, order, options.order == Order::warp_first);
      }
}

unsigned char* shared_memory() { return current->shared_begin(); }

void fail(const char* what, const char* more) {
  current->error = std::string(what) + more + "; " + where();
  for (;;) Fiber::yield();  // the scheduler throws and abandons this fiber
}

void require_aligned(const void* pointer, std::size_t bytes, const char* what) {
  if (reinterpret_cast<std::uintptr_t>(pointer) % bytes == 0) return;
  fail(what, bytes == 4    ? ": address is not a multiple of 4"
             : bytes == 16 ? ": address is not a multiple of 16"
                           : ": address is not a multiple of 32");
}

void barrier() {
  Block& block = *current;
  if (++block.at_barrier == block.threads.size()) {
    block.at_barrier = 0;
    for (auto& t : block.threads) t->state = State::ready;
    return;
  }
  block.running->state = State::at_barrier;
  Fiber::yield();
}

void warp_collective(const char* name, void* lane_arg, Complete complete) {
  Block& block = *current;
  SimThread& self = *block.running;
  const unsigned first = self.index / warp_size * warp_size;
  Warp& warp = block.warps[self.index / warp_size];
  if (warp.arrived == 0) {
    warp.complete = complete;
    warp.name = name;
  } else if (warp.complete != complete) {
    fail("lanes of one warp at different collectives, one of them ", name);
  }
  warp.args[self.index - first] = lane_arg;
  if (++warp.arrived == warp_size) {
    warp.arrived = 0;
    complete(warp.args);
    for (unsigned lane = 0; lane < warp_size; ++lane) block.threads[first + lane]->state = State::ready;
    return;
  }
  self.state = State::at_collective;
  Fiber::yield();
}

// Copies land only at the wait that covers them, so reading too early meets poison.
void async_copy(void* to, const void* from, std::size_t copy_bytes, std::size_t fill_bytes) {
  current->running->open.push_back({to, from, copy_bytes, fill_bytes});
}

void async_commit() {
  SimThread& t = *current->running;
  t.groups.push_back(std::move(t.open));
  t.open.clear();
}

void async_wait(unsigned groups_left) {
  auto& groups = current->running->groups;
  while (groups.size() > groups_left) {
    for (const AsyncCopy& copy : groups.front()) {
      std::memcpy(copy.to, copy.from, copy.copy_bytes);
      std::memset(static_cast<unsigned char*>(copy.to) + copy.copy_bytes, 0, copy.fill_bytes);
    }
    groups.erase(groups.begin());
  }
}

}  // namespace host
}  // namespace dd::kernels
