#include "evidence/trace/header.hpp"

#include <array>
#include <nlohmann/json.hpp>

namespace dd::evidence {
namespace {

using Json = nlohmann::json;

bool plain_version(std::string_view text) {
  if (text.empty() || text.size() > 40) return false;
  for (const char c : text)
    if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '+' || c == '-' || c == '_')) return false;
  return text.front() >= '0' && text.front() <= '9';
}

int number_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return 0;
  const double value = found->get<double>();
  return value >= 0 && value < 1e9 ? static_cast<int>(value) : 0;
}

// A parse that stops at deep nesting instead of following it.
Json parse_shallow(std::string_view text) {
  return Json::parse(text, [](int depth, Json::parse_event_t, Json&) { return depth < 24; }, false);
}

void read_devices(std::string_view text, Trace& trace) {
  const Json list = parse_shallow(text);
  if (!list.is_array()) return;
  if (list.empty()) trace.header["no_devices"] = "1";  // the profiler looked for GPUs and found none
  for (const Json& each : list) {
    if (!each.is_object() || trace.devices.size() >= 1024) continue;
    Device device;
    const auto name = each.find("name");
    if (name != each.end() && name->is_string()) device.name = name->get<std::string>().substr(0, 128);
    // "computeProperties" of 2021 has the runtime's own names.
    device.major = number_of(each, each.contains("computeMajor") ? "computeMajor" : "major");
    device.minor = number_of(each, each.contains("computeMinor") ? "computeMinor" : "minor");
    device.processors = number_of(each, each.contains("numSms") ? "numSms" : "multiProcessorCount");
    device.warp = number_of(each, "warpSize");
    trace.devices.push_back(std::move(device));
  }
}

// Versions that tools put under "metadata", wherever they nest them. Only keys named here, only version-like values.
void read_versions(const Json& node, int depth, Trace& trace) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 12> wanted = {{{"torch", "torch"}, {"torch_version", "torch"},
      {"torch.__version__", "torch"}, {"pytorch_version", "torch"}, {"cuda", "cuda"}, {"cuda_version", "cuda"}, {"cudnn", "cudnn"},
      {"cudnn_version", "cudnn"}, {"cublas", "cublas"}, {"cublas_version", "cublas"}, {"hip", "hip"}, {"hip_version", "hip"}}};
  if (depth > 8 || !node.is_object()) return;
  for (const auto& [key, value] : node.items()) {
    if (key == "env" || key == "environ" || key == "environment") continue;
    for (const auto& [name, as] : wanted)
      if (key == name && value.is_string() && plain_version(value.get_ref<const std::string&>())) trace.header.emplace(as, value.get<std::string>());
    read_versions(value, depth + 1, trace);
  }
}

}  // namespace

void read_header(std::string_view key, std::string_view value, Trace& trace) {
  static constexpr std::array<std::string_view, 14> numbers = {"schemaVersion", "record_shapes", "with_stack", "with_flops", "with_modules",
      "profile_memory", "cuda_runtime_version", "cuda_driver_version", "cupti_version", "hip_runtime_version", "hip_driver_version",
      "roctracer_version", "baseTimeNanoseconds", "rocprofiler-sdk_version"};
  if (key == "deviceProperties" || key == "computeProperties") return read_devices(value, trace);
  if (key == "metadata") return read_versions(parse_shallow(value), 0, trace);
  for (const std::string_view each : numbers)
    if (key == each && value.size() <= 32) {
      std::string_view text = value;
      if (text.size() >= 2 && text.front() == '"') text = text.substr(1, text.size() - 2);
      if (plain_version(text)) trace.header[std::string(key)] = std::string(text);
    }
}

}  // namespace dd::evidence
