#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "facts/profiles.hpp"
#include "support/catch.hpp"

using namespace dd;
using facts::DeviceProfile;
using facts::Id;

TEST_CASE("every profile that is compiled in is there, by name and by capability") {
  const std::vector<std::pair<std::string, std::int64_t>> wanted{
      {"t4", 75}, {"v100", 70}, {"a100-40", 80}, {"a100-80", 80}, {"a10", 86}, {"a30", 80}, {"rtx-2080-ti", 75}, {"rtx-3080", 86},
      {"rtx-3090", 86}, {"rtx-4090", 89}, {"rtx-5090", 120}, {"l4", 89}, {"l40s", 89}, {"h100-pcie", 90}, {"h100-sxm", 90},
      {"h200", 90}, {"b200", 100}, {"sm_75", 75}, {"sm_121", 121}};
  for (const auto& [name, capability] : wanted) {
    INFO(name);
    const auto profile = facts::find_profile(name);
    REQUIRE(profile.ok());
    CHECK(profile->get("compute_capability") == capability);
    for (const auto& [field, value] : profile->fields) CHECK_FALSE(value.source.empty());
  }
}

TEST_CASE("the files of configs/devices all load, under the name of the file") {
  const char* source = std::getenv("DD_SOURCE_DIR");
  REQUIRE(source != nullptr);
  std::set<std::string> names;
  for (const DeviceProfile& p : facts::known_profiles()) {
    CHECK(names.insert(p.name).second);
    std::ifstream in(std::string(source) + "/configs/devices/" + p.name + ".json");
    INFO(p.name);
    CHECK(in.good());
  }
  CHECK(names.size() >= 32);
}

TEST_CASE("every figure that is compiled in says whether it was compared with its source") {
  int unverified = 0, compared = 0;
  for (const DeviceProfile& p : facts::known_profiles())
    for (const auto& [name, field] : p.fields) {
      INFO(p.name << " " << name);
      CHECK(field.unverified == field.checked.empty());
      CHECK((field.unverified || field.checked.size() == 10));
      (field.unverified ? unverified : compared) += 1;
      CHECK((facts::source_text(field).find("unverified") != std::string::npos) == field.unverified);
    }
  CHECK(compared > 200);
  CHECK(unverified == 20);  // raise it never, lower it when one was compared
}

TEST_CASE("figures that disagree with a device's own account of itself") {
  CHECK(facts::find_profile("h200")->get("memory_bytes") == std::int64_t{141} << 30);
  CHECK_FALSE(facts::find_profile("h200")->get("l2_bytes"));  // 50 or 60 MiB, not settled
  CHECK(facts::find_profile("b200")->get("memory_bandwidth") == 7672000000000);
  CHECK(facts::find_profile("b200")->get("l2_bytes") == 132644864);
}

TEST_CASE("a field cannot be compared and unverified at once") {
  const auto with = [](const char* more) {
    return facts::parse_profile(std::string(R"({"name": "x", "title": "x", "fields": {"compute_capability": {"value": 90, "source": "s")") + more + "}}}", "f.json");
  };
  CHECK(with("").ok());
  CHECK(with(R"(, "checked": "2026-11-29")").ok());
  CHECK(with(R"(, "unverified": true)").ok());
  CHECK_FALSE(with(R"(, "unverified": false)").ok());
  CHECK_FALSE(with(R"(, "checked": 3)").ok());
  CHECK_FALSE(with(R"(, "checked": "2026-11-29", "unverified": true)").ok());
}

TEST_CASE("the schema names the same fields as the reader") {
  const char* source = std::getenv("DD_SOURCE_DIR");
  REQUIRE(source != nullptr);
  std::ifstream in(std::string(source) + "/configs/schemas/device.schema.json");
  const auto schema = nlohmann::json::parse(in);
  std::set<std::string> of_schema, of_reader;
  for (auto it = schema["properties"]["fields"]["properties"].begin(); it != schema["properties"]["fields"]["properties"].end(); ++it)
    of_schema.insert(it.key());
  for (const auto& field : facts::profile_fields()) of_reader.insert(std::string(field.name));
  CHECK(of_schema == of_reader);
}

