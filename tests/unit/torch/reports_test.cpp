// Public reports: the spec as far as it is known, and the id of the cause that the answer has to name. The table with
// what cannot be found, and why, is tests/cases/reports_sdpa.json.
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "frameworks/torch/torch.hpp"
#include "session/what_if.hpp"
#include "spec/canonical.hpp"
#include "spec/parse.hpp"
#include "support/catch.hpp"

using namespace dd;
using nlohmann::json;

namespace {

std::string folder() {
  const char* source = std::getenv("DD_SOURCE_DIR");
  return std::string(source ? source : "../..") + "/tests/cases";
}

json table(const std::string& path) {
  std::ifstream in(path);
  return json::parse(in);
}

void collect(const std::vector<report::Finding>& findings, std::set<std::string>& ids) {
  for (const report::Finding& f : findings)
    if (f.status == "unmet") ids.insert(f.id);
}

void check_reports(const std::string& file, int& found) {
  for (const json& row : table(folder() + file)) {
    const std::string id = row["id"];
    INFO(id << " " << row["keyword"]);
    if (!row["found"].get<bool>()) {
      CHECK_FALSE(row["why"].get<std::string>().empty());
      continue;
    }
    std::string text = row["spec"].dump();
    if (const auto at = text.find("@DIR@"); at != std::string::npos) text.replace(at, 5, folder());
    const auto spec = spec::parse_json(text, id);
    std::string problems;
    if (!spec.ok())
      for (const core::Problem& p : spec.problems()) problems += core::to_text(p) + "; ";
    INFO(problems);
    CHECK(spec.ok());
    if (!spec.ok()) continue;
    session::WhatIfOptions options;
    options.canonical = spec::canonical;
    options.repro = spec::repro_line;
    const frameworks::Framework* framework = frameworks::find_framework(spec->context.framework, *spec);
    CHECK(framework != nullptr);
    if (!framework) continue;
    const report::Case c = session::what_if(*spec, id, *framework, nullptr, options);
    std::set<std::string> ids;
    collect(c.findings, ids);
    for (const report::Candidate& candidate : c.candidates) collect(candidate.findings, ids);
    for (const json& cause : row["cause"]) {
      INFO("wanted " << cause << "; verdict: " << c.verdict.summary);
      CHECK(ids.count(cause.get<std::string>()) == 1);
    }
    ++found;
  }
}

}  // namespace

TEST_CASE("each public report that rules can settle names its cause") {
  int found = 0;
  check_reports("/reports_sdpa.json", found);
  CHECK(found >= 48);
}

// Found by searching for further kinds of causes; each row says where the report is.
TEST_CASE("further public reports name their cause as well") {
  int found = 0;
  check_reports("/reports_sdpa_more.json", found);
  CHECK(found >= 30);
}

TEST_CASE("the table speaks of every report of the shared list") {
  const char* shared = std::getenv("DD_SHARED");
  const std::string path = (shared && *shared ? std::string(shared) : folder() + "/../../../shared") + "/cases/reports_sdpa.json";
  if (!std::ifstream(path)) {
    WARN("SKIPPED: no shared list of reports");
    return;
  }
  std::set<std::string> ours, found;
  for (const json& row : table(folder() + "/reports_sdpa.json")) {
    ours.insert(row["id"]);
    if (row["found"].get<bool>()) found.insert(row["id"]);
  }
  int findable = 0, hit = 0;
  for (const json& row : table(path)) {
    INFO(row["id"]);
    CHECK(ours.count(row["id"]) == 1);
    if (row["found_without_gpu"] != "yes") continue;
    ++findable;
    hit += static_cast<int>(found.count(row["id"]));
  }
  CHECK(hit * 10 >= findable * 9);
}
