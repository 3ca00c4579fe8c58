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
