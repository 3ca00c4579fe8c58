#include "session/autocast.hpp"

#include <map>
#include <memory>
#include <new>

#include "ops/tensor/convert.hpp"

namespace dd::session {
namespace {

using core::DType;

// What autocast's list of lower precision does to one operand: f64 and whole numbers stay.
bool to_narrower(DType& dtype, DType to) {
  if (!core::is_float(dtype) || dtype == DType::f64 || core::info(dtype).bits < 16 || dtype == to) return false;
  dtype = to;
  return true;
}

std::map<std::string, DType> types_of(const spec::OpSpec& spec) {
  if (!spec.is_attention()) {
    const spec::Gemm& g = spec.gemm();
    std::map<std::string, DType> out{{"x", g.x.dtype}, {"w", g.w.dtype}};
    if (g.bias) out["bias"] = g.bias->dtype;
    return out;
  }
  const spec::Attention& a = spec.attention();
  std::map<std::string, DType> out{{"q", a.q.dtype}, {"k", a.k.dtype}, {"v", a.v.dtype}};
  if (a.mask) out["mask"] = a.mask->dtype;
  return out;
}

}  // namespace

std::optional<spec::OpSpec> lowered_by_autocast(const spec::OpSpec& spec) {
  if (!spec.flags.autocast || spec.context.framework != "torch") return std::nullopt;
  spec::OpSpec out = spec;
  const DType to = *spec.flags.autocast;
  bool changed = false;
  if (spec.is_attention()) {
    spec::Attention& a = std::get<0>(out.op);
    for (DType* dtype : {&a.q.dtype, &a.k.dtype, &a.v.dtype}) changed |= to_narrower(*dtype, to);
    if (a.mask) changed |= to_narrower(a.mask->dtype, to);
  } else {
    spec::Gemm& g = std::get<1>(out.op);
    if (g.quant) return std::nullopt;
    for (DType* dtype : {&g.x.dtype, &g.w.dtype}) changed |= to_narrower(*dtype, to);
    if (g.bias) changed |= to_narrower(g.bias->dtype, to);
  }
  return changed ? std::optional(std::move(out)) : std::nullopt;
}

core::TensorMap in_types_of(const spec::OpSpec& spec, const core::TensorMap& lowered) {
  const auto types = types_of(spec);
  std::map<std::pair<const std::byte*, DType>, std::pair<std::shared_ptr<std::byte>, std::int64_t>> done;
  core::TensorMap out = lowered;
  for (auto& [role, t] : out) {
    const auto wanted = types.find(role);
    if (wanted == types.end() || wanted->second == t.dtype || core::info(t.dtype).bits < 8) continue;
    auto& [storage, bytes] = done[{t.storage.get(), wanted->second}];
    if (!storage) {
      const std::int64_t count = t.storage_bytes / (core::info(t.dtype).bits / 8);
      constexpr std::align_val_t aligned{64};
      bytes = core::bytes_of(wanted->second, count);
      storage = std::shared_ptr<std::byte>(static_cast<std::byte*>(::operator new(static_cast<std::size_t>(bytes + 64), aligned)),
                                           [](std::byte* p) { ::operator delete(p, aligned); });
      for (std::int64_t i = 0; i < count; ++i) ops::store(storage.get(), wanted->second, i, ops::load(t.storage.get(), t.dtype, i));
    }
    t.storage = storage;
    t.storage_bytes = bytes;
    t.dtype = wanted->second;
  }
  return out;
}

}  // namespace dd::session
