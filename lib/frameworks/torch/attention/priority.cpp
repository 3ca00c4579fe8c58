#include "frameworks/torch/attention/priority.hpp"

#include <algorithm>
#include <optional>

namespace dd::frameworks::torch_attention {
namespace {

using facts::FactSet;
using facts::Id;
using facts::Version;
using Order = std::vector<std::string_view>;

const Order flash_first{"torch-flash", "torch-efficient", "torch-math"};
const Order efficient_first{"torch-efficient", "torch-flash", "torch-math"};
const Order cudnn_first{"torch-cudnn", "torch-flash", "torch-efficient", "torch-math"};
const Order cudnn_second{"torch-flash", "torch-cudnn", "torch-efficient", "torch-math"};
const Order cudnn_last{"torch-flash", "torch-efficient", "torch-math", "torch-cudnn"};
const Order on_cpu{"torch-cpu-flash", "torch-math"};

std::optional<std::int64_t> integer(const FactSet& facts, Id id) {
  if (const auto* v = std::get_if<std::int64_t>(&facts.value(id))) return *v;
  return std::nullopt;
}

std::optional<bool> boolean(const FactSet& facts, Id id) {
  if (const auto* v = std::get_if<bool>(&facts.value(id))) return *v;
  return std::nullopt;
}

std::string text(const FactSet& facts, Id id) {
  const auto* v = std::get_if<std::string>(&facts.value(id));
  return v ? *v : std::string();
}

// 2.0 and 2.1 guess from the shape which of the two kernels fills the GPU.
Priority by_shape(const FactSet& facts, bool before_2_1) {
  if (boolean(facts, Id::nested).value_or(false)) return {efficient_first, "ragged tensors: memory-efficient first"};
  const auto batch = integer(facts, Id::batch), heads = integer(facts, Id::q_heads), length = integer(facts, Id::q_len),
             size = integer(facts, Id::head_dim), size_k = integer(facts, Id::head_dim_k);
  if (!batch || !heads || !length || !size) return {flash_first, "order of 2.0 and 2.1"};
  const std::int64_t groups = *batch * *heads;
  if (!before_2_1 && boolean(facts, Id::requires_grad).value_or(false)) {
    if (6 * groups > *length) return {efficient_first, "training with 6 * batch * heads above q_len: memory-efficient first"};
    return {flash_first, "training with 6 * batch * heads up to q_len: flash first"};
  }
  if (std::max(*size, size_k.value_or(*size)) == 128) return {efficient_first, "head size 128: memory-efficient first"};
  if (groups < 60 && groups * (*length / 64) / 2 >= groups)
    return {efficient_first, "fewer than 60 heads in all and a long query: memory-efficient first"};
  return {flash_first, "order of 2.0 and 2.1 for this shape"};
}

Version last_parts(std::int64_t major, std::int64_t minor) { return Version::of(major, minor, 99999); }

// Whether cuDNN goes first by default in 2.9 and newer; nullopt when a fact that decides is not known.
std::optional<bool> cudnn_preferred(const FactSet& facts, Version torch) {
  const bool at_2_9 = torch <= last_parts(2, 9);
  if (at_2_9 && text(facts, Id::env_cudnn_preferred) == "0") return false;
  if (!at_2_9 && text(facts, Id::env_cudnn_deprioritized) == "1") return false;
  const auto built = boolean(facts, Id::built_cudnn);
  if (built && !*built) return false;
  const auto cc = integer(facts, Id::compute_capability);
  if (cc) {
    bool right_gpu = *cc == 90 || *cc == 100 || (torch >= Version::of(2, 11) && *cc == 103);
    const auto* cuda = std::get_if<Version>(&facts.value(Id::cuda_version));
    // Builds on CUDA 13 compare the major number only; a later minor of these lines has no older build.
    if (torch >= Version::of(2, 14) && (!cuda || *cuda >= Version::of(13)))
      right_gpu = right_gpu || (*cc >= 90 && *cc <= 109);
    if (!right_gpu) return false;
  }
  const auto* cudnn = std::get_if<Version>(&facts.value(Id::cudnn_version));
  if (cudnn && *cudnn < (at_2_9 ? Version::of(9, 9) : Version::of(9, 15, 1))) return false;
  if (!cc || !cudnn) return std::nullopt;
  return true;
}

std::vector<Priority> since_2_9(const FactSet& facts, Version torch) {
  const auto preferred = cudnn_preferred(facts, torch);
  const Priority first{cudnn_first, "cuDNN first: data-centre Hopper or Blackwell with a recent cuDNN"};
  const Priority last{cudnn_last, "cuDNN behind math: not a GPU and cuDNN that 2.9 and newer prefer it on"};
  if (preferred) return {*preferred ? first : last};
  return {first, last};
}

std::vector<Priority> on_cuda(const FactSet& facts) {
  const auto* torch = std::get_if<Version>(&facts.value(Id::torch_version));
  if (!torch) return {{cudnn_last, "order of 2.5.1 to 2.8"}, {cudnn_first, "order of a release that prefers cuDNN"}};
  if (*torch <= last_parts(2, 1)) return {by_shape(facts, *torch <= last_parts(2, 0))};
  if (*torch <= last_parts(2, 2)) return {{flash_first, "fixed order of 2.2"}};
  if (*torch <= last_parts(2, 4)) return {{cudnn_first, "fixed order of 2.3 and 2.4; cuDNN is opt-in there"}};
  if (*torch < Version::of(2, 5, 1)) {
    const auto cc = integer(facts, Id::compute_capability);
    const auto built = boolean(facts, Id::built_cudnn);
    const Priority first{cudnn_first, "2.5.0 prefers cuDNN on sm_90 and newer"};
    const Priority second{cudnn_second, "2.5.0 puts cuDNN behind flash before sm_90"};
    if ((cc && *cc < 90) || (built && !*built)) return {second};
    if (!cc || !built) return {first, second};
    return {first};
  }
  if (*torch <= last_parts(2, 8)) return {{cudnn_last, "order of 2.5.1 to 2.8: cuDNN behind math"}};
  return since_2_9(facts, *torch);
}

// The user's list goes first, what it leaves out follows in the default order (2.6 and newer).
void apply_user_order(const spec::OpSpec& spec, const FactSet& facts, std::vector<Priority>& priorities) {
  const auto* torch = std::get_if<Version>(&facts.value(Id::torch_version));
  if (!spec.policy.order || (torch && *torch < Version::of(2, 6))) return;
  static constexpr std::string_view settable[] = {"torch-cudnn", "torch-flash", "torch-efficient", "torch-math", "torch-overrideable"};
  for (Priority& p : priorities) {
    Order order;
    for (const std::string& wanted : *spec.policy.order)
      for (std::string_view name : settable)
        if (name == wanted && std::find(order.begin(), order.end(), name) == order.end()) order.push_back(name);
    if (order.empty()) continue;
    for (std::string_view name : p.order)
      if (std::find(order.begin(), order.end(), name) == order.end()) order.push_back(name);
    p = {order, "the order given by the caller, then the default one"};
  }
}

}  // namespace

std::vector<Priority> priorities(const spec::OpSpec& spec, const FactSet& facts) {
  if (text(facts, Id::device_type) == "cpu") return {{on_cpu, "fixed order on the CPU"}};
  std::vector<Priority> out = on_cuda(facts);
  apply_user_order(spec, facts, out);
  return out;
}

}  // namespace dd::frameworks::torch_attention
