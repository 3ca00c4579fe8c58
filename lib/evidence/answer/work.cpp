#include "evidence/answer/work.hpp"

#include <algorithm>

#include "evidence/link/families.hpp"

namespace dd::evidence {

Work::Work(Trace& t, TraceAnswer& a) : trace(t), answer(a), links(link(t)) { mark_ops(); }

const KernelClass& Work::kind(std::uint32_t name_id) {
  const auto found = kinds_.find(name_id);
  if (found != kinds_.end()) return found->second;
  return kinds_.emplace(name_id, classify_kernel(trace.text[name_id])).first->second;
}

const OpInputs& Work::inputs(std::uint32_t text) {
  const auto found = inputs_.find(text);
  if (found != inputs_.end()) return found->second;
  return inputs_.emplace(text, read_inputs(trace.text[text])).first->second;
}

// Parents come before children in the order, so each operator inherits in one step.
void Work::mark_ops() {
  struct NameFlags {
    bool product, attention;
    unsigned char inside;
  };
  std::vector<NameFlags> names(trace.text.size());
  for (std::uint32_t id = 0; id < names.size(); ++id) {
    const std::string_view text = trace.text[id];
    NameFlags& f = names[id];
    f = {is_gemm_op(text), is_attention_op(text), 0};
    if (f.product) f.inside |= in_product;
    if (f.attention) f.inside |= in_attention;
    if (text == "aten::to" || text == "aten::_to_copy") f.inside |= in_conversion;
    if (text.starts_with("aten::") && text.find("conv") != std::string_view::npos) f.inside |= in_convolution;
    if (text == "aten::contiguous" || text == "aten::clone" || text == "aten::reshape") f.inside |= in_contiguous;
  }
  product_of_op.assign(trace.ops.size(), no_index);
  attention_of_op.assign(trace.ops.size(), no_index);
  inside.assign(trace.ops.size(), 0);
  for (const std::uint32_t i : links.op_order) {
    const OpRecord& op = trace.ops[i];
    const NameFlags& f = names[op.name];
    inside[i] = f.inside;
    if (op.parent != no_index) {
      product_of_op[i] = product_of_op[op.parent];
      attention_of_op[i] = attention_of_op[op.parent];
      inside[i] |= inside[op.parent];
    }
    if (f.product && product_of_op[i] == no_index) product_of_op[i] = i;
    if (f.attention && attention_of_op[i] == no_index) attention_of_op[i] = i;
  }
}

Work::Owned Work::owned_by(const std::vector<std::uint32_t>& owner_of_op) const {
  Owned out;
  for (std::uint32_t i = 0; i < trace.gpu.size(); ++i) {
    const std::uint32_t op = links.op_of_gpu[i];
    if (op == no_index || links.is_replay[i] || owner_of_op[op] == no_index) continue;
    out.emplace_back(owner_of_op[op], i);
  }
  std::sort(out.begin(), out.end(), [&](const auto& a, const auto& b) {
    if (a.first != b.first) return a.first < b.first;
    const GpuRecord &x = trace.gpu[a.second], &y = trace.gpu[b.second];
    if (x.start != y.start) return x.start < y.start;
    if (x.correlation != y.correlation) return x.correlation < y.correlation;
    return a.second < b.second;
  });
  return out;
}

Role Work::role_of(std::uint32_t gpu) {
  const Role by_name = kind(trace.gpu[gpu].name).role;
  if (by_name != Role::cast && by_name != Role::layout && by_name != Role::copy_or_cast) return by_name;
  const std::uint32_t op = links.op_of_gpu[gpu];
  if (op == no_index || links.is_replay[gpu] || name(trace.ops[op].name) != "aten::copy_") return by_name;
  const OpInputs& in = inputs(trace.ops[op].inputs);
  if (in.tensors.size() < 2 || in.tensors[0].dtype.empty() || in.tensors[1].dtype.empty()) return by_name;
  if (in.tensors[0].dtype != in.tensors[1].dtype) return Role::cast;
  if (in.tensors[0].strides.empty() || in.tensors[1].strides.empty()) return by_name == Role::cast ? Role::copy_or_cast : by_name;
  const auto contiguous = [](const TensorInfo& t) {
    std::int64_t expected = 1;
    for (std::size_t i = t.dims.size(); i-- > 0;) {
      if (t.dims[i] != 1 && t.strides[i] != expected) return false;
      expected *= t.dims[i];
    }
    return true;
  };
  return contiguous(in.tensors[0]) && contiguous(in.tensors[1]) ? Role::copy : Role::layout;
}

}  // namespace dd::evidence
