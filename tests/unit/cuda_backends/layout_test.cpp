// The layouts that are written out here without CUDA's headers, held against those headers wherever they are installed.
#include <cstring>

#include "backends/cuda_runtime/graph_node.hpp"
#include "evidence/cupti.hpp"
#include "support/catch.hpp"

#if __has_include(<cuda.h>)
#include <cuda.h>
static_assert(sizeof(dd::cuda::KernelNode) == sizeof(CUDA_KERNEL_NODE_PARAMS) && offsetof(dd::cuda::KernelNode, kernel) == offsetof(CUDA_KERNEL_NODE_PARAMS, kern) &&
              offsetof(dd::cuda::KernelNode, shared) == offsetof(CUDA_KERNEL_NODE_PARAMS, sharedMemBytes));
static_assert(sizeof(dd::cuda::FillNode) == sizeof(CUDA_MEMSET_NODE_PARAMS) && offsetof(dd::cuda::FillNode, width) == offsetof(CUDA_MEMSET_NODE_PARAMS, width) &&
              offsetof(dd::cuda::FillNode, element_size) == offsetof(CUDA_MEMSET_NODE_PARAMS, elementSize));
static_assert(sizeof(dd::cuda::CopyNode) == sizeof(CUDA_MEMCPY3D) && offsetof(dd::cuda::CopyNode, from_type) == offsetof(CUDA_MEMCPY3D, srcMemoryType) &&
              offsetof(dd::cuda::CopyNode, to_type) == offsetof(CUDA_MEMCPY3D, dstMemoryType) && offsetof(dd::cuda::CopyNode, width) == offsetof(CUDA_MEMCPY3D, WidthInBytes));
static_assert(CU_MEMORYTYPE_HOST == 1 && CU_MEMORYTYPE_DEVICE == 2);
static_assert(CU_GRAPH_NODE_TYPE_KERNEL == 0 && CU_GRAPH_NODE_TYPE_MEMCPY == 1 && CU_GRAPH_NODE_TYPE_MEMSET == 2 && CU_GRAPH_NODE_TYPE_HOST == 3 &&
              CU_GRAPH_NODE_TYPE_GRAPH == 4 && CU_GRAPH_NODE_TYPE_EMPTY == 5 && CU_GRAPH_NODE_TYPE_WAIT_EVENT == 6 && CU_GRAPH_NODE_TYPE_EVENT_RECORD == 7 &&
              CU_GRAPH_NODE_TYPE_MEM_ALLOC == 10 && CU_GRAPH_NODE_TYPE_MEM_FREE == 11);
static_assert(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES == 1 && CU_FUNC_ATTRIBUTE_NUM_REGS == 4);
static_assert(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE == 38 && CU_DEVICE_ATTRIBUTE_CLOCK_RATE == 13 && CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE == 36 &&
              CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH == 37 && CU_DEVICE_ATTRIBUTE_ECC_ENABLED == 32 && CU_DEVICE_ATTRIBUTE_COMPUTE_MODE == 20);
#endif

#if __has_include(<cupti_activity.h>) && __has_include(<cuda.h>)
#include <cupti.h>
namespace {
namespace own = dd::evidence::cupti;
#if CUPTI_API_VERSION >= 130202
using NewestKernel = CUpti_ActivityKernel11;
#elif CUPTI_API_VERSION >= 130000
using NewestKernel = CUpti_ActivityKernel10;
#else
using NewestKernel = CUpti_ActivityKernel9;
#endif
static_assert(offsetof(NewestKernel, registersPerThread) == own::KernelAt::registers && offsetof(NewestKernel, start) == own::KernelAt::start &&
              offsetof(NewestKernel, end) == own::KernelAt::end && offsetof(NewestKernel, streamId) == own::KernelAt::stream && offsetof(NewestKernel, gridX) == own::KernelAt::grid &&
              offsetof(NewestKernel, blockX) == own::KernelAt::block && offsetof(NewestKernel, staticSharedMemory) == own::KernelAt::static_shared &&
              offsetof(NewestKernel, dynamicSharedMemory) == own::KernelAt::dynamic_shared && offsetof(NewestKernel, correlationId) == own::KernelAt::correlation &&
              offsetof(NewestKernel, name) == own::KernelAt::name && offsetof(NewestKernel, graphNodeId) == own::KernelAt::graph_node);
static_assert(offsetof(CUpti_ActivityMemcpy6, copyKind) == own::CopyAt::kind && offsetof(CUpti_ActivityMemcpy6, bytes) == own::CopyAt::bytes &&
              offsetof(CUpti_ActivityMemcpy6, start) == own::CopyAt::start && offsetof(CUpti_ActivityMemcpy6, streamId) == own::CopyAt::stream &&
              offsetof(CUpti_ActivityMemcpy6, correlationId) == own::CopyAt::correlation);
static_assert(offsetof(CUpti_ActivityMemset4, bytes) == own::CopyAt::bytes && offsetof(CUpti_ActivityMemset4, end) == own::CopyAt::end &&
              offsetof(CUpti_ActivityMemset4, streamId) == own::CopyAt::stream && offsetof(CUpti_ActivityMemset4, correlationId) == own::CopyAt::correlation);
static_assert(offsetof(CUpti_ActivitySynchronization2, type) == own::SyncAt::type && offsetof(CUpti_ActivitySynchronization2, start) == own::SyncAt::start &&
              offsetof(CUpti_ActivitySynchronization2, correlationId) == own::SyncAt::correlation && offsetof(CUpti_ActivitySynchronization2, streamId) == own::SyncAt::stream);
static_assert(offsetof(CUpti_ActivityExternalCorrelation, externalId) == own::ExternalAt::id && offsetof(CUpti_ActivityExternalCorrelation, correlationId) == own::ExternalAt::correlation);
static_assert(CUPTI_ACTIVITY_KIND_MEMCPY == own::copy && CUPTI_ACTIVITY_KIND_MEMSET == own::fill && CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL == own::kernel &&
              CUPTI_ACTIVITY_KIND_SYNCHRONIZATION == own::synchronisation && CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION == own::external &&
              CUPTI_ACTIVITY_KIND_DRIVER == own::driver_call && CUPTI_ACTIVITY_KIND_RUNTIME == own::runtime_call);
static_assert(CUPTI_ERROR_MAX_LIMIT_REACHED == 12 && CUPTI_ERROR_INSUFFICIENT_PRIVILEGES == 35 && CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES == 40 &&
              CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0 == 3);
}  // namespace
#define DD_HELD_AGAINST_HEADERS 1
#endif

