// dd_cases [--dump] FILE…: holds the rules against labelled cases. Prints every mismatch and the agreement per backend;
// exit 0 when all agree, 1 when any does not, 2 when a file cannot be read, 5 when nothing was compared.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <map>

#include "case_check.hpp"

namespace {

using dd::cases::Checked;
using dd::cases::Line;
using nlohmann::json;

struct Tally {
  int agree = 0, total = 0;
};

bool read(const std::string& path, json& out) {
  std::ifstream in(path);
  if (!in) {
    fmt::print(stderr, "dd_cases: cannot open {}\n", path);
    return false;
  }
  try {
    out = json::parse(in);
  } catch (const json::parse_error& error) {
    fmt::print(stderr, "dd_cases: {} is not JSON: {}\n", path, error.what());
    return false;
  }
  if (out.is_object() && out.contains("cases")) {
    json list = out["cases"];  // a copy first: assigning a part of itself would read what it just freed
    out = std::move(list);
  }
  if (out.is_array()) return true;
  fmt::print(stderr, "dd_cases: {} is not a JSON list of cases\n", path);
  return false;
}

void print_mismatch(const std::string& id, const Line& line) {
  const auto with_rule = [](const std::string& status, const std::string& rule) {
    return rule.empty() ? status : fmt::format("{} by {}", status, rule);
  };
  fmt::print("mismatch  {}  {}: wanted {}, got {}\n", id, line.backend, with_rule(line.wanted, line.wanted_rule),
             with_rule(line.got, line.got_rule));
}

void count(const Checked& checked, std::map<std::string, Tally>& tallies, int& unreadable) {
  for (const std::string& note : checked.notes) fmt::print("note  {}: {}\n", checked.id, note);
  if (!checked.problem.empty()) {
    fmt::print("unreadable  {}: {}\n", checked.id, checked.problem);
    ++unreadable;
    return;
  }
  for (const Line& line : checked.lines) {
    Tally& tally = tallies[line.backend];
    ++tally.total;
    if (line.agrees) {
      ++tally.agree;
    } else {
      print_mismatch(checked.id, line);
    }
  }
}

std::string id_of(const json& item) {
  if (!item.is_object() || !item.contains("id")) return "?";
  return item["id"].is_string() ? item["id"].get<std::string>() : item["id"].dump();
}

std::string unknown_kind(const json& item) {
  if (!item.is_object()) return "not an object with spec and expected, but " + std::string(item.type_name());
  if (!item.contains("spec") || !item["spec"].is_object()) return "no object called spec";
  if (item.contains("root_cause")) return "a report in prose: there is no spec to evaluate";
  return "neither a matrix product (spec.backend) nor attention (spec.torch with spec.q_len, spec.head_dim or the like)";
}

Checked check(const json& item) {
  try {
    if (dd::cases::is_gemm_case(item)) return dd::cases::check_gemm_case(item);
    if (dd::cases::is_sdpa_case(item)) return dd::cases::check_sdpa_case(item);
    return {id_of(item), {}, unknown_kind(item), {}};
  } catch (const std::exception& error) {
    return {id_of(item), {}, error.what(), {}};
  }
}

int usage() {
  fmt::print(stderr, "usage: dd_cases [--dump] FILE...\n");
  return 2;
}

bool dump_one(const json& item) {
  try {
    if (!dd::cases::is_gemm_case(item) && !dd::cases::is_sdpa_case(item)) throw std::runtime_error(unknown_kind(item));
    fmt::print("{}\n", (dd::cases::is_gemm_case(item) ? dd::cases::dump_gemm_case(item) : dd::cases::dump_sdpa_case(item)).dump());
    return true;
  } catch (const std::exception& error) {
    fmt::print(stderr, "unreadable  {}: {}\n", id_of(item), error.what());
    return false;
  }
}

}  // namespace

int main(int argc, char** argv) {
  bool dump = false;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--dump") dump = true;
    else if (argument.starts_with("-")) return usage();
    else files.push_back(argument);
  }
  if (files.empty()) return usage();
  std::map<std::string, Tally> tallies;
  int cases = 0, unreadable = 0;
  for (const std::string& file : files) {
    json list;
    if (!read(file, list)) return 2;
    for (const json& item : list) {
      ++cases;
      if (dump) {
        unreadable += !dump_one(item);
        continue;
      }
      count(check(item), tallies, unreadable);
    }
  }
  if (dump) return unreadable ? 1 : 0;
  Tally all;
  for (const auto& [backend, tally] : tallies) {
    fmt::print("{:<24} {:>4} of {:>4} agree\n", backend, tally.agree, tally.total);
    all.agree += tally.agree;
    all.total += tally.total;
  }
  fmt::print("{} cases, {} of {} statements agree, {} unreadable\n", cases, all.agree, all.total, unreadable);
  if (unreadable || all.agree != all.total) return 1;
  return all.total == 0 ? 5 : 0;
}
