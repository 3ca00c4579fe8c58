#include "facts/profiles.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/nearest.hpp"

namespace dd::facts {

// Generated from configs/devices by the build: name of the file and its text.
std::vector<std::pair<std::string_view, std::string_view>> embedded_profiles();

namespace {

using core::Problem;
using core::Problems;
using core::Result;
using nlohmann::json;

constexpr std::size_t largest_file = 1 << 20;

void read_fields(const json& fields, DeviceProfile& profile, Problems& problems, const std::string& file) {
  for (auto it = fields.begin(); it != fields.end(); ++it) {
    const std::string where = "fields." + it.key();
    const auto& known = profile_fields();
    if (std::none_of(known.begin(), known.end(), [&](const ProfileFieldInfo& f) { return f.name == it.key(); })) {
      problems.push_back({where, {}, {}, "unknown field", file});
      continue;
    }
    const json& field = it.value();
    if (!field.is_object() || !field.contains("value") || !field["value"].is_number_integer() ||
        field["value"].get<std::int64_t>() < 1) {
      problems.push_back({where, {}, "{\"value\": integer of at least 1, \"source\": text}", "not a field with a value", file});
      continue;
    }
    if (!field.contains("source") || !field["source"].is_string() || field["source"].get<std::string>().empty()) {
      problems.push_back({where + ".source", {}, {}, "where the value comes from is missing", file});
      continue;
    }
    for (auto part = field.begin(); part != field.end(); ++part)
      if (part.key() != "value" && part.key() != "source" && part.key() != "checked" && part.key() != "unverified")
        problems.push_back({where + "." + part.key(), {}, {}, "unknown field", file});
    const bool unverified = field.contains("unverified");
    if (unverified && field["unverified"] != true) problems.push_back({where + ".unverified", {}, "true, or no such field", "of the wrong type", file});
    if (field.contains("checked") && !field["checked"].is_string()) problems.push_back({where + ".checked", {}, "a date", "of the wrong type", file});
    if (field.contains("checked") && unverified) problems.push_back({where + ".unverified", {}, {}, "contradicts that it was checked", file});
    if (!problems.empty()) continue;
    profile.fields[it.key()] = {field["value"].get<std::int64_t>(), field["source"].get<std::string>(), field.value("checked", std::string()), unverified};
  }
}

std::string text_member(const json& object, const char* name, bool needed, Problems& problems, const std::string& file) {
  const auto it = object.find(name);
  if (it == object.end()) {
    if (needed) problems.push_back({name, {}, {}, "missing", file});
    return {};
  }
  if (!it->is_string()) {
    problems.push_back({name, it->dump(), "text", "not a text", file});
    return {};
  }
  return it->get<std::string>();
}

// Digits after a prefix, as sm_90 or gfx942 have them; nullopt for anything else.
std::optional<std::int64_t> number_after(std::string_view text, std::string_view prefix) {
  if (text.substr(0, prefix.size()) != prefix) return std::nullopt;
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data() + prefix.size(), end, value);
  // sm_90a and sm_100f name feature sets of the same GPU.
  const bool ends = next == end || (next + 1 == end && (*next == 'a' || *next == 'f'));
  if (error != std::errc{} || !ends || value < 10 || value > 999) return std::nullopt;
  return value;
}

DeviceProfile plain(std::string_view name, std::string_view title, std::string_view type) {
  DeviceProfile profile;
  profile.name = name;
  profile.title = title;
  profile.device_type = type;
  return profile;
}

bool is_amd(std::string_view target) {
  return target.substr(0, 3) == "gfx" && target.size() >= 6 && target.size() <= 8 &&
         std::all_of(target.begin() + 3, target.end(), [](unsigned char c) { return std::isxdigit(c); });
}

Result<DeviceProfile> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return Problem{"--target", path, {}, "cannot open this profile", {}, 0};
  std::string text;
  char buffer[4096];
  while (in.read(buffer, sizeof buffer) || in.gcount() > 0) {
    text.append(buffer, static_cast<std::size_t>(in.gcount()));
    if (text.size() > largest_file) return Problem{"--target", path, "at most 1 MiB", "too large for a profile", {}, 0};
  }
  return parse_profile(text, path);
}

}  // namespace

