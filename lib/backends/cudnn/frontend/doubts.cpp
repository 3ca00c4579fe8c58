// Which answers of cuDNN are not to be relied on, found by asking 9.19 about calls whose outcome is known otherwise.
#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "backends/cudnn/frontend/ask.hpp"

namespace dd::cudnn {
namespace {

using core::DType;

bool is_half_or_f8(DType t) { return t == DType::f16 || t == DType::bf16 || t == DType::f8_e4m3 || t == DType::f8_e5m2; }

void about_layout(const spec::TensorSpec& t, const char* name, std::vector<std::string>& out) {
  if (core::bytes_of(t.dtype, t.offset) % copy_bytes != 0)
    out.push_back(fmt::format("{} does not start at a multiple of {} bytes; the question does not say where tensors start", name, copy_bytes));
  const spec::Dims strides = spec::strides_of(t);
  bool odd = false, repeated = false;
  for (std::size_t i = 0; i + 1 < strides.size(); ++i) {
    if (t.shape[i] < 2) continue;
    odd = odd || core::bytes_of(t.dtype, strides[i]) % copy_bytes != 0;
    repeated = repeated || strides[i] == 0;
  }
  if (odd) out.push_back(fmt::format("a stride of {} is no multiple of {} bytes; cuDNN accepts such strides even for engines whose copies cannot do them", name, copy_bytes));
  if (repeated) out.push_back(fmt::format("an axis of {} is repeated by a stride of 0; cuDNN does not look at that", name));
}

double bytes_of(const spec::TensorSpec& t) {
  double elements = 1;
  for (std::int64_t extent : t.shape) elements *= static_cast<double>(extent);
  return elements * core::info(t.dtype).bits / 8;
}

void about_attention(const spec::Attention& a, std::int64_t device_bytes, std::vector<std::string>& out) {
  about_layout(a.q, "q", out);
  about_layout(a.k, "k", out);
  about_layout(a.v, "v", out);
  if (device_bytes > 0 && bytes_of(a.q) * 2 + bytes_of(a.k) + bytes_of(a.v) > static_cast<double>(device_bytes))
    out.push_back("the tensors do not fit into the device's memory; cuDNN does not look at that");
  constexpr std::int64_t confirmed = 256;
  if (std::max(a.q.shape.empty() ? 0 : a.q.shape.back(), a.v.shape.empty() ? 0 : a.v.shape.back()) > confirmed)
    out.push_back(fmt::format("head sizes above {} are accepted; nobody has confirmed that on a device", confirmed));
  if (a.requires_grad) out.push_back("gradients are needed; only the forward pass was asked about");
}

void about_product(const spec::Gemm& g, bool serves, std::vector<std::string>& out) {
  if (!serves && !(is_half_or_f8(g.x.dtype) && g.x.dtype == g.w.dtype))
    out.push_back("declined because cuBLASLt inside cuDNN cannot start without a device, whatever it would do with one");
}

// Why this call has no form as a question.
std::string no_question(const spec::OpSpec& spec) {
  if (!spec.is_attention()) return spec.gemm().quant ? "cuDNN has no product with packed weights" : "";
  const spec::Attention& a = spec.attention();
  if (a.nested) return "ragged lengths are not part of the question";
  if (a.q.dtype == DType::f8_e4m3 || a.q.dtype == DType::f8_e5m2) return "8-bit floats need scale tensors, which a call as described here does not have";
  return {};
}

}  // namespace

std::vector<std::string> doubts(const spec::OpSpec& spec, const Answer& answer, std::int64_t device_bytes) {
  std::vector<std::string> out;
  if (spec.is_attention() && answer.serves()) about_attention(spec.attention(), device_bytes, out);
  if (!spec.is_attention()) about_product(spec.gemm(), answer.serves(), out);
  return out;
}

Answer not_asked(std::string code, std::string why) {
  Answer answer;
  answer.library = "cuDNN";
  answer.error = report::Error{std::move(code), std::move(why), "cuDNN"};
  return answer;
}

Answer answer(const spec::OpSpec& spec, const std::string& device_json) {
  if (const std::string why = no_question(spec); !why.empty()) return not_asked("no-question", why);
  Answer out = spec.is_attention() ? ask(attention_question(spec), device_json) : ask(product_question(spec), device_json);
  if (!out.answered()) return out;
  const auto device = nlohmann::json::parse(device_json, nullptr, false);
  const bool sized = device.is_object() && device.contains("totalGlobalMem") && device["totalGlobalMem"].is_number_integer();
  out.doubts = doubts(spec, out, sized ? device["totalGlobalMem"].get<std::int64_t>() : 0);
  return out;
}

}  // namespace dd::cudnn
