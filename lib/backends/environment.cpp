#include "backends/environment.hpp"

#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "backends/backend.hpp"
#include "backends/cuda_runtime/environment.hpp"
#include "backends/libraries/onednn.hpp"
#include "backends/libraries/openblas.hpp"
#include "backends/mapped.hpp"
#include "core/version.hpp"
#include "facts/machine.hpp"
#include "images.hpp"
#include "ops/simd/kernels.hpp"

extern char** environ;

namespace dd::backends {
namespace {

using Json = nlohmann::ordered_json;

// Variables that change which kernel serves a call, by name or by the start of the name.
constexpr std::string_view exact_names[] = {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER",    "CUDA_LAUNCH_BLOCKING", "CUDA_MODULE_LOADING",
                                            "NVIDIA_TF32_OVERRIDE", "LD_LIBRARY_PATH",      "LD_PRELOAD",           "GOMP_CPU_AFFINITY",
                                            "DISABLE_ADDMM_CUDA_LT", "GLIBC_TUNABLES",      "MALLOC_ARENA_MAX"};
constexpr std::string_view prefixes[] = {"OPENBLAS_", "GOTO_", "OMP_", "KMP_", "MKL_", "ONEDNN_", "DNNL_", "MKLDNN_", "DD_", "CUBLAS_",
                                         "CUBLASLT_", "CUDNN_", "TORCH_", "PYTORCH_", "VLLM_", "NVPL_", "BLIS_"};

bool changes_dispatch(std::string_view name) {
  for (std::string_view exact : exact_names)
    if (name == exact) return true;
  for (std::string_view prefix : prefixes)
    if (name.substr(0, prefix.size()) == prefix) {
      // Keys and addresses of services share some prefixes; their values are nobody's business.
      for (std::string_view secret : {"KEY", "TOKEN", "SECRET", "PASS", "URL", "HOST"})
        if (name.find(secret) != std::string_view::npos) return false;
      return true;
    }
  return false;
}

std::string clean(const std::string& text, bool redact) { return redact ? redacted(text) : text; }

Json variables(bool redact) {
  Json out = Json::object();
  std::vector<std::string> lines;
  for (char** at = environ; at && *at; ++at) lines.emplace_back(*at);
  std::sort(lines.begin(), lines.end());
  for (const std::string& line : lines) {
    const auto equals = line.find('=');
    if (equals == std::string::npos || !changes_dispatch(line.substr(0, equals))) continue;
    out[line.substr(0, equals)] = clean(line.substr(equals + 1, 4096), redact);
  }
  return out;
}

std::string distribution() {
  std::ifstream file("/etc/os-release");
  for (std::string line; std::getline(file, line);)
    if (line.compare(0, 12, "PRETTY_NAME=") == 0) {
      std::string name = line.substr(12);
      std::erase(name, '"');
      return name;
    }
  return {};
}

std::string compiler() {
#if defined(__clang__)
  return fmt::format("clang {}.{}.{}", __clang_major__, __clang_minor__, __clang_patchlevel__);
#else
  return fmt::format("g++ {}.{}.{}", __GNUC__, __GNUC_MINOR__, __GNUC_PATCHLEVEL__);
#endif
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json processor() {
  const facts::Machine& m = facts::machine();
  return {{"model", m.cpu_model},
          {"architecture", m.architecture},
          {"isa", m.isa},
          {"isa_levels", m.isa_levels},
          {"own_kernels", std::string(ops::simd::kernels().name)},
          {"logical_cpus", m.logical_cpus},
          {"affinity_cpus", m.affinity_cpus},
          {"cgroup_cpus", or_null(m.cgroup_cpus)},
          {"threads", m.threads}};
}

Json memory() {
  const facts::Machine m = facts::measure_machine();
  return {{"total", or_null(m.memory_total)}, {"cgroup_left", or_null(m.cgroup_memory)}, {"address_space_left", or_null(m.address_space)},
          {"available", or_null(m.memory_available)}};
}

Json libraries(bool redact) {
  Json out = Json::array();
  for (const MappedLibrary& library : mapped_libraries())
    out.push_back({{"path", clean(library.path, redact)}, {"version", library.version}, {"build_id", library.build_id}});
  return out;
}

Json openblas_record(bool redact) {
  const OpenBlas& b = openblas();
  if (!b.ok()) return {{"available", false}, {"why", clean(b.problem, redact)}};
  return {{"available", true}, {"version", b.version}, {"kernel_set", b.core}, {"kernel_set_isa", b.core_isa}, {"pinned_by", b.pinned.empty() ? Json(nullptr) : Json("OPENBLAS_CORETYPE=" + b.pinned)},
          {"config", b.config}, {"path", clean(b.library.path, redact)}};
}

Json onednn_record(bool redact) {
  const OneDnn& d = onednn();
  if (!d.ok()) return {{"available", false}, {"why", clean(d.problem, redact)}};
  return {{"available", true}, {"version", d.version.to_text()}, {"isa", d.isa}, {"capped_by", d.capped_by.empty() ? Json(nullptr) : Json(d.capped_by)},
          {"path", clean(d.library.path, redact)}};
}

// NVIDIA's libraries beside what this build was made with, and what is wrong with them.
Json nvidia_record(bool redact) {
  Json out;
  const auto text = [](std::string_view s) { return s.empty() ? Json(nullptr) : Json(std::string(s)); };
  out["built_with"] = {{"compiler", text(kernels::image_compiler())}, {"architectures", text(kernels::image_architectures())}};
  out["libraries"] = Json::array();
  for (const cuda::Library which : cuda::all_libraries) {
    Json library = cuda::library_record_json(which);
    for (const char* field : {"path", "error"})
      if (library.contains(field)) library[field] = clean(library[field].get<std::string>(), redact);
    out["libraries"].push_back(std::move(library));
  }
  out["findings"] = Json::array();
  for (const rules::Finding& f : cuda::environment_findings(cuda::all_libraries, true))
    out["findings"].push_back({{"id", f.rule->id}, {"level", core::to_text(f.rule->level)}, {"title", f.rule->title}, {"seen", clean(f.seen, redact)}, {"required", f.required},
                               {"effect", f.rule->effect}, {"fix", f.rule->fix.text}});
  return out;
}

Json record(bool redact, bool nvidia) {
  utsname system{};
  uname(&system);
  Json out;
  out["tool"] = {{"name", "dispatchdoctor"}, {"version", std::string(core::tool_version())}, {"compiler", compiler()}, {"optimised",
#ifdef NDEBUG
                 true
#else
                 false
#endif
                }};
  out["system"] = {{"kernel", fmt::format("{} {}", system.sysname, system.release)}, {"distribution", distribution()}};
  if (!redact) out["system"]["host"] = system.nodename;
  out["processor"] = processor();
  out["memory"] = memory();
  out["openblas"] = openblas_record(redact);
  out["onednn"] = onednn_record(redact);
  if (nvidia) out["nvidia"] = nvidia_record(redact);
  out["libraries"] = libraries(redact);
  out["variables"] = variables(redact);
  out["redacted"] = redact;
  return out;
}

std::string amount(const Json& bytes) {
  return bytes.is_null() ? "unknown" : fmt::format("{:.1f} GiB", bytes.get<double>() / (1 << 30));
}

std::string text_of(const Json& value) { return value.is_string() ? value.get<std::string>() : value.is_null() ? "none" : value.dump(); }

std::string joined(const Json& list) {
  std::string out;
  for (const Json& item : list) out += (out.empty() ? "" : " ") + item.get<std::string>();
  return out.empty() ? "none" : out;
}

}  // namespace

// Bytes from the environment need not be UTF-8; what is not is replaced, so that dump() cannot throw.
std::string environment_json(bool redact, bool nvidia) { return record(redact, nvidia).dump(2, ' ', false, Json::error_handler_t::replace); }

std::string environment_text(bool redact) {
  const Json r = record(redact, true);
  std::string out;
  const auto line = [&](std::string_view name, const std::string& value) { out += fmt::format("{:<12}{}\n", name, value); };
  line("tool", fmt::format("dispatchdoctor {}, built with {}", text_of(r["tool"]["version"]), text_of(r["tool"]["compiler"])));
  line("system", fmt::format("{}, {}", text_of(r["system"]["distribution"]), text_of(r["system"]["kernel"])));
  if (r["system"].contains("host")) line("host", text_of(r["system"]["host"]));
  const Json& p = r["processor"];
  line("processor", fmt::format("{} ({})", text_of(p["model"]), text_of(p["architecture"])));
  line("extensions", joined(p["isa_levels"]));
  line("kernels", fmt::format("own kernels use {}", text_of(p["own_kernels"])));
  line("threads", fmt::format("{} of {} processors (affinity {}, cgroup quota {})", text_of(p["threads"]), text_of(p["logical_cpus"]),
                              text_of(p["affinity_cpus"]), text_of(p["cgroup_cpus"])));
  line("memory", fmt::format("{} available of {}", amount(r["memory"]["available"]), amount(r["memory"]["total"])));
  const Json& b = r["openblas"];
  line("OpenBLAS", b["available"].get<bool>() ? fmt::format("{}, kernel set {}, pinned by {}", text_of(b["version"]), text_of(b["kernel_set"]), text_of(b["pinned_by"]))
                                              : "unavailable: " + text_of(b["why"]));
  const Json& d = r["onednn"];
  line("oneDNN", d["available"].get<bool>() ? fmt::format("{}, up to {}, capped by {}", text_of(d["version"]), text_of(d["isa"]), text_of(d["capped_by"]))
                                            : "unavailable: " + text_of(d["why"]));
  const Json& n = r["nvidia"];
  line("device code", n["built_with"]["compiler"].is_null() ? "none in this build" : fmt::format("nvcc {}, for sm {}", text_of(n["built_with"]["compiler"]), text_of(n["built_with"]["architectures"])));
  for (const Json& l : n["libraries"])
    line(text_of(l["name"]), l["available"].get<bool>() ? fmt::format("{}  {}", l.contains("version") ? text_of(l["version"]) : "version unknown", text_of(l["path"])) : "unavailable");
  for (const Json& f : n["findings"])
    out += fmt::format("{}[{}] {}\n  seen      {}\n  effect    {}\n  fix       {}\n", text_of(f["level"]), text_of(f["id"]), text_of(f["title"]), text_of(f["seen"]), text_of(f["effect"]), text_of(f["fix"]));
  out += "libraries that are mapped\n";
  for (const Json& l : r["libraries"]) out += fmt::format("  {}  {}  {}\n", text_of(l["path"]), text_of(l["version"]), text_of(l["build_id"]).substr(0, 12));
  out += "variables that change dispatch\n";
  for (const auto& [name, value] : r["variables"].items()) out += fmt::format("  {}={}\n", name, text_of(value));
  if (r["variables"].empty()) out += "  none are set\n";
  return out;
}

}  // namespace dd::backends
