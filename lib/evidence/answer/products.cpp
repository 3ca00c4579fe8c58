#include <algorithm>

#include "evidence/answer/work.hpp"
#include "evidence/link/families.hpp"
#include "fmt/format.h"
#include "fmt/ranges.h"

namespace dd::evidence {

std::string_view gemm_state_name(GemmState state) {
  static constexpr std::string_view names[] = {"unknown", "fast", "degraded", "slow", "vector"};
  return names[static_cast<std::size_t>(state)];
}

// By the name alone. Vector products (one row or column) are bound by memory: neither fast path nor fallback.
GemmState gemm_state(const KernelClass& kind) {
  if (kind.role != Role::gemm) return GemmState::unknown;
  if (kind.row->family == "gemv" || kind.row->family == "gemv-quantized") return GemmState::vector;
  if (kind.row->family == "gemm-quantized") return GemmState::fast;  // the packed weights are multiplied as they lie
  if (kind.tensor_cores == Tri::no || kind.dtype == "fp32") return GemmState::slow;
  if (kind.tensor_cores == Tri::unknown) return GemmState::unknown;
  const int bytes = kind.dtype == "tf32" ? 4 : kind.dtype == "bf16" || kind.dtype == "fp16" ? 2 : kind.dtype == "fp64" ? 8 : 1;
  if (kind.wmma || (kind.alignment > 0 && kind.alignment * bytes < 16)) return GemmState::degraded;
  return GemmState::fast;
}

namespace {

constexpr std::size_t most_groups = 20000;

// A launch of a handful of work groups leaves most of a GPU idle, however good the kernel. Only for products that are
// large enough to fill it: 5 GFLOP and more.
bool few_work_groups(const OperatorGroup& group, const KernelClass& kind, std::uint32_t blocks, const std::vector<Device>& devices) {
  if (group.m <= 0 || kind.tile_m <= 0 || kind.tile_n <= 0) return false;
  const double flops = 2.0 * static_cast<double>(group.batch) * static_cast<double>(group.m) * static_cast<double>(group.n) * static_cast<double>(group.k);
  if (flops < 5e9) return false;
  const auto tiles = [&](std::int64_t a, std::int64_t b) {
    return static_cast<double>((group.m + a - 1) / a) * static_cast<double>((group.n + b - 1) / b) * static_cast<double>(group.batch) * kind.split_k;
  };
  // Libraries that think in columns swap both sides, so the larger count is the safe one.
  const double groups = blocks > 0 ? blocks : std::max(tiles(kind.tile_m, kind.tile_n), tiles(kind.tile_n, kind.tile_m));
  const int processors = devices.empty() || devices.front().processors == 0 ? 100 : devices.front().processors;
  return groups * 8 <= processors;
}

struct Main {
  std::uint32_t gpu = no_index;
  std::string aux;
};

// The kernel that does the work: of several products the one that took longest.
Main main_of(Work& work, const std::vector<std::uint32_t>& events) {
  Main out;
  for (const std::uint32_t i : events) {
    if (work.trace.gpu[i].kind != GpuKind::kernel) continue;
    const KernelClass& kind = work.kind(work.trace.gpu[i].name);
    if (kind.role == Role::gemm && (out.gpu == no_index || work.trace.gpu[i].duration > work.trace.gpu[out.gpu].duration)) out.gpu = i;
    if (kind.role == Role::gemm_aux && out.aux.empty()) out.aux = kind.label;
  }
  return out;
}

void describe_group(Work& work, OperatorGroup& group, const OpRecord& op, const std::vector<std::uint32_t>& events) {
  const Main main = main_of(work, events);
  const OpInputs& in = work.inputs(op.inputs);
  Product shape;
  if (in.any && product_of(group.op, in, shape)) {
    group.batch = shape.batch;
    group.m = shape.m;
    group.n = shape.n;
    group.k = shape.k;
  }
  if (in.any) {
    group.inputs = in.tensors;
    group.concrete = in.concrete;
  }
  bool kernel_seen = false;
  for (const std::uint32_t i : events) {
    const GpuRecord& gpu = work.trace.gpu[i];
    group.kernels.emplace_back(work.name(gpu.name));
    if (gpu.kind == GpuKind::fill && !kernel_seen) group.memset_before = true;
    if (gpu.kind != GpuKind::kernel) continue;
    kernel_seen = true;
    const KernelClass& kind = work.kind(gpu.name);
    group.kernel_classes.push_back(kind.known() ? kind.label : "unknown");
  }
  if (main.gpu == no_index) {
    if (work.answer.on_processor && is_packed_product_op(group.op)) {
      group.main_class = "packed weights, multiplied as they lie";
      group.served_by = "processor";
      group.state = GemmState::fast;
      return;
    }
    group.main_class = main.aux.empty() ? "no kernel linked" : "main GEMM kernel missing, only: " + main.aux;
    return;
  }
  const KernelClass& kind = work.kind(work.trace.gpu[main.gpu].name);
  group.main_class = kind.label;
  group.served_by = kind.row->provider;
  group.state = gemm_state(kind);
  if (group.state == GemmState::fast && few_work_groups(group, kind, work.trace.gpu[main.gpu].blocks, work.trace.devices)) {
    group.state = GemmState::degraded;
    group.backend = "few-work-groups";
  }
}

// What two calls must share to count as the same product: both factors, not bias or output.
std::string factors_key(const OpInputs& in, std::string_view op) {
  Product shape;
  if (!in.any || !product_of(op, in, shape)) return in.any ? "odd" : "";
  const TensorInfo &a = in.tensors[static_cast<std::size_t>(shape.a)], &b = in.tensors[static_cast<std::size_t>(shape.b)];
  return fmt::format("{}{}{}/{}{}{}", a.dtype, fmt::join(a.dims, "x"), fmt::join(a.strides, ","), b.dtype, fmt::join(b.dims, "x"), fmt::join(b.strides, ","));
}

}  // namespace

void group_products(Work& work) {
  const Work::Owned owned = work.owned_by(work.product_of_op);
  std::unordered_map<std::string, std::size_t> index;
  std::size_t at = 0;
  std::vector<std::uint32_t> events;
  for (std::uint32_t i = 0; i < work.trace.ops.size(); ++i) {
    if (work.product_of_op[i] == no_index) continue;
    const OpRecord& op = work.trace.ops[i];
    if (work.product_of_op[i] != i) {
      if (op.name == work.trace.ops[work.product_of_op[i]].name) ++work.answer.gemm_ops_recorded_twice;
      continue;
    }
    events.clear();
    double us = 0;
    while (at < owned.size() && owned[at].first < i) ++at;
    for (; at < owned.size() && owned[at].first == i; ++at) {
      events.push_back(owned[at].second);
      us += work.us(owned[at].second);
    }
    const std::string name(work.name(op.name));
    ++work.answer.gemm_ops[name];
    std::string key = fmt::format("{}|{}", op.name, factors_key(work.inputs(op.inputs), name));
    for (const std::uint32_t event : events) key += fmt::format("|{}", work.kind(work.trace.gpu[event].name).label);  // one group for nn and nt of a family
    auto found = index.find(key);
    if (found == index.end()) {
      if (work.answer.gemms.size() >= most_groups) key = "rest";
      found = index.emplace(key, work.answer.gemms.size()).first;
      if (found->second == work.answer.gemms.size()) {
        OperatorGroup group;
        group.op = name;
        describe_group(work, group, op, events);
        work.answer.gemms.push_back(std::move(group));
      }
    }
    OperatorGroup& group = work.answer.gemms[found->second];
    ++group.count;
    group.gpu_us += us;
    Tally& tally = work.answer.gemm_by_class[group.main_class];
    ++tally.count;
    tally.us += us;
  }
  std::stable_sort(work.answer.gemms.begin(), work.answer.gemms.end(), [](const auto& a, const auto& b) { return a.gpu_us > b.gpu_us; });
}

}  // namespace dd::evidence
