// GPU activity as CUPTI hands it over: records of a completed buffer, tied to an attempt by correlation, turned into the
// evidence of the attempt. Pure: the buffers come from backends/cuda_runtime/record, which opens CUPTI.
//
// Of each record only the front is read, whose layout is the same from CUPTI 12.8 (API version 26) to 13.2 (130202);
// compared with the headers of 12.8, 13.0 and 13.2 on 2026-11-29 and again by a test wherever the headers are installed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "report/report.hpp"

namespace dd::evidence {

// CUpti_ActivityKind of what is recorded.
namespace cupti {
constexpr std::uint32_t copy = 1, fill = 2, driver_call = 4, runtime_call = 5, kernel = 10, synchronisation = 38, external = 39;

// Offsets in bytes within a record.
struct KernelAt {
  static constexpr std::size_t registers = 6, start = 16, end = 24, stream = 48, grid = 52, block = 64, static_shared = 76, dynamic_shared = 80,
                               correlation = 92, name = 104, graph_node = 144;
};
struct CopyAt {  // a fill has the same but for the kind
  static constexpr std::size_t kind = 4, bytes = 8, start = 16, end = 24, stream = 40, correlation = 44;
};
struct SyncAt {
  static constexpr std::size_t type = 4, start = 8, end = 16, correlation = 24, stream = 32;
};
struct ExternalAt {
  static constexpr std::size_t id = 8, correlation = 16;
};
}  // namespace cupti

enum class ActivityKind : std::uint8_t { kernel, copy, fill, sync };

struct GpuActivity {
  ActivityKind kind = ActivityKind::kernel;
  std::string name;  // kernels: demangled; others: what it is, in words
  std::uint64_t start = 0, end = 0;  // ns; 0: CUPTI does not know
  std::uint32_t correlation = 0, stream = 0;
  std::int32_t grid[3] = {}, block[3] = {};
  std::int32_t registers = 0;
  std::int64_t shared_bytes = 0;  // static and dynamic
  std::int64_t bytes = 0;         // copied or filled
  bool within_device = false;     // a copy from device to device
  bool from_graph = false;
};

// What was recorded while attempts ran. `take` is called for every record of a buffer.
struct ActivityLog {
  std::vector<GpuActivity> activities;
  std::map<std::uint32_t, std::uint64_t> owners;  // correlation -> id that was pushed around the call
  std::uint64_t dropped = 0;                      // by us beyond the limit, or by CUPTI

  void take(const unsigned char* record);
  static constexpr std::size_t most = 200000;
};

// C++ names readable, others as they are.
std::string demangled(const char* name);
// "sgemm, cublas, tensor cores yes; grid 1x2x3, block 128x1x1, 96 registers, 49152 bytes of shared memory, stream 7"
std::string kernel_description(const GpuActivity& kernel);
// "[fill]", "[copy device to device]": how copies and fills are listed among the kernels, here and for graph nodes.
std::string copy_name(int kind);
inline constexpr const char* fill_name = "[fill]";

// Adds what belongs to `owner` (everything, when nothing carries an owner at all) to the evidence. What a worker or a
// captured graph had listed under the same name is confirmed: the record takes its place, with geometry and time.
// `harness` is the id of this tool's own transfers; they are summed up in a note.
void add_activity(const ActivityLog& log, std::uint64_t owner, std::uint64_t harness, report::Evidence& evidence);

// Kernels that a worker or a graph names and that were not recorded, although recording worked.
std::vector<std::string> unseen_kernels(const report::Evidence& evidence);

}  // namespace dd::evidence
