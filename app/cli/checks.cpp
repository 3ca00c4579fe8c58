#include "cli/checks.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "backends/backend.hpp"
#include "backends/catalogue.hpp"
#include "core/nearest.hpp"
#include "facts/derive.hpp"
#include "cli/what_if.hpp"
#include "facts/profiles.hpp"
#include "frameworks/framework.hpp"
#include "spec/values.hpp"

namespace dd::cli {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

void add_new(Names& names, std::string_view name) {
  if (std::find(names.begin(), names.end(), name) == names.end()) names.emplace_back(name);
}

// Whom this call's dispatcher could choose, wherever it runs; empty for a framework that only its own worker knows.
Names candidates_of(const spec::OpSpec& spec) {
  Names names;
  if (spec.context.framework == "native") {
    for (const backends::Backend& b : backends::all_backends()) add_new(names, b.name);
    return names;
  }
  const frameworks::Framework* framework = frameworks::find_framework(spec.context.framework, spec);
  if (!framework) return names;
  spec::OpSpec nowhere = spec;
  nowhere.context.target.clear();
  for (const char* device : {"cuda", "cpu"}) {
    facts::FactSet facts = facts::derive_facts(nowhere);
    facts.set(facts::Id::device_type, std::string(device), facts::Provenance::assumed);
    framework->add_facts(nowhere, facts);
    for (const frameworks::Candidate& c : framework->candidates(nowhere, facts)) add_new(names, c.name);
  }
  return names;
}

core::Problem unknown(std::string field, const std::string& name, const Names& known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  const auto near = core::nearest_names(name, views, 1);
  return {std::move(field), spec::excerpt(name), near.empty() ? fmt::format("{}", fmt::join(known, ", ")) : std::string(near[0]) + "?",
          "there is no backend of this name", {}, 0};
}

// Rules are kept under the names of backends, some of which are no candidate of this very call.
bool has_rules(const std::string& name) {
  const auto all = backends::catalogue().all();
  return std::any_of(all.begin(), all.end(), [&](const rules::Rule* rule) { return rule->scope == name; });
}

// The names behind backend= in one requirement.
Names required_names(std::string_view text) {
  constexpr std::string_view prefix = "backend=";
  if (!text.starts_with(prefix)) return {};
  return spec::parse_names(text.substr(prefix.size())).value_or(Names{});
}

// Why a file could not be written here, found without touching it; empty when all is well.
std::string file_trouble(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::directory) return "it is a folder";
  const bool there = fs::exists(status);
  if (there && ::access(path.c_str(), W_OK) != 0) return std::strerror(errno);
  if (there) return {};
  const fs::path parent = fs::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  const fs::file_status above = fs::status(folder, error);
  if (!fs::exists(above)) return fmt::format("there is no folder {}", spec::excerpt(folder));
  if (above.type() != fs::file_type::directory) return fmt::format("{} is no folder", spec::excerpt(folder));
  return ::access(folder.c_str(), W_OK | X_OK) == 0 ? std::string() : std::strerror(errno);
}

// The same of a folder that will be made, with those above it, when it is not there.
std::string folder_trouble(const std::string& folder) {
  std::error_code error;
  fs::path there = fs::absolute(folder, error).lexically_normal();
  while (!fs::exists(fs::symlink_status(there, error)) && there.has_relative_path()) there = there.parent_path();
  if (!fs::is_directory(there, error)) return there == fs::absolute(folder).lexically_normal() ? "it is no folder" : fmt::format("{} is no folder", spec::excerpt(there.string()));
  return ::access(there.c_str(), W_OK | X_OK) == 0 ? std::string() : std::strerror(errno);
}

// A sound call of the verb, whose candidates stand for those of one that cannot be read.
core::Result<spec::OpSpec> sound_call(bool attention) { return parse_batch_line(attention ? "sdpa --q 1x1x1x8" : "gemm --x 1x8 --w 8x8"); }