TEST_CASE("targets: lists, all, generics, AMD, cpu and what is not one") {
  const auto list = facts::find_profiles("t4,sm_90,t4,gfx942,cpu");
  REQUIRE(list.ok());
  REQUIRE(list->size() == 4);
  CHECK((*list)[2].device_type == "rocm");
  CHECK((*list)[3].device_type == "cpu");
  const auto all = facts::find_profiles("all");
  REQUIRE(all.ok());
  CHECK(all->size() == 17);
  CHECK(facts::find_profile("sm_90a")->get("compute_capability") == 90);
  CHECK(facts::find_profile("sm_37")->get("compute_capability") == 37);
  for (const char* bad : {"sm_", "sm_9x", "sm_99999999999999999999", "gfxzz", "h100", "", "/nowhere/at/all.json"}) {
    INFO(bad);
    const auto result = facts::find_profile(bad);
    REQUIRE_FALSE(result.ok());
    CHECK_FALSE(result.problems().empty());
  }
  // Other spellings of one name are taken; part of a name is not, and the answer lists what has it.
  for (const auto& [written, name] : std::vector<std::pair<const char*, const char*>>{
           {"RTX3090", "rtx-3090"}, {"NVIDIA GeForce RTX 4090", "rtx-4090"}, {"H100_SXM", "h100-sxm"}, {"Tesla T4", "t4"}, {"sm90", "sm_90"}, {"9.0", "sm_90"}, {"sm_12.0", "sm_120"}}) {
    INFO(written);
    const auto found = facts::find_profile(written);
    REQUIRE(found.ok());
    CHECK(found->name == name);
  }
  CHECK(facts::find_profile("h100").problems().front().wanted == "h100-pcie or h100-sxm");
  // AMD's cards by their names; devices without rules are told of by what is known.
  for (const auto& [card, architecture] : std::vector<std::pair<const char*, const char*>>{{"mi300x", "gfx942"}, {"AMD Instinct MI250X", "gfx90a"}, {"RX 7900 XTX", "gfx1100"}}) {
    INFO(card);
    REQUIRE(facts::find_profile(card).ok());
    CHECK(facts::find_profile(card)->name == architecture);
    CHECK(facts::find_profile(card)->device_type == "rocm");
  }
  for (const char* other : {"mps", "xpu", "xpu:0", "hpu", "npu", "tpu"}) {
    INFO(other);
    REQUIRE_FALSE(facts::find_profile(other).ok());
    CHECK(facts::find_profile(other).problems().front().message.find("no rules here") != std::string::npos);
  }
  CHECK(facts::find_profile("mpt").problems().front().message == "unknown target");
  CHECK(facts::find_profile("4090").problems().front().wanted == "rtx-4090");
  for (const char* bad : {"90", "9.0.0", "sm_9.00", "sm.", "nvidia"}) {
    INFO(bad);
    CHECK_FALSE(facts::find_profile(bad).ok());
  }
  const auto near = facts::find_profile("h100-sxn");
  REQUIRE_FALSE(near.ok());
  CHECK(near.problems().front().wanted.find("h100-sxm") != std::string::npos);
}

TEST_CASE("a profile file lists all its problems") {
  const auto bad = facts::parse_profile(R"({"name": 1, "fields": {"sm_count": {"value": -1, "source": "x"}, "colour": {}, "l2_bytes": {"value": 3}}})", "f.json");
  REQUIRE_FALSE(bad.ok());
  CHECK(bad.problems().size() == 5);  // name, title, sm_count, colour, l2_bytes
  CHECK_FALSE(facts::parse_profile("[1", "f.json").ok());
}

TEST_CASE("what a profile does not know is unknown, never what was there before") {
  facts::FactSet set;
  set.set(Id::sm_count, std::int64_t{132});
  facts::apply(*facts::find_profile("sm_90"), set);
  CHECK_FALSE(set.known(Id::sm_count));
  CHECK(std::get<std::int64_t>(set.value(Id::compute_capability)) == 90);
  CHECK(set[Id::compute_capability].provenance == facts::Provenance::profile);
  facts::apply(*facts::find_profile("cpu"), set);
  CHECK(std::holds_alternative<facts::NotApplicable>(set.value(Id::compute_capability)));
}
