// A libcuda.so.1 for tests without a GPU: device memory is host memory, and a launch runs the very kernel source on the
// CPU through the simulation in kernels/common/host. It proves what the backends hand to the driver (arguments, geometry,
// names, order of calls); it proves nothing about a GPU. dd_fake_enqueue puts the work of a stand-in library on the stream.
// DD_FAKE_CUDA, several with commas: "no-device", "old" (compute capability 7.5), "oom" (allocations fail), "illegal"
// (launches fail, and so does every call after, as on a device), "illegal-once" (the same, until the file named by
// DD_FAKE_ONCE is there), "scribble" (a launch also writes before the result), "hang" (waiting for a stream never ends),
// "no-capture" (nothing may be launched while capturing), "escapes" (a launch runs at once instead of being captured),
// "other-kernels" (the graph is said to hold another kernel), "h200" (sizes of one).
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "attention/flash.cuh"
#include "attention/naive.cuh"
#include "attention/softmax.cuh"
#include "gemm/naive.cuh"
#include "gemm/wmma.cuh"
#include "host/sim.hpp"
#include "quant/dequantize.cuh"
#include "quant/packed.cuh"
#include "quant/rescale.cuh"
#include "fake_event.hpp"

using namespace dd::kernels;

namespace {

bool is(const char* what) {
  const char* mode = std::getenv("DD_FAKE_CUDA");
  return mode && ("," + std::string(mode) + ",").find("," + std::string(what) + ",") != std::string::npos;
}
bool sticky = false;
// Whichever of the two is opened first.
void tell(const DdFakeEvent& event) {
  if (auto* observe = reinterpret_cast<DdFakeObserver>(dlsym(RTLD_DEFAULT, "dd_fake_observe"))) observe(event);
}
std::map<std::uint64_t, std::size_t> blocks;

struct Kernel {
  std::function<void(void**)> run;
  std::vector<std::size_t> sizes;  // of the parameters, which are read at launch, as the driver does it
};
template <class Args>
Kernel kernel(void (*run)(const Args&)) {
  return {[run](void** arguments) { run(*static_cast<const Args*>(arguments[0])); }, {sizeof(Args)}};
}
template <class T, class A>
Kernel softmax() {
  return {[](void** a) { attention_softmax<T, A>(*static_cast<const AttentionArgs*>(a[0]), *static_cast<const A* const*>(a[1]), *static_cast<T* const*>(a[2])); },
          {sizeof(AttentionArgs), sizeof(void*), sizeof(void*)}};
}

std::map<std::string, Kernel> make_kernels() {
  std::map<std::string, Kernel> k;
#define DD_FLASH(d, rows, step, plain_step, tiles)                                                       \
  k["dd_flash_f16_" #d] = kernel<AttentionArgs>(&Flash<__half, d, rows, step, tiles, false>::run);         \
  k["dd_flash_bf16_" #d] = kernel<AttentionArgs>(&Flash<__nv_bfloat16, d, rows, step, tiles, false>::run); \
  k["dd_flash_plain_f16_" #d] = kernel<AttentionArgs>(&Flash<__half, d, rows, plain_step, tiles, true>::run); \
  k["dd_flash_plain_bf16_" #d] = kernel<AttentionArgs>(&Flash<__nv_bfloat16, d, rows, plain_step, tiles, true>::run);
#include "attention/instances.def"
#undef DD_FLASH
  k["dd_attention_naive_f64"] = kernel<AttentionArgs>(&attention_naive<double>);
  k["dd_attention_naive_f32"] = kernel<AttentionArgs>(&attention_naive<float>);
  k["dd_attention_naive_f16"] = kernel<AttentionArgs>(&attention_naive<__half>);
  k["dd_attention_naive_bf16"] = kernel<AttentionArgs>(&attention_naive<__nv_bfloat16>);
  k["dd_attention_softmax_f64_f64"] = softmax<double, double>();
  k["dd_attention_softmax_f32_f32"] = softmax<float, float>();
  k["dd_attention_softmax_f32_f16"] = softmax<__half, float>();
  k["dd_attention_softmax_f32_bf16"] = softmax<__nv_bfloat16, float>();
  k["dd_dequantize_f16_4"] = kernel<QuantArgs>(&dequantize<__half, 4>);
  k["dd_dequantize_f16_8"] = kernel<QuantArgs>(&dequantize<__half, 8>);
  k["dd_dequantize_bf16_4"] = kernel<QuantArgs>(&dequantize<__nv_bfloat16, 4>);
  k["dd_dequantize_bf16_8"] = kernel<QuantArgs>(&dequantize<__nv_bfloat16, 8>);
  k["dd_rescale_f16"] = kernel<RescaleArgs>(&rescale<__half>);
  k["dd_rescale_bf16"] = kernel<RescaleArgs>(&rescale<__nv_bfloat16>);
  k["dd_rescale_f32"] = kernel<RescaleArgs>(&rescale<float>);
#define DD_NAIVE(x, w, out, TX, TW, TO) k["dd_gemm_naive_" #x "_" #w "_" #out] = kernel<GemmArgs>(&gemm_naive<TX, TW, TO>);
#include "gemm/naive_types.def"
#undef DD_NAIVE
#define DD_ONE(tag, T, rows, cols, wr, wc, lx, lw, xt, wt, al) \
  k["dd_gemm_wmma_" #tag "_" #tag "_" #rows "_" #lx #lw "_" #al] = kernel<GemmArgs>(&GemmWmma<T, T, rows, cols, wr, wc, xt, wt, al>::run);
#define DD_GEMM(rows, cols, wr, wc)                            \
  DD_ONE(f16, __half, rows, cols, wr, wc, n, n, false, false, 0) \
  DD_ONE(f16, __half, rows, cols, wr, wc, n, n, false, false, 1) \
  DD_ONE(f16, __half, rows, cols, wr, wc, n, t, false, true, 0)  \
  DD_ONE(f16, __half, rows, cols, wr, wc, n, t, false, true, 1)  \
  DD_ONE(f16, __half, rows, cols, wr, wc, t, n, true, false, 0)  \
  DD_ONE(f16, __half, rows, cols, wr, wc, t, n, true, false, 1)
#include "gemm/instances.def"
#undef DD_GEMM
#define DD_FEW(bits, rows)                                                                                        \
  k["dd_packed_few_f16_" #bits "_" #rows "_0"] = kernel<QuantArgs>(&packed_few_rows<__half, bits, rows, false>); \
  k["dd_packed_few_f16_" #bits "_" #rows "_1"] = kernel<QuantArgs>(&packed_few_rows<__half, bits, rows, true>);
#define DD_PACKED(bits)                                                                              \
  DD_FEW(bits, 1)                                                                                    \
  DD_FEW(bits, 2)                                                                                    \
  DD_FEW(bits, 4)                                                                                    \
  k["dd_packed_tiles_f16_" #bits "_0"] = kernel<QuantArgs>(&PackedTiles<__half, bits, false>::run); \
  k["dd_packed_tiles_f16_" #bits "_1"] = kernel<QuantArgs>(&PackedTiles<__half, bits, true>::run);
  DD_PACKED(4)
  DD_PACKED(8)
  return k;
}

struct Function {
  std::string name;
  Kernel kernel;
  int dynamic_shared = 48 * 1024;
};
std::map<std::string, Function>& functions() {
  static std::map<std::string, Function> all = [] {
    std::map<std::string, Function> out;
    for (auto& [name, run] : make_kernels()) out[name] = {name, run, 48 * 1024};
    return out;
  }();
  return all;
}

struct Launch {
  Function* function;  // null: work of a library
  dim3 grid, block;
  unsigned shared;
  std::vector<std::vector<unsigned char>> arguments;
  std::function<void()> work;
};
bool capturing = false;
std::vector<Launch> graph;

constexpr int invalid_value = 1, out_of_memory = 2, not_found = 500, illegal_address = 700;

int execute(Launch& l, bool from_graph = false) {
  DdFakeEvent event{10, l.function ? l.function->name.c_str() : "library_kernel", {}, {}, static_cast<int>(l.shared), 0, 0, from_graph};
  const int grid[] = {static_cast<int>(l.grid.x), static_cast<int>(l.grid.y), static_cast<int>(l.grid.z)};
  const int block[] = {static_cast<int>(l.block.x), static_cast<int>(l.block.y), static_cast<int>(l.block.z)};
  std::copy(grid, grid + 3, event.grid);
  std::copy(block, block + 3, event.block);
  tell(event);
  if (!l.function) return l.work(), 0;
  std::vector<void*> arguments;
  for (auto& bytes : l.arguments) arguments.push_back(bytes.data());
  try {
    host::launch(l.grid, l.block, l.shared, [&] { l.function->kernel.run(arguments.data()); });
  } catch (const host::LaunchError&) {
    sticky = true;
    return illegal_address;
  }
  if (is("scribble"))
    for (auto& [address, bytes] : blocks)
      if (bytes > 8192) reinterpret_cast<unsigned char*>(address)[100] = 0;
  return 0;
}

int enqueue(Launch launch) {
  if (capturing && is("no-capture")) return 900;
  if (capturing && !is("escapes")) return graph.push_back(std::move(launch)), 0;
  return execute(launch);
}

}  // namespace

extern "C" {
int cuInit(unsigned) { return is("no-device") ? 100 : 0; }
int cuDriverGetVersion(int* v) { return *v = 13000, 0; }
int cuDeviceGetCount(int* n) { return *n = is("no-device") ? 0 : 1, 0; }
int cuDeviceGet(int* d, int ordinal) { return *d = ordinal, ordinal == 0 ? 0 : 101; }
int cuDeviceGetName(char* name, int length, int) { return std::strncpy(name, is("h200") ? "NVIDIA H200" : "simulated device", static_cast<std::size_t>(length)), 0; }
int cuDeviceGetAttribute(int* v, int attribute, int) {
  switch (attribute) {
    case 16: return *v = is("h200") ? 132 : 4, 0;
    case 75: return *v = is("old") ? 7 : 9, 0;
    case 76: return *v = is("old") ? 5 : 0, 0;
    case 97: return *v = 227 * 1024, 0;
    case 38: return *v = 1 << 16, 0;  // small: the flush writes it all on the CPU
    case 13: return *v = 1980000, 0;
    case 36: return *v = 3201000, 0;
    case 37: return *v = 6144, 0;
    case 32: return *v = 1, 0;
    default: return *v = 0, 0;
  }
}
int cuDeviceTotalMem_v2(std::size_t* bytes, int) { return *bytes = is("h200") ? std::size_t{150} * 1000 * 1000 * 1000 - (std::size_t{4} << 30) : std::size_t{1} << 30, 0; }
int cuDevicePrimaryCtxRetain(void** context, int) { return *context = &blocks, 0; }
int cuCtxSetCurrent(void*) { return 0; }
int cuCtxGetCurrent(void** context) { return *context = &blocks, 0; }
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) { return *free = *total = std::size_t{1} << 30, 0; }
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  if (sticky) return illegal_address;
  if (is("oom") || bytes > std::size_t{1} << 30) return out_of_memory;
  void* p = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!p) return out_of_memory;
  std::memset(p, 0xFF, (bytes + 255) / 256 * 256);
  *address = reinterpret_cast<std::uint64_t>(p);
  blocks[*address] = bytes;
  return 0;
}
int cuMemFree_v2(std::uint64_t address) {
  if (!blocks.erase(address)) return invalid_value;
  std::free(reinterpret_cast<void*>(address));
  return 0;
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  if (sticky) return illegal_address;
  if (capturing) return 900;
  tell({1, nullptr, {}, {}, 0, 1, bytes, false});
  return std::memcpy(reinterpret_cast<void*>(to), from, bytes), 0;
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  if (sticky) return illegal_address;
  tell({1, nullptr, {}, {}, 0, 2, bytes, false});
  return std::memcpy(to, reinterpret_cast<void*>(from), bytes), 0;
}
int cuMemsetD8Async(std::uint64_t at, unsigned char value, std::size_t bytes, void*) {
  if (sticky) return illegal_address;
  tell({2, nullptr, {}, {}, 0, 0, bytes, false});
  return std::memset(reinterpret_cast<void*>(at), value, bytes), 0;
}
int cuDeviceGetPCIBusId(char* text, int length, int) { return std::strncpy(text, "0000:01:00.0", static_cast<std::size_t>(length)), 0; }
int cuModuleLoadData(void** module, const void* image) { return *module = &blocks, image ? 0 : invalid_value; }
int cuModuleGetFunction(void** function, void*, const char* name) {
  const auto at = functions().find(name);
  if (at == functions().end()) return not_found;
  *function = &at->second;
  return 0;
}
int cuFuncSetAttribute(void* function, int attribute, int value) {
  if (attribute != 8) return invalid_value;
  static_cast<Function*>(function)->dynamic_shared = value;
  return 0;
}
int cuLaunchKernel(void* function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, void*, void** arguments, void**) {
  if (sticky) return illegal_address;
  auto* f = static_cast<Function*>(function);
  if (static_cast<int>(shared) > f->dynamic_shared || by != 1 || bz != 1 || bx == 0 || bx > 1024 || gx == 0) return invalid_value;
  if (is("illegal")) return sticky = true, illegal_address;
  if (const char* once = std::getenv("DD_FAKE_ONCE"); is("illegal-once") && once && ::access(once, F_OK) != 0) {
    if (std::FILE* file = std::fopen(once, "w")) std::fclose(file);
    return sticky = true, illegal_address;
  }
  Launch launch{f, dim3(gx, gy, gz), dim3(bx), shared, {}, {}};
  for (std::size_t i = 0; i < f->kernel.sizes.size(); ++i) {
    const auto* bytes = static_cast<const unsigned char*>(arguments[i]);
    launch.arguments.emplace_back(bytes, bytes + f->kernel.sizes[i]);
  }
  return enqueue(std::move(launch));
}
int dd_fake_enqueue(const std::function<void()>* work) {
  if (sticky) return illegal_address;
  if (is("illegal")) return sticky = true, 0;  // found out when somebody waits
  return enqueue(Launch{nullptr, dim3(1), dim3(1), 0, {}, *work});
}
int cuStreamCreate(void** stream, unsigned) { return *stream = &graph, 0; }
int cuStreamSynchronize(void* stream) {
  if (capturing && stream) return 900;
  while (is("hang") && stream) std::this_thread::sleep_for(std::chrono::seconds(1));
  tell({38, nullptr, {}, {}, 0, 0, 0, false});
  return sticky ? illegal_address : 0;
}
int cuEventCreate(void** event, unsigned) { return *event = &graph, 0; }
int cuEventRecord(void*, void*) { return capturing ? 900 : 0; }
int cuEventElapsedTime(float* ms, void*, void*) { return *ms = 1.0f, 0; }
int cuEventDestroy_v2(void*) { return 0; }
int cuStreamBeginCapture_v2(void*, int) { return graph.clear(), capturing = true, 0; }
int cuStreamEndCapture(void*, void** out) { return capturing = false, *out = &graph, 0; }
int cuGraphGetNodes(void*, void** nodes, std::size_t* count) {
  if (nodes)
    for (std::size_t i = 0; i < graph.size() && i < *count; ++i) nodes[i] = &graph[i];
  return *count = graph.size(), 0;
}
int cuGraphNodeGetType(void*, int* type) { return *type = 0, 0; }
int cuGraphKernelNodeGetParams_v2(void* node, void* parameters) {
  const Launch& l = *static_cast<Launch*>(node);
  void* function = l.function;
  if (!function) return invalid_value;  // a kernel of a library tells no name here
  const unsigned sizes[] = {l.grid.x, l.grid.y, l.grid.z, l.block.x, l.block.y, l.block.z, l.shared};
  std::memcpy(parameters, &function, sizeof function);
  return std::memcpy(static_cast<char*>(parameters) + sizeof function, sizes, sizeof sizes), 0;
}
int cuFuncGetAttribute(int* value, int attribute, void*) { return *value = attribute == 4 ? 40 : 0, 0; }
int cuFuncGetName(const char** name, void* function) {
  if (is("other-kernels")) return *name = "_Z12other_kernelPf", 0;
  return *name = static_cast<Function*>(function)->name.c_str(), 0;
}
int cuGraphInstantiateWithFlags(void** exec, void* g, unsigned long long) { return *exec = g, 0; }
int cuGraphLaunch(void*, void*) {
  for (Launch& l : graph)
    if (const int code = execute(l, true)) return code;
  return 0;
}
int cuGraphDestroy(void*) { return 0; }
int cuGraphExecDestroy(void*) { return 0; }
int cuGetErrorName(int code, const char** text) {
  *text = code == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : code == 100 ? "CUDA_ERROR_NO_DEVICE" : code == 500 ? "CUDA_ERROR_NOT_FOUND" : code == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_UNKNOWN";
  return 0;
}
int cuGetErrorString(int code, const char** text) {
  *text = code == 2 ? "out of memory" : code == 100 ? "no CUDA-capable device is detected" : code == 500 ? "named symbol not found" : code == 700 ? "an illegal memory access was encountered" : "unknown error";
  return 0;
}
}
