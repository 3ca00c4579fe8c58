// Holds every answer against worked-out labels of real files: all counts, all verdicts.
#include <cmath>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "evidence/open.hpp"
#include "shared.hpp"
#include "support/catch.hpp"

using namespace dd::evidence;
using Json = nlohmann::json;

namespace {

std::string folded(const std::string& role) {
  static const std::set<std::string> kept = {"gemm", "gemm_aux", "sdpa", "softmax", "cast", "layout", "copy", "copy?", "concat", "triton", "memcpy", "memset"};
  return kept.count(role) != 0 ? role : "other";
}

std::string verdict_word(const std::string& label) {
  return label == "fast" ? "fast-path" : label == "slow" ? "fallback" : label == "cannot_tell" ? "cannot-tell" : label;
}

bool near(double a, double b) { return std::abs(a - b) <= 0.3 + 1e-5 * std::abs(a); }

Json counts_of(const Json& tallies) {
  Json out = Json::object();
  for (const auto& [key, tally] : tallies.items()) out[key] = tally.at("count");
  return out;
}

Json operators(const Json& got, const char* kind) {
  Json out = Json::array();
  for (const Json& each : got.at("operators"))
    if (each.at("class") == kind) out.push_back(each);
  return out;
}

void check_roles(const Json& label, const Json& by_role) {
  std::map<std::string, std::pair<std::uint64_t, double>> folded_roles;
  for (const auto& [role, tally] : by_role.items()) {
    auto& to = folded_roles[folded(role)];
    to.first += tally.at("count").get<std::uint64_t>();
    to.second += tally.at("gpu_us").get<double>();
  }
  CHECK(folded_roles.size() == label.size());
  for (const auto& [role, want] : label.items()) {
    INFO("role " << role);
    CHECK(folded_roles[role].first == want.at("count").get<std::uint64_t>());
    CHECK(near(want.at("gpu_us"), folded_roles[role].second));
  }
}

bool same_product(const Json& want, const Json& group) {
  if (want.at("shape").is_null()) return true;
  if (!group.contains("product")) return false;
  const Json &shape = want.at("shape"), &got = group.at("product");
  if (shape.at("batch") != got.at("batch") || shape.at("M") != got.at("m") || shape.at("K") != got.at("k") || shape.at("N") != got.at("n")) return false;
  if (!shape.contains("strideA")) return true;
  const std::size_t first = group.at("op") == "aten::addmm" || group.at("op") == "aten::baddbmm" ? 1 : 0;
  return group.at("inputs").at(first).at("strides") == shape.at("strideA") && group.at("inputs").at(first + 1).at("strides") == shape.at("strideB");
}

void check_gemm_details(const Json& facts, const Json& got) {
  const Json groups = operators(got, "gemm");
  CHECK(groups.size() == facts.value("gemm_detail_groups_total", std::size_t{0}));
  for (const Json& want : facts.value("gemm_detail", Json::array())) {
    INFO("gemm detail " << want.dump());
    int found = 0;
    for (const Json& group : groups) {
      if (group.at("op") != want.at("op") || group.at("count") != want.at("count") || !near(want.at("gpu_us"), group.at("gpu_us"))) continue;
      if (group.at("kernel_classes") != want.at("kernel_class") || group.value("memset_before", false) != want.at("memset_before")) continue;
      found += same_product(want, group) ? 1 : 0;
    }
    CHECK(found >= 1);
  }
}

void check_attention(const Json& facts, const Json& got) {
  const Json groups = operators(got, "attention");
  REQUIRE(groups.size() == facts.at("sdpa_ops").size());
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const Json &want = facts.at("sdpa_ops").at(i), &group = groups.at(i);
    CHECK(group.at("op_path") == want.at("op_path"));
    CHECK(group.at("count") == want.at("count"));
    CHECK(near(want.at("gpu_us"), group.at("gpu_us")));
    for (std::size_t t = 0; t < 3; ++t) {
      CHECK(group.at("inputs").at(t).at("shape") == want.at("qkv_dims").at(t));
      CHECK(group.at("inputs").at(t).at("strides") == want.at("qkv_strides").at(t));
    }
    CHECK(group.at("kernel_classes").size() == want.at("kernel_class").size());
    CHECK(group.at("kernel_classes").back() == want.at("kernel_class").back());
  }
}

