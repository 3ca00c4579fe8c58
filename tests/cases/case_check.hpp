// Labelled cases: each file is a JSON list of {id, spec, expected, …}. A reader turns the spec of one case into a spec
// of the tool, evaluates it and says line by line what was wanted and what came out. dd_cases picks the reader.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace dd::cases {

// The object of that name, or an empty one.
inline const nlohmann::json& part(const nlohmann::json& object, const char* name) {
  static const nlohmann::json empty = nlohmann::json::object();
  const auto it = object.find(name);
  return it == object.end() || !it->is_object() ? empty : *it;
}

struct Line {
  std::string backend;                // as the file names it; "default choice" for the outcome
  std::string wanted, got;            // status, or name of the choice
  std::string wanted_rule, got_rule;  // as the file names it, and our id; empty where none decides
  bool agrees = false;
};

struct Checked {
  std::string id;
  std::vector<Line> lines;
  std::string problem;             // why the case could not be read; empty otherwise
  std::vector<std::string> notes;  // what it states and nobody reads
  bool agrees() const;
};

// Attention cases (torch dispatcher).
bool is_sdpa_case(const nlohmann::json& item);
Checked check_sdpa_case(const nlohmann::json& item);
// Everything that a case decides, for comparison with other evaluators: truth of every rule by id, choice.
nlohmann::json dump_sdpa_case(const nlohmann::json& item);

// Matrix-product cases (libraries, frameworks, chains of candidates).
bool is_gemm_case(const nlohmann::json& item);
Checked check_gemm_case(const nlohmann::json& item);
nlohmann::json dump_gemm_case(const nlohmann::json& item);

}  // namespace dd::cases
