#include "evidence/cupti.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "evidence/kernels/kernels.hpp"
#include "fmt/format.h"

namespace dd::evidence {
namespace {

template <class T>
T at(const unsigned char* record, std::size_t offset) {
  T value;
  std::memcpy(&value, record + offset, sizeof value);
  return value;
}

GpuActivity kernel_of(const unsigned char* r) {
  using cupti::KernelAt;
  GpuActivity a;
  a.name = demangled(at<const char*>(r, KernelAt::name));
  a.start = at<std::uint64_t>(r, KernelAt::start);
  a.end = at<std::uint64_t>(r, KernelAt::end);
  a.correlation = at<std::uint32_t>(r, KernelAt::correlation);
  a.stream = at<std::uint32_t>(r, KernelAt::stream);
  for (std::size_t i = 0; i < 3; ++i) {
    a.grid[i] = at<std::int32_t>(r, KernelAt::grid + 4 * i);
    a.block[i] = at<std::int32_t>(r, KernelAt::block + 4 * i);
  }
  a.registers = at<std::uint16_t>(r, KernelAt::registers);
  a.shared_bytes = std::int64_t{at<std::int32_t>(r, KernelAt::static_shared)} + at<std::int32_t>(r, KernelAt::dynamic_shared);
  a.from_graph = at<std::uint64_t>(r, KernelAt::graph_node) != 0;
  return a;
}

GpuActivity copy_of(const unsigned char* r, bool fill) {
  using cupti::CopyAt;
  constexpr int device_to_device = 8;
  GpuActivity a;
  a.kind = fill ? ActivityKind::fill : ActivityKind::copy;
  const int kind = r[CopyAt::kind];
  a.name = fill ? fill_name : copy_name(kind);
  a.within_device = !fill && kind == device_to_device;
  a.bytes = static_cast<std::int64_t>(at<std::uint64_t>(r, CopyAt::bytes));
  a.start = at<std::uint64_t>(r, CopyAt::start);
  a.end = at<std::uint64_t>(r, CopyAt::end);
  a.correlation = at<std::uint32_t>(r, CopyAt::correlation);
  a.stream = at<std::uint32_t>(r, CopyAt::stream);
  return a;
}

GpuActivity sync_of(const unsigned char* r) {
  using cupti::SyncAt;
  static constexpr const char* names[] = {"synchronisation", "event synchronise", "stream waits for an event", "stream synchronise", "context synchronise"};
  GpuActivity a;
  a.kind = ActivityKind::sync;
  const auto type = at<std::uint32_t>(r, SyncAt::type);
  a.name = type < std::size(names) ? names[type] : names[0];
  a.start = at<std::uint64_t>(r, SyncAt::start);
  a.end = at<std::uint64_t>(r, SyncAt::end);
  a.correlation = at<std::uint32_t>(r, SyncAt::correlation);
  a.stream = at<std::uint32_t>(r, SyncAt::stream);
  return a;
}

double seconds_of(const GpuActivity& a) { return a.end > a.start && a.start > 0 ? static_cast<double>(a.end - a.start) * 1e-9 : 0; }

std::string detail_of(const GpuActivity& a) {
  if (a.kind == ActivityKind::kernel) return kernel_description(a);
  if (a.kind == ActivityKind::sync) return a.stream == 0xffffffffu ? "" : fmt::format("stream {}", a.stream);
  return fmt::format("{} bytes, stream {}", a.bytes, a.stream);
}

void merge(std::vector<report::Operation>& list, const GpuActivity& a, const std::string& detail) {
  const double seconds = seconds_of(a);
  for (report::Operation& o : list) {
    if (o.name != a.name || o.detail != detail) continue;
    ++o.count;
    o.seconds = o.seconds.value_or(0) + seconds;
    return;
  }
  list.push_back({a.name, detail, "CUPTI", 1, seconds});
}

// What a worker or a graph says was launched.
bool is_claim(const report::Operation& o) { return o.origin == "worker" || o.origin == "graph"; }

// Claims that records confirm are dropped: the record says more. What is left was claimed and not seen.
void keep_unconfirmed(std::vector<report::Operation> claims, std::vector<report::Operation>& kernels) {
  std::map<std::string, std::int64_t> recorded;
  for (const report::Operation& o : kernels) recorded[o.name] += o.count;
  for (report::Operation& claim : claims) {
    std::int64_t& left = recorded[claim.name];
    const std::int64_t confirmed = std::min(left, claim.count);
    left -= confirmed;
    claim.count -= confirmed;
    if (claim.count > 0) kernels.push_back(std::move(claim));
  }
}

void add_conversion(report::Evidence& evidence, const GpuActivity& a) {
  if (a.within_device) {
    evidence.conversions.push_back({"copy", "device to device", a.bytes});
    return;
  }
  if (a.kind != ActivityKind::kernel) return;
  const KernelClass c = classify_kernel(a.name);
  if (c.role == Role::cast || c.role == Role::layout || c.role == Role::copy_or_cast)
    evidence.conversions.push_back({c.role == Role::layout ? "layout" : "cast", a.name.substr(0, 200), 0});
}

}  // namespace

void ActivityLog::take(const unsigned char* r) {
  switch (at<std::uint32_t>(r, 0)) {
    case cupti::external:
      if (owners.size() < most) owners[at<std::uint32_t>(r, cupti::ExternalAt::correlation)] = at<std::uint64_t>(r, cupti::ExternalAt::id);
      return;
    case cupti::kernel:
    case cupti::copy:
    case cupti::fill:
    case cupti::synchronisation: break;
    default: return;  // calls are recorded for their correlation alone
  }
  if (activities.size() >= most) {
    ++dropped;
    return;
  }
  const auto kind = at<std::uint32_t>(r, 0);
  activities.push_back(kind == cupti::kernel ? kernel_of(r) : kind == cupti::synchronisation ? sync_of(r) : copy_of(r, kind == cupti::fill));
}

std::string demangled(const char* name) {
  if (!name) return "kernel without a name";
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? text.get() : name;
}

std::string kernel_description(const GpuActivity& k) {
  const KernelClass c = classify_kernel(k.name);
  std::string out = c.known() ? fmt::format("{}, {}, tensor cores {}", c.label, c.row->provider, tri_name(c.tensor_cores)) : "of an unknown family";
  out += fmt::format("; grid {}x{}x{}, block {}x{}x{}", k.grid[0], k.grid[1], k.grid[2], k.block[0], k.block[1], k.block[2]);
  if (k.registers > 0) out += fmt::format(", {} registers", k.registers);
  out += fmt::format(", {} bytes of shared memory", k.shared_bytes);
  if (k.stream != 0) out += fmt::format(", stream {}", k.stream);
  if (k.from_graph) out += ", replayed from a graph";
  return out;
}

std::string copy_name(int kind) {
  static constexpr const char* names[] = {"[copy]", "[copy host to device]", "[copy device to host]", "[copy host to array]", "[copy array to host]", "[copy array to array]",
                                          "[copy array to device]", "[copy device to array]", "[copy device to device]", "[copy host to host]", "[copy between devices]"};
  return kind >= 0 && kind < static_cast<int>(std::size(names)) ? names[kind] : names[0];
}

void add_activity(const ActivityLog& log, std::uint64_t owner, std::uint64_t harness, report::Evidence& evidence) {
  const bool tied = !log.owners.empty();
  std::vector<const GpuActivity*> own;
  std::int64_t other = 0, transfers = 0, transferred = 0;
  for (const GpuActivity& a : log.activities) {
    const auto found = log.owners.find(a.correlation);
    const std::uint64_t id = found == log.owners.end() ? 0 : found->second;
    if (!tied || id == owner) own.push_back(&a);
    else if (id != harness) ++other;
    else if (a.kind == ActivityKind::copy) ++transfers, transferred += a.bytes;
  }
  std::stable_sort(own.begin(), own.end(), [](const GpuActivity* a, const GpuActivity* b) { return a->start < b->start; });
  std::vector<report::Operation> claims, others;
  for (report::Operation& o : evidence.kernels) (is_claim(o) ? claims : others).push_back(std::move(o));
  evidence.kernels = std::move(others);
  for (const GpuActivity* a : own) {
    merge(a->kind == ActivityKind::sync ? evidence.syncs : evidence.kernels, *a, detail_of(*a));
    add_conversion(evidence, *a);
  }
  keep_unconfirmed(std::move(claims), evidence.kernels);
  if (transfers > 0) evidence.notes.push_back(fmt::format("moved by this tool itself, not counted: {} copies, {} bytes", transfers, transferred));
  if (other > 0) evidence.notes.push_back(fmt::format("{} GPU activities could not be tied to this attempt and are left out", other));
  if (!tied && !own.empty()) evidence.notes.push_back("recorded without correlation: everything that the GPU did meanwhile is listed");
  if (log.dropped > 0) evidence.notes.push_back(fmt::format("{} GPU activities were not recorded for lack of room", log.dropped));
}

std::vector<std::string> unseen_kernels(const report::Evidence& evidence) {
  std::vector<std::string> out;
  if (evidence.recording != "recorded") return out;
  for (const report::Operation& o : evidence.kernels)
    if (is_claim(o)) out.push_back(o.name);
  return out;
}

}  // namespace dd::evidence
