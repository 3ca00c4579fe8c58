#include "evidence/answer/inputs.hpp"

#include <array>
#include <nlohmann/json.hpp>

#include "evidence/link/families.hpp"

namespace dd::evidence {
namespace {

using PlainJson = nlohmann::json;

constexpr std::size_t most_arguments = 64;
constexpr std::size_t most_axes = 16;

// Numbers only; anything else makes the list empty (a list of tensors nests one level deeper).
std::vector<std::int64_t> integers(const PlainJson& list) {
  std::vector<std::int64_t> out;
  if (!list.is_array() || list.size() > most_axes) return out;
  for (const PlainJson& each : list) {
    if (!each.is_number_integer()) return {};
    out.push_back(each.get<std::int64_t>());
  }
  return out;
}

const PlainJson& member(const PlainJson& object, const char* key) {
  static const PlainJson empty = PlainJson::array();
  const auto found = object.find(key);
  return found != object.end() && found->is_array() ? *found : empty;
}

std::string short_text(const PlainJson& value) { return value.is_string() ? value.get<std::string>().substr(0, 200) : std::string(); }

// a * b stays within 64 bits, for sizes that a trace may claim.
bool sane(const std::vector<std::int64_t>& dims) {
  double product = 1;
  for (const std::int64_t each : dims) {
    if (each < 0) return false;
    product *= static_cast<double>(each);
  }
  return product < 9e18;
}

}  // namespace

OpInputs read_inputs(std::string_view text) {
  OpInputs out;
  if (text.empty()) return out;
  const PlainJson all = PlainJson::parse(text, [](int depth, PlainJson::parse_event_t, PlainJson&) { return depth < 6; }, false);
  if (!all.is_object()) return out;
  const PlainJson &types = member(all, "t"), &dims = member(all, "d"), &strides = member(all, "s"), &concrete = member(all, "c");
  const std::size_t n = std::min(std::max(types.size(), dims.size()), most_arguments);
  for (std::size_t i = 0; i < n; ++i) {
    TensorInfo tensor;
    if (i < types.size()) tensor.dtype = short_text(types[i]);
    if (i < dims.size()) tensor.dims = integers(dims[i]);
    if (i < strides.size()) tensor.strides = integers(strides[i]);
    if (tensor.strides.size() != tensor.dims.size()) tensor.strides.clear();
    tensor.recorded = !tensor.dims.empty() && sane(tensor.dims);
    if (!tensor.recorded) tensor.dims.clear(), tensor.strides.clear();
    out.any = out.any || tensor.recorded;
    out.tensors.push_back(std::move(tensor));
  }
  for (std::size_t i = 0; i < std::min(concrete.size(), most_arguments); ++i) out.concrete.push_back(short_text(concrete[i]));
  return out;
}

namespace {

// x times the weight of a layer, which lies as [N, K]; its packed copy, where there is one, comes before it.
bool linear_of(const OpInputs& inputs, Product& out) {
  if (inputs.tensors.empty() || inputs.tensors[0].dims.empty()) return false;
  const auto& x = inputs.tensors[0].dims;
  out.k = x.back();
  out.m = 1;
  for (std::size_t i = 0; i + 1 < x.size(); ++i) out.m *= x[i];
  for (std::size_t i = 1; i < std::min<std::size_t>(inputs.tensors.size(), 3); ++i) {
    const auto& w = inputs.tensors[i].dims;
    if (w.size() != 2 || w[1] != out.k || w[0] <= 0 || out.m <= 0) continue;
    out.n = w[0];
    out.b = static_cast<int>(i);
    return true;
  }
  return false;
}

}  // namespace

bool product_of(std::string_view op, const OpInputs& inputs, Product& out) {
  if (is_library_linear_op(op)) return linear_of(inputs, out);
  const bool with_bias = op == "aten::addmm" || op == "aten::baddbmm" || op == "aten::_addmm_activation";
  out.a = with_bias ? 1 : 0;
  out.b = with_bias ? 2 : 1;
  if (inputs.tensors.size() <= static_cast<std::size_t>(out.b)) return false;
  const auto &a = inputs.tensors[static_cast<std::size_t>(out.a)].dims, &b = inputs.tensors[static_cast<std::size_t>(out.b)].dims;
  if (a.size() == 2 && b.size() == 2) {
    if (a[1] != b[0]) return false;
    out = {1, a[0], a[1], b[1], out.a, out.b};
    return true;
  }
  if (a.size() == 3 && b.size() == 3) {
    if (a[0] != b[0] || a[2] != b[1]) return false;
    out = {a[0], a[1], a[2], b[2], out.a, out.b};
    return true;
  }
  return false;
}

std::string spec_dtype(std::string_view type) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 20> names = {{{"float", "f32"}, {"double", "f64"}, {"c10::Half", "f16"},
      {"c10::BFloat16", "bf16"}, {"c10::Float8_e4m3fn", "f8_e4m3"}, {"c10::Float8_e5m2", "f8_e5m2"}, {"signed char", "s8"}, {"unsigned char", "u8"},
      {"bool", "bool"}, {"Float", "f32"}, {"Half", "f16"}, {"BFloat16", "bf16"}, {"Double", "f64"}, {"Bool", "bool"}, {"at::Half", "f16"},
      {"at::BFloat16", "bf16"}, {"Char", "s8"}, {"Byte", "u8"}, {"int", "s32"}, {"__nv_bfloat16", "bf16"}}};
  for (const auto& [name, as] : names)
    if (name == type) return std::string(as);
  return {};
}

int dtype_bytes(std::string_view dtype) {
  if (dtype == "f64") return 8;
  if (dtype == "f32" || dtype == "s32") return 4;
  if (dtype == "f16" || dtype == "bf16") return 2;
  return dtype.empty() ? 0 : 1;
}

}  // namespace dd::evidence