const std::vector<ProfileFieldInfo>& profile_fields() {
  static const std::vector<ProfileFieldInfo> list{
      {"compute_capability", "", "10 * major + minor"},
      {"sm_count", "", "multiprocessors"},
      {"memory_bytes", "bytes", "device memory"},
      {"memory_bandwidth", "bytes/s", "peak memory bandwidth"},
      {"l2_bytes", "bytes", "second-level cache"},
      {"shared_memory_per_block", "bytes", "most shared memory that one thread block can get"},
      {"flops_f64", "FLOP/s", "peak f64 rate"},
      {"flops_f32", "FLOP/s", "peak f32 rate"},
      {"flops_tf32", "FLOP/s", "peak dense tf32 rate"},
      {"flops_f16", "FLOP/s", "peak dense f16 rate with f32 accumulation"},
      {"flops_bf16", "FLOP/s", "peak dense bf16 rate with f32 accumulation"},
      {"flops_f8", "FLOP/s", "peak dense f8 rate"},
      {"ops_s8", "op/s", "peak dense s8 rate"}};
  return list;
}

std::string source_text(const ProfileField& field) {
  if (field.unverified) return "unverified; to be checked in: " + field.source;
  return field.source + (field.checked.empty() ? "" : " (compared " + field.checked + ")");
}

std::optional<std::int64_t> DeviceProfile::get(std::string_view field) const {
  const auto it = fields.find(std::string(field));
  return it == fields.end() ? std::nullopt : std::optional(it->second.value);
}

Result<DeviceProfile> parse_profile(std::string_view json_text, const std::string& file) {
  const json object = json::parse(json_text, nullptr, false);
  if (!object.is_object()) return Problem{{}, {}, "a JSON object", "not a device profile", file, 0};
  Problems problems;
  DeviceProfile profile;
  profile.name = text_member(object, "name", true, problems, file);
  profile.title = text_member(object, "title", true, problems, file);
  profile.architecture = text_member(object, "architecture", false, problems, file);
  for (auto it = object.begin(); it != object.end(); ++it)
    if (it.key() != "name" && it.key() != "title" && it.key() != "architecture" && it.key() != "fields" && it.key() != "recorded" && it.key() != "cudnn_device")
      problems.push_back({it.key(), {}, {}, "unknown field", file});
  // What was recorded beside the fields is for readers and for cuDNN; no rule reads it.
  if (const auto recorded = object.find("recorded"); recorded != object.end() && !recorded->is_object())
    problems.push_back({"recorded", {}, "an object", "of the wrong type", file});
  if (const auto cudnn = object.find("cudnn_device"); cudnn != object.end()) {
    if (cudnn->is_object()) profile.cudnn_device = cudnn->dump(-1, ' ', false, json::error_handler_t::replace);
    else problems.push_back({"cudnn_device", {}, "an object", "of the wrong type", file});
  }
  const auto fields = object.find("fields");
  if (fields == object.end() || !fields->is_object()) {
    problems.push_back({"fields", {}, "an object", "missing", file});
  } else {
    read_fields(*fields, profile, problems, file);
    if (problems.empty() && !profile.get("compute_capability"))
      problems.push_back({"fields.compute_capability", {}, {}, "missing", file});
  }
  if (!problems.empty()) return problems;
  return profile;
}

const std::vector<DeviceProfile>& known_profiles() {
  static const std::vector<DeviceProfile> list = [] {
    std::vector<DeviceProfile> out;
    for (const auto& [file, text] : embedded_profiles())
      if (auto profile = parse_profile(text, std::string(file))) out.push_back(*std::move(profile));
    const auto key = [](const DeviceProfile& p) {
      const bool generic = p.name.rfind("sm_", 0) == 0;
      return std::make_tuple(generic, generic ? p.get("compute_capability").value_or(0) : 0, p.name);
    };
    std::sort(out.begin(), out.end(), [&](const DeviceProfile& a, const DeviceProfile& b) { return key(a) < key(b); });
    return out;
  }();
  return list;
}

namespace {

// "RTX 4090", "rtx4090" and "NVIDIA GeForce RTX 4090" are one name.
std::string letters_of(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view maker : {"nvidia", "geforce", "tesla"})
    if (out.starts_with(maker) && out.size() > maker.size()) out.erase(0, maker.size());
  return out;
}

