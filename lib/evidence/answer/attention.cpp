#include <algorithm>

#include "evidence/answer/by_name.hpp"
#include "evidence/answer/work.hpp"
#include "evidence/link/families.hpp"
#include "fmt/format.h"

namespace dd::evidence {
namespace {

// Products and softmaxes that are operators inside the call: a decomposition, whatever the outer name says.
struct Inner {
  std::uint32_t products = 0, softmaxes = 0;
};

// The operator's child decides, the kernel confirms. Without kernels the child's name alone must do.
void judge_call(Work& work, OperatorGroup& group, const std::vector<std::uint32_t>& events, const Inner& inner) {
  AttentionWay way = AttentionWay::open;
  for (const std::string& each : group.path)
    if (attention_way(each) != AttentionWay::open) way = attention_way(each);
  bool fused = false, plain = false, product = false, softmax = false;
  for (const std::uint32_t i : events) {
    const GpuRecord& gpu = work.trace.gpu[i];
    group.kernels.emplace_back(work.name(gpu.name));
    if (gpu.kind != GpuKind::kernel) continue;
    const KernelClass& kind = work.kind(gpu.name);
    group.kernel_classes.push_back(kind.known() ? kind.label : "unknown");
    fused = fused || is_fused_attention(kind);
    plain = plain || (kind.role == Role::attention && !is_fused_attention(kind));
    product = product || kind.role == Role::gemm;
    softmax = softmax || kind.role == Role::softmax;
    if (kind.role == Role::attention && group.main_class.empty()) group.main_class = kind.label;
  }
  if (fused) {
    group.served_by = "fused";
    group.state = GemmState::fast;
  } else if (way == AttentionWay::math || (product && softmax) || plain || (inner.products >= 2 && inner.softmaxes > 0 && group.kernel_classes.empty())) {
    group.served_by = "decomposed";
    group.state = GemmState::slow;
    if (way == AttentionWay::open || way == AttentionWay::engine) way = AttentionWay::math;
  } else if (way == AttentionWay::flash || way == AttentionWay::efficient || way == AttentionWay::cudnn || way == AttentionWay::cpu_flash) {
    group.served_by = "fused";
    group.state = GemmState::fast;
  } else {
    group.served_by = "unknown";
  }
  group.backend = way_name(way);
  if (group.main_class.empty()) group.main_class = group.served_by;
}

}  // namespace

void group_attention(Work& work) {
  // Members of each call, in time order: parents first.
  std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> members;
  std::unordered_map<std::uint32_t, Inner> inner;
  for (const std::uint32_t i : work.links.op_order)
    if (work.attention_of_op[i] != no_index && is_attention_op(work.name(work.trace.ops[i].name))) members[work.attention_of_op[i]].push_back(i);
  for (const std::uint32_t i : work.links.op_order) {
    if (work.attention_of_op[i] == no_index) continue;
    const std::string_view name = work.name(work.trace.ops[i].name);
    if (work.product_of_op[i] == i) ++inner[work.attention_of_op[i]].products;
    if (name == "aten::_softmax" || name == "aten::_masked_softmax") ++inner[work.attention_of_op[i]].softmaxes;
  }
  const Work::Owned owned = work.owned_by(work.attention_of_op);
  std::vector<std::uint32_t> tops;
  for (const auto& [top, list] : members) tops.push_back(top);
  std::sort(tops.begin(), tops.end());
  std::unordered_map<std::string, std::size_t> index;
  std::size_t at = 0;
  std::vector<std::uint32_t> events;
  for (const std::uint32_t top : tops) {
    events.clear();
    double us = 0;
    while (at < owned.size() && owned[at].first < top) ++at;
    for (; at < owned.size() && owned[at].first == top; ++at) {
      events.push_back(owned[at].second);
      us += work.us(owned[at].second);
    }
    const OpRecord& op = work.trace.ops[top];
    std::string key = fmt::format("{}", op.inputs);
    std::vector<std::string> path;
    for (const std::uint32_t i : members[top]) {
      const std::string name(work.name(work.trace.ops[i].name));
      if (name == "aten::_fused_sdp_choice" && !path.empty()) continue;
      if (std::find(path.begin(), path.end(), name) == path.end()) path.push_back(name);
    }
    for (const std::string& each : path) key += '|' + each;
    for (const std::uint32_t event : events) key += fmt::format("|{}", work.trace.gpu[event].name);
    const auto [found, fresh] = index.emplace(key, work.answer.attention.size());
    if (fresh) {
      OperatorGroup group;
      group.op = path.front();
      group.path = std::move(path);
      group.backward = is_backward_attention(group.op);
      const OpInputs& in = work.inputs(op.inputs);
      if (in.any) {
        group.inputs = in.tensors;
        group.concrete = in.concrete;
      }
      judge_call(work, group, events, inner[top]);
      work.answer.attention.push_back(std::move(group));
    }
    OperatorGroup& group = work.answer.attention[found->second];
    ++group.count;
    group.gpu_us += us;
  }
}

namespace {

// Shapes prove the chain: the first product's output is what the softmax works on and what the second multiplies.
enum class Proof { no, unproven, yes };
Proof proves(Work& work, const OpRecord& first, const OpRecord& softmax, const OpRecord& second) {
  const OpInputs &a = work.inputs(first.inputs), &s = work.inputs(softmax.inputs), &b = work.inputs(second.inputs);
  if (!a.any || !s.any || !b.any) return Proof::unproven;
  Product p, q;
  if (!product_of(work.name(first.name), a, p) || !product_of(work.name(second.name), b, q) || s.tensors.empty()) return Proof::no;
  const auto& dims = s.tensors[0].dims;
  if (dims.size() < 2 || dims.back() != p.n || dims[dims.size() - 2] != p.m) return Proof::no;
  std::int64_t outer = 1;
  for (std::size_t i = 0; i + 2 < dims.size(); ++i) outer *= dims[i];
  return outer == p.batch && q.batch == p.batch && q.m == p.m && q.k == p.n ? Proof::yes : Proof::no;
}

}  // namespace

// bmm, softmax, bmm in order on one thread with no other product between them, outside any attention operator.
void find_written_out(Work& work) {
  std::unordered_map<std::string, std::size_t> index;
  std::uint32_t first = no_index, softmax = no_index, thread = no_index;
  for (const std::uint32_t i : work.links.op_order) {
    const OpRecord& op = work.trace.ops[i];
    if (op.thread != thread) {
      thread = op.thread;
      first = softmax = no_index;
    }
    if (work.attention_of_op[i] != no_index) continue;
    const std::string_view name = work.name(op.name);
    if (name == "aten::_softmax" || (name == "aten::softmax" && softmax == no_index)) {
      if (first != no_index) softmax = i;
      continue;
    }
    if (work.product_of_op[i] != i) continue;
    const bool batched = name == "aten::bmm" || name == "aten::baddbmm";
    if (batched && first != no_index && softmax != no_index) {
      const Proof proof = proves(work, work.trace.ops[first], work.trace.ops[softmax], op);
      if (proof != Proof::no) {
        ++work.answer.written_out_attention;
        const OpInputs& in = work.inputs(work.trace.ops[first].inputs);
        const auto [found, fresh] = index.emplace(fmt::format("{}|{}", work.trace.ops[first].inputs, op.inputs), work.answer.written_out.size());
        if (fresh) {
          OperatorGroup group;
          group.op = "bmm, softmax, bmm";
          group.served_by = "decomposed";
          group.backend = proof == Proof::yes ? "proven" : "unproven";
          group.state = GemmState::slow;
          group.inputs = in.any ? in.tensors : std::vector<TensorInfo>{};
          const OpInputs& second = work.inputs(op.inputs);
          if (in.any && second.any) group.inputs.insert(group.inputs.end(), second.tensors.begin(), second.tensors.end());
          work.answer.written_out.push_back(std::move(group));
        }
        ++work.answer.written_out[found->second].count;
        first = softmax = no_index;
        continue;
      }
    }
    first = batched ? i : no_index;
    softmax = no_index;
  }
}

}  // namespace dd::evidence
