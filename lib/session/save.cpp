#include "session/save.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <set>

#include "session/safetensors.hpp"
#include "spec/values.hpp"

namespace dd::session {
namespace {

core::Tensor doubles(const std::vector<double>& values, std::vector<std::int64_t> shape) {
  core::Tensor t = make_tensor(core::DType::f64, std::move(shape));
  std::memcpy(t.data(), values.data(), std::min(static_cast<std::size_t>(t.storage_bytes), values.size() * sizeof(double)));
  return t;
}

// How elements that this format has no type for lie in the file.
std::string packing_of(const core::Tensor& t) {
  if (core::info(t.dtype).bits >= 8) return {};
  const char* sign = t.dtype == core::DType::s4 ? ", in two's complement" : t.dtype == core::DType::u4 ? ", unsigned" : "";
  return fmt::format("{} elements of shape {}, the last axis fastest, two a byte: the even one in the low four bits, the odd one in the high four{}",
                     core::to_text(t.dtype), spec::format_dims(t.shape), sign);
}

// What the numbers of a quantized product mean together.
std::string quant_meaning(const spec::Gemm& g, const std::string& role) {
  const spec::Quant& q = *g.quant;
  const std::string n = q.group_size == 0 ? "0" : "n";  // one scale for the whole tensor
  const std::string group = q.group_size <= 0 ? "0" : q.act_order ? "group_index[k]" : fmt::format("floor(k / {})", q.group_size);
  const std::string at = fmt::format("[{}, {}]", group, n);
  if (role == "w") return fmt::format("codes; weight[k, n] = ({}) * scales{}", q.zero_point ? "w[k, n] - zeros" + at : "w[k, n]", at);
  if (role == "scales" || role == "zeros") return fmt::format("{}[group, n]: groups lie along k; weight[k, n] takes {}{}", role, role, at);
  if (role == "group_index") return "group of every k";
  if (role == "x_scales") return "the activation is x[..., m, k] * x_scales[0, m]";
  return {};
}

std::string meaning_of(const spec::OpSpec& spec, const std::string& role, const core::Tensor& t) {
  const std::string quant = !spec.is_attention() && spec.gemm().quant ? quant_meaning(spec.gemm(), role) : "";
  const std::string packing = packing_of(t);
  return quant + (quant.empty() || packing.empty() ? "" : "; ") + packing;
}

}  // namespace

std::vector<std::string> file_prefixes(std::span<const std::string> case_ids) {
  constexpr std::size_t longest = 120;  // of 255 that file systems allow; role and ending follow
  std::vector<std::string> out;
  std::set<std::string> taken;
  for (const std::string& id : case_ids) {
    // A case id may be "file:line" with any path in it; the folders are left out.
    const std::string name = id.substr(id.rfind('/') + 1);
    std::string clean;
    for (char ch : name.substr(name.size() - std::min(name.size(), longest))) clean += std::isalnum(static_cast<unsigned char>(ch)) || ch == '-' || ch == '.' ? ch : '_';
    std::string prefix = "case-" + clean;
    for (int n = 2; !taken.insert(prefix).second; ++n) prefix = fmt::format("case-{}-{}", clean, n);
    out.push_back(std::move(prefix));
  }
  return out;
}

void remove_saved(const std::string& folder, std::span<const std::string> prefixes) {
  std::error_code ignored;
  const std::set<std::string_view> ours(prefixes.begin(), prefixes.end());
  std::vector<std::filesystem::path> stale;
  for (std::filesystem::directory_iterator at(folder, ignored), end; at != end; at.increment(ignored)) {
    const std::string name = at->path().filename().string();
    if (!name.ends_with(".safetensors")) continue;
    // Prefixes hold dots as well as roles do.
    for (std::size_t dot = name.find('.'); dot != std::string::npos; dot = name.find('.', dot + 1))
      if (ours.contains(std::string_view(name).substr(0, dot))) {
        stale.push_back(at->path());
        break;
      }
  }
  for (const auto& path : stale) std::filesystem::remove(path, ignored);
}

TensorSaver::TensorSaver(std::string folder, std::string prefix, std::string spec_json, report::Case& c)
    : folder_(std::move(folder)), prefix_(std::move(prefix)), spec_json_(std::move(spec_json)), case_(c) {
  std::error_code ignored;
  std::filesystem::create_directories(folder_, ignored);
}

void TensorSaver::write(const std::string& role, const core::TensorMap& tensors, const std::string& what, const std::string& meaning) {
  const std::string path = fmt::format("{}/{}.{}.safetensors", folder_, prefix_, role);
  core::TensorMap dense;
  for (const auto& [name, tensor] : tensors) dense[name] = contiguous_copy(tensor);
  SafetensorsOptions options;
  options.aligned = false;
  options.metadata = {{"spec", spec_json_}, {"what", what}};
  if (!meaning.empty()) options.metadata["meaning"] = meaning;
  ::unlink(path.c_str());  // a former run's file of that name is replaced
  const auto written = write_safetensors(path, dense, options);
  case_.saved_tensors[role] = written ? path : "not saved: " + core::to_text(written.problems().front());
}

void TensorSaver::inputs(const spec::OpSpec& spec, const core::TensorMap& inputs) {
  for (const auto& [role, tensor] : inputs) write(role, {{role, tensor}}, "input " + role + ", contiguous; strides and offset as in the spec", meaning_of(spec, role, tensor));
  if (spec.is_attention() && spec.attention().dropout_p > 0)
    write("dropout_keep", {{"dropout_keep", ops::cases::dropout_keep_tensor(spec)}}, "1 where the attention weight is kept, times 1/(1-p)");
}

void TensorSaver::reference(const ops::cases::ReferenceValues& r) {
  core::TensorMap tensors;
  std::vector<std::int64_t> shape = r.shape;
  if (!r.rows.empty()) {
    const std::int64_t count = static_cast<std::int64_t>(r.rows.size());
    const std::int64_t width = r.shape.empty() ? 1 : r.shape.back();
    shape = {count, width};
    // Row numbers as doubles: exact to 2^53, and every reader has the type.
    tensors["reference_rows"] = doubles(std::vector<double>(r.rows.begin(), r.rows.end()), {count});
  }
  tensors["reference"] = doubles(r.values, shape);
  if (!r.bound.empty()) tensors["bound"] = doubles(r.bound, shape);
  write("reference", tensors, r.rows.empty() ? "reference values and the limit of the error model" : "sampled rows of the reference; reference_rows holds their numbers");
}

void TensorSaver::output(const std::string& backend, const std::string& policy, const std::string& mode, const core::Tensor& out) {
  const std::string role = fmt::format("out.{}.{}.{}", backend, policy, mode);
  write(role, {{"out", out}}, fmt::format("result of {} under {} in {} mode", backend, policy, mode));
}

}  // namespace dd::session
