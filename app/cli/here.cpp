// backends, devices and env: what is here.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "backends/backend.hpp"
#include "backends/catalogue.hpp"
#include "backends/common/device_profile.hpp"
#include "backends/cuda_runtime/driver.hpp"
#include "backends/cuda_runtime/libraries.hpp"
#include "backends/environment.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "core/version.hpp"
#include "facts/machine.hpp"
#include "facts/profiles.hpp"
#include "report/render/format.hpp"
#include "spec/values.hpp"

namespace dd::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string backends_text(const RunOptions& run) {
  const bool color = use_color(run);
  std::string out;
  std::set<std::string> told;  // what is missing for many of them is explained once
  for (spec::Op op : {spec::Op::sdpa, spec::Op::gemm}) {
    out += report::paint(core::to_text(op), report::Ink::bold, color) + "  (in the order in which they are tried)\n";
    for (const backends::Backend& b : backends::all_backends()) {
      if (b.op != op) continue;
      const backends::Availability a = b.probe ? b.probe() : backends::Availability{};
      const std::string state = report::paint(fmt::format("{:<12}", a.available ? "available" : "unavailable"),
                                              a.available ? report::Ink::good : report::Ink::bad, color);
      out += fmt::format("  {:<14}{}{:<6}{}\n", b.name, state, b.fast ? "fast" : "slow", b.summary);
      if (!a.detail.empty()) out += fmt::format("  {:<14}{}{}\n", "", a.available ? "" : "why: ", a.detail);
      for (const std::string& id : a.finding_ids)
        if (const rules::Rule* rule = backends::catalogue().find(id))
          out += fmt::format("  {:<14}[{}] {}{}\n", "", id, rule->title, told.insert(id).second ? fmt::format(": {}", rule->fix.text) : "");
    }
  }
  return out;
}

Json backends_json() {
  Json out = Json::array();
  for (const backends::Backend& b : backends::all_backends()) {
    const backends::Availability a = b.probe ? b.probe() : backends::Availability{};
    Json ids = Json::array(), findings = Json::array();
    for (const rules::Rule& r : b.judged_by()) ids.push_back(r.id);
    for (const std::string& id : a.finding_ids)
      if (const rules::Rule* rule = backends::catalogue().find(id)) findings.push_back({{"id", id}, {"title", rule->title}, {"effect", rule->effect}, {"fix", rule->fix.text}});
    out.push_back({{"name", b.name}, {"op", core::to_text(b.op)}, {"summary", b.summary}, {"library", b.library}, {"device", b.device},
                   {"fast", b.fast}, {"available", a.available}, {"detail", a.detail}, {"finding_ids", a.finding_ids}, {"findings", findings}, {"rules", ids}});
  }
  return out;
}

Json profile_json(const facts::DeviceProfile& p) {
  Json fields = Json::object();
  for (const auto& [name, field] : p.fields) {
    fields[name] = {{"value", field.value}, {"source", field.source}};
    if (!field.checked.empty()) fields[name]["checked"] = field.checked;
    if (field.unverified) fields[name]["unverified"] = true;
  }
  return {{"name", p.name}, {"title", p.title}, {"architecture", p.architecture}, {"device_type", p.device_type}, {"fields", fields}};
}

// 4800000000000 bytes/s reads as 4.8 TB/s; JSON has the exact value.
std::string figure_text(std::int64_t value, std::string_view unit) {
  if (unit == "bytes") return report::human_bytes(value);
  const std::string_view per_second = unit == "bytes/s" ? "B/s" : unit;
  if (!per_second.ends_with("/s")) return fmt::format("{} {}", value, unit);
  static constexpr std::pair<double, const char*> scales[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}};
  for (const auto& [scale, letter] : scales)
    if (static_cast<double>(value) >= scale) return fmt::format("{:.4g} {}{}", static_cast<double>(value) / scale, letter, per_second);
  return fmt::format("{} {}", value, per_second);
}

std::string profile_text(const facts::DeviceProfile& p) {
  std::string out = fmt::format("{}  {}{}\n", p.name, p.title, p.architecture.empty() ? "" : ", " + p.architecture);
  for (const facts::ProfileFieldInfo& info : facts::profile_fields()) {
    const auto it = p.fields.find(std::string(info.name));
    if (it == p.fields.end()) {
      out += fmt::format("  {:<28}{:<16} {}\n", info.name, "unknown", info.text);
    } else {
      out += fmt::format("  {:<28}{:<16} {}\n", info.name, figure_text(it->second.value, info.unit), facts::source_text(it->second));
    }
  }
  return out;
}

