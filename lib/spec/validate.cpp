#include "spec/validate.hpp"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "spec/validate_parts.hpp"
#include "spec/values.hpp"

namespace dd::spec {
namespace {

constexpr std::array<std::string_view, 13> frameworks = {"native", "torch", "vllm", "bitsandbytes", "torchao", "ggml", "autoawq",
                                                        "gptqmodel", "onnxruntime", "marlin", "tensorrt-llm", "transformer-engine", "cublas"};

std::string shown(std::string_view text) { return excerpt(text); }

void check_text(const std::string& field, std::string_view text, Checks& checks) {
  if (text.size() > 4096)
    checks.fail(field, fmt::format("{} bytes", text.size()), "at most 4096 bytes", "the text is too long");
  else if (!is_plain_text(text))
    checks.fail(field, shown(text), "UTF-8 without control characters", "the text cannot be printed");
}

bool is_version(std::string_view text) {
  int parts = 0;
  while (true) {
    std::size_t digits = 0;
    while (digits < text.size() && text[digits] >= '0' && text[digits] <= '9') ++digits;
    if (digits == 0 || digits > 5) return false;
    ++parts;
    text.remove_prefix(digits);
    if (text.empty()) return true;
    if (text[0] != '.' || parts == 4) break;
    text.remove_prefix(1);
  }
  // A local or pre-release suffix: 2.6.0+cu124, 2.7.0a0, 2.7.0.dev20250101, 2.9.0rc1.
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '+' || c == '.'; }) &&
         text.size() <= 48 && text[0] != '.';
}

bool is_variable(std::string_view text) {
  if (text.empty() || text.size() > 256 || (text[0] >= '0' && text[0] <= '9')) return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

void check_names(const std::string& field, const std::vector<std::string>& names, Checks& checks) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string at = fmt::format("{}[{}]", field, i);
    if (!is_name(names[i]))
      checks.fail(at, shown(names[i]), "lower-case letters, digits, '-', '_' and '.'", "this is not a backend name");
    else if (!seen.insert(names[i]).second)
      checks.fail(at, names[i], "each backend once", "a backend is named twice");
  }
}

void check_policy(const Policy& p, Checks& checks) {
  if (p.allow) check_names("policy.allow", *p.allow, checks);
  if (p.allow && p.allow->empty())
    checks.fail("policy.allow", "an empty list", "null, or at least one backend", "no backend is allowed");
  check_names("policy.deny", p.deny, checks);
  if (p.order) check_names("policy.order", *p.order, checks);
  if (p.order && p.order->empty())
    checks.fail("policy.order", "an empty list", "null, or at least one backend", "the order names no backend");
  const auto has = [](const std::vector<std::string>& list, const std::string& name) {
    return std::find(list.begin(), list.end(), name) != list.end();
  };
  if (p.force) {
    if (!is_name(*p.force))
      checks.fail("policy.force", shown(*p.force), "lower-case letters, digits, '-', '_' and '.'", "this is not a backend name");
    if (p.allow && !has(*p.allow, *p.force))
      checks.fail("policy.force", shown(*p.force), "one of policy.allow", "the forced backend is not allowed");
    if (has(p.deny, *p.force))
      checks.fail("policy.force", shown(*p.force), "a backend outside policy.deny", "the forced backend is denied");
  }
  if (p.allow && !p.allow->empty() &&
      std::all_of(p.allow->begin(), p.allow->end(), [&](const std::string& name) { return has(p.deny, name); }))
    checks.fail("policy.deny", format_names(p.deny), "at least one allowed backend left", "every allowed backend is denied");
}