// "sm90", "sm_9.0" and "9.0": the generic target.
std::optional<std::string> capability_name(std::string_view target) {
  const bool prefixed = target.starts_with("sm");
  std::string_view digits = target.substr(prefixed ? 2 : 0);
  if (prefixed && digits.starts_with('_')) digits.remove_prefix(1);
  const auto dot = digits.find('.');
  if (!prefixed && dot == digits.npos) return std::nullopt;
  std::string out = "sm_" + std::string(digits.substr(0, dot)) + (dot == digits.npos ? "" : std::string(digits.substr(dot + 1)));
  const bool plausible = out.size() >= 5 && out.size() <= 6 && (dot == digits.npos || digits.size() == dot + 2);
  return plausible && number_after(out, "sm_") ? std::optional(std::move(out)) : std::nullopt;
}

// AMD's cards go by the name of their architecture here.
std::optional<std::string_view> amd_architecture(const std::string& letters) {
  struct Row { std::string_view card, architecture; };
  static constexpr Row rows[] = {{"mi100", "gfx908"},  {"mi200", "gfx90a"},  {"mi210", "gfx90a"},     {"mi250", "gfx90a"},     {"mi250x", "gfx90a"},    {"mi300", "gfx942"},
                                 {"mi300a", "gfx942"}, {"mi300x", "gfx942"}, {"mi325x", "gfx942"},    {"mi350x", "gfx950"},    {"mi355x", "gfx950"},    {"radeonrx7900xtx", "gfx1100"},
                                 {"rx7900xtx", "gfx1100"}, {"rx7900xt", "gfx1100"}, {"rx7800xt", "gfx1101"}, {"rx9070xt", "gfx1201"}, {"rx9070", "gfx1201"}};
  std::string bare = letters;
  for (const std::string_view maker : {"amd", "instinct"})
    if (bare.starts_with(maker)) bare.erase(0, maker.size());
  for (const Row& row : rows)
    if (row.card == bare) return row.architecture;
  return std::nullopt;
}

// Kinds of device that frameworks know and no rule here speaks of, with what is known of them all the same.
std::optional<std::string_view> other_device(std::string_view target) {
  struct Row { std::string_view name, known; };
  static constexpr Row rows[] = {
      {"mps", "Apple's GPUs have no rules here. Known of attention in PyTorch: no flash, efficient or cuDNN backend; math is served by one operator of its own "
              "(aten::_scaled_dot_product_attention_math_for_mps) without dropout, gradients and ragged tensors, with contiguous inputs before macOS 15; otherwise by separate products and a softmax"},
      {"xpu", "Intel's GPUs have no rules here. Known of attention in PyTorch: the device brings its own choice of backend; in 2026 one fused operator "
              "(aten::_scaled_dot_product_fused_attention_overrideable) takes four axes, f32, bf16 and f16, grouped heads, masks of two or four axes, without dropout, gradients and ragged tensors; otherwise math"},
      {"hpu", "Intel Gaudi has no rules here; its PyTorch plugin brings its own choice of backend"},
      {"npu", "this accelerator has no rules here; its PyTorch plugin brings its own choice of backend (the overrideable operator), else math"},
      {"privateuseone", "an accelerator of a plugin has no rules here; it brings its own choice of backend (the overrideable operator), else math"},
      {"musa", "this accelerator has no rules here; its PyTorch plugin brings its own choice of backend, else math"},
      {"tpu", "TPUs have no rules here; under torch_xla the compiler decides, and attention reaches it as math unless a kernel of its own is called"},
      {"xla", "XLA devices have no rules here; the compiler decides, and attention reaches it as math unless a kernel of its own is called"}};
  const std::string_view name = target.substr(0, target.find(':'));
  for (const Row& row : rows)
    if (row.name == name) return row.known;
  return std::nullopt;
}

std::string nearby_targets(std::string_view target, const std::string& letters) {
  std::string wanted;
  for (const DeviceProfile& profile : known_profiles())  // part of a name: "h100", "4090"
    if (letters.size() >= 2 && letters_of(profile.name).find(letters) != std::string::npos) wanted += (wanted.empty() ? "" : " or ") + profile.name;
  if (!wanted.empty()) return wanted;
  std::vector<std::string_view> names{"cpu", "all"};
  for (const DeviceProfile& profile : known_profiles()) names.push_back(profile.name);
  const auto near = core::nearest_names(target, names);
  return (near.empty() ? std::string("a profile's name") : std::string(near.front()) + " or another profile's name") + ", sm_NN, gfxNNN, cpu, all or a file";
}

}  // namespace