// A GPU that is here as a profile, with every figure's source.
core::Result<Json> profile_of_gpu(int ordinal) {
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  const std::chrono::year_month_day date(today);
  const std::string day = fmt::format("{:04}-{:02}-{:02}", static_cast<int>(date.year()), static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  return backends::device_profile(ordinal, day, fmt::format("dispatchdoctor {}", core::tool_version()));
}

int record_device(const Invocation& in) {
  const auto ordinal = in.arguments.empty() ? std::optional(0) : spec::gpu_ordinal(in.arguments.front());
  if (!ordinal) {
    complain("error: devices --record: a GPU that is here is recorded: cuda or cuda:N");
    return 2;
  }
  const auto profile = profile_of_gpu(*ordinal);
  if (!profile) {
    complain(profile.problems());
    return 5;
  }
  const std::string text = profile->dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  // What is written has to be readable again; a driver that answers nonsense is found here and not by the next user.
  if (const auto read = facts::parse_profile(text, *in.run.record_file); !read) {
    complain(read.problems());
    return 4;
  }
  if (*in.run.record_file == "-") {
    print(text);
    return 0;
  }
  std::ofstream out(*in.run.record_file, std::ios::binary);
  out << text;
  out.flush();
  if (!out) {
    complain(fmt::format("error: {}: cannot be written", *in.run.record_file));
    return 2;
  }
  print(fmt::format("{}: {}\n", *in.run.record_file, (*profile)["title"].get<std::string>()));
  return 0;
}

int refuse_device(core::Problems problems, int code) {
  for (core::Problem& p : problems) p.field = "devices";
  complain(problems);
  return code;
}

// The processor in the form of a profile: what was measured here, and from where.
Json host_json() {
  const facts::Machine& m = facts::machine();
  Json fields = Json::object();
  const auto add = [&](const char* name, Json value, const char* source) { fields[name] = {{"value", std::move(value)}, {"source", source}}; };
  add("isa", m.isa, "cpuid");
  add("isa_levels", m.isa_levels, "cpuid");
  add("threads", m.threads, "affinity and cgroup quota");
  add("logical_cpus", m.logical_cpus, "system");
  if (m.cgroup_cpus) add("cgroup_cpus", *m.cgroup_cpus, "cgroup");
  if (m.memory_total) add("memory_total_bytes", *m.memory_total, "/proc/meminfo");
  if (m.memory_available) add("memory_available_bytes", *m.memory_available, "system, cgroup and limits");
  if (m.address_space) add("address_space_left_bytes", *m.address_space, "ulimit -v");
  return {{"name", "host"}, {"title", m.cpu_model.empty() ? "processor unknown" : m.cpu_model}, {"architecture", m.architecture}, {"device_type", "cpu"}, {"fields", fields}};
}

std::string host_text() {
  const Json host = host_json();
  std::string out = fmt::format("host  {}, {}\n", host["title"].get<std::string>(), host["architecture"].get<std::string>());
  for (const auto& [name, field] : host["fields"].items()) {
    const Json& value = field["value"];
    std::string text = value.dump();
    if (value.is_string()) text = value.get<std::string>();
    if (value.is_array()) text = fmt::format("{}", fmt::join(value.get<std::vector<std::string>>(), " "));
    if (name.ends_with("_bytes")) text = report::human_bytes(value.get<std::int64_t>());
    out += fmt::format("  {:<28}{:<16} {}\n", name, text, field["source"].get<std::string>());
  }
  return out;
}

// The GPUs of this machine, or why there is none.
std::string gpus_text() {
  const cuda::LibraryRecord& driver = cuda::library(cuda::Library::driver);
  if (!driver || driver.stub) return fmt::format("  {:<14}none: {}\n", "cuda", driver ? "only the toolkit's stand-in of the driver is here" : driver.error);
  std::string out;
  for (int i = 0; i < 64; ++i) {
    const auto d = cuda::describe_device(i);
    if (!d) return out.empty() ? fmt::format("  {:<14}none: {}\n", "cuda", d.problems().front().message) : out;
    out += fmt::format("  {:<14}{}, compute capability {}.{}, {} multiprocessors, {}\n", fmt::format("cuda:{}", i), d->name, d->compute_capability / 10,
                       d->compute_capability % 10, d->sm_count, report::human_bytes(d->memory_bytes));
  }
  return out;
}

}  // namespace

int run_devices(const Invocation& in) {
  if (in.run.record_file) return record_device(in);
  std::vector<facts::DeviceProfile> shown;
  std::string state;  // of a GPU that is here: driver, clocks, throttling, MIG
  bool host = false;
  for (const std::string& name : in.arguments) {
    if (name == "host" || name == "cpu") {
      host = true;
      continue;
    }
    if (const auto ordinal = spec::gpu_ordinal(name)) {
      const auto here = profile_of_gpu(*ordinal);
      auto profile = here ? facts::parse_profile(here->dump(), name) : core::Result<facts::DeviceProfile>(here.problems());
      if (!profile) return refuse_device(profile.problems(), 5);
      shown.push_back(std::move(*profile));
      for (const auto& [what, value] : here->at("recorded").items())
        if (value.is_string() && what != "cudnn_device") state += fmt::format("  {:<28}{}\n", what, value.get<std::string>());
      continue;
    }
    auto found = facts::find_profiles(name);
    if (!found) return refuse_device(found.problems(), 2);
    shown.insert(shown.end(), found->begin(), found->end());
  }
  const bool list = in.arguments.empty();
  if (list) shown = facts::known_profiles();
  if (in.run.format == Format::json) {
    Json out = Json::array();
    if (host) out.push_back(host_json());
    for (const facts::DeviceProfile& p : shown) out.push_back(profile_json(p));
    print(shown_text(out.dump(2) + "\n", in.run));
    return 0;
  }
  if (!list) {
    if (host) print(host_text());
    for (const facts::DeviceProfile& p : shown) print(shown_text(profile_text(p) + state, in.run));
    return 0;
  }
  const facts::Machine& m = facts::machine();
  print(fmt::format("here\n  {:<14}{}, {} threads, {}\n", "host", m.cpu_model.empty() ? "processor unknown" : m.cpu_model, m.threads, m.isa));
  print(gpus_text());
  print("profiles (GPUs that need not be here; `dispatchdoctor devices NAME` shows the fields and their sources)\n");
  for (const facts::DeviceProfile& p : shown) print(fmt::format("  {:<14}{}\n", p.name, p.title));
  return 0;
}

int run_backends(const Invocation& in) {
  print(shown_text(in.run.format == Format::json ? backends_json().dump(2) + "\n" : backends_text(in.run), in.run));
  return 0;
}

int run_env(const Invocation& in) {
  const bool redact = in.run.redact.value_or(true);
  print(in.run.format == Format::json ? backends::environment_json(redact, true) + "\n" : backends::environment_text(redact));
  return 0;
}

}  // namespace dd::cli