TEST_CASE("names of kernels and copies as people write them", "[layout]") {
#ifndef DD_HELD_AGAINST_HEADERS
  WARN("CUPTI's headers are not here: the layouts were not compared");
#endif
  CHECK(dd::evidence::demangled("_Z12other_kernelPf") == "other_kernel(float*)");
  CHECK(dd::evidence::demangled("dd_flash_f16_64") == "dd_flash_f16_64");
  CHECK(dd::evidence::demangled(nullptr) == "kernel without a name");
  CHECK(dd::evidence::copy_name(8) == "[copy device to device]");
  CHECK(dd::evidence::copy_name(99) == "[copy]");
  dd::cuda::CopyNode node{};
  node.from_type = 2;
  node.to_type = 2;
  CHECK(node.activity_kind() == 8);
}

namespace {

using namespace dd::evidence;

GpuActivity activity(ActivityKind kind, const char* name, std::uint32_t correlation, std::uint64_t start, std::int64_t bytes = 0) {
  GpuActivity a;
  a.kind = kind;
  a.name = name;
  a.correlation = correlation;
  a.start = start;
  a.end = start + 1000;
  a.bytes = bytes;
  return a;
}

}  // namespace

TEST_CASE("what was recorded belongs to the attempt whose id it carries", "[layout]") {
  ActivityLog log;
  log.activities = {activity(ActivityKind::kernel, "b", 2, 5000), activity(ActivityKind::kernel, "a", 1, 1000), activity(ActivityKind::kernel, "a", 3, 9000),
                    activity(ActivityKind::kernel, "foreign", 9, 9000), activity(ActivityKind::copy, "[copy host to device]", 4, 100, 64),
                    activity(ActivityKind::sync, "stream synchronise", 5, 9900)};
  log.activities.push_back(activity(ActivityKind::copy, "[copy device to device]", 6, 9500, 4096));
  log.activities.back().within_device = true;
  log.owners = {{1, 2}, {2, 2}, {3, 2}, {4, 3}, {5, 2}, {6, 2}};
  dd::report::Evidence e;
  e.recording = "recorded";
  e.kernels = {{"a", "", "worker", 1, {}}, {"a", "", "worker", 1, {}}, {"a", "", "worker", 1, {}}, {"c", "", "graph", 1, {}}};
  add_activity(log, 2, 3, e);
  REQUIRE(e.kernels.size() == 5);
  CHECK(e.kernels[0].name == "a");  // in order of time
  CHECK(e.kernels[0].count == 2);
  CHECK(e.kernels[0].seconds.value_or(0) == Approx(2e-6));
  CHECK(e.kernels[1].name == "b");
  CHECK(e.kernels[2].name == "[copy device to device]");
  // Three launches were claimed, two were seen; another kernel was claimed and not seen at all.
  CHECK(e.kernels[3].name == "a");
  CHECK(e.kernels[3].count == 1);
  CHECK(e.kernels[3].origin == "worker");
  CHECK(unseen_kernels(e) == std::vector<std::string>{"a", "c"});
  REQUIRE(e.syncs.size() == 1);
  REQUIRE(e.conversions.size() == 1);
  CHECK(e.conversions[0].bytes == 4096);
  REQUIRE(e.notes.size() == 2);
  CHECK(e.notes[0].find("1 copies, 64 bytes") != std::string::npos);
  CHECK(e.notes[1].find("1 GPU activities could not be tied") != std::string::npos);
}

TEST_CASE("a flood of records is counted and cut, an unknown one is passed over", "[layout]") {
  ActivityLog log;
  std::vector<unsigned char> record(256, 0);
  const std::uint32_t unknown = 77, fill = dd::evidence::cupti::fill;
  std::memcpy(record.data(), &unknown, sizeof unknown);
  log.take(record.data());
  CHECK(log.activities.empty());
  std::memcpy(record.data(), &fill, sizeof fill);
  for (std::size_t i = 0; i < ActivityLog::most + 5; ++i) log.take(record.data());
  CHECK(log.activities.size() == ActivityLog::most);
  CHECK(log.dropped == 5);
  CHECK(log.activities.front().name == "[fill]");
}

TEST_CASE("a layout change that a library made is a conversion", "[layout]") {
  ActivityLog log;
  log.activities = {activity(ActivityKind::kernel, "void cudnn::ops::nchwToNhwcKernel<float, float, float, false, true, 0>(cudnn::ops::nchw2nhwc_params_t<float>, float const*, float*)", 1, 10),
                    activity(ActivityKind::kernel, "some_kernel_that_nobody_knows", 1, 20)};
  dd::report::Evidence e;
  add_activity(log, 2, 3, e);
  REQUIRE(e.conversions.size() == 1);
  CHECK(e.conversions[0].kind == "layout");
  REQUIRE(e.kernels.size() == 2);
  CHECK(e.kernels[1].detail.find("of an unknown family") == 0);
  CHECK(e.notes.back().find("without correlation") != std::string::npos);
}
