#include "spec/schema.hpp"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "spec/canonical.hpp"
#include "spec/parse.hpp"
#include "support/catch.hpp"
#include "support/random_spec.hpp"

using namespace dd;

namespace {

std::string source() {
  const char* folder = std::getenv("DD_SOURCE_DIR");
  REQUIRE(folder);
  return folder;
}

// Paths of all properties below a schema object.
void collect(const nlohmann::json& schema, const std::string& prefix, std::set<std::string>& out) {
  const nlohmann::json& object = schema.contains("anyOf") && !schema.contains("properties") ? schema["anyOf"][0] : schema;
  if (!object.contains("properties")) return;
  for (const auto& [name, value] : object["properties"].items()) {
    const std::string path = prefix.empty() ? name : prefix + "." + name;
    if (path.starts_with("extra.")) continue;
    out.insert(path);
    collect(value, path, out);
  }
}

// Paths of a value, apart from what has free names.
void collect_value(const nlohmann::json& value, const std::string& prefix, std::set<std::string>& out) {
  if (!value.is_object()) return;
  for (const auto& [name, inner] : value.items()) {
    const std::string path = prefix.empty() ? name : prefix + "." + name;
    out.insert(path);
    if (path != "extra" && path != "context.env" && path != "context.versions" && path != "context.build") collect_value(inner, path, out);
  }
}

}  // namespace

TEST_CASE("the committed schema is the generated one", "[spec][schema]") {
  const std::string path = source() + "/configs/schemas/spec.schema.json";
  if (std::getenv("DD_UPDATE_SCHEMA")) std::ofstream(path) << spec::spec_schema();
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  INFO("run this test with DD_UPDATE_SCHEMA=1 to write it anew");
  CHECK((text.str() == spec::spec_schema()));
}

TEST_CASE("schema, reader and canonical form have the same fields", "[spec][schema]") {
  const nlohmann::json schema = nlohmann::json::parse(spec::spec_schema());
  std::set<std::string> seen[2];
  test::RandomSpec random(11);
  for (int i = 0; i < 500; ++i) {
    const spec::OpSpec s = random.next();
    collect_value(nlohmann::json::parse(spec::canonical(s)), "", seen[s.is_attention() ? 0 : 1]);
  }
  for (const spec::Op op : {spec::Op::sdpa, spec::Op::gemm}) {
    INFO(core::to_text(op));
    std::set<std::string> in_schema, in_reader;
    collect(schema["$defs"][std::string(core::to_text(op))], "", in_schema);
    for (const spec::JsonFieldName& field : spec::json_field_names(op)) in_reader.insert(field.path);
    CHECK(in_schema == in_reader);
    CHECK(seen[op == spec::Op::sdpa ? 0 : 1] == in_reader);
  }
}

TEST_CASE("real canonical specs are valid under a real validator, broken ones are not", "[spec][schema]") {
  const char* folder = std::getenv("TMPDIR");
  const std::string path = std::string(folder && *folder ? folder : "/tmp") + "/dd_schema_test_" + std::to_string(getpid()) + ".jsonl";
  {
    std::ofstream file(path);
    test::RandomSpec random(12);
    for (int i = 0; i < 300; ++i) {
      nlohmann::ordered_json json = spec::to_json(random.next());
      file << "+" << json.dump() << "\n";
      nlohmann::ordered_json broken = json;
      switch (i % 8) {
        case 0: broken["is_casual"] = true; break;
        case 1: broken.erase("op"); break;
        case 2: broken["flags"]["tf32"] = "on"; break;
        case 3: broken["mode"] = "fast"; break;
        case 4: broken["rtol"] = -1; break;
        case 5: broken["out"]["offset"] = -8; break;
        case 6: broken["extra"]["no_such_field"] = 1; break;
        case 7: broken["policy"]["allow"] = nlohmann::json::array(); break;
      }
      file << "-" << broken.dump() << "\n";
    }
    file << R"(+{"op":"sdpa","q":{"shape":[1,8,256,64],"dtype":"half"},"k":{},"mask":null})" << "\n";
    file << R"(-{"op":"sdpa","q":{}})" << "\n" << R"(-{"op":"gemm","x":{"shape":[1,2]}})" << "\n";
  }
  const int status = std::system(("python3 '" + source() + "/tests/support/validate_json.py' '" + source() + "/configs/schemas/spec.schema.json' '" + path + "'").c_str());
  std::remove(path.c_str());
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code == 77 || code == 127) {
    WARN("skipped: no python3 with jsonschema");
    return;
  }
  CHECK(code == 0);
}