void check_kineto(const Json& facts, const Json& got) {
  for (const auto& [kind, count] : facts.at("gpu_events").items()) CHECK(got.at("events").at(kind) == count);
  for (const auto& [what, count] : facts.at("linking").items()) {
    INFO("linking " << what);
    CHECK(got.at("linking").at(what) == count);
  }
  for (const auto& [key, value] : facts.at("header").items()) {
    INFO("header " << key);
    REQUIRE(got.at("header").contains(key));
    CHECK(std::stod(got.at("header").at(key).get<std::string>()) == value.get<double>());
  }
  CHECK(got.at("gemm_ops") == facts.at("gemm_ops"));
  CHECK(got.at("gemm_ops_recorded_twice") == facts.value("gemm_ops_recorded_twice_nested", 0));
  const Json& classes = facts.at("gemm_by_kernel_class");
  CHECK(got.at("gemm_by_kernel_class").size() == classes.size());
  for (const auto& [name, want] : classes.items()) {
    INFO("class " << name);
    REQUIRE(got.at("gemm_by_kernel_class").contains(name));
    CHECK(got.at("gemm_by_kernel_class").at(name).at("count") == want.at("ops"));
    CHECK(near(want.at("gpu_us"), got.at("gemm_by_kernel_class").at(name).at("gpu_us")));
  }
  check_roles(facts.at("gpu_events_by_role"), got.at("by_role"));
  CHECK(counts_of(got.at("memcpy")) == facts.at("memcpy"));
  CHECK(counts_of(got.at("copies_by_origin")) == facts.at("copies_by_origin"));
  CHECK(got.at("syncs").at("runtime_calls") == facts.at("syncs").at("runtime_calls"));
  CHECK(got.at("syncs").at("item") == facts.at("syncs").at("aten::item_or__local_scalar_dense"));
  CHECK(got.at("syncs").at("cuda_sync_events") == facts.at("syncs").at("cuda_sync_events"));
  CHECK(got.at("written_out_attention") == facts.at("decomposed_attention_bmm_softmax_bmm"));
  Json launches = Json::object(), replayed = Json::object();
  for (const Json& each : facts.value("graph_launches", Json::array())) launches[each.at("name").get<std::string>()] = each.at("calls");
  CHECK(got.at("graph_launches") == launches);
  for (const auto& [key, tally] : got.at("graph_replay_kernels").items()) {
    const std::string name = key.find(':') == std::string::npos ? folded(key) : key;
    replayed[name] = replayed.value(name, 0) + tally.at("count").get<int>();
  }
  CHECK(replayed == facts.value("graph_replay_kernels", Json::object()));
  check_gemm_details(facts, got);
  check_attention(facts, got);
}

void check_nsys(const Json& facts, const Json& got) {
  for (const auto& [key, value] : facts.at("export_version").items()) CHECK(got.at("header").at(key) == value);
  CHECK(got.at("events").at("kernel") == facts.at("kernels"));
  std::map<std::string, std::pair<std::uint64_t, double>> roles;
  for (const auto& [role, tally] : got.at("by_role").items()) {
    if (role == "memcpy" || role == "memset") continue;
    roles[folded(role)].first += tally.at("count").get<std::uint64_t>();
    roles[folded(role)].second += tally.at("gpu_us").get<double>();
  }
  CHECK(roles.size() == facts.at("gpu_kernels_by_role").size());
  for (const auto& [role, want] : facts.at("gpu_kernels_by_role").items()) {
    INFO("role " << role);
    CHECK(roles[role].first == want.at("count").get<std::uint64_t>());
    CHECK(near(want.at("gpu_us"), roles[role].second));
  }
  std::uint64_t linked = 0, inside = 0;
  for (const Json& kernel : got.at("kernels")) linked += kernel.at("count").get<std::uint64_t>() - kernel.value("launched_before_window", std::uint64_t{0});
  CHECK(linked == facts.at("kernels_with_runtime_row").get<std::uint64_t>());
  for (const Json& kernel : got.at("kernels")) inside += kernel.value("inside_operators", std::uint64_t{0});
  CHECK(inside == facts.at("kernels_inside_an_nvtx_range").get<std::uint64_t>());
  CHECK(got.at("kernels_by_operator").size() == facts.at("gemm_and_sdpa_kernels").size());
  for (const Json& want : facts.at("gemm_and_sdpa_kernels")) {
    INFO(want.dump());
    int found = 0;
    for (const Json& each : got.at("kernels_by_operator"))
      if (each.at("role") == want.at("role") && each.at("class") == want.at("kernel_class") && each.at("op") == want.at("nvtx_op") && each.at("device") == want.at("device"))
        found += each.at("count") == want.at("count") && near(want.at("gpu_us"), each.at("gpu_us")) ? 1 : 0;
    CHECK(found == 1);
  }
  for (const auto& [kind, want] : facts.at("memcpy_by_copyKind").items()) {
    INFO("copy " << kind);
    REQUIRE(got.at("memcpy").contains(kind));
    CHECK(got.at("memcpy").at(kind).at("count") == want.at("count"));
    CHECK(near(want.at("gpu_us"), got.at("memcpy").at(kind).at("gpu_us")));
  }
  for (const auto& [kind, want] : facts.at("sync_by_syncType").items()) CHECK(got.at("syncs").at("by_kind").at(kind) == want.at("count"));
  CHECK(got.value("nvtx_ranges", Json::object()) == facts.at("nvtx_gemm_ranges"));
}