void check_context(const Context& c, Checks& checks) {
  if (!c.target.empty()) {
    check_text("context.target", c.target, checks);
    const auto items = parse_names(c.target);
    if (!items) checks.fail("context.target", shown(c.target), "names separated by commas", "a name in the list is empty");
    for (const std::string& item : items.value_or(std::vector<std::string>{}))
      if (item.starts_with("cuda:") && !gpu_ordinal(item))
        checks.fail("context.target", shown(item), fmt::format("cuda:0 to cuda:{}", most_gpus - 1), "this is not the number of a GPU");
  }
  if (std::find(frameworks.begin(), frameworks.end(), c.framework) == frameworks.end())
    checks.fail("context.framework", shown(c.framework), fmt::format("{}", fmt::join(frameworks, "|")),
                "this framework is not known");
  const std::pair<const char*, const std::optional<std::string>*> versions[] = {
      {"context.torch", &c.torch}, {"context.cuda", &c.cuda}, {"context.cudnn", &c.cudnn}};
  // Several PyTorch versions, separated by commas, stand for one call under each.
  const auto are_versions = [](const char* field, std::string_view text) {
    for (std::size_t comma; std::string_view(field) == "context.torch" && (comma = text.find(',')) != text.npos; text.remove_prefix(comma + 1))
      if (!is_version(text.substr(0, comma))) return false;
    return is_version(text);
  };
  for (const auto& [field, version] : versions)
    if (*version && !are_versions(field, **version))
      checks.fail(field, shown(**version), "numbers separated by points, such as 2.6.0", "this is not a version");
  for (const auto& [name, version] : c.versions) {
    const std::string field = "context.versions." + shown(name);
    if (!is_name(name)) checks.fail(field, shown(name), "a package name in lower case", "this is not a package name");
    if (version.empty()) checks.fail(field, "an empty text", "a version", "the version is empty");
    check_text(field, version, checks);
  }
  for (const auto& [name, value] : c.env) {
    const std::string field = "context.env." + shown(name);
    if (!is_variable(name))
      checks.fail(field, shown(name), "letters, digits and '_'", "this is not a name of an environment variable");
    check_text(field, value, checks);
  }
  for (const auto& [name, on] : c.build)
    if (!is_name(name))
      checks.fail("context.build." + shown(name), shown(name), "lower-case letters, digits, '-', '_' and '.'",
                  "this is not a name of a build option");
}

void check_tolerance(const char* field, const std::optional<double>& value, Checks& checks) {
  if (value && !(*value >= 0 && std::isfinite(*value)))
    checks.fail(field, format_real(*value), "a finite number, at least 0", "this is not a tolerance");
}

void check_common(const OpSpec& spec, Checks& checks) {
  check_policy(spec.policy, checks);
  check_context(spec.context, checks);
  check_tolerance("rtol", spec.rtol, checks);
  check_tolerance("atol", spec.atol, checks);
  std::set<Mode> modes{spec.mode};
  for (Mode mode : spec.further_modes)
    if (!modes.insert(mode).second)
      checks.fail("mode", std::string(core::to_text(mode)), "each mode once", "a mode is named twice");
  if (spec.flags.autocast && *spec.flags.autocast != DType::f16 && *spec.flags.autocast != DType::bf16)
    checks.fail("flags.autocast", std::string(core::to_text(*spec.flags.autocast)), "f16|bf16",
                "automatic mixed precision has no such type");
  for (const auto& [name, value] : spec.is_attention() ? spec.attention().extra : spec.gemm().extra)
    check_text("extra." + name, value, checks);
}

core::Problems validate_all(const OpSpec& spec, bool shapes, bool fit) {
  core::Problems problems;
  Checks checks(problems);
  const std::string& framework = spec.context.framework;
  if (spec.is_attention())
    check_attention(spec.attention(), shapes, fit, checks);
  else
    check_gemm(spec.gemm(), shapes, !framework.empty() && framework != "native" && framework != "torch", checks);
  check_common(spec, checks);
  return problems;
}

NameCheck name_check = nullptr;

}  // namespace

void set_name_check(NameCheck check) { name_check = check; }
void add_unknown_names(const OpSpec& spec, core::Problems& problems) {
  if (!name_check) return;
  for (core::Problem& problem : name_check(spec)) problems.push_back(std::move(problem));
}

core::Problems validate(const OpSpec& spec) { return validate_all(spec, true, spec.context.framework == "native"); }
core::Problems validate_to_compute(const OpSpec& spec) { return validate_all(spec, true, true); }
core::Problems validate_without_shapes(const OpSpec& spec) { return validate_all(spec, false, true); }

}  // namespace dd::spec