Result<DeviceProfile> find_profile(std::string_view target) {
  for (const DeviceProfile& profile : known_profiles())
    if (profile.name == target) return profile;
  if (target == "cpu") return plain("cpu", "any processor", "cpu");
  if (const auto capability = number_after(target, "sm_")) {
    DeviceProfile profile = plain(target, "a GPU that has no profile of its own", "cuda");
    profile.fields["compute_capability"] = {*capability, "the target's name"};
    return profile;
  }
  if (is_amd(target)) return plain(target, "an AMD GPU", "rocm");
  const bool is_path = target.find('/') != target.npos || target.find(".json") != target.npos;
  if (is_path) return read_file(std::string(target));
  const std::string letters = letters_of(target);
  for (const DeviceProfile& profile : known_profiles())
    if (letters_of(profile.name) == letters) return profile;
  if (const auto generic = capability_name(target)) return find_profile(*generic);
  if (const auto architecture = amd_architecture(letters)) return plain(*architecture, "an AMD GPU", "rocm");
  if (const auto known = other_device(target)) return Problem{"--target", std::string(target), nearby_targets({}, {}), std::string(*known), {}, 0};
  return Problem{"--target", std::string(target), nearby_targets(target, letters), "unknown target", {}, 0};
}

Result<std::vector<DeviceProfile>> find_profiles(std::string_view list) {
  std::vector<DeviceProfile> out;
  Problems problems;
  const auto add = [&](const DeviceProfile& profile) {
    const bool there = std::any_of(out.begin(), out.end(), [&](const DeviceProfile& p) { return p.name == profile.name; });
    if (!there) out.push_back(profile);
  };
  while (!list.empty()) {
    const auto comma = list.find(',');
    const std::string_view one = list.substr(0, comma);
    list = comma == list.npos ? std::string_view() : list.substr(comma + 1);
    if (one.empty()) continue;
    if (one == "all") {
      for (const DeviceProfile& profile : known_profiles())
        if (profile.name.rfind("sm_", 0) != 0) add(profile);
      continue;
    }
    auto profile = find_profile(one);
    if (profile) {
      add(*profile);
    } else {
      problems.insert(problems.end(), profile.problems().begin(), profile.problems().end());
    }
  }
  if (!problems.empty()) return problems;
  if (out.empty()) return Problem{"--target", {}, {}, "names no target", {}, 0};
  return out;
}

const DeviceProfile* profile_of_gpu(std::string_view name, int compute_capability, int sm_count, std::int64_t memory_bytes) {
  std::string words = " ";
  for (const char c : name) words += std::isalnum(static_cast<unsigned char>(c)) != 0 ? static_cast<char>(std::tolower(static_cast<unsigned char>(c))) : ' ';
  words += ' ';
  for (const DeviceProfile& profile : known_profiles()) {
    const std::string first = " " + profile.name.substr(0, profile.name.find('-')) + " ";
    const std::int64_t memory = profile.get("memory_bytes").value_or(0);
    // The driver keeps a few per cent of the memory for itself, and data sheets count in powers of ten.
    const bool fits = memory > 0 && memory_bytes > memory * 9 / 10 && memory_bytes < memory * 11 / 10;
    if (words.find(first) != std::string::npos && profile.get("compute_capability") == compute_capability && profile.get("sm_count") == sm_count && fits) return &profile;
  }
  return nullptr;
}

void apply(const DeviceProfile& profile, FactSet& facts) {
  facts.set(Id::target, profile.name, Provenance::profile, "--target");
  facts.set(Id::device_type, profile.device_type, Provenance::profile, profile.name);
  const auto set = [&](Id id, const char* field) {
    const auto it = profile.fields.find(field);
    if (it != profile.fields.end()) {
      facts.set(id, it->second.value, Provenance::profile, profile.name + ": " + (it->second.unverified ? source_text(it->second) : it->second.source));
    } else if (profile.device_type == "cuda") {
      facts.clear(id);
    } else {
      facts.set(id, NotApplicable{}, Provenance::profile, profile.name);
    }
  };
  set(Id::compute_capability, "compute_capability");
  set(Id::sm_count, "sm_count");
}

}  // namespace dd::facts