void check_cublas(const Json& facts, const Json& got) {
  CHECK(got.at("versions").at(0) == facts.at("library"));
  for (const auto& [name, count] : facts.at("calls_by_function").items()) CHECK(got.at("log_lines").at("call " + name) == count);
  const Json calls = operators(got, "library-call");
  CHECK(calls.size() == facts.at("gemm_calls").size());
  for (const Json& want : facts.at("gemm_calls")) {
    INFO(want.dump());
    int found = 0;
    for (const Json& call : calls) {
      bool same = call.at("function") == want.at("function") && call.at("count") == want.at("count");
      for (const auto& [key, value] : want.items())
        if (key != "function" && key != "count") same = same && call.at("fields").value(key, "") == value.get<std::string>();
      found += same ? 1 : 0;
    }
    CHECK(found == 1);
  }
}

void check_onednn(const Json& facts, const Json& got) {
  CHECK(got.at("log_lines").at("onednn lines") == facts.at("lines"));
  CHECK(got.at("versions") == facts.at("versions"));
  for (const auto& [kind, count] : facts.at("by_marker_component_operation").items()) CHECK(got.at("log_lines").at(kind) == count);
  CHECK(got.at("log_lines").at("dispatch or check lines") == facts.at("dispatch_or_check_count"));
  const Json remarks = got.value("remarks", Json::array());
  for (std::size_t i = 0; i < facts.at("dispatch_or_check_lines").size(); ++i) CHECK(remarks.at(i) == facts.at("dispatch_or_check_lines").at(i));
  const Json calls = operators(got, "library-call");
  CHECK(calls.size() == facts.at("exec").size());
  for (const Json& want : facts.at("exec")) {
    INFO(want.dump());
    int found = 0;
    for (const Json& call : calls)
      if (call.at("function") == want.at("primitive") && call.at("implementation") == want.at("impl") && call.at("memory") == want.at("memory") &&
          call.value("attributes", "") == want.at("attributes").get<std::string>() && call.at("problem") == want.at("problem"))
        found += call.at("count") == want.at("count") && std::abs(call.at("ms").get<double>() - want.at("total_ms").get<double>()) < 1e-3 ? 1 : 0;
    CHECK(found == 1);
  }
}

}  // namespace

TEST_CASE("answers on real files meet their labels", "[evidence][labels]") {
  const std::string folder = samples::folder();
  if (folder.empty()) {
    std::cout << "SKIPPED: no samples folder (set DD_SHARED)\n";
    WARN("skipped: no samples folder (set DD_SHARED)");
    return;
  }
  const Json labels = Json::parse(std::ifstream(folder + "/labels.json"));
  int files = 0;
  for (const auto& [name, label] : labels.at("files").items()) {
    INFO(name);
    const std::string kind = label.at("kind");
    ++files;
    const auto answer = answer_file(folder + "/" + samples::subfolder(kind) + "/" + name);
    REQUIRE(answer.ok());
    const Json got = to_json(*answer, true);
    CHECK_FALSE(answer->partial);
    CHECK(got.at("verdict").at("sdpa") == verdict_word(label.at("verdict").at("sdpa")));
    CHECK(got.at("verdict").at("gemm") == verdict_word(label.at("verdict").at("gemm")));
    CHECK(got.at("verdict").at("attribution") == label.at("verdict").at("attribution"));
    const Json& facts = label.at("facts");
    if (kind == "kineto") check_kineto(facts, got);
    else if (kind == "nsys-sqlite") check_nsys(facts, got);
    else if (kind == "cublas-log") check_cublas(facts, got);
    else if (kind == "onednn-verbose") check_onednn(facts, got);
    else FAIL("a kind without checks: " << kind);
  }
  CHECK(files >= 26);
}

TEST_CASE("at least 97 per cent of the kernel names in real files are classified", "[evidence][labels]") {
  const std::string folder = samples::folder();
  if (folder.empty()) {
    WARN("skipped: no samples folder (set DD_SHARED)");
    return;
  }
  std::set<std::string> names, unknown;
  for (const char* sub : {"kineto", "nsys"})
    for (const auto& entry : std::filesystem::directory_iterator(folder + "/" + sub)) {
      const auto answer = answer_file(entry.path().string());
      REQUIRE(answer.ok());
      for (const KernelSummary& each : answer->kernels) {
        names.insert(each.name);
        if (!each.kind.known()) unknown.insert(each.name);
      }
    }
  for (const std::string& each : unknown) UNSCOPED_INFO("unknown: " << each);
  REQUIRE(names.size() > 300);
  CHECK(static_cast<double>(unknown.size()) <= 0.03 * static_cast<double>(names.size()));
}
