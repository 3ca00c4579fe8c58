// Reader of labelled matrix-product cases: field names of the case files to a spec of the tool, and the standing of one
// backend or of a chain of candidates.
#pragma once
#include "case_check.hpp"
#include "facts/facts.hpp"
#include "spec/spec.hpp"

namespace dd::cases {

// The printable name of a backend that the files call e.g. vllm.fp8_torch; empty when there is none.
std::string scope_of(const std::string& backend);
spec::OpSpec gemm_spec(const nlohmann::json& fields);
facts::FactSet gemm_case_facts(const nlohmann::json& fields);
// What the fields state that is not read here, one line each.
std::vector<std::string> gemm_case_notes(const nlohmann::json& fields);

}  // namespace dd::cases
