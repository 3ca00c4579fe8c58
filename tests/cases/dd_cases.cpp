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
  out = json::parse(in, nullptr, false);
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

Checked check(const json& item) {
  try {
    if (dd::cases::is_gemm_case(item)) return dd::cases::check_gemm_case(item);
    if (dd::cases::is_sdpa_case(item)) return dd::cases::check_sdpa_case(item);
    return {id_of(item), {}, "no reader for this kind of case", {}};
  } catch (const std::exception& error) {
    return {id_of(item), {}, error.what(), {}};
  }
}

}  // namespace

int main(int argc, char** argv) {
  bool dump = false;
  std::vector<std::string> files;
  for (int i = 1; i < argc; ++i) {
    if (std::string(argv[i]) == "--dump") dump = true;
    else files.emplace_back(argv[i]);
  }
  if (files.empty()) {
    fmt::print(stderr, "usage: dd_cases [--dump] FILE...\n");
    return 2;
  }
  std::map<std::string, Tally> tallies;
  int cases = 0, unreadable = 0;
  for (const std::string& file : files) {
    json list;
    if (!read(file, list)) return 2;
    for (const json& item : list) {
      if (dump) {
        const json dumped = dd::cases::is_gemm_case(item) ? dd::cases::dump_gemm_case(item) : dd::cases::dump_sdpa_case(item);
        fmt::print("{}\n", dumped.dump());
        continue;
      }
      ++cases;
      count(check(item), tallies, unreadable);
    }
  }
  if (dump) return 0;
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
