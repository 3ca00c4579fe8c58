#include <tuple>

#include "evidence/answer/work.hpp"
#include "evidence/link/families.hpp"
#include "fmt/format.h"

namespace dd::evidence {
namespace {

void add(Tallies& to, const std::string& key, double us) {
  Tally& tally = to[key];
  ++tally.count;
  tally.us += us;
}

std::string_view origin_of(unsigned char inside) {
  if (inside & in_conversion) return "from aten::to";
  if (inside & in_contiguous) return "from contiguous/clone/reshape";
  if (inside & (in_product | in_attention)) return "inside gemm/sdpa op";
  return "elsewhere";
}

void count_gpu(Work& work) {
  TraceAnswer& answer = work.answer;
  std::unordered_map<std::uint32_t, std::size_t> index;
  std::map<std::tuple<std::string, std::string, std::string, int>, Tally> by_operator;
  for (std::uint32_t i = 0; i < work.trace.gpu.size(); ++i) {
    const GpuRecord& gpu = work.trace.gpu[i];
    const double us = work.us(i);
    answer.gpu_us += us;
    std::string role;
    std::string replay_key;
    if (gpu.kind == GpuKind::kernel) {
      ++answer.kernels_seen;
      const KernelClass& kind = work.kind(gpu.name);
      const Role exact = work.role_of(i);
      role = role_name(exact);
      replay_key = role;
      if (exact == Role::gemm || exact == Role::gemm_aux || exact == Role::attention || exact == Role::layout || exact == Role::cast)
        replay_key += ": " + kind.label;
      const std::uint32_t inner = work.links.op_of_gpu[i];
      if (exact == Role::gemm || exact == Role::attention) {
        Tally& tally = by_operator[{role, kind.label, inner == no_index ? std::string() : std::string(work.name(work.trace.ops[inner].name).substr(0, 200)), gpu.device}];
        ++tally.count;
        tally.us += us;
      }
      const auto [at, fresh] = index.emplace(gpu.name, answer.kernels.size());
      if (fresh) {
        answer.kernels.push_back({std::string(work.name(gpu.name)), kind});
        if (!kind.known()) ++answer.kernels_unclassified;
      }
      KernelSummary& summary = answer.kernels[at->second];
      ++summary.count;
      summary.us += us;
      if (work.links.is_replay[i]) ++summary.replayed;
      if (gpu.call == no_index) ++summary.unlinked;
      if (inner != no_index) ++summary.in_ops;
      if (inner != no_index && !work.links.is_replay[i] && (work.inside[inner] & (in_product | in_attention | in_convolution)) == 0) ++summary.by_other_ops;
      if (inner == no_index && gpu.call != no_index && !work.links.is_replay[i]) ++summary.apart;
    } else if (gpu.kind == GpuKind::copy) {
      ++answer.copies_seen;
      role = replay_key = "memcpy";
      add(answer.memcpy_by_name, std::string(work.name(gpu.name).substr(0, 120)), us);
    } else {
      ++answer.fills_seen;
      role = replay_key = "memset";
    }
    add(answer.by_role, role, us);
    if (work.links.is_replay[i]) add(answer.replayed, replay_key, us);
    if (work.links.op_of_gpu[i] != no_index && (role == "memcpy" || role == "cast" || role == "layout" || role == "copy?" || role == "copy"))
      add(answer.copies_by_origin, fmt::format("{} {}", role, origin_of(work.inside[work.links.op_of_gpu[i]])), us);
  }
  for (const auto& [key, tally] : by_operator)
    answer.kernels_by_operator.push_back({std::get<0>(key), std::get<1>(key), std::get<2>(key), std::get<3>(key), tally.count, tally.us});
}

void count_calls(Work& work) {
  TraceAnswer& answer = work.answer;
  std::vector<signed char> sync(work.trace.text.size(), -1), graph(work.trace.text.size(), -1);
  for (std::uint32_t i = 0; i < work.trace.calls.size(); ++i) {
    const CallRecord& call = work.trace.calls[i];
    if (sync[call.name] < 0) {
      sync[call.name] = is_sync_call(work.name(call.name)) ? 1 : 0;
      graph[call.name] = is_graph_launch(work.name(call.name)) ? 1 : 0;
    }
    if (graph[call.name] == 1) ++answer.graph_launches[std::string(work.name(call.name))];
    if (sync[call.name] != 1) continue;
    ++answer.sync_calls[std::string(work.name(call.name))];
    if (call.op != no_index) ++answer.sync_by_op[std::string(work.name(work.trace.ops[call.op].name).substr(0, 200))];
  }
}

void count_ops(Work& work) {
  std::uint64_t items = 0, scalars = 0;
  const bool nsys = work.trace.format == TraceFormat::nsys_sqlite;
  for (std::uint32_t i = 0; i < work.trace.ops.size(); ++i) {
    const std::string_view name = work.name(work.trace.ops[i].name);
    if (nsys && (name == "aten::linear" || name == "aten::matmul" || is_gemm_op(name) || is_attention_op(name))) ++work.answer.nvtx_ranges[std::string(name)];
    if (is_compiled_region(name)) ++work.answer.compiled_regions;
    if (name == "aten::item") ++items;
    if (name == "aten::_local_scalar_dense") ++scalars;
  }
  work.answer.item_calls = std::max(items, scalars);
}

}  // namespace

void count_events(Work& work) {
  count_gpu(work);
  count_calls(work);
  count_ops(work);
  static constexpr std::string_view sync_names[] = {"other", "Event sync", "Stream wait sync", "Stream sync", "Context sync"};
  for (const auto& [kind, count] : work.trace.sync_kinds) work.answer.sync_kinds[fmt::format("{} ({})", kind, sync_names[kind < 5 ? kind : 0])] = count;
  work.answer.cuda_sync_events = work.trace.cuda_sync_events;
}

}  // namespace dd::evidence
