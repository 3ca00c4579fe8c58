// backends, devices and env: what is here.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "backends/backend.hpp"
#include "backends/catalogue.hpp"
#include "backends/environment.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "facts/machine.hpp"
#include "facts/profiles.hpp"
#include "report/render/format.hpp"

namespace dd::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string backends_text(const RunOptions& run) {
  const bool color = use_color(run);
  std::string out;
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
        if (const rules::Rule* rule = backends::catalogue().find(id)) out += fmt::format("  {:<14}[{}] {}: {}\n", "", id, rule->title, rule->fix.text);
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
  for (const auto& [name, field] : p.fields) fields[name] = {{"value", field.value}, {"source", field.source}};
  return {{"name", p.name}, {"title", p.title}, {"architecture", p.architecture}, {"device_type", p.device_type}, {"fields", fields}};
}

std::string profile_text(const facts::DeviceProfile& p) {
  std::string out = fmt::format("{}  {}{}\n", p.name, p.title, p.architecture.empty() ? "" : ", " + p.architecture);
  for (const facts::ProfileFieldInfo& info : facts::profile_fields()) {
    const auto it = p.fields.find(std::string(info.name));
    if (it == p.fields.end()) {
      out += fmt::format("  {:<28}{:<16}{}\n", info.name, "unknown", info.text);
    } else {
      out += fmt::format("  {:<28}{:<16}{}\n", info.name, fmt::format("{} {}", it->second.value, info.unit), it->second.source);
    }
  }
  return out;
}

}  // namespace

int run_devices(const Invocation& in) {
  std::vector<facts::DeviceProfile> shown;
  for (const std::string& name : in.arguments) {
    auto found = facts::find_profiles(name);
    if (!found) {
      complain(found.problems());
      return 2;
    }
    shown.insert(shown.end(), found->begin(), found->end());
  }
  const bool list = in.arguments.empty();
  if (list) shown = facts::known_profiles();
  if (in.run.format == Format::json) {
    Json out = Json::array();
    for (const facts::DeviceProfile& p : shown) out.push_back(profile_json(p));
    print(out.dump(2) + "\n");
    return 0;
  }
  if (!list) {
    for (const facts::DeviceProfile& p : shown) print(profile_text(p));
    return 0;
  }
  const facts::Machine& m = facts::machine();
  print(fmt::format("here\n  {:<14}{}, {} threads, {}\n", "host", m.cpu_model.empty() ? "processor unknown" : m.cpu_model, m.threads, m.isa));
  print("profiles (GPUs that need not be here; `dispatchdoctor devices NAME` shows the fields and their sources)\n");
  for (const facts::DeviceProfile& p : shown) print(fmt::format("  {:<14}{}\n", p.name, p.title));
  return 0;
}

int run_backends(const Invocation& in) {
  print(in.run.format == Format::json ? backends_json().dump(2) + "\n" : backends_text(in.run));
  return 0;
}

int run_env(const Invocation& in) {
  const bool redact = in.run.redact.value_or(true);
  print(in.run.format == Format::json ? backends::environment_json(redact, true) + "\n" : backends::environment_text(redact));
  return 0;
}

}  // namespace dd::cli