// Files that two options name, however they spell it: the later one would replace the other. A device takes both.
void add_meetings(const RunOptions& run, core::Problems& problems) {
  struct Taken {
    const char* option;
    fs::path path;
  };
  std::vector<Taken> taken;
  for (const auto& [option, file] : {std::pair{"--json", &run.json_file}, {"--md", &run.md_file}, {"--junit", &run.junit_file}, {"--specs", &run.specs_file}}) {
    if (!*file || **file == "-") continue;
    std::error_code error;
    if (fs::is_character_file(**file, error)) continue;
    const fs::path path = fs::weakly_canonical(fs::absolute(**file, error), error);
    const auto same = std::find_if(taken.begin(), taken.end(), [&](const Taken& t) { return t.path == path || fs::equivalent(t.path, path, error); });
    if (same != taken.end()) problems.push_back({option, spec::excerpt(**file), fmt::format("another file than that of {}", same->option), "two results would be written into one file", {}, 0});
    else taken.push_back({option, path});
  }
}

core::Problems output_problems(const Invocation& in) {
  const RunOptions& run = in.run;
  core::Problems problems;
  const auto check = [&](const char* option, const std::optional<std::string>& path, const char* wanted, std::string (*trouble)(const std::string&)) {
    if (!path || *path == "-") return;
    if (std::string why = trouble(*path); !why.empty()) problems.push_back({option, spec::excerpt(*path), wanted, std::move(why), {}, 0});
  };
  check(in.verb == Verb::record ? "--output" : "--json", run.json_file, "a file that can be written", file_trouble);
  check("--md", run.md_file, "a file that can be written", file_trouble);
  check("--junit", run.junit_file, "a file that can be written", file_trouble);
  check("--specs", run.specs_file, "a file that can be written", file_trouble);
  check("--record", run.record_file, "a file that can be written", file_trouble);
  add_meetings(run, problems);
  check("--save-tensors", run.save_tensors, "a folder that can be written to, or made", folder_trouble);
  return problems;
}

}  // namespace

core::Problems unknown_backends(const spec::OpSpec& spec) {
  core::Problems problems;
  const spec::Policy& p = spec.policy;
  if (!p.allow && p.deny.empty() && !p.order && !p.force) return problems;
  const Names known = candidates_of(spec);
  if (known.empty()) return problems;  // a framework may bring candidates that nobody here knows
  const auto check = [&](const char* field, const Names& names) {
    for (const std::string& name : names)
      if (std::find(known.begin(), known.end(), name) == known.end() && !has_rules(name)) problems.push_back(unknown(field, name, known));
  };
  check("policy.allow", p.allow.value_or(Names{}));
  check("policy.deny", p.deny);
  check("policy.order", p.order.value_or(Names{}));
  if (p.force) check("policy.force", {*p.force});
  return problems;
}

core::Problems unknown_names(const spec::OpSpec& spec) {
  // Frameworks look at the call for their candidates, so they are shown one that is sound.
  const core::Result<spec::OpSpec> sound = sound_call(spec.is_attention());
  if (!sound) return {};
  spec::OpSpec named = *sound;
  named.policy = spec.policy;
  named.context = spec.context;
  core::Problems problems = unknown_backends(named);
  if (!is_modelled(named) || named.context.target.starts_with("cuda:")) return problems;
  if (const auto targets = facts::find_profiles(named.context.target); !targets)
    for (const core::Problem& problem : targets.problems()) problems.push_back(problem);
  return problems;
}

core::Problems unknown_required(const Names& requirements, std::span<const session::BatchItem> items) {
  core::Problems problems;
  Names wanted, known;
  for (const std::string& text : requirements)
    for (const std::string& name : required_names(text)) add_new(wanted, name);
  if (wanted.empty()) return problems;
  for (const session::BatchItem& item : items) {
    if (!item.spec) continue;
    const Names own = candidates_of(*item.spec);
    if (own.empty()) return problems;
    for (const std::string& name : own) add_new(known, name);
  }
  if (known.empty()) return problems;  // no call at all
  for (const std::string& name : wanted)
    if (std::find(known.begin(), known.end(), name) == known.end() && !has_rules(name)) problems.push_back(unknown("--require", name, known));
  return problems;
}

core::Problems command_line_problems(const Invocation& in) {
  core::Problems problems = output_problems(in);
  if (in.verb != Verb::sdpa && in.verb != Verb::gemm) return problems;
  session::BatchItem item;
  if (in.spec) item.spec = *in.spec;
  else if (const auto sound = sound_call(in.verb == Verb::sdpa)) item.spec = *sound;
  for (core::Problem& p : unknown_required(in.run.require, {&item, 1})) problems.push_back(std::move(p));
  return problems;
}

}  // namespace dd::cli
